//! The throughput and delays of each group from end to end.

use fairlane_outcome::{Estimate, GroupOutcome, Outcome};

use crate::numbers::Scale;
use crate::summary::column;
use crate::table::TextTable;

/// A column's title, its value in a group, and its scale.
type PathMeasure = (&'static str, fn(&GroupOutcome) -> Option<Estimate>, fn(&[Estimate]) -> Scale);

const MEASURES: [PathMeasure; 7] = [
    ("throughput", |group| Some(group.throughput_bps), Scale::rate),
    ("one-way delay", |group| group.delay_s, Scale::time),
    ("jitter", |group| group.jitter_s, Scale::time),
    ("RTT", |group| group.rtt_s, Scale::time),
    ("retransmissions", |group| Some(group.retransmitted), Scale::counts),
    ("timeouts", |group| Some(group.timeouts), Scale::counts),
    ("completion time", |group| Some(group.transfers.as_ref()?.completion_s.as_ref()?.mean), Scale::time),
];

/// Adds what is known of each group, in a row for each group of each outcome, to the rows that `keys` begins; `None`
/// without any.
pub(crate) fn with_paths(
    outcomes: &[Outcome],
    names: &[&str],
    keys: impl Fn(&[usize]) -> TextTable,
) -> Option<TextTable> {
    let of = |(number, outcome)| names.iter().filter_map(move |name| Some((number, Outcome::group(outcome, name)?)));
    let rows: Vec<(usize, &GroupOutcome)> = outcomes.iter().enumerate().flat_map(of).collect();
    let table = keys(&rows.iter().map(|(number, _)| *number).collect::<Vec<_>>())
        .key("group", rows.iter().map(|(_, group)| group.name.clone()).collect());
    let columns = MEASURES.iter().filter_map(|(title, of, scale)| {
        let values: Vec<_> = rows.iter().map(|(_, group)| of(group)).collect();
        values.iter().flatten().any(|value| value.mean > 0.0).then(|| (title, column(&values, *scale)))
    });
    let table = columns.fold(table, |table, (title, cells)| table.right(title, cells));
    (!table.columns.is_empty()).then_some(table)
}
