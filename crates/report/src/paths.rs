//! What the flows of each group met from end to end.

use fairlane_outcome::{Estimate, GroupOutcome, Outcome};

use crate::numbers::Scale;
use crate::summary::column;
use crate::table::TextTable;

/// A column's title, its value in a group, and its scale.
type PathMeasure = (&'static str, fn(&GroupOutcome) -> Option<Estimate>, fn(&[Estimate]) -> Scale);

const MEASURES: [PathMeasure; 5] = [
    ("one-way", |group| group.delay_s, Scale::time),
    ("jitter", |group| group.jitter_s, Scale::time),
    ("RTT", |group| group.rtt_s, Scale::time),
    ("again", |group| Some(group.retransmitted), Scale::plain),
    ("took", |group| Some(group.transfers.as_ref()?.completion_s.mean), Scale::time),
];

/// Adds the delays of each group, its packets sent again and the time of its transfers, as far as there are any; `None` without any.
pub(crate) fn with_paths(keys: TextTable, outcomes: &[Outcome], names: &[&str]) -> Option<TextTable> {
    let all = names.iter().flat_map(|name| MEASURES.iter().map(move |measure| (name, measure)));
    let columns = all.filter_map(|(name, (title, of, scale))| {
        let values: Vec<_> = outcomes.iter().map(|outcome| of(outcome.group(name)?)).collect();
        values
            .iter()
            .flatten()
            .any(|value| value.mean > 0.0)
            .then(|| (format!("{title} {name}"), column(&values, *scale)))
    });
    let columns: Vec<_> = columns.collect();
    let any = !columns.is_empty();
    any.then(|| columns.into_iter().fold(keys, |table, (title, cells)| table.right(&title, cells)))
}
