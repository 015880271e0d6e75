//! Self-similar traffic from a Markov chain; see [`scenario::Ssmp`].

use fairlane_qdisc::{Duration, Seed, Stream};
use fairlane_scenario as scenario;

use super::draw;

/// The chain moves once a slot. State 0 is active: it sends with a probability that thins it to the rate that is asked for.
#[derive(Debug)]
pub(crate) struct Ssmp {
    slot: Duration,
    /// Of a packet in a slot of state 0.
    thinning: f64,
    /// For each silent state: the probability to go there from 0 or to one before it, and that to return.
    silent: Vec<(f64, f64)>,
    /// Slots until the chain is in state 0 again.
    ahead: u64,
    chain_random: Stream,
    thinning_random: Stream,
}

impl Ssmp {
    pub(crate) fn new(slot: Duration, probability: f64, chain: &scenario::Ssmp, seed: Seed) -> Self {
        let (q, a) = (chain.q(), chain.a);
        let (mut going, mut total, mut back) = (1.0, 0.0, 1.0);
        let silent = (1..chain.states).map(|_| {
            going /= a;
            total += going;
            back *= q / a;
            (total, back)
        });
        let mut ssmp = Self {
            slot,
            thinning: probability / chain.activity(),
            silent: silent.collect(),
            ahead: 0,
            chain_random: seed.stream("chain"),
            thinning_random: seed.stream("thinning"),
        };
        ssmp.ahead = ssmp.settle(chain);
        ssmp
    }

    /// Draws the first state from the stationary law, in which state i has q^−i times the part of state 0: the slots until
    /// the chain is there.
    fn settle(&mut self, chain: &scenario::Ssmp) -> u64 {
        let mut rest = self.chain_random.unit();
        let mut part = chain.activity();
        if rest < part {
            return 0;
        }
        for index in 0..self.silent.len() {
            rest -= part;
            part /= chain.q();
            if rest < part || index + 1 == self.silent.len() {
                return draw::geometric(&mut self.chain_random, self.silent[index].1);
            }
        }
        0
    }

    /// Slots from one of state 0 to the next: 1 if the chain stays there.
    fn step(&mut self) -> u64 {
        let draw = self.chain_random.unit();
        let state = self.silent.iter().find(|(below, _)| draw < *below);
        match state {
            Some(&(_, back)) => draw::geometric(&mut self.chain_random, back).saturating_add(1),
            None => 1,
        }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let mut slots = 0_u64;
        loop {
            slots = slots.saturating_add(self.ahead);
            self.ahead = self.step();
            if self.thinning_random.chance(self.thinning) {
                return draw::slots(self.slot, slots);
            }
        }
    }
}
