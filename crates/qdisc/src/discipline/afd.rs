//! Approximate Fair Dropping: drops what each flow sends above the fair share, estimated from a sample of arrivals.
//!
//! One in `sample` arrivals puts its flow into a shadow buffer, where it replaces a random entry. The number of a
//! flow's entries, m, measures its rate. A controller moves m_fair, the fair share in the same unit, so that the queue
//! settles at its target. An arrival is dropped with the probability 1 - m_fair / m. So each flow keeps at most m_fair,
//! and flows that send less lose nothing.
//!
//! **Source.** Pan, Breslau, Prabhakar, Shenker, "Approximate Fairness through Differential Dropping", ACM CCR 33(2),
//! 2003: section 3, with the controller's constants 1.7 and 1.8 at 160 Hz.
//!
//! **Deviations.** m_fair starts at the shadow buffer's size, where it drops nothing, and stays between 0.001 and that:
//! without bounds it would grow for as long as the link is idle. The controller runs at arrivals and departures, for
//! all the intervals that have ended: the queue has not changed in between. Flows are counted by their keys, not by a
//! hash. The paper does not give the queue's target; the text form takes the middle of tc's thresholds for RED.
//!
//! **Cost.** Two random numbers and a lookup of the flow; one in `sample` arrivals takes up to two lookups and a random
//! number more. No division on the packet path.

use alloc::vec::Vec;

use crate::error::check;
use crate::flow::table::FlowTable;
use crate::queue::buffer::Buffer;
use crate::{
    Bytes, Counters, DropSink, Duration, Fate, FlowKey, Packet, Packets, ParameterError, Qdisc, Reason, Seed, Size,
    Status, Stream, Time,
};

/// The configuration of [`Afd`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The number of sampled arrivals whose flows are remembered (b), 1 to 1,048,576. Default: 500, as the paper.
    pub shadow: u32,
    /// One in this many arrivals is sampled (s), 1 to 1,048,576. Default: 5, so that 500 samples cover 10 to 30
    /// arrivals of each of 83 to 250 flows.
    pub sample: u32,
    /// The queue length that the controller aims at (q_target). Default: 50 packets, a sixth of the default `limit`:
    /// the middle of tc's thresholds for RED.
    pub target_queue: Packets,
    /// The time between updates of the fair share (T_s), above zero. Default: 6.25 ms, the paper's 160 Hz.
    pub interval: Duration,
    /// The mean packet, which converts the bytes in the queue to packets if `limit` is in bytes. Default: 1000 bytes.
    pub avpkt: Bytes,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            shadow: 500,
            sample: 5,
            target_queue: Packets::new(50),
            interval: Duration::from_nanos(6_250_000),
            avpkt: Bytes::new(1000),
        }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::count("shadow", self.shadow, 1..=MOST_SAMPLES)?;
        check::count("sample", self.sample, 1..=MOST_SAMPLES)?;
        check::packets("target_queue", self.target_queue)?;
        check::duration("interval", self.interval)?;
        check::bytes("avpkt", self.avpkt)
    }
}

/// The largest `shadow` and `sample`.
const MOST_SAMPLES: u32 = 1 << 20;

/// A flow with entries in the shadow buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SampledFlow {
    key: FlowKey,
    /// The number of its entries (m).
    samples: u32,
}

/// Approximate Fair Dropping over a FIFO.
#[derive(Debug)]
pub struct Afd<P> {
    config: Config,
    /// The target queue, in packets.
    target: f64,
    /// Mean packets in a unit of the queue: 1, or those in a byte.
    per_unit: f64,
    buffer: Buffer<P>,
    numbers: FlowTable,
    flows: Vec<SampledFlow>,
    /// The shadow buffer: the numbers of the flows of sampled arrivals.
    shadow: Vec<u32>,
    /// The fair share in entries of the shadow buffer (m_fair).
    fair: f64,
    /// The queue in packets at the last update of the fair share.
    before: f64,
    /// When the last interval that was taken into account ended.
    updated: Time,
    samples: Stream,
    rolls: Stream,
}

impl<P: Packet> Afd<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let per_unit = if matches!(config.limit, Size::Bytes(_)) { 1.0 / config.avpkt.get() as f64 } else { 1.0 };
        Ok(Self {
            config,
            target: f64::from(config.target_queue.get()),
            per_unit,
            buffer: Buffer::new(config.limit),
            numbers: FlowTable::new(seed),
            flows: Vec::new(),
            shadow: Vec::new(),
            fair: f64::from(config.shadow),
            before: 0.0,
            updated: Time::ZERO,
            samples: seed.stream("shadow"),
            rolls: seed.stream("label"),
        })
    }

    /// Updates the fair share for every interval that has ended by `now`.
    fn control(&mut self, now: Time) {
        let Self { target, per_unit, .. } = *self;
        let Config { interval, limit, .. } = self.config;
        let passed = now.since(self.updated);
        if passed < interval {
            return;
        }
        let intervals = passed.as_nanos() / interval.as_nanos();
        self.updated += Duration::from_nanos(intervals * interval.as_nanos());
        let queued = match limit {
            Size::Packets(_) => self.buffer.fifo.packets() as f64,
            Size::Bytes(_) => self.buffer.fifo.bytes() as f64 * per_unit,
        };
        self.move_by(BEFORE * (self.before - target) - NOW * (queued - target));
        // The queue did not change in the other intervals, so their steps are equal.
        self.move_by((intervals - 1) as f64 * (BEFORE - NOW) * (queued - target));
        self.before = queued;
    }

    fn move_by(&mut self, step: f64) {
        self.fair = (self.fair + step).clamp(LEAST, f64::from(self.config.shadow));
    }

    /// Puts `flow` into the shadow buffer. If that is full, a random entry makes room.
    fn sample(&mut self, flow: FlowKey) {
        let (number, new) = self.numbers.insert(flow);
        if number == self.flows.len() {
            self.flows.push(SampledFlow { key: flow, samples: 0 });
        } else if new {
            self.flows[number] = SampledFlow { key: flow, samples: 0 };
        }
        self.flows[number].samples += 1;
        if self.shadow.len() < self.config.shadow as usize {
            self.shadow.push(number as u32);
            return;
        }
        let entry = &mut self.shadow[self.samples.below(self.config.shadow) as usize];
        let old = core::mem::replace(entry, number as u32) as usize;
        self.flows[old].samples -= 1;
        if self.flows[old].samples == 0 {
            self.numbers.remove(self.flows[old].key);
        }
    }

    /// Decides whether an arrival of `flow` is dropped because the flow sends more than the fair share.
    fn exceeds(&mut self, flow: FlowKey) -> bool {
        let Some(number) = self.numbers.get(flow) else { return false };
        let samples = f64::from(self.flows[number].samples);
        // u < 1 - m_fair / m without the division; never true for a flow at or below the share.
        self.rolls.unit() * samples < samples - self.fair
    }
}

impl<P: Packet> Qdisc<P> for Afd<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.control(now);
        self.buffer.arrive(&packet);
        let flow = packet.flow();
        if self.samples.below(self.config.sample) == 0 {
            self.sample(flow);
        }
        if self.exceeds(flow) {
            return self.buffer.discard(now, packet, Reason::Label, sink);
        }
        self.buffer.admit(now, packet, None, sink)
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.control(now);
        self.buffer.depart_last()
    }

    fn status(&self) -> Status {
        Status { flows: Some(self.numbers.flows()), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}

/// The controller's weight of the queue at the previous update (a).
const BEFORE: f64 = 1.7;

/// The controller's weight of the present queue (b).
const NOW: f64 = 1.8;

/// The lowest fair share.
const LEAST: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// The default, the paper's 500 samples at 160 Hz and a target of 50 packets, with another shadow buffer, and every
    /// arrival sampled.
    fn afd(shadow: u32) -> Afd<SimplePacket> {
        Afd::new(Config { shadow, sample: 1, ..Config::default() }, Seed::new(1)).unwrap()
    }

    fn tick(count: u64) -> Time {
        Time::from_nanos(6_250_000 * count)
    }

    /// The controller by hand: m_fair + 1.7 (q_prev - 50) - 1.8 (q - 50), with 60 packets queued from the first tick
    /// on.
    #[test]
    fn the_fair_share_moves_by_the_formula() {
        let mut queue = afd(500);
        for flow in 0..60 {
            queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
        }
        queue.control(Time::from_nanos(6_249_999));
        assert_eq!(queue.fair, 500.0);
        queue.control(tick(1));
        assert!((queue.fair - (500.0 + 1.7 * -50.0 - 1.8 * 10.0)).abs() < 1e-9, "{}", queue.fair);
        queue.control(tick(2));
        assert!((queue.fair - (397.0 - 0.1 * 10.0)).abs() < 1e-9, "{}", queue.fair);
        // Ten ticks at once count as ten.
        queue.control(tick(12) + Duration::from_nanos(5));
        assert!((queue.fair - (396.0 - 10.0)).abs() < 1e-9, "{}", queue.fair);
        queue.control(tick(13));
        assert!((queue.fair - 385.0).abs() < 1e-9, "the rest of an interval was lost: {}", queue.fair);
    }

    /// Would catch a fair share that grows or falls without bounds in a year of idle time or of congestion.
    #[test]
    fn the_fair_share_stays_within_its_bounds() {
        let year = Duration::from_secs(31_536_000.0);
        let mut queue = afd(500);
        queue.control(Time::ZERO + year);
        assert_eq!(queue.fair, 500.0);
        for flow in 0..300 {
            queue.enqueue(Time::ZERO + year, SimplePacket::new(flow, 1000), &mut ());
        }
        queue.control(Time::ZERO + year + year);
        assert_eq!(queue.fair, LEAST);
        queue.control(Time::MAX);
        assert_eq!(queue.fair, LEAST);
    }

    /// Would catch counts that differ from the entries in the shadow buffer, and flows without entries that stay known.
    #[test]
    fn counts_are_those_of_the_shadow_buffer() {
        let mut queue = afd(40);
        let mut chance = Seed::new(2).stream("arrivals");
        for _ in 0..20_000 {
            queue.sample(FlowKey::new(u64::from(chance.below(7)) * u64::from(chance.below(200))));
            assert!(queue.shadow.len() <= 40 && queue.numbers.flows() <= 40);
            let sum: u32 = (0..queue.flows.len()).map(|number| queue.flows[number].samples).sum();
            assert_eq!(sum as usize, queue.shadow.len());
            let known = queue.flows.iter().filter(|flow| flow.samples > 0).count();
            assert_eq!(known, queue.numbers.flows());
        }
        assert!(queue.flows.len() <= 41);
    }

    /// Would catch drops of a flow without samples, and of one with m samples at another rate than 1 - m_fair / m.
    #[test]
    fn what_exceeds_the_share_is_dropped() {
        let mut queue = afd(40);
        for _ in 0..40 {
            queue.sample(FlowKey::new(1));
        }
        queue.fair = 30.0;
        let trials = 100_000;
        let dropped = (0..trials).filter(|_| queue.exceeds(FlowKey::new(1))).count();
        let deviation = libm::sqrt(0.25 * 0.75 * f64::from(trials));
        assert!((dropped as f64 - 0.25 * f64::from(trials)).abs() < 4.0 * deviation, "{dropped}");
        assert!(!queue.exceeds(FlowKey::new(2)));
        queue.fair = 40.0;
        assert!(!(0..trials).any(|_| queue.exceeds(FlowKey::new(1))));
    }

    /// Would catch a value out of its range that is accepted.
    #[test]
    fn invalid_configs_are_refused() {
        for (key, config) in [
            ("shadow", Config { shadow: 0, ..Config::default() }),
            ("interval", Config { interval: Duration::ZERO, ..Config::default() }),
        ] {
            let error = Afd::<SimplePacket>::new(config, Seed::new(1)).unwrap_err();
            assert_eq!(error.key(), key);
        }
    }
}
