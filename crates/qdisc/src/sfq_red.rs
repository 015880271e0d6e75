//! SFQ with RED in each queue: flows are hashed into a few small queues, served in turn, each with a RED of its own.
//!
//! The BLUE paper compares SFB with it, given as many queues as SFB has bins and twice the buffer: flows are kept apart,
//! but RED has too little room in a queue of nine packets to do well.
//!
//! **Source.** Feng, Kandlur, Saha, Shin, "Stochastic Fair Blue", INFOCOM 2001, section IV-B: 46 queues of 9 kB with
//! thresholds of 2 and 8 kB. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990, for the turns.
//!
//! **Deviations.** What the paper leaves open: `weight` 0.002, `probability` 1, a packet a turn, RED's order of steps as in
//! this crate's RED. A queue is idle from the moment its last packet leaves, and its average then decays at the rate of
//! the whole link.
//!
//! **Cost.** A hash, and RED's.

use alloc::format;
use alloc::vec::Vec;

use crate::buffer::MAX_PACKETS;
use crate::config::shared::{
    AVPKT, BANDWIDTH, BYTE_DROP, ECN, FLOWS, GENTLE, HARDDROP, LIMIT, PROBABILITY, SPARE, UNIFORMIZE, WEIGHT,
};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::flows::FlowQueues;
use crate::hash::FlowHash;
use crate::red::{RedCore, RedSettings, Uniformize, Verdict};
use crate::sfb::misclassified;
use crate::sfq::ring::Ring;
use crate::{Bytes, Counters, Fate, Packet, Packets, Qdisc, Reason, Seed, Size, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "sfq-red",
    summary: "serves hashed flows in turn, with RED in each of their small queues",
    source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness, \
             INFOCOM 2001",
    year: Some(2001),
    needs: "a hash of the flow and `flows` queues, each with its average",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[
        LIMIT.default("414kb, the paper: 46 queues of 9kb"),
        FLOWS.default("46, the paper"),
        QUEUE_LIMIT,
        QUEUE_MIN,
        QUEUE_MAX,
        PROBABILITY.default("1; the paper says none"),
        WEIGHT.default("0.002, as ns-2; the paper says none"),
        AVPKT,
        BANDWIDTH,
        GENTLE,
        UNIFORMIZE.default("wait, as ns-2"),
        SPARE.default("true, as ns-2"),
        BYTE_DROP,
        ECN,
        HARDDROP,
    ],
};

const QUEUE_LIMIT: Parameter = parameter(
    "queue_limit",
    Domain::Size,
    "limit / flows, the paper; at least a mean packet",
    "hard limit of each queue (tc's redflowlimit)",
)
.elsewhere(&["redflowlimit"]);
const QUEUE_MIN: Parameter = parameter(
    "queue_min",
    Domain::Size,
    "2/9 of queue_limit, the paper's 2kb; at least a mean packet",
    "average of a queue below which none of its packets is signalled",
)
.elsewhere(&["min"]);
const QUEUE_MAX: Parameter = parameter(
    "queue_max",
    Domain::Size,
    "8/9 of queue_limit, the paper's 8kb; at least three mean packets",
    "average of a queue from which all of its packets are signalled",
)
.elsewhere(&["max"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    flows: u32,
    queue_limit: Size,
    red: RedSettings,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("the paper"), Size::Bytes(Bytes::new(414_000)))?;
    let flows = r.take("flows", Origin::Default("the paper"), 46)?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let derived = share(limit, 1, u64::from(flows), avpkt, 1);
    let queue_limit = r.take("queue_limit", Origin::Derived("limit / flows, as the paper"), derived)?;
    let min =
        r.take("queue_min", Origin::Derived("2/9 of queue_limit, as the paper"), share(queue_limit, 2, 9, avpkt, 1))?;
    let max =
        r.take("queue_max", Origin::Derived("8/9 of queue_limit, as the paper"), share(queue_limit, 8, 9, avpkt, 3))?;
    let (least, most) = thresholds(min, max)?;
    let probability = r.take("probability", Origin::Default("the paper says none"), 1.0)?;
    let weight = r.take("weight", Origin::Default("as ns-2"), 0.002)?;
    let bandwidth = r.bandwidth("the averages' idle clock")?;
    let gentle = r.take("gentle", Origin::Default("as ns-2 before 2001"), false)?;
    let uniformize = match r.take("uniformize", Origin::Default("as ns-2"), "wait")? {
        "none" => Uniformize::None,
        "count" => Uniformize::Count,
        _ => Uniformize::Wait,
    };
    let spare = r.take("spare", Origin::Default("as ns-2"), true)?;
    let byte_drop = r.take("byte_drop", Origin::Default("as ns-2 before 2004"), false)?;
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    let harddrop = r.take("harddrop", Origin::Default("as tc(8)"), false)?;
    if harddrop && !ecn {
        r.warn("harddrop changes nothing without ecn".into());
    }
    if most < 2.0 * least {
        r.warn(format!("queue_max {max} is below twice queue_min {min}: the average cannot settle between them"));
    }
    r.say(format!(
        "{:.2} % of the flows share their queue with one of ten others",
        100.0 * misclassified(1, flows, 10)
    ));
    let red = RedSettings {
        min: least,
        max: most,
        in_bytes: matches!(max, Size::Bytes(_)),
        probability,
        weight,
        gentle,
        uniformize,
        spare,
        byte_drop,
        avpkt: avpkt.get(),
        slot: bandwidth.transmission(avpkt.get()).as_nanos().max(1),
        ecn,
        harddrop,
    };
    Ok(Settings { limit, flows, queue_limit, red })
}

/// `times` of `parts` parts of `size`, but at least `least` mean packets.
fn share(size: Size, times: u64, parts: u64, avpkt: Bytes, least: u32) -> Size {
    match size {
        // Parts of 2^24 packets are less than 2^32.
        Size::Packets(packets) => {
            Size::Packets(Packets::new(((u64::from(packets.get()) * times / parts) as u32).max(least)))
        }
        Size::Bytes(bytes) => {
            Size::Bytes(Bytes::new((bytes.get() * times / parts).max(u64::from(least) * avpkt.get())))
        }
    }
}

/// The thresholds as numbers of one unit, if they can be thresholds.
fn thresholds(min: Size, max: Size) -> Result<(f64, f64), ParameterError> {
    let (least, most) = match (min, max) {
        (Size::Packets(min), Size::Packets(max)) => (f64::from(min.get()), f64::from(max.get())),
        // Sizes stay below 2^53.
        (Size::Bytes(min), Size::Bytes(max)) => (min.get() as f64, max.get() as f64),
        _ => {
            let message = format!("it is {max} and queue_min is {min}: both must be packets or both bytes");
            return Err(ParameterError::new("queue_max", message));
        }
    };
    if least > most {
        let message = format!("{min} is above queue_max, which is {max}: it must not be above it");
        return Err(ParameterError::new("queue_min", message));
    }
    Ok((least, most))
}

/// A limit as a number of packets and of bytes.
const fn room(limit: Size) -> (usize, u64) {
    match limit {
        Size::Packets(packets) if packets.get() < MAX_PACKETS => (packets.get() as usize, u64::MAX),
        Size::Packets(_) => (MAX_PACKETS as usize, u64::MAX),
        Size::Bytes(bytes) => (MAX_PACKETS as usize, bytes.get()),
    }
}

/// SFQ with RED in each queue.
#[derive(Debug)]
pub struct SfqRed<P> {
    queues: FlowQueues<P>,
    reds: Vec<RedCore>,
    ring: Ring,
    counters: Counters,
    settings: Settings,
    hash: FlowHash,
}

impl<P: Packet> SfqRed<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self {
            queues: FlowQueues::new(),
            reds: (0..settings.flows)
                .map(|queue| RedCore::new(settings.red, seed.numbered(u64::from(queue))))
                .collect(),
            ring: Ring::new(),
            counters: Counters::default(),
            settings,
            hash: FlowHash::new(seed),
        }
    }

    /// Whether a packet of `bytes` bytes finds no room in `queue` or in all of them.
    fn overflows(&self, queue: usize, bytes: u32) -> bool {
        let bytes = u64::from(bytes);
        let is_over = |(most, most_bytes): (usize, u64), packets: usize, queued: u64| {
            packets >= most || queued + bytes > most_bytes
        };
        is_over(room(self.settings.limit), self.queues.packets(), self.queues.bytes())
            || is_over(room(self.settings.queue_limit), self.queues.packets_in(queue), self.queues.bytes_in(queue))
    }

    /// What the RED of `queue` says of `packet`.
    fn verdict(&mut self, now: Time, queue: usize, packet: &P) -> Verdict {
        let backlog = self.queues.packets_in(queue);
        let occupancy = if self.settings.red.in_bytes { self.queues.bytes_in(queue) as f64 } else { backlog as f64 };
        let red = &mut self.reds[queue];
        red.sample(now, occupancy);
        let signal = red.test(backlog, packet.bytes());
        red.signal(signal, packet.ecn_capable())
    }

    /// Drops `packet`, an arrival of `queue`, which stays idle if it is empty.
    fn refuse(&mut self, now: Time, queue: usize, packet: P, reason: Reason, fate: &mut impl Fate<P>) {
        if self.queues.packets_in(queue) == 0 {
            self.reds[queue].idle(now);
        }
        self.counters.count_drop(reason, packet.bytes());
        fate.dropped(now, packet, reason);
    }
}

impl<P: Packet> Qdisc<P> for SfqRed<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, fate: &mut impl Fate<P>) {
        self.counters.arrived.add(packet.bytes());
        let queue = self.hash.bin(packet.flow().get(), self.settings.flows) as usize;
        let mark = match self.verdict(now, queue, &packet) {
            Verdict::Pass => None,
            Verdict::Mark(reason) => Some(reason),
            Verdict::Drop(reason) => return self.refuse(now, queue, packet, reason, fate),
        };
        if self.overflows(queue, packet.bytes()) {
            return self.refuse(now, queue, packet, Reason::Limit, fate);
        }
        if let Some(reason) = mark {
            packet.mark_ce();
            self.counters.count_mark(reason, packet.bytes());
            fate.marked(now, &packet, reason);
        }
        if self.queues.packets_in(queue) == 0 {
            self.ring.join(queue);
        }
        self.queues.push_back(queue, packet);
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let queue = self.ring.head()?;
        let packet = self.queues.pop_front(queue)?;
        self.ring.pass();
        if self.queues.packets_in(queue) == 0 {
            self.ring.leave(queue);
            self.reds[queue].idle(now);
        }
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.queues.packets()
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
