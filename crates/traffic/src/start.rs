//! The start of a flow.

use fairlane_qdisc::{Duration, Stream};
use fairlane_scenario::FlowGroup;

use crate::draw::part;

/// Returns the time from time zero to the start of a flow, drawn uniformly from its group's range. `random` is the
/// flow's stream "start"; a UDP flow draws the time to its [first packet](crate::Datagrams::first) from it next.
#[must_use]
pub fn start(group: &FlowGroup, random: &mut Stream) -> Duration {
    let spread = Duration::from_nanos(group.start_to.as_nanos().saturating_sub(group.start_from.as_nanos()));
    group.start_from + part(spread, random.unit())
}
