//! BARE: buffer management by rate estimation. A flow's packet is dropped with the probability (q/maxth)^beta, where q
//! is what the flow has queued.
//!
//! The more flows are active, the less each may queue: `vth` says how much all may, and each has its part of that. The
//! exponent makes drops nearly periodic for a flow that keeps to its part. It falls for a flow that gets more of the
//! link than its fair rate while the queue is above its target, and recovers otherwise. Where the queue is longer than
//! `fair_drop`, only flows pass that had no packet admitted lately (Fair Drop). With `weighted` a flow counts by the
//! weight of its traffic class.
//!
//! **Source.** J. Cho, D. Cho, "Dynamic buffer management scheme based on rate estimation in packet-switched networks",
//! Computer Networks 39, 2002: the listing in appendix A, weights in section 4.5, K in 3.3.
//!
//! **Deviations.** The listing's faults are mended. At least one flow is assumed, or the empty queue would admit nothing
//! for ever. The bytes counted since the exponent's last change start again, as the comment beside them says. Packets of
//! one moment add size/K to the rate, which is the limit of the formula that divides by their distance. A new flow is
//! dropped where every state belongs to a flow with packets queued. Figure 1 is missing from the copy at hand: `vth` is
//! the continuous function that meets all numbers in the text. A packet that would exceed `limit` is dropped, not only
//! one that finds it reached. States expire at the next arrival.
//!
//! **Cost.** A look-up by address pair an arrival, an exponential a packet admitted, a power where the random number does
//! not decide already, and one division.

mod flows;
mod settings;

use alloc::collections::VecDeque;

use crate::buffer::Buffer;
use crate::{Counters, Fate, Packet, Qdisc, Reason, Seed, Stream, Time};
use flows::Flows;
use settings::Settings;

pub(crate) use settings::{ABOUT, resolve};

/// Buffer management by rate estimation.
#[derive(Debug)]
pub struct Bare<P> {
    settings: Settings,
    buffer: Buffer<P>,
    /// Whose packet stands where in the queue.
    owners: VecDeque<u32>,
    flows: Flows,
    share: Share,
    /// The average of the queue, in bytes.
    average: f64,
    rolls: Stream,
}

/// What is everybody's part. For a flow of weight w it is w times as much.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// The most that may be queued, in bytes.
    queue: f64,
    /// The most that one flow may have queued, in bytes, and one over it.
    flow: f64,
    per_flow: f64,
    /// Where the average queue should be, in bytes.
    target: f64,
    /// One over the fair rate, in seconds per byte.
    per_rate: f64,
}

impl Share {
    /// The shares of `active` flows, or weights of flows.
    fn new(settings: &Settings, active: u64) -> Self {
        let active = active.max(1) as f64;
        let queue = settings.threshold.of(active);
        let flow = queue / active;
        Self {
            queue,
            flow,
            per_flow: 1.0 / flow,
            target: (0.5 * queue).min(settings.target),
            per_rate: active / settings.rate,
        }
    }
}

impl<P: Packet> Bare<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self {
            buffer: Buffer::new(settings.limit),
            owners: VecDeque::new(),
            flows: Flows::new(settings.flows, settings.timeout, seed),
            share: Share::new(&settings, 0),
            average: 0.0,
            rolls: seed.stream("bare"),
            settings,
        }
    }

    /// The weight of `packet`.
    fn weight(&self, packet: &P) -> u32 {
        if self.settings.weighted { crate::weight::weight(packet.class()) } else { 1 }
    }

    /// Why an arrival of the known flow `flow` is dropped, if it is.
    fn test(&mut self, flow: usize, bytes: u32) -> Option<Reason> {
        if self.buffer.fifo.bytes() >= self.settings.fair_drop {
            return Some(Reason::FairDrop);
        }
        self.flows.get_mut(flow).counted += u64::from(bytes);
        self.adapt(flow);
        let roll = self.rolls.unit();
        let state = self.flows.get_mut(flow);
        let part = (state.bytes + u64::from(bytes)) as f64 * self.share.per_flow * state.per_weight();
        is_below_power(roll, part, state.beta).then_some(Reason::Early)
    }

    /// Changes the exponent of `flow` if four of its parts of the queue were counted since the last time.
    fn adapt(&mut self, flow: usize) {
        let Settings { beta_min, beta_max, increase, .. } = self.settings;
        let state = self.flows.get_mut(flow);
        if (state.counted as f64) * state.per_weight() < 4.0 * self.share.flow {
            return;
        }
        state.counted = 0;
        let ratio = state.rate * self.share.per_rate * state.per_weight();
        state.beta = if ratio > 1.0 && self.average > self.share.target {
            (state.beta / ratio).max(beta_min)
        } else {
            (state.beta * increase).min(beta_max)
        };
    }

    /// Queues a packet of `flow`.
    fn admit(&mut self, now: Time, flow: usize, packet: P, fate: &mut impl Fate<P>) {
        let bytes = packet.bytes();
        if self.buffer.admit(now, packet, None, fate) {
            self.flows.queued(now, flow, bytes);
            self.owners.push_back(flow as u32);
            self.account();
        }
    }

    /// Takes the queue into the average, after each change of it.
    fn account(&mut self) {
        let weight = self.settings.weight;
        self.average = (1.0 - weight) * self.average + weight * self.buffer.fifo.bytes() as f64;
    }

    /// Follows a change of the active flows.
    fn divide(&mut self) {
        self.share = Share::new(&self.settings, self.flows.weights());
    }
}

/// Whether `roll` is below `base` to the `exponent`. The power is worked out only where it decides.
fn is_below_power(roll: f64, base: f64, exponent: f64) -> bool {
    if base >= 1.0 {
        return true;
    }
    // The power of a base below 1 is on the base's other side of 1 than the exponent.
    if exponent >= 1.0 && roll >= base {
        return false;
    }
    if exponent <= 1.0 && roll < base {
        return true;
    }
    roll < libm::pow(base, exponent)
}

impl<P: Packet> Qdisc<P> for Bare<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        if self.flows.expire(now) {
            self.divide();
        }
        if self.buffer.fifo.bytes() as f64 >= self.share.queue || self.buffer.overflows(packet.bytes()) {
            return self.buffer.discard(now, packet, Reason::Limit, fate);
        }
        if let Some(flow) = self.flows.find(&packet) {
            if let Some(reason) = self.test(flow, packet.bytes()) {
                return self.buffer.discard(now, packet, reason, fate);
            }
            self.flows.get_mut(flow).measure(now, packet.bytes(), self.settings.per_k);
            return self.admit(now, flow, packet, fate);
        }
        let weight = self.weight(&packet);
        let Some(flow) = self.flows.register(&packet, weight, self.settings.beta) else {
            return self.buffer.discard(now, packet, Reason::Limit, fate);
        };
        self.divide();
        self.admit(now, flow, packet, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.buffer.depart()?;
        if let Some(flow) = self.owners.pop_front() {
            self.flows.left(flow as usize, packet.bytes());
            self.adapt(flow as usize);
        }
        self.account();
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.buffer.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.buffer.fifo.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn average(&self) -> Option<f64> {
        Some(self.average)
    }
}

#[cfg(test)]
mod tests;
