//! Flow RED: RED with an account of each flow's part of the queue; flows that hold nothing are forgotten.
//!
//! A flow may always queue a few packets, so that others do not hurt one with a small window. Only flows that hold at
//! least as much as the average flow are tested at random. A flow that tries to hold more than its bound collects
//! strikes, and with more than one strike it is held to the average flow's share for as long as it has packets queued.
//!
//! **Source.** Lin, Morris, "Dynamics of Random Early Detection", SIGCOMM 1997, section 4 and the listing in its
//! figure 8; J-Sim's `FRED` for the blocks that the listing names A, B and C.
//!
//! **Deviations.** The sample at the arrival of a packet counts that packet: by the letter of the listing, an arrival
//! at the empty queue would let the average decay twice for the same idle time. An arrival that is dropped at an empty
//! queue leaves the rest of the idle time to the next one. `max` defaults to twice `min` and `min` to a quarter of
//! `limit`, since the round-trip time is not known. A signal can mark (RFC 3168); strikes always drop.
//!
//! **Cost.** A look-up of the flow on arrival and one on departure; between the thresholds a random number for flows
//! that hold their share. One division when an idle time ends.

use alloc::format;
use alloc::vec::Vec;

use crate::discipline::red::{self, power};
use crate::error::check;
use crate::flow::table::FlowTable;
use crate::queue::buffer::Buffer;
use crate::{
    Bytes, Counters, DropSink, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status, Stream,
    Time,
};

/// The configuration of [`Fred`].
///
/// `min`, `max` and `minq` have the same unit. Bytes make the average and what a flow holds sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The average below which no packet is signalled (min_th), in packets or bytes; also the most that a flow may hold
    /// while the average is below `max`. Default: 75 packets, a quarter of `limit` as in the paper.
    pub min: Size,
    /// The average from which every packet is signalled (max_th), not below `min`. Default: 150 packets, twice `min` as
    /// in the paper.
    pub max: Size,
    /// The base probability of a signal as the average reaches `max` (max_p), above 0 and at most 1. Default: 0.02, the
    /// paper.
    pub probability: f64,
    /// The weight of a sample in the average (w_q), above 0 and at most 1. Default: 0.002, the paper.
    pub weight: f64,
    /// The part of the queue that a flow may hold without being tested at random. Default: 4 packets, the paper's value
    /// for large buffers; for small ones it has 2.
    pub minq: Size,
    /// Lets each flow queue two packets while the average is at or above `max`, instead of none (the paper's section on
    /// support of many flows). Default: `false`.
    pub many_flows: bool,
    /// The mean packet: the unit of the idle clock and of `byte_drop`. Default: 1000 bytes.
    pub avpkt: Bytes,
    /// The rate at which the average's clock ticks while the link is idle. Default: `None`, the link's rate
    /// ([`Qdisc::link_rate`]); as long as that is not known, idle time leaves the average alone.
    pub bandwidth: Option<Rate>,
    /// Makes early signals proportional to the packet's size over `avpkt`. Default: `false`.
    pub byte_drop: bool,
    /// Marks packets that can be marked instead of dropping them, for early and forced signals. Default: `false`.
    pub ecn: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            min: Size::packets(75),
            max: Size::packets(150),
            probability: 0.02,
            weight: 0.002,
            minq: Size::packets(4),
            many_flows: false,
            avpkt: Bytes::new(1000),
            bandwidth: None,
            byte_drop: false,
            ecn: false,
        }
    }
}

impl Config {
    /// Checks every value, and the thresholds against each other.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let Self { min, max, probability, weight, avpkt, bandwidth, minq, .. } = *self;
        check::size("limit", self.limit)?;
        red::RedParameters { min, max, probability, weight, avpkt, bandwidth, ..red::RedParameters::default() }
            .validate()?;
        check::size("minq", minq)?;
        if !minq.has_unit_of(min) {
            let message = format!("it is {minq} and min is {min}: both must be packets or both bytes");
            return Err(ParameterError::new("minq", message));
        }
        Ok(())
    }
}

/// The state of a flow that has packets queued.
#[derive(Clone, Copy, Debug, Default)]
struct HeldFlow {
    /// The part of the queue that it holds, in the average's unit.
    held: u64,
    /// The number of times that it tried to hold too much.
    strikes: u32,
}

/// The decision on an arrival.
enum FredDecision {
    Pass,
    /// Drop it and count a strike: the flow holds too much.
    Strike,
    /// Mark or drop it.
    Signal(Reason),
}

/// Flow RED over a FIFO.
#[derive(Debug)]
pub struct Fred<P> {
    config: Config,
    /// The thresholds, in packets or bytes.
    min: f64,
    max: f64,
    minq: f64,
    in_bytes: bool,
    buffer: Buffer<P>,
    numbers: FlowTable,
    /// Indexed by the flows' numbers.
    flows: Vec<HeldFlow>,
    average: f64,
    /// The flows that held packets when the average was last updated, at least 1: the average is shared among them.
    sharing: f64,
    /// The start of the idle time that the average does not reflect yet.
    idle_since: Option<Time>,
    /// Packets since the last random signal, -1 below `min`; with `byte_drop` their bytes over the mean packet's.
    count: f64,
    slope: f64,
    per_avpkt: f64,
    /// The time that the link takes for a mean packet, in nanoseconds; `None` while its rate is not known.
    slot: Option<u64>,
    rolls: Stream,
}

impl<P: Packet> Fred<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, `min` is above `max`, or the units of `min`, `max` and `minq` differ.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        // Sizes stay below 2^53.
        let (min, max) = (config.min.number() as f64, config.max.number() as f64);
        let mut queue = Self {
            min,
            max,
            minq: config.minq.number() as f64,
            in_bytes: matches!(config.min, Size::Bytes(_)),
            buffer: Buffer::new(config.limit),
            numbers: FlowTable::new(seed),
            flows: Vec::new(),
            average: 0.0,
            sharing: 1.0,
            idle_since: None,
            count: if config.byte_drop { 0.0 } else { -1.0 },
            // Where the thresholds are equal the curve is a step and no average lies on the slope.
            slope: if max > min { config.probability / (max - min) } else { 0.0 },
            per_avpkt: 1.0 / config.avpkt.get() as f64,
            slot: None,
            rolls: seed.stream("red"),
            config,
        };
        if let Some(rate) = config.bandwidth {
            queue.tick_at(rate);
        }
        Ok(queue)
    }

    /// Lets the idle clock tick at `rate`; a rate of 0 stops it.
    fn tick_at(&mut self, rate: Rate) {
        let slot = || rate.transmission(self.config.avpkt.get()).as_nanos().max(1);
        self.slot = (rate.bits_per_second() > 0).then(slot);
    }

    /// Returns the queue length, in the average's unit.
    fn backlog(&self) -> f64 {
        if self.in_bytes { self.buffer.fifo.bytes() as f64 } else { self.buffer.fifo.packets() as f64 }
    }

    /// Returns the size of `count` mean packets, in the average's unit.
    fn packets_worth(&self, count: f64) -> f64 {
        if self.in_bytes { count * self.config.avpkt.get() as f64 } else { count }
    }

    /// Lets the average decay for the idle time until `now`.
    fn decay(&mut self, now: Time) {
        let (Some(since), Some(slot)) = (self.idle_since, self.slot) else { return };
        let slots = now.since(since).as_nanos() / slot;
        self.average *= power(1.0 - self.config.weight, slots);
        self.count_sharing();
        self.idle_since = Some(Time::from_nanos(since.as_nanos() + slots * slot));
    }

    /// Takes a sample of the queue into the average.
    fn sample(&mut self) {
        self.average = (1.0 - self.config.weight) * self.average + self.config.weight * self.backlog();
        self.count_sharing();
    }

    /// Counts the flows among which the average is shared.
    fn count_sharing(&mut self) {
        self.sharing = self.numbers.flows().max(1) as f64;
    }

    /// Returns the state of the flow of `key`.
    fn flow(&self, key: FlowKey) -> HeldFlow {
        self.numbers.get(key).map_or(HeldFlow::default(), |number| self.flows[number])
    }

    /// Decides on an arrival of `bytes` bytes of `flow`.
    fn judge(&mut self, flow: HeldFlow, bytes: u32) -> FredDecision {
        let Config { many_flows, byte_drop, .. } = self.config;
        let Self { min, max, minq, .. } = *self;
        let held = flow.held as f64;
        // The average flow holds the average divided by the flows, but at least a packet. Multiplying by the flows
        // saves the division.
        let (least, share) = (self.packets_worth(1.0), held * self.sharing);
        let crowded = self.average >= max;
        let bound = if crowded { self.packets_worth(2.0) } else { min };
        let holds_average = held >= least && share >= self.average;
        let holds_twice = held > 2.0 * least && share > 2.0 * self.average;
        if held >= bound || (crowded && holds_twice) || (holds_average && flow.strikes > 1) {
            return FredDecision::Strike;
        }
        if self.average < min {
            // As in RED, the first packet above `min` is number 0.
            self.count = if byte_drop { 0.0 } else { -1.0 };
            return FredDecision::Pass;
        }
        if crowded {
            self.count = 0.0;
            return if many_flows { FredDecision::Pass } else { FredDecision::Signal(Reason::Forced) };
        }
        let size = f64::from(bytes) * self.per_avpkt;
        self.count += if byte_drop { size } else { 1.0 };
        if holds_average && held >= minq && self.roll(size) {
            self.count = 0.0;
            return FredDecision::Signal(Reason::Early);
        }
        FredDecision::Pass
    }

    /// Rolls for a packet of `size` mean packets as RED does, with gaps uniform on 1..1/p_b-1; tells whether it is
    /// signalled.
    fn roll(&mut self, size: f64) -> bool {
        let base = self.slope * (self.average - self.min);
        let room = 1.0 - base * self.count;
        let roll = self.rolls.unit();
        base >= room || roll * room < if self.config.byte_drop { base * size } else { base }
    }

    /// Notes that a packet of `flow` of `bytes` bytes was queued.
    fn join(&mut self, flow: FlowKey, bytes: u32) {
        let size = if self.in_bytes { u64::from(bytes) } else { 1 };
        let (number, new) = self.numbers.insert(flow);
        if number == self.flows.len() {
            self.flows.push(HeldFlow::default());
        } else if new {
            self.flows[number] = HeldFlow::default();
        }
        self.flows[number].held += size;
        self.idle_since = None;
        self.sample();
    }

    /// Notes that a packet of `flow` of `bytes` bytes left at `now`. A flow that holds nothing is forgotten.
    fn leave(&mut self, now: Time, flow: FlowKey, bytes: u32) {
        let size = if self.in_bytes { u64::from(bytes) } else { 1 };
        self.sample();
        if self.buffer.fifo.packets() == 0 {
            self.idle_since = Some(now);
        }
        let Some(number) = self.numbers.get(flow) else { return };
        self.flows[number].held -= size;
        if self.flows[number].held == 0 {
            self.numbers.remove(flow);
        }
    }
}

impl<P: Packet> Qdisc<P> for Fred<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        self.decay(now);
        let (key, bytes) = (packet.flow(), packet.bytes());
        let mark = match self.judge(self.flow(key), bytes) {
            FredDecision::Pass => None,
            FredDecision::Strike => {
                if let Some(number) = self.numbers.get(key) {
                    self.flows[number].strikes = self.flows[number].strikes.saturating_add(1);
                }
                return self.buffer.discard(now, packet, Reason::RatePenalty, sink);
            }
            FredDecision::Signal(reason) if self.config.ecn && packet.ecn_capable() => Some(reason),
            FredDecision::Signal(reason) => return self.buffer.discard(now, packet, reason, sink),
        };
        let fate = self.buffer.admit(now, packet, mark, sink);
        if !fate.is_dropped() {
            self.join(key, bytes);
        }
        fate
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = self.buffer.depart()?;
        self.leave(now, packet.flow(), packet.bytes());
        Some(packet)
    }

    fn status(&self) -> Status {
        Status { average: Some(self.average), flows: Some(self.numbers.flows()), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        if self.config.bandwidth.is_none() {
            self.tick_at(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::{Duration, SimplePacket};

    /// Min 5 and max 10 packets of 1000 bytes at 1 Mbit/s.
    const SETTINGS: Config = Config {
        limit: Size::packets(30),
        min: Size::packets(5),
        max: Size::packets(10),
        probability: 0.02,
        weight: 0.2,
        minq: Size::packets(2),
        many_flows: false,
        avpkt: Bytes::new(1000),
        bandwidth: Some(Rate::from_bits_per_second(1_000_000)),
        byte_drop: false,
        ecn: false,
    };

    fn fred(config: Config) -> Fred<SimplePacket> {
        Fred::new(config, Seed::new(1)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Would catch a range or contradiction that the constructor does not check.
    #[test]
    fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
        for (config, key) in [
            (Config { min: Size::packets(11), ..SETTINGS }, "min"),
            (Config { max: Size::bytes(10), ..SETTINGS }, "max"),
            (Config { minq: Size::bytes(10), ..SETTINGS }, "minq"),
            (Config { weight: 0.0, ..SETTINGS }, "weight"),
        ] {
            let refused = Fred::<SimplePacket>::new(config, Seed::new(1));
            assert!(refused.is_err_and(|error| error.key() == key), "{key}");
        }
        Ok(())
    }

    /// Would catch a flow's count that drifts from its queued packets, and a flow that is kept although it holds
    /// nothing.
    #[test]
    fn what_flows_hold_is_the_queue() {
        for in_bytes in [false, true] {
            let size = |packets: u32| {
                if in_bytes { Size::bytes(1000 * u64::from(packets)) } else { Size::packets(packets) }
            };
            let mut queue = fred(Config { min: size(5), max: size(10), minq: size(2), ..SETTINGS });
            let mut script = Seed::new(2).stream("script");
            let mut now = Time::ZERO;
            let mut held: BTreeMap<u64, u64> = BTreeMap::new();
            for _ in 0..50_000 {
                now += Duration::from_nanos(u64::from(script.below(9_000_000)));
                let packet = SimplePacket::new(u64::from(script.below(6)), 200 + script.below(1800));
                let size = |packet: &SimplePacket| if in_bytes { u64::from(packet.bytes) } else { 1 };
                if script.below(5) < 3 {
                    let before = queue.packets();
                    queue.enqueue(now, packet, &mut ());
                    if queue.packets() > before {
                        *held.entry(packet.flow).or_default() += size(&packet);
                    }
                } else if let Some(packet) = queue.dequeue(now, &mut ()) {
                    held.entry(packet.flow).and_modify(|left| *left -= size(&packet));
                    held.retain(|_, left| *left > 0);
                }
                assert_eq!(held.values().sum::<u64>() as f64, queue.backlog());
                assert_eq!(queue.status().flows, Some(held.len()));
                for (&flow, &queued) in &held {
                    assert_eq!(queue.flow(FlowKey::new(flow)).held, queued);
                }
            }
            while queue.dequeue(now, &mut ()).is_some() {}
            assert_eq!(queue.numbers.flows(), 0);
        }
    }

    /// Would catch idle time that counts twice or not at all: an arrival that is dropped at the empty queue accounts
    /// for the whole slots that have passed, and the next one for the rest.
    #[test]
    fn idle_time_counts_once() {
        let mut queue = fred(SETTINGS);
        queue.average = 40.0;
        queue.idle_since = Some(Time::ZERO);
        queue.enqueue(Time::from_nanos(20_000_000), SimplePacket::new(1, 1000), &mut ());
        // Two and a half slots have passed: two count.
        assert!((queue.average - 40.0 * 0.8 * 0.8).abs() < 1e-12, "{}", queue.average);
        queue.enqueue(Time::from_nanos(24_000_000), SimplePacket::new(1, 1000), &mut ());
        assert!((queue.average - 40.0 * 0.8 * 0.8 * 0.8).abs() < 1e-12, "{}", queue.average);
        assert_eq!(queue.counters().dropped(Reason::Forced).packets, 2);
    }

    /// Section 4's support of many flows. Would catch a flow that queues more or less than two packets while the
    /// average is above `max`.
    #[test]
    fn many_flows_have_two_packets_each() {
        for (many_flows, admitted) in [(false, 0), (true, 2)] {
            let mut queue = fred(Config { many_flows, weight: 1e-9, ..SETTINGS });
            for flow in 0..4 {
                for _ in 0..5 {
                    queue.average = 11.0;
                    queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
                }
                assert_eq!(queue.flow(FlowKey::new(flow)).held, admitted);
            }
        }
    }

    /// Would catch an idle time that ages the average at a rate that is not known, or at the rate before a change.
    #[test]
    fn the_idle_clock_follows_the_link() {
        let mut queue = fred(Config { bandwidth: None, ..SETTINGS });
        queue.average = 40.0;
        queue.idle_since = Some(Time::ZERO);
        queue.enqueue(Time::from_nanos(20_000_000), SimplePacket::new(1, 1000), &mut ());
        assert_eq!(queue.average, 40.0);
        queue.link_rate(Rate::from_bits_per_second(500_000));
        queue.enqueue(Time::from_nanos(40_000_000), SimplePacket::new(1, 1000), &mut ());
        assert!((queue.average - 40.0 * 0.8 * 0.8).abs() < 1e-12, "{}", queue.average);
    }
}
