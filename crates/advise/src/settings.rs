//! The settings of an advice.

use std::num::NonZeroU32;

use fairlane_qdisc::Kind;

use crate::goal::Goal;
use crate::mix::Link;

/// The settings of an advice.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviseSettings {
    /// The link and its traffic.
    pub link: Link,
    /// The goal.
    pub goal: Goal,
    /// Leaves out disciplines that keep state of flows, in any form ([`FlowState`](fairlane_qdisc::FlowState)).
    pub no_flow_state: bool,
    /// The disciplines; if empty all that are not experimental.
    pub kinds: Vec<Kind>,
    /// Few candidates and short runs.
    pub quick: bool,
    /// Runs of the best disciplines, and of the proof; `None` for ten, or five if quick.
    pub runs: Option<NonZeroU32>,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl AdviseSettings {
    /// Returns the settings with the defaults of the others.
    #[must_use]
    pub const fn new(link: Link, goal: Goal) -> Self {
        Self { link, goal, no_flow_state: false, kinds: Vec::new(), quick: false, runs: None, seed: 1 }
    }

    /// Returns the number of runs of the best disciplines.
    #[must_use]
    pub fn runs(&self) -> u32 {
        self.runs.map_or(if self.quick { 5 } else { 10 }, NonZeroU32::get)
    }

    /// Returns the number of parameter sets that are tried for each discipline in addition to its defaults.
    pub(crate) const fn variants(&self) -> usize {
        if self.quick { 6 } else { 16 }
    }
}
