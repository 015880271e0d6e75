//! Figures of outcomes.

use fairlane_outcome::{Estimate, Outcome};

use super::{Axis, Bars, Content, Figure, Mark};
use crate::summary::{fair_share, group_names, labels};

/// Each group's share of the bottleneck under each discipline, with lines at the shares if every flow had
/// the same throughput.
#[must_use]
pub fn compare_figure(outcomes: &[Outcome]) -> Figure {
    let names = group_names(outcomes);
    let share = |outcome: &Outcome, name: &str| outcome.group(name).map_or_else(Estimate::default, |group| group.share);
    let series = |name: &&str| {
        let shares = outcomes.iter().map(|outcome| share(outcome, name)).collect();
        ((*name).to_owned(), shares)
    };
    let mut below = 0.0;
    let mark = |name: &&str| {
        let part = fair_share(outcomes.first()?, name);
        below += part;
        Some(Mark { at: below, label: format!("fair share of {name}: {:.0} %", part * 100.0) })
    };
    // The last line would coincide with the top of the bar.
    let marks = names.iter().take(names.len().saturating_sub(1)).filter_map(mark).collect();
    Figure {
        title: outcomes.first().map_or_else(String::new, |outcome| outcome.scenario.clone()),
        x: Axis::linear(""),
        y: Axis::linear("share of the throughput"),
        content: Content::Shares(Bars { categories: labels(outcomes), series: names.iter().map(series).collect() }),
        marks,
    }
}
