//! Self-similar traffic from a Markov chain (SSMP); see [`scenario::Ssmp`].

use fairlane_qdisc::{Duration, Seed, Stream};
use fairlane_scenario as scenario;

use crate::draw;

/// The chain makes one transition per slot. State 0 is active: it sends with a probability that reduces the rate to the
/// one in the configuration. The other states are silent.
#[derive(Debug)]
pub(crate) struct Ssmp {
    slot: Duration,
    /// The probability of a packet in a slot of state 0.
    thinning: f64,
    /// For each silent state, the probability of going from state 0 to it or to a silent state before it, and the
    /// probability of returning from it.
    silent: Vec<(f64, f64)>,
    /// The number of slots until the chain is in state 0 again.
    until_active: u64,
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
            until_active: 0,
            chain_random: seed.stream("chain"),
            thinning_random: seed.stream("thinning"),
        };
        ssmp.until_active = ssmp.draw_initial(chain);
        ssmp
    }

    /// Draws the first state from the stationary distribution, in which state i has q^−i times the probability of state
    /// 0. Returns the number of slots until the chain is in state 0.
    fn draw_initial(&mut self, chain: &scenario::Ssmp) -> u64 {
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

    /// Draws the number of slots from one visit of state 0 to the next: 1 if the chain stays there.
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
            slots = slots.saturating_add(self.until_active);
            self.until_active = self.step();
            if self.thinning_random.chance(self.thinning) {
                return draw::slots(self.slot, slots);
            }
        }
    }
}
