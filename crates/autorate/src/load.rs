//! The load of the shaper.

use fairlane_qdisc::{Duration, Time};

/// Measures the load over consecutive intervals.
#[derive(Clone, Debug)]
pub(crate) struct LoadMeter {
    interval: Duration,
    /// The start of the interval and the bytes until then; `None` before the first observation.
    start: Option<(Time, u64)>,
    bits_per_second: f64,
}

impl LoadMeter {
    pub(crate) const fn new(interval: Duration) -> Self {
        Self { interval, start: None, bits_per_second: 0.0 }
    }

    /// Adds the bytes that have passed until `now`; returns true if this completes a measurement.
    pub(crate) fn observe(&mut self, now: Time, bytes: u64) -> bool {
        let Some((since, before)) = self.start else {
            self.start = Some((now, bytes));
            return false;
        };
        let passed = now.since(since);
        if passed < self.interval {
            return false;
        }
        self.bits_per_second = bytes.saturating_sub(before) as f64 * 8.0 / passed.as_secs();
        self.start = Some((now, bytes));
        true
    }

    /// Returns the last measurement, 0 before the first.
    pub(crate) const fn bits_per_second(&self) -> f64 {
        self.bits_per_second
    }
}
