//! COBALT without a queue: CoDel for those that react, BLUE for those that do not; for any queue.

use crate::codel::control_law;
use crate::{Duration, Stream, Time};

/// What COBALT is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltSettings {
    /// The delay that is good enough.
    pub(crate) target: Duration,
    /// How long the delay may stay above it.
    pub(crate) interval: Duration,
    /// Delays up to this are never too long, whatever `target` says: a few packets on a slow link.
    pub(crate) floor: Duration,
    /// The delay from which BLUE's probability grows even though the queue is not full.
    pub(crate) blue_threshold: Duration,
    /// Whether CoDel's signal marks a packet that can be marked.
    pub(crate) ecn: bool,
}

/// COBALT's state, for one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltCore {
    /// When to signal next; while there is nothing to signal, until when this queue is worth remembering.
    drop_next: Time,
    /// When BLUE's probability last changed.
    blue_changed: Time,
    /// BLUE's probability.
    probability: f64,
    /// How often CoDel signals; it falls as it rose, one by one.
    count: u32,
    dropping: bool,
}

/// What COBALT says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It leaves.
    Pass,
    /// It leaves marked.
    Mark,
    /// CoDel drops it.
    Codel,
    /// BLUE drops it.
    Blue,
}

impl CobaltCore {
    pub(crate) const fn new() -> Self {
        Self { drop_next: Time::ZERO, blue_changed: Time::ZERO, probability: 0.0, count: 0, dropping: false }
    }

    fn law(&self, settings: &CobaltSettings, from: Time) -> Time {
        control_law(from, settings.interval, self.count.max(1))
    }

    /// A packet was lost to the limit: BLUE drops more.
    pub(crate) fn full(&mut self, settings: &CobaltSettings, now: Time) {
        self.raise(settings, now);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The link asked and found nothing: BLUE drops less, and CoDel signals more rarely.
    pub(crate) fn empty(&mut self, settings: &CobaltSettings, now: Time) {
        if self.probability > 0.0 && now.since(self.blue_changed) > settings.target {
            self.probability = (self.probability - DOWN).max(0.0);
            self.blue_changed = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.law(settings, self.drop_next);
        }
    }

    fn raise(&mut self, settings: &CobaltSettings, now: Time) {
        if now.since(self.blue_changed) > settings.target {
            self.probability = (self.probability + UP).min(1.0);
            self.blue_changed = now;
        }
    }

    /// What becomes of a packet that is due to leave and has waited for `waited`; `ecn_capable` says whether it can be
    /// marked.
    pub(crate) fn test(
        &mut self,
        settings: &CobaltSettings,
        now: Time,
        waited: Duration,
        ecn_capable: bool,
        rolls: &mut Stream,
    ) -> Verdict {
        let too_long = waited > settings.target && waited > settings.floor;
        let mut due = self.count > 0 && now >= self.drop_next;
        if !too_long {
            self.dropping = false;
        } else {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.law(settings, now);
            }
            self.count = self.count.max(1);
        }
        let mut verdict = Verdict::Pass;
        if due && self.dropping {
            verdict = if settings.ecn && ecn_capable { Verdict::Mark } else { Verdict::Codel };
            self.count = self.count.saturating_add(1);
            self.drop_next = self.law(settings, self.drop_next);
        } else {
            while due {
                self.count -= 1;
                self.drop_next = self.law(settings, self.drop_next);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if waited > settings.blue_threshold {
            self.raise(settings, now);
        }
        if verdict != Verdict::Codel && self.probability > 0.0 && rolls.chance(self.probability) {
            verdict = Verdict::Blue;
        }
        if self.count == 0 {
            self.drop_next = now + settings.interval;
        } else if now > self.drop_next && matches!(verdict, Verdict::Pass | Verdict::Mark) {
            self.drop_next = now;
        }
        verdict
    }

    /// How often CoDel signals, for tests.
    #[cfg(test)]
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// BLUE's probability, for tests.
    #[cfg(test)]
    pub(super) const fn probability(&self) -> f64 {
        self.probability
    }

    /// Whether nothing is left to remember of a queue that is empty at `now`.
    pub(crate) fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.drop_next
    }
}

/// BLUE's step up, and down.
const UP: f64 = 1.0 / 256.0;
const DOWN: f64 = 1.0 / 4096.0;
