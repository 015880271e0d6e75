//! The order of arrivals of packets.

use fairlane_qdisc::Time;

use crate::schedule::event_key::turn;

/// The first packet of several, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstArrival {
    pub(crate) at: Time,
    pub(crate) flow: u32,
    /// The number of the place, such as a delay line.
    pub(crate) place: u32,
}

impl FirstArrival {
    /// No packet.
    pub(crate) const NONE: Self = Self { at: Time::MAX, flow: 0, place: 0 };

    /// Returns true if this packet arrives before the other one.
    #[inline(always)]
    pub(crate) fn comes_before(&self, other: &Self) -> bool {
        self.at < other.at || (self.at == other.at && is_before(self.flow, other.flow, self.at))
    }
}

/// Returns true if of two flows' packets that arrive at this time that of `flow` comes first.
#[inline(never)]
const fn is_before(flow: u32, other: u32, at: Time) -> bool {
    flow ^ turn(at) < other ^ turn(at)
}
