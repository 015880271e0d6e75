//! Names that are similar to a misspelt one.

use alloc::string::String;
use alloc::vec::Vec;

/// Joins `all` with commas.
pub(super) fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

/// Returns the one of `all` that differs least from `text`, if it differs by less than half.
pub(super) fn nearest<'a>(text: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = all.map(|name| (distance(text, name), name)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, name)| 2 * distance <= name.chars().count()).map(|(_, name)| name)
}

/// Returns the number of characters to insert, remove or change to turn `b` into `a` (Levenshtein distance).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}
