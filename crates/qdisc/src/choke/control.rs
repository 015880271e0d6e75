//! SAC's control: more candidates while unresponsive flows have too much of the queue, fewer while they hardly match.

use crate::{Duration, Time};

/// What the control is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ControlSettings {
    /// How often it acts.
    pub(crate) interval: Duration,
    /// The part of the queue that unresponsive flows may have.
    pub(crate) share: f64,
    /// The part of compared arrivals that must match for the candidates not to become fewer.
    pub(crate) hit_ratio: f64,
    /// The most candidates.
    pub(crate) most: u32,
}

/// The control as it stands.
#[derive(Debug)]
pub(super) struct Control {
    settings: ControlSettings,
    candidates: u32,
    acted: Time,
    /// Arrivals compared since then, and how many of them matched.
    compared: u32,
    matched: u32,
    /// Unresponsive packets queued.
    unresponsive: usize,
}

impl Control {
    pub(super) const fn new(settings: ControlSettings) -> Self {
        Self { settings, candidates: 1, acted: Time::ZERO, compared: 0, matched: 0, unresponsive: 0 }
    }

    pub(super) const fn most(&self) -> u32 {
        self.settings.most
    }

    pub(super) const fn candidates(&self) -> u32 {
        self.candidates
    }

    /// Acts if it is time to: an arrival finds `queued` packets.
    pub(super) fn act(&mut self, now: Time, queued: usize) {
        if now.since(self.acted) < self.settings.interval {
            return;
        }
        self.acted = now;
        let ControlSettings { share, hit_ratio, most, .. } = self.settings;
        let fewer = f64::from(self.matched) < hit_ratio * f64::from(self.compared);
        if self.unresponsive as f64 > share * queued as f64 && self.candidates < most {
            self.candidates += 1;
        }
        if fewer && self.candidates > 1 {
            self.candidates -= 1;
        }
        (self.compared, self.matched) = (0, 0);
    }

    /// An arrival was compared.
    pub(super) fn compared(&mut self, matched: bool) {
        self.compared = self.compared.saturating_add(1);
        self.matched = self.matched.saturating_add(u32::from(matched));
    }

    /// A packet was queued.
    pub(super) fn queued(&mut self, responsive: bool) {
        self.unresponsive += usize::from(!responsive);
    }

    /// A queued packet is leaving.
    pub(super) fn left(&mut self, responsive: bool) {
        // A host whose packets change their mind must not bring the count below nothing.
        self.unresponsive = self.unresponsive.saturating_sub(usize::from(!responsive));
    }
}
