//! Access of a link to its medium, where it sends frames of several packets.

use fairlane_qdisc::Time;
use fairlane_scenario::Aggregation;

/// The frames of a link.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) limits: Aggregation,
    /// The time at which the medium is free for the next frame; `None` if none waits for it.
    access: Option<Time>,
}

impl Frames {
    pub(crate) const fn new(limits: Aggregation) -> Self {
        Self { limits, access: None }
    }

    /// Returns when a frame may begin, if that is not now. `queued` is true if a packet waits.
    pub(crate) fn hold(&mut self, now: Time, queued: bool) -> Option<Time> {
        if !queued || self.access.take() == Some(now) {
            return None;
        }
        self.access = Some(now + self.limits.access);
        self.access
    }
}
