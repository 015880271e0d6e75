//! Constant bit rate.

use fairlane_qdisc::{Duration, Rate, Seed, Stream};

use crate::draw::part;
use crate::transmitter::Transmitter;

/// Packets at equal intervals, or at intervals drawn uniformly around their mean.
#[derive(Debug)]
pub(crate) struct Cbr {
    transmitter: Transmitter,
    bytes: u32,
    jitter: f64,
    random: Stream,
}

impl Cbr {
    pub(crate) fn new(rate: Rate, bytes: u32, jitter: f64, seed: Seed) -> Self {
        Self { transmitter: Transmitter::new(rate), bytes, jitter, random: seed.stream("jitter") }
    }

    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.transmitter = Transmitter::new(rate);
    }

    /// Returns a time drawn uniformly from the first interval.
    pub(crate) fn phase(&self, random: &mut Stream) -> Duration {
        part(self.transmitter.rate().transmission(u64::from(self.bytes)), random.unit())
    }

    pub(crate) fn next(&mut self) -> Duration {
        let interval = self.transmitter.next(self.bytes);
        if self.jitter == 0.0 {
            return interval;
        }
        part(interval, 1.0 + self.jitter * (2.0 * self.random.unit() - 1.0))
    }
}
