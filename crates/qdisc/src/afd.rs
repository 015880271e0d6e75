//! Approximate Fair Dropping: drops of each flow what it sends above the fair share, measured by a sample of arrivals.
//!
//! One arrival in `sample` puts its flow into a shadow buffer, from which a random entry goes. How often a flow stands
//! there, m, is its rate in some unit; a controller moves m_fair, the fair share in the same unit, so that the queue
//! settles at its target. An arrival is dropped with the probability 1 - m_fair / m. So each flow gets at most m_fair, and
//! those that send less lose nothing.
//!
//! **Source.** Pan, Breslau, Prabhakar, Shenker, "Approximate Fairness through Differential Dropping", ACM CCR 33(2),
//! 2003: section 3 and the controller's constants 1.7 and 1.8 at 160 Hz.
//!
//! **Deviations.** m_fair stays within 0.001 and the shadow buffer's size, where it drops nothing and where it starts:
//! otherwise an idle link would let it climb for ever. The controller runs when something arrives or leaves, for all the
//! moments that have passed: the queue has not changed since. Counts are exact, not by hash. The paper leaves the queue's
//! target open; here it is the middle of tc's thresholds for RED.
//!
//! **Cost.** Two random numbers and a look-up of the flow; one arrival in `sample` one and two more. No division on the
//! packet path.

use alloc::format;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::config::shared::{AVPKT, LIMIT};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::flow_table::FlowTable;
use crate::{Bytes, Counters, Duration, Fate, FlowKey, Packet, Packets, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "afd",
    summary: "drops of each flow what it sends above a fair share, by a sample of recent arrivals",
    source: "Pan, Breslau, Prabhakar, Shenker: Approximate Fairness through Differential Dropping, ACM CCR 33(2)",
    year: Some(2003),
    needs: "the flows of `shadow` sampled arrivals",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[
        LIMIT,
        SHADOW,
        SAMPLE,
        TARGET_QUEUE,
        INTERVAL,
        AVPKT.default("1000b, as tc(8) and the papers: for a `limit` in bytes"),
    ],
};

const SHADOW: Parameter = parameter(
    "shadow",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "500, the paper",
    "sampled arrivals whose flows are remembered (b)",
)
.elsewhere(&["b", "shadow_size"]);
const SAMPLE: Parameter = parameter(
    "sample",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "5: 500 samples are then 10 to 30 arrivals of each of 83 to 250 flows",
    "one arrival in so many is sampled (s)",
)
.elsewhere(&["s"]);
const TARGET_QUEUE: Parameter = parameter(
    "target_queue",
    Domain::Packets,
    "limit / 6, the middle of tc(8)'s thresholds for RED",
    "the queue that the controller aims at (q_target)",
)
.elsewhere(&["q_target", "qtarget", "target"]);
const INTERVAL: Parameter =
    parameter("interval", Domain::Duration, "6250us, the paper's 160 Hz", "how often the fair share is moved (T_s)")
        .elsewhere(&["T_s"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    shadow: u32,
    sample: u32,
    /// In packets.
    target: f64,
    interval: Duration,
    /// Mean packets in a unit of the queue: 1, or in a byte.
    per_unit: f64,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let most = match limit {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get() / avpkt.get(),
    };
    let shadow: u32 = r.take("shadow", Origin::Default("the paper"), 500)?;
    let sample = r.take("sample", Origin::Default("for about a hundred flows"), 5)?;
    // A limit is at most 2^40 bytes; a cast saturates.
    let target = Packets::new(u32::try_from(most / 6).unwrap_or(u32::MAX).clamp(1, crate::buffer::MAX_PACKETS));
    let target = r.take("target_queue", Origin::Derived("limit / 6"), target)?;
    let interval = r.take("interval", Origin::Default("the paper's 160 Hz"), Duration::from_nanos(6_250_000))?;
    let memory = u64::from(shadow) * u64::from(sample);
    r.say(format!("a flow's rate is measured over about {memory} arrivals of all flows"));
    if u64::from(target.get()) >= most {
        r.warn(format!(
            "target_queue {target} is not below limit {limit}: the queue overflows before anything is dropped"
        ));
    }
    let per_unit = if matches!(limit, Size::Bytes(_)) { 1.0 / avpkt.get() as f64 } else { 1.0 };
    Ok(Settings { limit, shadow, sample, target: f64::from(target.get()), interval, per_unit })
}

/// A flow that stands in the shadow buffer.
#[derive(Clone, Copy, Debug)]
struct Flow {
    key: FlowKey,
    /// How often (m).
    samples: u32,
}

/// Approximate Fair Dropping over a FIFO.
#[derive(Debug)]
pub struct Afd<P> {
    settings: Settings,
    buffer: Buffer<P>,
    numbers: FlowTable,
    flows: Vec<Flow>,
    /// The shadow buffer: the numbers of the flows of sampled arrivals.
    shadow: Vec<u32>,
    fair: f64,
    /// The queue in packets when the fair share was last moved.
    before: f64,
    moved: Time,
    samples: Stream,
    rolls: Stream,
}

impl<P: Packet> Afd<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self {
            settings,
            buffer: Buffer::new(settings.limit),
            numbers: FlowTable::new(seed),
            flows: Vec::new(),
            shadow: Vec::new(),
            fair: f64::from(settings.shadow),
            before: 0.0,
            moved: Time::ZERO,
            samples: seed.stream("shadow"),
            rolls: seed.stream("label"),
        }
    }

    /// Moves the fair share for every interval that has ended by `now`.
    fn control(&mut self, now: Time) {
        let Settings { target, interval, per_unit, limit, .. } = self.settings;
        let passed = now.since(self.moved);
        if passed < interval {
            return;
        }
        let intervals = passed.as_nanos() / interval.as_nanos();
        self.moved += Duration::from_nanos(intervals * interval.as_nanos());
        let queued = match limit {
            Size::Packets(_) => self.buffer.fifo.packets() as f64,
            Size::Bytes(_) => self.buffer.fifo.bytes() as f64 * per_unit,
        };
        self.move_by(BEFORE * (self.before - target) - NOW * (queued - target));
        // Since then the queue has stood still, and so every step is the same.
        self.move_by((intervals - 1) as f64 * (BEFORE - NOW) * (queued - target));
        self.before = queued;
    }

    fn move_by(&mut self, step: f64) {
        self.fair = (self.fair + step).clamp(LEAST, f64::from(self.settings.shadow));
    }

    /// Puts an arrival of `flow` into the shadow buffer; a random entry makes room.
    fn sample(&mut self, flow: FlowKey) {
        let (number, new) = self.numbers.insert(flow);
        if number == self.flows.len() {
            self.flows.push(Flow { key: flow, samples: 0 });
        } else if new {
            self.flows[number] = Flow { key: flow, samples: 0 };
        }
        self.flows[number].samples += 1;
        if self.shadow.len() < self.settings.shadow as usize {
            self.shadow.push(number as u32);
            return;
        }
        let entry = &mut self.shadow[self.samples.below(self.settings.shadow) as usize];
        let old = core::mem::replace(entry, number as u32) as usize;
        self.flows[old].samples -= 1;
        if self.flows[old].samples == 0 {
            self.numbers.remove(self.flows[old].key);
        }
    }

    /// Whether an arrival of `flow` goes because the flow sends more than its share.
    fn exceeds(&mut self, flow: FlowKey) -> bool {
        let Some(number) = self.numbers.get(flow) else { return false };
        let samples = f64::from(self.flows[number].samples);
        // u < 1 - m_fair / m, without the division; never for a flow at or below the share.
        self.rolls.unit() * samples < samples - self.fair
    }
}

impl<P: Packet> Qdisc<P> for Afd<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.control(now);
        self.buffer.arrive(&packet);
        let flow = packet.flow();
        if self.samples.below(self.settings.sample) == 0 {
            self.sample(flow);
        }
        if self.exceeds(flow) {
            self.buffer.discard(now, packet, Reason::Label, fate);
            return;
        }
        self.buffer.admit(now, packet, None, fate);
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.control(now);
        self.buffer.depart()
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
}

/// The controller's weight of the queue before (a).
const BEFORE: f64 = 1.7;

/// The controller's weight of the queue now (b).
const NOW: f64 = 1.8;

/// The fair share does not fall below.
const LEAST: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// The paper's 500 samples at 160 Hz; a target of 50 packets.
    const SETTINGS: Settings = Settings {
        limit: Size::Packets(Packets::new(300)),
        shadow: 500,
        sample: 1,
        target: 50.0,
        interval: Duration::from_nanos(6_250_000),
        per_unit: 1.0,
    };

    fn tick(count: u64) -> Time {
        Time::from_nanos(6_250_000 * count)
    }

    /// The law by hand: m + 1.7 (q_prev - 50) - 1.8 (q - 50), with the queue 60 packets from the first tick on.
    #[test]
    fn the_fair_share_moves_by_the_law() {
        let mut queue = Afd::new(SETTINGS, Seed::new(1));
        for flow in 0..60 {
            queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
        }
        queue.control(Time::from_nanos(6_249_999));
        assert_eq!(queue.fair, 500.0);
        queue.control(tick(1));
        assert!((queue.fair - (500.0 + 1.7 * -50.0 - 1.8 * 10.0)).abs() < 1e-9, "{}", queue.fair);
        queue.control(tick(2));
        assert!((queue.fair - (397.0 - 0.1 * 10.0)).abs() < 1e-9, "{}", queue.fair);
        // Ten ticks at once are ten ticks.
        queue.control(tick(12) + Duration::from_nanos(5));
        assert!((queue.fair - (396.0 - 10.0)).abs() < 1e-9, "{}", queue.fair);
        queue.control(tick(13));
        assert!((queue.fair - 385.0).abs() < 1e-9, "the remainder is not lost: {}", queue.fair);
    }

    /// Would catch a fair share that winds up: after a year of idle time, or of standing congestion, it is at its bound.
    #[test]
    fn the_fair_share_stays_within_its_bounds() {
        let year = Duration::from_secs(31_536_000.0);
        let mut queue = Afd::new(SETTINGS, Seed::new(1));
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

    /// The counts are those of the shadow buffer, and flows that left it are forgotten.
    #[test]
    fn counts_are_those_of_the_shadow_buffer() {
        let mut queue = Afd::<SimplePacket>::new(Settings { shadow: 40, ..SETTINGS }, Seed::new(1));
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

    /// A flow that was not sampled is not dropped; one with m samples goes with 1 - m_fair / m.
    #[test]
    fn what_is_above_the_share_goes() {
        let mut queue = Afd::<SimplePacket>::new(Settings { shadow: 40, ..SETTINGS }, Seed::new(1));
        for _ in 0..40 {
            queue.sample(FlowKey::new(1));
        }
        queue.fair = 30.0;
        let trials = 100_000;
        let gone = (0..trials).filter(|_| queue.exceeds(FlowKey::new(1))).count();
        let deviation = libm::sqrt(0.25 * 0.75 * f64::from(trials));
        assert!((gone as f64 - 0.25 * f64::from(trials)).abs() < 4.0 * deviation, "{gone}");
        assert!(!queue.exceeds(FlowKey::new(2)));
        queue.fair = 40.0;
        assert!(!(0..trials).any(|_| queue.exceeds(FlowKey::new(1))));
    }
}
