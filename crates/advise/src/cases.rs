//! The cases on which the best candidates are judged and which were not searched: other seeds, links and mixes.

use fairlane_qdisc::{Duration, Rate};

use crate::goal::Goal;
use crate::metric::{GroupMetric, Metric};
use crate::mix::{FLOOD, Link};

/// The part of the link above which a flood has taken it from the others.
pub(crate) const TAKEN: f64 = 0.5;

/// A change of the link or of its mix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) name: &'static str,
    rate: f64,
    rtt: f64,
    flows: f64,
    pub(crate) flood: bool,
}

const SAME: Change = Change { name: "other seeds", rate: 1.0, rtt: 1.0, flows: 1.0, flood: false };

/// The cases.
pub(crate) const CASES: [Change; 8] = [
    SAME,
    Change { name: "half the rate", rate: 0.5, ..SAME },
    Change { name: "twice the rate", rate: 2.0, ..SAME },
    Change { name: "half the round trip", rtt: 0.5, ..SAME },
    Change { name: "twice the round trip", rtt: 2.0, ..SAME },
    Change { name: "half the flows", flows: 0.5, ..SAME },
    Change { name: "twice the flows", flows: 2.0, ..SAME },
    Change { name: "a flood of the link's rate", flood: true, ..SAME },
];

/// Returns the metric of a flood.
pub(crate) fn flood_share() -> Metric {
    Metric::Group(FLOOD.to_owned(), GroupMetric::Share)
}

impl Change {
    /// Returns the goal on the changed link, whose round trip was `rtt`.
    pub(crate) fn goal(&self, goal: &Goal, rtt: Duration) -> Goal {
        goal.shifted((self.rtt - 1.0) * rtt.as_secs())
    }

    /// Returns the link with the change; rates of the traffic that are multiples of the link's follow.
    pub(crate) fn of(&self, link: &Link) -> Link {
        let mix = link.mix.scaled(self.flows);
        Link {
            rate: Rate::from_bits_per_second((link.rate.bits_per_second() as f64 * self.rate).round().max(1.0) as u64),
            rtt: Duration::from_secs(link.rtt.as_secs() * self.rtt),
            mix: if self.flood { mix.with_flood() } else { mix },
        }
    }
}
