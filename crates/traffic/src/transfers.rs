//! Transfers of limited size, one after the other.

use fairlane_qdisc::{Duration, Seed, Size, Stream};
use fairlane_scenario::{Sizes, Transfers};

use crate::draw;

/// The largest size of a transfer in segments: the simulator's sequence numbers are limited.
const MAX_SEGMENTS: f64 = 1e9;

/// The sizes of a flow's transfers, and the pauses between them.
#[derive(Debug)]
pub struct TransferSequence {
    config: Transfers,
    /// The mean size in segments.
    mean: f64,
    sizes: Stream,
    thinks: Stream,
}

impl TransferSequence {
    /// Returns the transfers of `config` with segments of `bytes` bytes.
    #[must_use]
    pub fn new(config: &Transfers, bytes: u32, seed: Seed) -> Self {
        let mean = match config.size {
            Size::Packets(packets) => f64::from(packets.get()),
            Size::Bytes(size) => size.get() as f64 / f64::from(bytes),
        };
        Self { config: config.clone(), mean, sizes: seed.stream("size"), thinks: seed.stream("think") }
    }

    /// Returns the size of the next transfer in segments, at least one.
    pub fn next_size(&mut self) -> u32 {
        let random = &mut self.sizes;
        let size = match self.config.sizes {
            Sizes::Fixed => self.mean,
            Sizes::Exponential => draw::exponential(random, self.mean),
            Sizes::Pareto { shape } => draw::pareto(random, self.mean, shape),
            Sizes::Lognormal { sigma } => draw::lognormal(random, self.mean, sigma),
        };
        libm::ceil(size).clamp(1.0, MAX_SEGMENTS) as u32
    }

    /// Returns the pause before the next transfer; `None` if there is no next one.
    pub fn next_pause(&mut self) -> Option<Duration> {
        let think = self.config.think?.as_nanos() as f64;
        Some(draw::nanos(draw::exponential(&mut self.thinks, think)))
    }
}
