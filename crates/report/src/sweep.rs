//! A sweep, one row per point.

use fairlane_outcome::{Outcome, Point};

use crate::summary::{NOTHING, group_names, heading, legend, with_bottlenecks, with_groups, with_jain, with_shares};
use crate::table::{Terminal, TextTable};

/// One row for each outcome of a sweep: the varied values, the throughput of each group, and the state of the queue.
#[must_use]
pub fn sweep_table(outcomes: &[Outcome], terminal: &Terminal) -> String {
    let Some(first) = outcomes.first() else { return NOTHING.to_owned() };
    let names = group_names(outcomes);
    heading(first, terminal) + &legend(outcomes, &names, terminal) + "\n" + &table(outcomes).print(terminal)
}

/// The table alone.
pub(crate) fn table(outcomes: &[Outcome]) -> TextTable {
    let names = group_names(outcomes);
    let table = with_groups(keys(outcomes), outcomes, &names, |table, _| table);
    let table = with_shares(table, outcomes, &names);
    with_bottlenecks(with_jain(table, outcomes, &names), outcomes)
}

/// The varied keys, in the requested order.
pub(crate) fn varied(outcomes: &[Outcome]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (key, _) in outcomes.iter().filter_map(|outcome| outcome.point.as_ref()).flat_map(Point::iter) {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    names
}

/// A column for each varied key, or for the discipline without any.
fn keys(outcomes: &[Outcome]) -> TextTable {
    let names = varied(outcomes);
    if names.is_empty() {
        let kind = |outcome: &Outcome| outcome.bottleneck().map_or_else(String::new, |queue| queue.kind.clone());
        return TextTable::new().key("queue", outcomes.iter().map(kind).collect());
    }
    names.iter().fold(TextTable::new(), |table, name| {
        let value =
            |outcome: &Outcome| outcome.point.as_ref().and_then(|point| point.get(name)).map(ToString::to_string);
        table.key(name, outcomes.iter().map(|outcome| value(outcome).unwrap_or_else(|| "–".to_owned())).collect())
    })
}
