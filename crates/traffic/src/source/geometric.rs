//! Bernoulli arrivals: a packet in each slot with the same probability.

use fairlane_qdisc::{Duration, Seed, Stream};

use crate::draw;

/// Gaps of a geometric number of slots. The first slot begins when the flow starts.
#[derive(Debug)]
pub(crate) struct Geometric {
    slot: Duration,
    probability: f64,
    random: Stream,
}

impl Geometric {
    pub(crate) fn new(slot: Duration, probability: f64, seed: Seed) -> Self {
        Self { slot, probability, random: seed.stream("slots") }
    }

    pub(crate) fn next(&mut self) -> Duration {
        draw::slots(self.slot, draw::geometric(&mut self.random, self.probability))
    }
}
