//! Flow RED: RED that knows how much of the queue each flow holds, and forgets the flow when it holds nothing.
//!
//! A flow may always queue a few packets, so that one with a small window is not hurt by others. Only flows that hold at
//! least as much as the average flow are tried at random. A flow that tries to hold more than its bound collects
//! strikes, and after two of them it is held to the average flow's share for as long as it has something queued.
//!
//! **Source.** Lin, Morris, "Dynamics of Random Early Detection", SIGCOMM 1997, section 4 and the listing in its
//! figure 8; J-Sim's `FRED` for the blocks that the listing names A, B and C.
//!
//! **Deviations.** The sample that is taken when a packet is queued counts that packet: by the letter, one that finds the
//! queue empty would let the average decay twice for the same idle time. An arrival that is dropped at an empty queue
//! leaves the rest of the idle time for the next one. `max` defaults to twice `min` and `min` to a quarter of `limit`,
//! since the round-trip time is not known. A signal can mark (RFC 3168); strikes never do.
//!
//! **Cost.** A look-up of the flow on the way in and one on the way out; between the thresholds a random number for flows
//! that hold their share. One division when an idle time ends.

use alloc::format;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::config::shared::{AVPKT, BANDWIDTH, BYTE_DROP, ECN, LIMIT, MAX, MIN, PROBABILITY, WEIGHT};
use crate::config::{
    About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, at_least, number, ordered, parameter, part,
    same_unit, times,
};
use crate::flow_table::FlowTable;
use crate::red::power;
use crate::{Bytes, Counters, Fate, FlowKey, Packet, Packets, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "fred",
    summary: "RED that spares flows with little in the queue and holds those with much to their share",
    source: "Lin, Morris: Dynamics of Random Early Detection, SIGCOMM 1997",
    year: Some(1997),
    needs: "the average, and what each flow has in the queue",
    flow_state: FlowState::Queued,
    experimental: false,
    parameters: &[
        LIMIT,
        MIN.default("max / 2 when that is given, else limit / 4, the paper"),
        MAX.default("2 min, the paper"),
        PROBABILITY.default("0.02, the paper"),
        WEIGHT.default("0.002, the paper"),
        MINQ,
        MANY_FLOWS,
        AVPKT,
        BANDWIDTH,
        BYTE_DROP,
        ECN,
    ],
};

const MINQ: Parameter = parameter(
    "minq",
    Domain::Size,
    "4 packets, the paper for large buffers; it has 2 for small ones",
    "what a flow may have queued without being tried at random, in the unit of `min`",
)
.elsewhere(&["min_q", "minq_"]);
const MANY_FLOWS: Parameter = parameter(
    "many_flows",
    Domain::Switch,
    "false",
    "at or above `max` each flow may still queue two packets, instead of none (the paper's section on many flows)",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    min: f64,
    max: f64,
    in_bytes: bool,
    probability: f64,
    weight: f64,
    minq: f64,
    many_flows: bool,
    avpkt: u64,
    /// How long the link takes for a mean packet, in nanoseconds; not 0.
    slot: u64,
    byte_drop: bool,
    ecn: bool,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let bandwidth = r.bandwidth("the average's idle clock")?;
    let (rule, min) = match r.given::<Size>("max")? {
        Some(max) => ("max / 2", part(max, 2)),
        None => ("limit / 4, the paper", at_least(part(limit, 4), 1, avpkt)),
    };
    let min = r.take("min", Origin::Derived(rule), min)?;
    let max = r.take("max", Origin::Derived("2 min, the paper"), times(min, 2))?;
    let thresholds = ordered(min, max)?;
    let probability = r.take("probability", Origin::Default("the paper"), 0.02)?;
    let weight = r.take("weight", Origin::Default("the paper"), 0.002)?;
    let four = match min {
        Size::Packets(_) => Size::Packets(Packets::new(4)),
        Size::Bytes(_) => Size::Bytes(Bytes::new(4 * avpkt.get())),
    };
    let minq = r.take("minq", Origin::Default("the paper for large buffers"), four)?;
    if !same_unit(minq, min) {
        let message = format!("it is {minq} and min is {min}: both must be packets or both bytes");
        return Err(ParameterError::new("minq", message));
    }
    let many_flows = r.take("many_flows", Origin::Default("the paper's basic form"), false)?;
    let byte_drop = r.take("byte_drop", Origin::Default("as ns-2 before 2004"), false)?;
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    r.judge(limit, thresholds, avpkt, false);
    r.say_average(weight, avpkt, bandwidth);
    if number(minq) > number(min) {
        r.warn(format!("minq {minq} is above min {min}: no flow reaches it, so none is ever signalled at random"));
    }
    Ok(Settings {
        limit,
        min: number(min),
        max: number(max),
        in_bytes: matches!(min, Size::Bytes(_)),
        probability,
        weight,
        minq: number(minq),
        many_flows,
        avpkt: avpkt.get(),
        slot: bandwidth.transmission(avpkt.get()).as_nanos().max(1),
        byte_drop,
        ecn,
    })
}

/// A flow that has something queued.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// What it has queued, in the average's unit.
    queued: u64,
    /// How often it tried to have too much.
    strikes: u32,
}

/// What is done with an arrival.
enum Verdict {
    Pass,
    /// The flow holds too much.
    Strike,
    Signal(Reason),
}

/// Flow RED over a FIFO.
#[derive(Debug)]
pub struct Fred<P> {
    settings: Settings,
    buffer: Buffer<P>,
    numbers: FlowTable,
    flows: Vec<Flow>,
    average: f64,
    /// Flows that had something queued when the average was last taken, at least 1: it is shared among them.
    sharing: f64,
    /// From when the queue's idle time is not yet in the average.
    idle_since: Option<Time>,
    /// Packets since the last random signal, -1 below `min`; with `byte_drop` their bytes over the mean packet's.
    count: f64,
    slope: f64,
    per_avpkt: f64,
    rolls: Stream,
}

impl<P: Packet> Fred<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { min, max, probability, avpkt, .. } = settings;
        Self {
            settings,
            buffer: Buffer::new(settings.limit),
            numbers: FlowTable::new(seed),
            flows: Vec::new(),
            average: 0.0,
            sharing: 1.0,
            idle_since: None,
            count: if settings.byte_drop { 0.0 } else { -1.0 },
            // Where the thresholds are one the curve is a step and no average lies on the slope.
            slope: if max > min { probability / (max - min) } else { 0.0 },
            per_avpkt: 1.0 / avpkt as f64,
            rolls: seed.stream("red"),
        }
    }

    /// What is queued, in the average's unit.
    fn backlog(&self) -> f64 {
        if self.settings.in_bytes { self.buffer.fifo.bytes() as f64 } else { self.buffer.fifo.packets() as f64 }
    }

    /// `count` packets in the average's unit.
    fn packets_worth(&self, count: f64) -> f64 {
        if self.settings.in_bytes { count * self.settings.avpkt as f64 } else { count }
    }

    /// Takes the idle time until `now` into the average.
    fn decay(&mut self, now: Time) {
        let Some(since) = self.idle_since else { return };
        let slots = now.since(since).as_nanos() / self.settings.slot;
        self.average *= power(1.0 - self.settings.weight, slots);
        self.share();
        self.idle_since = Some(Time::from_nanos(since.as_nanos() + slots * self.settings.slot));
    }

    /// Takes what is queued now into the average.
    fn sample(&mut self) {
        self.average = (1.0 - self.settings.weight) * self.average + self.settings.weight * self.backlog();
        self.share();
    }

    fn share(&mut self) {
        self.sharing = self.numbers.flows().max(1) as f64;
    }

    /// What the flow that an arrival belongs to has.
    fn flow(&self, key: FlowKey) -> Flow {
        self.numbers.get(key).map_or(Flow::default(), |number| self.flows[number])
    }

    /// What is to be done with an arrival of `bytes` bytes of `flow`.
    fn judge(&mut self, flow: Flow, bytes: u32) -> Verdict {
        let Settings { min, max, minq, many_flows, byte_drop, .. } = self.settings;
        let queued = flow.queued as f64;
        // The average flow has the average shared among all, but a packet at least. Multiplied by the flows instead.
        let (least, share) = (self.packets_worth(1.0), queued * self.sharing);
        let crowded = self.average >= max;
        let bound = if crowded { self.packets_worth(2.0) } else { min };
        let holds_average = queued >= least && share >= self.average;
        let holds_twice = queued > 2.0 * least && share > 2.0 * self.average;
        if queued >= bound || (crowded && holds_twice) || (holds_average && flow.strikes > 1) {
            return Verdict::Strike;
        }
        if self.average < min {
            // As RED: the first packet above `min` is number 0.
            self.count = if byte_drop { 0.0 } else { -1.0 };
            return Verdict::Pass;
        }
        if crowded {
            self.count = 0.0;
            return if many_flows { Verdict::Pass } else { Verdict::Signal(Reason::Forced) };
        }
        let size = f64::from(bytes) * self.per_avpkt;
        self.count += if byte_drop { size } else { 1.0 };
        if holds_average && queued >= minq && self.roll(size) {
            self.count = 0.0;
            return Verdict::Signal(Reason::Early);
        }
        Verdict::Pass
    }

    /// Whether the roll for a packet of `size` mean packets signals: RED's, with gaps uniform on 1..1/p_b-1.
    fn roll(&mut self, size: f64) -> bool {
        let base = self.slope * (self.average - self.settings.min);
        let room = 1.0 - base * self.count;
        let roll = self.rolls.unit();
        base >= room || roll * room < if self.settings.byte_drop { base * size } else { base }
    }

    /// The flow's packet of `bytes` bytes was queued.
    fn join(&mut self, flow: FlowKey, bytes: u32) {
        let size = if self.settings.in_bytes { u64::from(bytes) } else { 1 };
        let (number, new) = self.numbers.insert(flow);
        if number == self.flows.len() {
            self.flows.push(Flow::default());
        } else if new {
            self.flows[number] = Flow::default();
        }
        self.flows[number].queued += size;
        self.idle_since = None;
        self.sample();
    }

    /// The flow's packet of `bytes` bytes left; a flow with nothing queued is forgotten.
    fn leave(&mut self, now: Time, flow: FlowKey, bytes: u32) {
        let size = if self.settings.in_bytes { u64::from(bytes) } else { 1 };
        self.sample();
        if self.buffer.fifo.packets() == 0 {
            self.idle_since = Some(now);
        }
        let Some(number) = self.numbers.get(flow) else { return };
        self.flows[number].queued -= size;
        if self.flows[number].queued == 0 {
            self.numbers.remove(flow);
        }
    }
}

impl<P: Packet> Qdisc<P> for Fred<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        self.decay(now);
        let (key, bytes) = (packet.flow(), packet.bytes());
        let mark = match self.judge(self.flow(key), bytes) {
            Verdict::Pass => None,
            Verdict::Strike => {
                if let Some(number) = self.numbers.get(key) {
                    self.flows[number].strikes = self.flows[number].strikes.saturating_add(1);
                }
                self.buffer.discard(now, packet, Reason::RatePenalty, fate);
                return;
            }
            Verdict::Signal(reason) if self.settings.ecn && packet.ecn_capable() => Some(reason),
            Verdict::Signal(reason) => {
                self.buffer.discard(now, packet, reason, fate);
                return;
            }
        };
        if self.buffer.admit(now, packet, mark, fate) {
            self.join(key, bytes);
        }
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.buffer.depart()?;
        self.leave(now, packet.flow(), packet.bytes());
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
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;
    use crate::{Duration, SimplePacket};

    /// Min 5 and max 10 packets of 1000 bytes at 1 Mbit/s.
    const SETTINGS: Settings = Settings {
        limit: Size::Packets(Packets::new(30)),
        min: 5.0,
        max: 10.0,
        in_bytes: false,
        probability: 0.02,
        weight: 0.2,
        minq: 2.0,
        many_flows: false,
        avpkt: 1000,
        slot: 8_000_000,
        byte_drop: false,
        ecn: false,
    };

    /// SPEC 6: what the flows hold adds up to the queue, and only flows that hold something are known.
    #[test]
    fn what_flows_hold_is_the_queue() {
        for in_bytes in [false, true] {
            let scale = if in_bytes { 1000.0 } else { 1.0 };
            let settings = Settings { in_bytes, min: 5.0 * scale, max: 10.0 * scale, minq: 2.0 * scale, ..SETTINGS };
            let mut queue = Fred::new(settings, Seed::new(1));
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
                } else if let Some(packet) = queue.dequeue(now, &mut ())
                    && let Some(left) = held.get_mut(&packet.flow)
                {
                    *left -= size(&packet);
                    held.retain(|_, left| *left > 0);
                }
                assert_eq!(held.values().sum::<u64>() as f64, queue.backlog());
                assert_eq!(queue.numbers.flows(), held.len());
                for (&flow, &queued) in &held {
                    assert_eq!(queue.flow(FlowKey::new(flow)).queued, queued);
                }
            }
            while queue.dequeue(now, &mut ()).is_some() {}
            assert_eq!(queue.numbers.flows(), 0);
        }
    }

    /// Would catch idle time that counts twice or not at all: an arrival that is dropped at the empty queue takes what
    /// has passed, the next one the rest.
    #[test]
    fn idle_time_counts_once() {
        let mut queue = Fred::<SimplePacket>::new(SETTINGS, Seed::new(1));
        queue.average = 40.0;
        queue.idle_since = Some(Time::ZERO);
        queue.enqueue(Time::from_nanos(20_000_000), SimplePacket::new(1, 1000), &mut ());
        // Two and a half slots have passed: two count.
        assert!((queue.average - 40.0 * 0.8 * 0.8).abs() < 1e-12, "{}", queue.average);
        queue.enqueue(Time::from_nanos(24_000_000), SimplePacket::new(1, 1000), &mut ());
        assert!((queue.average - 40.0 * 0.8 * 0.8 * 0.8).abs() < 1e-12, "{}", queue.average);
        assert_eq!(queue.counters().dropped(Reason::Forced).packets, 2);
    }

    /// With `many_flows` and the average above `max`, each flow has two packets, and no more.
    #[test]
    fn many_flows_have_two_packets_each() {
        for (many_flows, admitted) in [(false, 0), (true, 2)] {
            let mut queue = Fred::new(Settings { many_flows, weight: 1e-9, ..SETTINGS }, Seed::new(1));
            for flow in 0..4 {
                for _ in 0..5 {
                    queue.average = 11.0;
                    queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
                }
                assert_eq!(queue.flow(FlowKey::new(flow)).queued, admitted);
            }
        }
    }
}
