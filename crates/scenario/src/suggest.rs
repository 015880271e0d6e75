//! "Did you mean": the nearest of the names that exist.

use strsim::osa_distance;

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
    let close = known.into_iter().map(|name| (osa_distance(&written, name), name)).filter(|(far, _)| *far <= near);
    close.min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_slips_only() {
        assert_eq!(nearest("dealy", ["rate", "delay"]), Some("delay"));
        assert_eq!(nearest("rtae", ["rate", "delay"]), Some("rate"), "a swap is one edit");
        assert_eq!(nearest("Rate", ["rate", "delay"]), Some("rate"));
        assert_eq!(nearest("colour", ["rate", "delay"]), None);
        assert_eq!(nearest("d", ["a", "b"]), None);
    }
}
