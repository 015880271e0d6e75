//! Differences of disciplines from the first one, run by run.

use fairlane_outcome::{Estimate, Outcome, RunValues};

use crate::numbers::Scale;
use crate::summary::{column, queue_names};
use crate::table::TextTable;

/// Adds the difference of each outcome but the first from the first one: shares and utilisation in percentage points,
/// and delays. `keys` begins a table whose rows are those outcomes. `None` if there is nothing to compare, or a single
/// run.
pub(crate) fn with_differences(keys: TextTable, outcomes: &[Outcome], groups: &[&str]) -> Option<TextTable> {
    let (first, others) = outcomes.split_first()?;
    let cells = |scale: fn(&[Estimate]) -> Scale, value: &dyn Fn(&RunValues) -> Option<f64>| {
        let values: Vec<_> = others.iter().map(|other| other.paired_difference(first, value)).collect();
        values.iter().any(Option::is_some).then(|| column(&values, scale))
    };
    let queues = queue_names(outcomes);
    let mut columns = Vec::new();
    for name in groups {
        let share = |run: &RunValues| Some(run.groups.get(*name)?.share);
        columns.push((format!("{name} share"), cells(|values| Scale::percent(values).of_differences(), &share)));
    }
    for name in &queues {
        let at = if queues.len() > 1 { format!(" at {name}") } else { String::new() };
        let utilisation = |run: &RunValues| Some(run.queues.get(*name)?.utilisation);
        let delay = |run: &RunValues| Some(run.queues.get(*name)?.delay_mean_s);
        columns
            .push((format!("utilisation{at}"), cells(|values| Scale::percent(values).of_differences(), &utilisation)));
        columns.push((format!("delay{at}"), cells(|values| Scale::time(values).of_differences(), &delay)));
    }
    let columns: Vec<_> = columns.into_iter().filter_map(|(title, cells)| Some((title, cells?))).collect();
    let any = !columns.is_empty();
    any.then(|| columns.into_iter().fold(keys, |table, (title, cells)| table.right(&title, cells)))
}
