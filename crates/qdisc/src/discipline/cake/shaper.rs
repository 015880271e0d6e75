//! CAKE's shaper: when the next packet may leave.

use crate::rate::link_clock::LinkClock;
use crate::{Rate, Time};

/// Holds packets back to a rate.
#[derive(Debug)]
pub(super) struct ShaperClock {
    clock: LinkClock,
    /// Where drops count as sent, a clock that only sent packets advance, by half as much again. Packets may leave when
    /// either clock says so: drops take at most a third of the rate (sch_cake's `failsafe_next_packet`).
    failsafe: Option<LinkClock>,
}

impl ShaperClock {
    /// Creates the shaper of an idle link of `rate`; with `ingress` drops count as sent.
    pub(super) fn new(rate: Rate, ingress: bool) -> Self {
        let clock = LinkClock::new(rate);
        Self { clock, failsafe: ingress.then_some(clock) }
    }

    /// Returns the earliest time at which the next packet may leave.
    pub(super) fn next(&self) -> Time {
        let next = self.clock.next();
        self.failsafe.map_or(next, |failsafe| next.min(failsafe.next()))
    }

    /// Notes that a packet comes to an empty queue: an idle link does not save up time.
    pub(super) fn wake(&mut self, now: Time) {
        if self.clock.next() < now {
            self.clock.restart(now);
            if let Some(failsafe) = &mut self.failsafe {
                failsafe.restart(now);
            }
        }
    }

    /// Notes that `bytes` bytes were sent.
    pub(super) fn sent(&mut self, bytes: u32) {
        self.clock.advance(bytes);
        if let Some(failsafe) = &mut self.failsafe {
            failsafe.advance(bytes.saturating_add(bytes / 2));
        }
    }

    /// Notes that `bytes` bytes were dropped. They count if drops count as sent.
    pub(super) fn dropped(&mut self, bytes: u32) {
        if self.failsafe.is_some() {
            self.clock.advance(bytes);
        }
    }
}
