//! Links that deliver at given moments, as mahimahi's mm-link(1) does.
//!
//! At each moment the link takes packets from its queue until the bytes of the moment's opportunities are used: a
//! packet may be spread over several of them, and several packets share one. The rest of an opportunity is lost when
//! the queue is empty. A packet leaves its queue at the first opportunity that it uses, and the link at the last one.
//! One that arrives at a moment comes too late for it.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Opportunity, RateSteps};

/// The moments of delivery of a link, which repeat, and the rest of the present one.
#[derive(Debug)]
pub(crate) struct Opportunities {
    /// The time of each moment in nanoseconds of the cycle, and its bytes.
    moments: Vec<(u64, u64)>,
    cycle: u64,
    /// The moment in use, or the one for which the link waits.
    at: Time,
    /// The bytes left of it.
    left: u64,
}

impl Opportunities {
    /// Returns the opportunities of `rates`; `None` if there are none.
    pub(crate) fn new(rates: &RateSteps) -> Option<Self> {
        let bytes = |moment: &Opportunity| u64::from(moment.count) * u64::from(Opportunity::BYTES);
        let moments: Vec<(u64, u64)> =
            rates.opportunities().iter().map(|moment| (moment.at.as_nanos(), bytes(moment))).collect();
        let cycle = moments.last()?.0;
        Some(Self { moments, cycle, at: Time::ZERO, left: 0 })
    }

    /// Returns the moment for which the link waits at `now` if it cannot take a packet; `None` if it can, or if none is
    /// `queued`.
    pub(crate) fn hold(&mut self, now: Time, queued: bool) -> Option<Time> {
        if !queued {
            // The rest is lost.
            self.left = 0;
            return None;
        }
        if self.at == now && self.left > 0 {
            return None;
        }
        (self.at, self.left) = self.after(now);
        Some(self.at)
    }

    /// Takes the bytes of a packet from the present moment and, if that has too few, from those after it. Returns the
    /// last one.
    pub(crate) fn finish(&mut self, now: Time, bytes: u32) -> Time {
        let mut missing = u64::from(bytes);
        if self.at != now {
            (self.at, self.left) = self.after(now);
        }
        while self.left < missing && self.at < Time::MAX {
            missing -= self.left;
            (self.at, self.left) = self.after(self.at);
        }
        self.left = self.left.saturating_sub(missing);
        self.at
    }

    /// Returns the first moment after `time`, and its bytes.
    fn after(&self, time: Time) -> (Time, u64) {
        let (rounds, within) = (time.as_nanos() / self.cycle, time.as_nanos() % self.cycle);
        // The last moment is at the end of the cycle, so one of them is after any time within it.
        let next = self.moments.partition_point(|(at, _)| *at <= within);
        self.moments.get(next).map_or((Time::MAX, 0), |(at, bytes)| {
            (Time::ZERO + Duration::from_nanos(rounds.saturating_mul(self.cycle).saturating_add(*at)), *bytes)
        })
    }
}
