//! The settings of an advice.

use fairlane_qdisc::Kind;

use crate::candidates::Target;
use crate::goal::Goal;
use crate::mix::Link;

/// The settings of an advice.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviseSettings {
    /// The link and its traffic.
    pub link: Link,
    /// The goal.
    pub goal: Goal,
    /// The place where the discipline is to run.
    pub on: Target,
    /// Leaves out disciplines that keep state of flows, in any form ([`FlowState`](fairlane_qdisc::FlowState)).
    pub no_flow_state: bool,
    /// The disciplines; if empty those of [`on`](Self::on).
    pub kinds: Vec<Kind>,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl AdviseSettings {
    /// Returns the settings with the defaults of the others.
    #[must_use]
    pub const fn new(link: Link, goal: Goal) -> Self {
        Self { link, goal, on: Target::Linux, no_flow_state: false, kinds: Vec::new(), seed: 1 }
    }
}
