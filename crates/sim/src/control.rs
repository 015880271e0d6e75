//! Progress and cancellation of runs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Lets another thread follow and stop a set of runs.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    finished: AtomicU64,
    pub(crate) clock: Option<fn() -> f64>,
}

impl Control {
    /// Returns a control whose runs report their CPU time, as read from `clock` (in seconds) on the thread of each run.
    ///
    /// The simulator itself reads no clock.
    #[must_use]
    pub fn with_clock(clock: fn() -> f64) -> Self {
        Self { clock: Some(clock), ..Self::default() }
    }

    /// Asks all runs to stop: those in progress end as partial runs, and no other run begins.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns true after [`stop`](Self::stop).
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts a finished run. [`run_all`](crate::run_all) and [`run_all_observed`](crate::run_all_observed) do so
    /// themselves.
    pub fn finish_one(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of finished runs.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }
}
