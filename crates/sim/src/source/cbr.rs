//! A constant rate.

use fairlane_qdisc::{Duration, Rate, Seed, Stream};

use super::draw::part;
use crate::link::Transmitter;

/// Packets at equal intervals, or at intervals that are uniform around their mean.
#[derive(Debug)]
pub(crate) struct Cbr {
    pace: Transmitter,
    bytes: u32,
    jitter: f64,
    random: Stream,
}

impl Cbr {
    pub(crate) fn new(rate: Rate, bytes: u32, jitter: f64, seed: Seed) -> Self {
        Self { pace: Transmitter::new(rate), bytes, jitter, random: seed.stream("jitter") }
    }

    /// A moment of the first interval.
    pub(crate) fn phase(&self, random: &mut Stream) -> Duration {
        part(self.pace.rate().transmission(u64::from(self.bytes)), random.unit())
    }

    pub(crate) fn next(&mut self) -> Duration {
        let interval = self.pace.next(self.bytes);
        if self.jitter == 0.0 {
            return interval;
        }
        part(interval, 1.0 + self.jitter * (2.0 * self.random.unit() - 1.0))
    }
}
