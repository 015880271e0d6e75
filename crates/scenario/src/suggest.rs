//! "Did you mean": the nearest of the names that exist.

/// Returns the help after an unknown name: the nearest of `known` to `written`, if one is near, and all of them.
#[must_use]
pub fn help<'a>(written: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let all = known.clone().into_iter().collect::<Vec<_>>().join(", ");
    match nearest(written, known) {
        Some(name) => format!("did you mean \"{name}\"? There are {all}"),
        None => format!("there are {all}"),
    }
}

/// Returns the name of `known` nearest to `written`, if it is near enough to be a slip.
#[must_use]
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase();
    let length = written.chars().count();
    // A name without any common letter is another name, not a typing error.
    let near = (1 + length / 4).min(length.saturating_sub(1));
    let close = known.into_iter().map(|name| (distance(&written, name), name)).filter(|(far, _)| *far <= near);
    close.min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// Edits (a character inserted, removed or replaced, or two neighbours swapped) between `a` and `b`; long names
/// are cut, they are no slips.
fn distance(a: &str, b: &str) -> usize {
    const LONGEST: usize = 64;
    let a = a.chars().take(LONGEST).collect::<Vec<_>>();
    let b = b.chars().take(LONGEST).collect::<Vec<_>>();
    let mut before = Vec::new();
    let mut last = (0..=b.len()).collect::<Vec<_>>();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        // The classic pairs of Levenshtein (kitten) and Damerau (a swap is one edit).
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("mni", "min"), 1);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn suggests_slips_only() {
        assert_eq!(nearest("dealy", ["rate", "delay"]), Some("delay"));
        assert_eq!(nearest("Rate", ["rate", "delay"]), Some("rate"));
        assert_eq!(nearest("colour", ["rate", "delay"]), None);
        assert_eq!(nearest("d", ["a", "b"]), None);
    }
}
