//! BARE: buffer management by rate estimation. Drops a flow's packet with the probability (q/maxth)^beta, where q is
//! what the flow has queued and maxth is its share of what all flows may queue.
//!
//! The more flows are active, the less each may queue: the virtual threshold `vth` gives what all together may queue,
//! and each flow has its share of that. The exponent makes drops nearly periodic for a flow that keeps to its share. It
//! falls for a flow whose rate is above its fair rate while the average queue is above its target, and recovers
//! otherwise. Where the queue is longer than `fair_drop`, only flows without state pass, which had no packet admitted
//! lately (Fair Drop). With `weighted` a flow counts as many flows as the weight of its traffic class. With
//! `queue_weight` the exponent follows the flow's average queue, compared with its part of the average, in place of its
//! rate.
//!
//! **Source.** J. Cho, D. Cho, "Dynamic buffer management scheme based on rate estimation in packet-switched networks",
//! Computer Networks 39, 2002: the listing in appendix A, weights in section 4.5, K in section 3.3,
//! average queues in place of rates in section 3.1 (equation 5).
//!
//! **Deviations.** Errors of the listing are corrected. At least one flow is assumed, or the empty queue would never
//! admit a packet. The count of bytes since the exponent's last change is reset at each change, as the listing's
//! comment on it says but its code does not do. Packets that arrive at the same time add size/K to the rate, which is
//! the limit of the formula that divides by the time between them. A new flow is dropped if every state belongs to a
//! flow with packets queued; the paper holds that to be impossible. Figure 1 with `vth` could not be read: `vth` is the
//! continuous function that meets all numbers in the text. A packet that would exceed `limit` is dropped, not only one
//! that finds it reached. States expire at the next arrival. For
//! equation 5 the paper names no constant and leaves the change of the listing to the reader: a flow's average is
//! sampled where its rate would be, when a packet is admitted, and counts that packet.
//!
//! **Cost.** A look-up by address pair an arrival; an exponential a packet admitted; a power where the random number
//! alone does not decide; one division.

pub(crate) mod config;
mod flows;

use alloc::collections::VecDeque;

use crate::discipline::red::power;
use crate::queue::buffer::Buffer;
use crate::{Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Status, Stream, Time};
pub use config::Config;
use config::VirtualThreshold;
use flows::ActiveFlows;

/// Buffer management by rate estimation.
#[derive(Debug)]
pub struct Bare<P> {
    config: Config,
    buffer: Buffer<P>,
    /// The flow of each packet in the queue, in the same order.
    owners: VecDeque<u32>,
    flows: ActiveFlows,
    shares: Shares,
    fair_share: FairShare,
    /// The queue from which only flows without state are admitted, in bytes.
    fair_drop: u64,
    /// One over the averaging time (K), per second.
    per_k: f64,
    /// The average queue, in bytes.
    average: f64,
    rolls: Stream,
}

/// The resources that are divided among the flows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shares {
    threshold: VirtualThreshold,
    /// The most at which the average queue is aimed, in bytes (maxtargetq).
    target: f64,
    /// The rate in bytes per second; `None` while it is not known.
    rate: Option<f64>,
}

/// The share of a flow of weight 1; a flow of weight w has w times as much.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FairShare {
    /// The most that all flows together may queue, in bytes (vmaxq).
    queue: f64,
    /// The most that one flow may queue, in bytes (maxth), and one over it.
    flow: f64,
    per_flow: f64,
    /// The average queue to aim at, in bytes (targetq).
    target: f64,
    /// One over the fair rate, in seconds per byte; 0 while the link's rate is not known.
    per_rate: f64,
}

impl Shares {
    /// Returns the share of each of `active` flows, or of each unit of a sum of `active` weights.
    fn among(&self, active: u64) -> FairShare {
        let active = active.max(1) as f64;
        let queue = self.threshold.of(active);
        let flow = queue / active;
        FairShare {
            queue,
            flow,
            per_flow: 1.0 / flow,
            target: (0.5 * queue).min(self.target),
            per_rate: self.rate.map_or(0.0, |rate| active / rate),
        }
    }
}

impl<P: Packet> Bare<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, `n1` is above `n2`, or `beta` is not between `beta_min` and `beta_max`.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let shares = Shares {
            threshold: VirtualThreshold::new(&config),
            target: config.in_bytes(config.target) as f64,
            rate: None,
        };
        let (k, timeout) = config.times(None);
        let mut queue = Self {
            buffer: Buffer::new(config.limit),
            owners: VecDeque::new(),
            flows: ActiveFlows::new(config.flows, timeout, seed),
            shares,
            fair_share: shares.among(0),
            fair_drop: config.in_bytes(config.fair_drop),
            per_k: 1.0 / k.as_secs(),
            average: 0.0,
            rolls: seed.stream("bare"),
            config,
        };
        if let Some(rate) = config.bandwidth {
            queue.set_rate(rate);
        }
        Ok(queue)
    }

    /// Sets the rate that is divided among the flows; a rate of 0 means that it is not known.
    fn set_rate(&mut self, rate: Rate) {
        let rate = (rate.bits_per_second() > 0).then_some(rate);
        let (k, timeout) = self.config.times(rate);
        self.per_k = 1.0 / k.as_secs();
        self.flows.set_timeout(timeout);
        self.shares.rate = rate.map(|rate| rate.bits_per_second() as f64 / 8.0);
        self.update_shares();
    }

    /// Returns the weight of `packet`.
    fn weight(&self, packet: &P) -> u32 {
        if self.config.weighted { crate::flow::weight::weight(packet.class()) } else { 1 }
    }

    /// Returns the reason to drop an arrival of `flow`, which has state, or `None` if it is admitted.
    fn test(&mut self, flow: usize, bytes: u32) -> Option<Reason> {
        if self.buffer.fifo.bytes() >= self.fair_drop {
            return Some(Reason::FairDrop);
        }
        self.flows.get_mut(flow).counted += u64::from(bytes);
        self.adapt(flow);
        let roll = self.rolls.unit();
        let state = self.flows.get_mut(flow);
        let part = (state.bytes + u64::from(bytes)) as f64 * self.fair_share.per_flow * state.per_weight;
        is_below_power(roll, part, state.beta).then_some(Reason::Early)
    }

    /// Changes the exponent of `flow` if at least four times its share of the queue was counted since the last change.
    fn adapt(&mut self, flow: usize) {
        let Config { beta_min, beta_max, increase, .. } = self.config;
        let per_share = self.per_share();
        let state = self.flows.get_mut(flow);
        if (state.counted as f64) * state.per_weight < 4.0 * self.fair_share.flow {
            return;
        }
        state.counted = 0;
        let ratio = state.estimate * per_share * state.per_weight;
        state.beta = if ratio > 1.0 && self.average > self.fair_share.target {
            (state.beta / ratio).max(beta_min)
        } else {
            (state.beta * increase).min(beta_max)
        };
    }

    /// Returns one over what a flow of weight 1 should get, in the unit of the flows' estimates; 0 while that is not
    /// known.
    fn per_share(&self) -> f64 {
        match self.config.queue_weight {
            Some(_) if self.average > 0.0 => self.flows.weights() as f64 / self.average,
            Some(_) => 0.0,
            None => self.fair_share.per_rate,
        }
    }

    /// Queues a packet of `flow`.
    fn admit(&mut self, now: Time, flow: usize, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let bytes = packet.bytes();
        let fate = self.buffer.admit(now, packet, None, sink);
        if !fate.is_dropped() {
            self.flows.queued(now, flow, bytes);
            self.owners.push_back(flow as u32);
            self.update_average();
        }
        fate
    }

    /// Takes a sample of the queue into the average, after each change of the queue.
    fn update_average(&mut self) {
        let weight = self.config.weight;
        self.average = (1.0 - weight) * self.average + weight * self.buffer.fifo.bytes() as f64;
    }

    /// Recalculates the fair share after a change of the active flows or of the rate.
    fn update_shares(&mut self) {
        self.fair_share = self.shares.among(self.flows.weights());
    }
}

/// Tells whether `roll` is below `base` to the `exponent`. The power is calculated only where it decides.
fn is_below_power(roll: f64, base: f64, exponent: f64) -> bool {
    if base >= 1.0 {
        return true;
    }
    // The power lies between those with the next whole exponents. They are rounded at each of at most twenty products,
    // and the margin is far wider than that.
    let whole = exponent as u64;
    let above = power(base, whole);
    if roll >= above * (1.0 + MARGIN) + f64::MIN_POSITIVE {
        return false;
    }
    if roll < above * base * (1.0 - MARGIN) - f64::MIN_POSITIVE {
        return true;
    }
    roll < libm::pow(base, exponent)
}

/// The part of a power by which its rounded value may be wrong, with room to spare.
const MARGIN: f64 = 1e-9;

impl<P: Packet> Qdisc<P> for Bare<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        if self.flows.expire(now) {
            self.update_shares();
        }
        if self.buffer.fifo.bytes() as f64 >= self.fair_share.queue || self.buffer.overflows(packet.bytes()) {
            return self.buffer.discard(now, packet, Reason::Limit, sink);
        }
        if let Some(flow) = self.flows.find(&packet) {
            if let Some(reason) = self.test(flow, packet.bytes()) {
                return self.buffer.discard(now, packet, reason, sink);
            }
            let state = self.flows.get_mut(flow);
            match self.config.queue_weight {
                Some(weight) => state.sample(packet.bytes(), weight),
                None => state.measure(now, packet.bytes(), self.per_k),
            }
            return self.admit(now, flow, packet, sink);
        }
        let weight = self.weight(&packet);
        let Some(flow) = self.flows.register(&packet, weight, self.config.beta) else {
            return self.buffer.discard(now, packet, Reason::Limit, sink);
        };
        self.update_shares();
        self.admit(now, flow, packet, sink)
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = self.buffer.depart()?;
        if let Some(flow) = self.owners.pop_front() {
            self.flows.dequeued(flow as usize, packet.bytes());
            self.adapt(flow as usize);
        }
        self.update_average();
        Some(packet)
    }

    fn status(&self) -> Status {
        Status { average: Some(self.average), flows: Some(self.flows.len()), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        if self.config.bandwidth.is_none() {
            self.set_rate(rate);
        }
    }
}

#[cfg(test)]
mod tests;
