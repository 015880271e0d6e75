//! COBALT's decisions, for any queue: CoDel for flows that react, BLUE for those that do not.

use crate::discipline::codel::control_law;
use crate::{Duration, Stream, Time};

/// COBALT's parameters for one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CobaltSettings {
    /// The acceptable standing delay.
    pub(crate) target: Duration,
    /// The time for which the delay may be above it before the first signal.
    pub(crate) interval: Duration,
    /// A delay up to this is never too long, even above `target`: a few packets on a slow link.
    pub(crate) floor: Duration,
    /// The delay from which BLUE's probability grows even though the queue is not full.
    pub(crate) blue_threshold: Duration,
    /// Marks packets that can be marked instead of dropping them at CoDel's signals.
    pub(crate) ecn: bool,
}

/// COBALT's state, for one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CobaltCore {
    /// The time of CoDel's next signal; while `count` is 0, the time until which the state is kept.
    drop_next: Time,
    /// The time of the last change of BLUE's probability.
    blue_changed: Time,
    /// BLUE's probability.
    probability: f64,
    /// CoDel's count, which sets the interval between signals; it falls as it rose, one by one.
    count: u32,
    dropping: bool,
}

/// COBALT's decision on a packet that is due to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CobaltVerdict {
    /// The packet leaves.
    Pass,
    /// The packet leaves with a mark.
    Mark,
    /// CoDel drops the packet.
    Codel,
    /// BLUE drops the packet.
    Blue,
}

impl CobaltCore {
    /// Creates the state of an empty queue.
    pub(crate) const fn new() -> Self {
        Self { drop_next: Time::ZERO, blue_changed: Time::ZERO, probability: 0.0, count: 0, dropping: false }
    }

    /// Returns the time of the signal after one at `from`.
    fn signal_after(&self, settings: &CobaltSettings, from: Time) -> Time {
        control_law(from, settings.interval, self.count.max(1))
    }

    /// Notes that a packet was dropped for the limit: BLUE's probability rises.
    pub(crate) fn full(&mut self, settings: &CobaltSettings, now: Time) {
        self.raise(settings, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Notes that the link found the queue empty: BLUE's probability and CoDel's count fall.
    pub(crate) fn empty(&mut self, settings: &CobaltSettings, now: Time) {
        if self.probability > 0.0 && now.since(self.blue_changed) > settings.target {
            self.probability = (self.probability - DOWN).max(0.0);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.signal_after(settings, self.drop_next);
        }
    }

    /// Raises BLUE's probability, at most once in a `target`.
    fn raise(&mut self, settings: &CobaltSettings, now: Time) {
        if now.since(self.blue_changed) > settings.target {
            self.probability = (self.probability + UP).min(1.0);
            self.blue_changed = now;
        }
    }

    /// Decides on a packet that is due to leave after it has `waited`, and which is `ecn_capable` or not.
    pub(crate) fn test(
        &mut self,
        settings: &CobaltSettings,
        now: Time,
        waited: Duration,
        ecn_capable: bool,
        rolls: &mut Stream,
    ) -> CobaltVerdict {
        let too_long = waited > settings.target && waited > settings.floor;
        let mut due = self.count > 0 && now >= self.drop_next;
        if !too_long {
            self.dropping = false;
        } else {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.signal_after(settings, now);
            }
            self.count = self.count.max(1);
        }
        let mut verdict = CobaltVerdict::Pass;
        if due && self.dropping {
            verdict = if settings.ecn && ecn_capable { CobaltVerdict::Mark } else { CobaltVerdict::Codel };
            self.count = self.count.saturating_add(1);
            self.drop_next = self.signal_after(settings, self.drop_next);
        } else {
            while due {
                self.count -= 1;
                self.drop_next = self.signal_after(settings, self.drop_next);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if waited > settings.blue_threshold {
            self.raise(settings, now);
        }
        if verdict != CobaltVerdict::Codel && self.probability > 0.0 && rolls.chance(self.probability) {
            verdict = CobaltVerdict::Blue;
        }
        if self.count == 0 {
            self.drop_next = now + settings.interval;
        } else if now > self.drop_next && matches!(verdict, CobaltVerdict::Pass | CobaltVerdict::Mark) {
            self.drop_next = now;
        }
        verdict
    }

    /// Returns CoDel's count.
    #[cfg(test)]
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Returns BLUE's probability.
    #[cfg(test)]
    pub(super) const fn probability(&self) -> f64 {
        self.probability
    }

    /// Tells whether the state of a queue that is empty at `now` need not be kept.
    pub(crate) fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.drop_next
    }
}

/// The steps of BLUE's probability up and down.
const UP: f64 = 1.0 / 256.0;
const DOWN: f64 = 1.0 / 4096.0;
