//! Losses and delays of a link behind its transmitter.

use fairlane_qdisc::{Duration, Seed, Stream, Time};

use crate::Loss;

/// The way of packets from the end of their transmission to the far end: loss, delay and jitter.
#[derive(Debug)]
pub struct Propagation {
    loss: Option<LossChain>,
    jitter: Option<Jitter>,
}

impl Propagation {
    /// Returns the way with losses of `loss`, if that is given, and delays of the link's delay ± `jitter`. With
    /// `reorder` packets may overtake each other; otherwise one that would waits for the one before it. Losses and
    /// delays are drawn from `seed`, separately.
    #[must_use]
    pub fn new(loss: Option<Loss>, jitter: Duration, reorder: bool, seed: Seed) -> Self {
        Self {
            loss: loss.map(|model| LossChain::new(model, seed)),
            jitter: (jitter > Duration::ZERO).then(|| Jitter::new(jitter, reorder, seed)),
        }
    }

    /// Changes the losses from the next packet on; without losses at the start nothing is ever lost.
    pub fn set_loss(&mut self, loss: Loss) {
        if let Some(chain) = &mut self.loss {
            chain.model = loss;
        }
    }

    /// Returns the arrival of the next packet, which was `sent` at this time over a link with `delay`; `None` if it is
    /// lost.
    #[inline]
    pub fn arrival(&mut self, sent: Time, delay: Duration) -> Option<Time> {
        let lost = self.loss.as_mut().is_some_and(LossChain::next_is_lost);
        let arrival = match &mut self.jitter {
            Some(jitter) => jitter.arrival(sent, delay),
            None => sent + delay,
        };
        (!lost).then_some(arrival)
    }

    /// Returns true if delays vary.
    #[must_use]
    pub const fn has_jitter(&self) -> bool {
        self.jitter.is_some()
    }
}

/// The loss model of Gilbert (1960) and Elliott (1963): a Markov chain of two states with a loss probability each.
#[derive(Debug)]
struct LossChain {
    model: Loss,
    bad: bool,
    random: Stream,
}

impl LossChain {
    /// Returns the losses of `model`. The first packet meets the good state.
    fn new(model: Loss, seed: Seed) -> Self {
        Self { model, bad: false, random: seed.stream("loss") }
    }

    /// Returns true if the next packet is lost. It always takes two draws, so that the losses of two models with the
    /// same seed can be compared.
    fn next_is_lost(&mut self) -> bool {
        let Loss { to_bad, to_good, in_bad, in_good } = self.model;
        let (lost, change) = if self.bad { (in_bad, to_good) } else { (in_good, to_bad) };
        let lost = self.random.unit() < lost;
        self.bad ^= self.random.unit() < change;
        lost
    }
}

/// Delays that are drawn for each packet, uniform around the link's delay.
#[derive(Debug)]
struct Jitter {
    nanos: u64,
    reorder: bool,
    /// The latest arrival so far.
    last: Time,
    random: Stream,
}

impl Jitter {
    fn new(jitter: Duration, reorder: bool, seed: Seed) -> Self {
        Self { nanos: jitter.as_nanos(), reorder, last: Time::ZERO, random: seed.stream("jitter") }
    }

    /// Returns the arrival of a packet that was sent at `sent` over a link with `delay`.
    fn arrival(&mut self, sent: Time, delay: Duration) -> Time {
        let drawn = (self.random.unit() * (2.0 * self.nanos as f64)) as u64;
        let least = delay.as_nanos().saturating_sub(self.nanos);
        let arrival = sent + Duration::from_nanos(least.saturating_add(drawn));
        if self.reorder {
            return arrival;
        }
        self.last = self.last.max(arrival);
        self.last
    }
}
