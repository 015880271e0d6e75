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
        let gap = 8e9 * f64::from(bytes) / rate.bits_per_second() as f64;
        Self { gap, random: seed.stream("gaps") }
    }

    pub(crate) fn next(&mut self) -> Duration {
        draw::nanos(draw::exponential(&mut self.random, self.gap))
    }
}
