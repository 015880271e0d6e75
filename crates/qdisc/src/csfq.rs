//! Core-Stateless Fair Queueing: the edge writes each flow's rate on its packets, and the core drops what is above a fair
//! rate that it finds without knowing any flow.
//!
//! An arrival whose label is above the fair rate alpha goes with the probability 1 - alpha / label, so each flow keeps
//! alpha at most. While more arrives than the link can carry, alpha is scaled by how much of the link what was accepted
//! fills. While less arrives, alpha is the largest label that was seen. What passes above alpha is labelled anew, so that the
//! next queue knows the rate behind this one.
//!
//! **Source.** Stoica, Shenker, Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998: figure 3, the estimator of equation
//! 3; the authors' ns-2 code, as INET's `CSFQVLANQueue2` follows it, for the threshold and the bounded cut of alpha when
//! the queue overflows.
//!
//! **Deviations.** A packet that already has a label keeps it; else this queue is its edge, unless `edge` is off. The edge's
//! table is bounded and the longest unused flow makes room. The first packet of a flow only starts its clock and has
//! no label. While alpha is open and the queue below `threshold`, alpha stays open also when more arrives than leaves, as
//! in the authors' code. Were alpha 0 in a congested moment, which the listing never leaves, the next label opens it.
//!
//! **Cost.** Two exponentials and two divisions for the core; for the edge a look-up of the flow and one more of each.

use alloc::format;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::config::shared::{BANDWIDTH, LIMIT};
use crate::config::{
    About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, number, parameter, part, same_unit,
};
use crate::rate::RateEstimate;
use crate::recent::RecentFlows;
use crate::{Counters, Duration, Fate, FlowKey, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "csfq",
    summary: "drops what a flow sends above a fair rate, by the rate that the edge wrote on its packets",
    source: "Stoica, Shenker, Zhang: Core-Stateless Fair Queueing, SIGCOMM 1998",
    year: Some(1998),
    needs: "labels, or at the edge the rates of `table_size` flows",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT, RATE, EDGE, TABLE_SIZE, K, K_ALPHA, K_C, THRESHOLD],
};

const RATE: Parameter = Parameter { meaning: "rate that is shared among the flows (C)", ..BANDWIDTH };
const EDGE: Parameter = parameter(
    "edge",
    Domain::Switch,
    "true",
    "packets without a label are given the rate of their flow, measured here; else they are not dropped for a rate",
)
.elsewhere(&["edge_"]);
const TABLE_SIZE: Parameter = parameter(
    "table_size",
    Domain::Count { min: 1, max: 16_777_216, infinite: false },
    "16384",
    "flows that the edge knows the rate of; the longest unused makes room",
);
const K: Parameter =
    parameter("k", Domain::Duration, "100ms, the paper", "time constant of a flow's rate at the edge (K)")
        .elsewhere(&["K"]);
const K_ALPHA: Parameter = parameter(
    "k_alpha",
    Domain::Duration,
    "200ms, the paper",
    "time constant of the rates at which packets arrive and are accepted (K_alpha)",
)
.elsewhere(&["K_alpha", "kLink_"]);
const K_C: Parameter = parameter(
    "k_c",
    Domain::Duration,
    "100ms, the paper",
    "how long the link is congested, or not, before the fair rate follows (K_c)",
)
.elsewhere(&["K_c"]);
const THRESHOLD: Parameter = parameter(
    "threshold",
    Domain::Size,
    "limit / 4, the paper's 16 of 64 kB",
    "while the link is not congested and the queue below this, nothing is dropped for its rate; in the unit of `limit`",
)
.elsewhere(&["queueThreshold", "qsizeThresh_"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    /// In bit/s.
    rate: f64,
    edge: bool,
    table_size: u32,
    flow_time: Duration,
    link_time: Duration,
    window: Duration,
    /// In the unit of `limit`.
    threshold: u64,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let rate = r.bandwidth("the fair rate")?;
    let edge = r.take("edge", Origin::Default("so that it works alone"), true)?;
    let table_size = r.take("table_size", Origin::Default("enough for most edges"), 16_384)?;
    let paper = Origin::Default("the paper");
    let flow_time = r.take("k", paper.clone(), Duration::from_millis(100))?;
    let link_time = r.take("k_alpha", paper.clone(), Duration::from_millis(200))?;
    let window = r.take("k_c", paper, Duration::from_millis(100))?;
    let threshold = r.take("threshold", Origin::Derived("limit / 4, the paper's 16 of 64 kB"), part(limit, 4))?;
    if !same_unit(threshold, limit) {
        let message = format!("it is {threshold} and limit is {limit}: both must be packets or both bytes");
        return Err(ParameterError::new("threshold", message));
    }
    if number(threshold) >= number(limit) && number(limit) > 0.0 {
        r.warn(format!(
            "threshold {threshold} is not below limit {limit}: the queue overflows before anything is dropped"
        ));
    }
    Ok(Settings {
        limit,
        rate: rate.bits_per_second() as f64,
        edge,
        table_size,
        flow_time,
        link_time,
        window,
        // Sizes stay below 2^53.
        threshold: number(threshold) as u64,
    })
}

/// The rates of flows at the edge.
#[derive(Debug)]
struct Edge {
    recent: RecentFlows,
    rates: Vec<RateEstimate>,
    constant: Duration,
}

impl Edge {
    /// The label of a packet of `bytes` bytes of `flow`: its rate in whole bit/s.
    fn label(&mut self, now: Time, flow: FlowKey, bytes: u32) -> u64 {
        let (number, new) = self.recent.touch(flow);
        let clock = RateEstimate::new(self.constant, now);
        if number == self.rates.len() {
            self.rates.push(clock);
            return 0;
        }
        if new {
            self.rates[number] = clock;
            return 0;
        }
        // A cast saturates.
        libm::round(self.rates[number].add(now, bytes)) as u64
    }
}

/// The core: the fair rate from the labels of all packets.
#[derive(Debug)]
struct Core {
    /// The rate that is shared, in bit/s.
    rate: f64,
    window: Duration,
    /// The fair rate in bit/s; 0 while it is open and nothing is dropped (alpha).
    fair: f64,
    arrived: RateEstimate,
    accepted: RateEstimate,
    congested: bool,
    /// When the present window began.
    start: Time,
    /// The largest label in a window without congestion.
    largest: f64,
    /// How often an overflow has cut the fair rate since `cut_since`.
    cuts: u32,
    cut_since: Time,
}

impl Core {
    fn new(settings: &Settings) -> Self {
        Self {
            rate: settings.rate,
            window: settings.window,
            fair: 0.0,
            arrived: RateEstimate::new(settings.link_time, Time::ZERO),
            accepted: RateEstimate::new(settings.link_time, Time::ZERO),
            congested: false,
            start: Time::ZERO,
            largest: 0.0,
            cuts: 0,
            cut_since: Time::ZERO,
        }
    }

    /// Takes in an arrival with `label`, which is `accepted` or not, at a queue that is `long` or not.
    fn estimate(&mut self, now: Time, bytes: u32, label: f64, accepted: bool, long: bool) {
        let arrived = self.arrived.add(now, bytes);
        if accepted {
            self.accepted.add(now, bytes);
        }
        if arrived >= self.rate {
            self.follow_congestion(now, label, long);
        } else if self.congested {
            self.congested = false;
            self.start = now;
            self.largest = 0.0;
        } else if now < self.start + self.window {
            self.largest = self.largest.max(label);
        } else {
            self.fair = if long { self.largest } else { 0.0 };
            self.start = now;
            self.largest = 0.0;
        }
    }

    fn follow_congestion(&mut self, now: Time, label: f64, long: bool) {
        if !self.congested {
            self.congested = true;
            self.start = now;
        } else if now > self.start + self.window {
            let accepted = self.accepted.bits_per_second();
            if accepted > 0.0 {
                self.fair = (self.fair * (self.rate / accepted)).min(self.rate);
            }
            self.start = now;
        }
        if self.fair == 0.0 && long {
            self.fair = label.min(self.rate);
        }
    }

    /// The queue overflowed: the fair rate is too high, but not by more than a quarter.
    fn cut(&mut self, now: Time) {
        if now >= self.cut_since + self.window {
            self.cuts = 0;
            self.cut_since = now;
        }
        if self.cuts < MOST_CUTS {
            self.cuts += 1;
            self.fair *= CUT;
        }
    }
}

/// Core-Stateless Fair Queueing over a FIFO.
#[derive(Debug)]
pub struct Csfq<P> {
    buffer: Buffer<P>,
    edge: Option<Edge>,
    core: Core,
    in_bytes: bool,
    threshold: u64,
    rolls: Stream,
}

impl<P: Packet> Csfq<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let edge = settings.edge.then(|| Edge {
            recent: RecentFlows::new(settings.table_size, seed),
            rates: Vec::new(),
            constant: settings.flow_time,
        });
        Self {
            buffer: Buffer::new(settings.limit),
            edge,
            core: Core::new(&settings),
            in_bytes: matches!(settings.limit, Size::Bytes(_)),
            threshold: settings.threshold,
            rolls: seed.stream("label"),
        }
    }

    /// Whether the queue is at its threshold or above.
    fn is_long(&self) -> bool {
        let queued = if self.in_bytes { self.buffer.fifo.bytes() } else { self.buffer.fifo.packets() as u64 };
        queued >= self.threshold
    }

    /// The label of `packet`, written on it if it had none; 0 where there is none.
    fn label(&mut self, now: Time, packet: &mut P) -> u64 {
        let label = packet.label();
        match &mut self.edge {
            Some(edge) if label == 0 => {
                let label = edge.label(now, packet.flow(), packet.bytes());
                packet.set_label(label);
                label
            }
            _ => label,
        }
    }
}

impl<P: Packet> Qdisc<P> for Csfq<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        let (label, long, bytes) = (self.label(now, &mut packet), self.is_long(), packet.bytes());
        let fair = self.core.fair;
        // What has no label counts as if it were at the fair rate.
        let label = if label == 0 { fair } else { label as f64 };
        let above = fair > 0.0 && label > fair;
        // u < 1 - alpha / label, without the division.
        if above && self.rolls.unit() * label < label - fair {
            self.core.estimate(now, bytes, label, false, long);
            self.buffer.discard(now, packet, Reason::Label, fate);
            return;
        }
        self.core.estimate(now, bytes, label, true, long);
        if self.buffer.overflows(bytes) {
            self.core.cut(now);
            self.buffer.discard(now, packet, Reason::Limit, fate);
            return;
        }
        if above && self.core.fair > 0.0 {
            packet.set_label(libm::round(label.min(self.core.fair)).max(1.0) as u64);
        }
        self.buffer.admit(now, packet, None, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
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

/// What an overflow leaves of the fair rate.
const CUT: f64 = 0.99;

/// How often the fair rate is cut in one window: to three quarters.
const MOST_CUTS: u32 = 29;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, SimplePacket};

    /// The paper's: 10 Mbit/s, 64 kB, no threshold.
    const SETTINGS: Settings = Settings {
        limit: Size::Bytes(Bytes::new(64_000)),
        rate: 10e6,
        edge: true,
        table_size: 16,
        flow_time: Duration::from_millis(100),
        link_time: Duration::from_millis(200),
        window: Duration::from_millis(100),
        threshold: 0,
    };

    fn millis(count: u64) -> Time {
        Time::ZERO + Duration::from_millis(count)
    }

    /// SPEC appendix D: a packet of 8000 bits 8 ms after the flow's first is labelled 76,883.65 bit/s. Packets of one
    /// moment count together with the next.
    #[test]
    fn the_edge_labels_by_the_equation() {
        let mut queue = Csfq::<SimplePacket>::new(SETTINGS, Seed::new(1));
        let mut label = |time, bytes| queue.label(time, &mut SimplePacket::new(3, bytes));
        assert_eq!(label(millis(5), 1000), 0, "the first packet starts the clock");
        assert_eq!(label(millis(13), 1000), 76_884);
        assert_eq!(label(millis(13), 500), 76_884);
        // 12,000 bits in 8 ms on top of what was.
        let old = libm::exp(-0.08);
        let expected = (1.0 - old) * 12_000.0 / 0.008 + old * 76_883.65;
        assert!((label(millis(21), 1000) as f64 - expected).abs() < 1.0);
    }

    /// A label that is there is left alone, and is the flow's rate whatever the edge measured.
    #[test]
    fn a_label_stands() {
        let mut queue = Csfq::new(SETTINGS, Seed::new(1));
        let mut packet = SimplePacket::new(3, 1000).with_label(5);
        assert_eq!((queue.label(millis(1), &mut packet), packet.label), (5, 5));
    }

    /// SPEC 13: with four flows of 2.5 times their share each, alpha settles at C/4.
    #[test]
    fn the_fair_rate_settles_at_the_share() {
        let mut core = Core::new(&SETTINGS);
        let mut rolls = Seed::new(4).stream("rolls");
        let mut mean = 0.0;
        let packets = 40_000_u64;
        for n in 0..packets {
            let label = 6_250_000.0;
            let accepted = core.fair == 0.0 || rolls.unit() >= 1.0 - core.fair / label;
            // 25 Mbit/s of packets of 1000 bytes.
            core.estimate(Time::from_nanos(320_000 * (n + 1)), 1000, label, accepted, true);
            mean += if n < packets / 2 { 0.0 } else { core.fair / (packets / 2) as f64 };
        }
        assert!((mean / 2_500_000.0 - 1.0).abs() < 0.03, "{mean}");
    }

    /// The listing, step by step: the first congested label opens the fair rate, a window later it is scaled; without
    /// congestion it is the largest label of a window, or open again when the queue is short.
    #[test]
    fn the_fair_rate_follows_the_listing() {
        let mut core = Core::new(&SETTINGS);
        // 1000 bytes a ms are 8 Mbit/s: no congestion.
        for ms in 1..=100 {
            core.estimate(millis(ms), 1000, if ms == 40 { 7e6 } else { 2e6 }, true, true);
        }
        assert_eq!(core.fair, 7e6);
        for ms in 101..=200 {
            core.estimate(millis(ms), 1000, 2e6, true, true);
        }
        assert_eq!(core.fair, 2e6);
        for ms in 201..=300 {
            core.estimate(millis(ms), 1000, 2e6, true, false);
        }
        assert_eq!(core.fair, 0.0, "a short queue opens it");
        // 20 Mbit/s: congested, but while the queue is short it stays open.
        let mut ms = 300;
        while !core.congested {
            ms += 1;
            core.estimate(millis(ms), 2500, 9e6, true, false);
        }
        assert_eq!(core.fair, 0.0);
        core.estimate(millis(ms), 2500, 9e6, true, true);
        assert_eq!(core.fair, 9e6);
        let since = core.start;
        while core.start == since {
            ms += 1;
            let before = core.fair;
            core.estimate(millis(ms), 2500, 9e6, true, true);
            let expected = if core.start == since { before } else { before * 10e6 / core.accepted.bits_per_second() };
            assert_eq!(core.fair, expected);
        }
        assert_eq!(millis(ms) - since, Duration::from_millis(101));
    }

    /// SPEC 13: an overflow takes a hundredth, but not more than a quarter in a window (0.99^29 is 0.75).
    #[test]
    fn overflows_cut_the_fair_rate_to_three_quarters() {
        let mut core = Core::new(&SETTINGS);
        core.fair = 1e6;
        for _ in 0..100 {
            core.cut(millis(1000));
        }
        assert!((core.fair - 0.747_172e6).abs() < 1.0, "{}", core.fair);
        core.cut(millis(1099));
        assert!((core.fair - 0.747_172e6).abs() < 1.0);
        core.cut(millis(1100));
        assert!((core.fair - 0.99 * 0.747_172e6).abs() < 1.0);
    }

    /// The edge knows the flows used last.
    #[test]
    fn the_edge_forgets_the_longest_unused() {
        let mut queue = Csfq::<SimplePacket>::new(Settings { table_size: 2, ..SETTINGS }, Seed::new(1));
        let mut labelled = |ms, flow| queue.label(millis(ms), &mut SimplePacket::new(flow, 1000)) > 0;
        let seen = [(1, 1), (2, 2), (3, 1), (4, 3), (5, 1), (6, 2)].map(|(ms, flow)| labelled(ms, flow));
        assert_eq!(seen, [false, false, true, false, true, false]);
    }
}
