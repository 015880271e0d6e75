//! A policer in front of a link's queue.

use fairlane_qdisc::{Count, Counters, Qdisc, Reason, Time, TokenBucket};
use fairlane_scenario::Policer;

use crate::network::link::Managed;

/// Drops the packets that do not conform to a rate and a burst, and delays none.
#[derive(Debug)]
pub(crate) struct Policing {
    bucket: TokenBucket,
    dropped: Count,
}

impl Policing {
    pub(crate) const fn new(policer: Policer) -> Self {
        let Policer { rate, burst } = policer;
        Self { bucket: TokenBucket::new(rate, burst), dropped: Count { packets: 0, bytes: 0 } }
    }

    /// Returns true, and counts a drop, if a packet of `bytes` bytes that arrives at `now` does not conform.
    pub(crate) fn drops(&mut self, now: Time, bytes: u32) -> bool {
        let drops = !self.bucket.take(now, bytes);
        if drops {
            self.dropped.add(bytes);
        }
        drops
    }
}

impl Managed {
    /// Returns the counts of the discipline, and of the policer in front of it.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.discipline.counters().clone();
        if let Some(Policing { dropped, .. }) = self.policing.as_deref() {
            counters.arrived.packets += dropped.packets;
            counters.arrived.bytes += dropped.bytes;
            counters.add_drops(Reason::Policed, *dropped);
        }
        counters
    }
}
