//! Time that passes on the wall.

use std::time::Instant;

/// A running stopwatch.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[expect(clippy::disallowed_methods, reason = "time on the wall is for people who watch, never for results")]
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Returns the seconds since the start.
    #[must_use]
    pub fn elapsed_s(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
