//! A Poisson process.

use fairlane_qdisc::{Duration, Rate, Seed, Stream};

use crate::draw;

/// Packets with exponential gaps.
#[derive(Debug)]
pub(crate) struct Poisson {
    /// The mean gap in nanoseconds.
    gap: f64,
    random: Stream,
}

impl Poisson {
    pub(crate) fn new(rate: Rate, bytes: u32, seed: Seed) -> Self {
        Self { gap: mean_gap(rate, bytes), random: seed.stream("gaps") }
    }

    pub(crate) fn set_rate(&mut self, rate: Rate, bytes: u32) {
        self.gap = mean_gap(rate, bytes);
    }

    pub(crate) fn next(&mut self) -> Duration {
        draw::nanos(draw::exponential(&mut self.random, self.gap))
    }
}

/// Returns the mean gap in nanoseconds between packets of `bytes` bytes.
fn mean_gap(rate: Rate, bytes: u32) -> f64 {
    8e9 * f64::from(bytes) / rate.bits_per_second() as f64
}
