//! How far the windows of a group move together.

use fairlane_outcome::{Outcome, Timeline};

use crate::queues::labels;
use crate::summary::group_names;

/// Returns a line for each group of `outcomes` whose windows were recorded in the first runs, of which `timelines` are:
/// the [correlation](fairlane_outcome::GroupTimeline::window_correlation) of its flows' windows in each outcome.
#[must_use]
pub fn correlation_lines(outcomes: &[Outcome], timelines: &[Option<Timeline>]) -> Vec<String> {
    let labels = labels(outcomes);
    let line = |name: &str| {
        let of = |timeline: &Option<Timeline>| {
            timeline.as_ref()?.groups.iter().find(|group| group.name == *name)?.window_correlation
        };
        let each = labels.iter().zip(timelines).filter_map(|(label, timeline)| {
            let label = if outcomes.len() > 1 { format!("{label} ") } else { String::new() };
            Some(format!("{label}{:.2}", of(timeline)?))
        });
        let each: Vec<String> = each.collect();
        let of = format!("Correlation of the windows of {name} in the first run: {}", each.join(", "));
        (!each.is_empty()).then_some(of)
    };
    group_names(outcomes).iter().filter_map(|name| line(name)).collect()
}
