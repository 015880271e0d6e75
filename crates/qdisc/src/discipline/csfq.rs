//! Core-Stateless Fair Queueing: the edge of a network writes each flow's rate on its packets, and the core drops what
//! exceeds a fair rate, which it estimates without state for any flow.
//!
//! An arrival whose label exceeds the fair rate alpha is dropped with the probability 1 - alpha / label, so each flow
//! keeps at most alpha. While more arrives than the link can carry, alpha is multiplied once a window by the link's
//! rate over the accepted rate. While less arrives, alpha is the largest label of the last window. A packet that passes
//! with a label above alpha gets alpha as its label, so that the next queue knows the flow's rate behind this one.
//!
//! **Source.** Stoica, Shenker, Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998: figure 3, and equation 3 for the
//! estimator. The threshold, and the bounded cut of alpha when the queue overflows, follow the authors' ns-2 code, as
//! INET's `CSFQVLANQueue2` does.
//!
//! **Deviations.** A packet that already has a label keeps it; else this queue is its edge, unless `edge` is off. The
//! edge's table is bounded, and the flow unused for longest makes room for a new one. The first packet of a flow only
//! starts its clock and has no label. While alpha is open (nothing is dropped) and the queue is below `threshold`,
//! alpha stays open even if more arrives than the link can carry, as in the authors' code. Where the paper's listing
//! would stay at an alpha of 0 in congestion, the next label opens it.
//!
//! **Cost.** Two exponentials and two divisions for the core, unless packets come at equal intervals; for the edge a
//! lookup of the flow and two more of each.

use alloc::format;
use alloc::vec::Vec;

use crate::error::check;
use crate::flow::lru::LruFlows;
use crate::queue::buffer::Buffer;
use crate::rate::estimate::{LastWeights, RateEstimate};
use crate::{
    Counters, DropSink, Duration, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status,
    Stream, Time,
};

/// The configuration of [`Csfq`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The rate that is shared among the flows (C). Default: `None`, the link's rate ([`Qdisc::link_rate`]); as long as
    /// that is not known, the link never counts as congested, and the fair rate is the largest label seen lately.
    pub bandwidth: Option<Rate>,
    /// Measures the rates of flows whose packets come without a label, and labels them. Without it such a packet counts
    /// as if it were at the fair rate. Default: `true`, so that the queue works alone.
    pub edge: bool,
    /// The number of flows whose rates the edge knows, 1 to 16,777,216. Default: 16,384, enough for most edges.
    pub table_size: u32,
    /// The time constant of a flow's rate at the edge (K), above zero. Default: 100 ms, as the paper.
    pub k: Duration,
    /// The time constant of the rates at which packets arrive and are accepted (K_alpha), above zero. Default: 200 ms,
    /// as the paper.
    pub k_alpha: Duration,
    /// The time for which the link must be congested, or not, before the fair rate is updated (K_c), above zero.
    /// Default: 100 ms, as the paper.
    pub k_c: Duration,
    /// The queue below which nothing is dropped for its rate while the link is not congested, in the unit of `limit`.
    /// Default: 75 packets, a quarter of the default `limit`, as the paper's 16 kB of 64 kB.
    pub threshold: Size,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            bandwidth: None,
            edge: true,
            table_size: 16_384,
            k: Duration::from_millis(100),
            k_alpha: Duration::from_millis(200),
            k_c: Duration::from_millis(100),
            threshold: Size::packets(75),
        }
    }
}

impl Config {
    /// Checks every value, and the unit of the threshold.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let Self { limit, threshold, .. } = *self;
        check::size("limit", limit)?;
        self.bandwidth.map_or(Ok(()), |rate| check::rate("bandwidth", rate))?;
        check::count("table_size", self.table_size, 1..=1 << 24)?;
        check::duration("k", self.k)?;
        check::duration("k_alpha", self.k_alpha)?;
        check::duration("k_c", self.k_c)?;
        check::size("threshold", threshold)?;
        if !threshold.has_unit_of(limit) {
            let message = format!("it is {threshold} and limit is {limit}: both must be packets or both bytes");
            return Err(ParameterError::new("threshold", message));
        }
        Ok(())
    }
}

/// The rates of flows at the edge.
#[derive(Debug)]
struct EdgeRates {
    flows: LruFlows,
    rates: Vec<RateEstimate>,
    constant: Duration,
}

impl EdgeRates {
    /// Returns the label of a packet of `bytes` bytes of `flow`: the flow's rate in whole bit/s, or 0 for its first
    /// packet.
    fn label(&mut self, now: Time, flow: FlowKey, bytes: u32) -> u64 {
        if let Some(index) = self.flows.touch(flow) {
            // A cast saturates.
            return libm::round(self.rates[index].add(now, bytes)) as u64;
        }
        let (index, rate) = (self.flows.insert(flow), RateEstimate::new(self.constant, now));
        if index == self.rates.len() {
            self.rates.push(rate);
        } else {
            self.rates[index] = rate;
        }
        0
    }
}

/// The fair rate, estimated from the labels of all packets.
#[derive(Debug)]
struct FairRate {
    /// The rate that is shared, in bit/s; infinite while it is not known.
    rate: f64,
    window: Duration,
    /// The fair rate in bit/s (alpha); 0 while it is open: then nothing is dropped for its rate.
    fair: f64,
    arrived: RateEstimate,
    accepted: RateEstimate,
    weights: LastWeights,
    congested: bool,
    /// When the present window began.
    start: Time,
    /// The largest label in a window without congestion.
    largest: f64,
    /// The number of cuts of the fair rate by overflows since `cut_since`.
    cuts: u32,
    cut_since: Time,
}

impl FairRate {
    fn new(config: &Config) -> Self {
        Self {
            rate: config.bandwidth.map_or(f64::INFINITY, |rate| rate.bits_per_second() as f64),
            window: config.k_c,
            fair: 0.0,
            arrived: RateEstimate::new(config.k_alpha, Time::ZERO),
            accepted: RateEstimate::new(config.k_alpha, Time::ZERO),
            weights: LastWeights::default(),
            congested: false,
            start: Time::ZERO,
            largest: 0.0,
            cuts: 0,
            cut_since: Time::ZERO,
        }
    }

    /// Sets the rate that is shared; 0 if it is not known.
    const fn set_rate(&mut self, rate: Rate) {
        self.rate = if rate.bits_per_second() > 0 { rate.bits_per_second() as f64 } else { f64::INFINITY };
    }

    /// Updates the estimates with an arrival with `label`. `accepted` tells whether it is queued, and `long` whether
    /// the queue is at its threshold or above.
    fn estimate(&mut self, now: Time, bytes: u32, label: f64, accepted: bool, long: bool) {
        let arrived = if accepted {
            self.arrived.add_to_both_with(&mut self.weights, &mut self.accepted, now, bytes)
        } else {
            self.arrived.add_with(&mut self.weights, now, bytes)
        };
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

    /// Lowers the fair rate after an overflow of the queue, by a quarter at most in one window.
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
    edge: Option<EdgeRates>,
    fair_rate: FairRate,
    follows_link: bool,
    in_bytes: bool,
    /// In the unit of the limit.
    threshold: u64,
    rolls: Stream,
}

impl<P: Packet> Csfq<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or `threshold` has another unit than `limit`.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let edge = config.edge.then(|| EdgeRates {
            flows: LruFlows::new(config.table_size, seed),
            rates: Vec::new(),
            constant: config.k,
        });
        Ok(Self {
            buffer: Buffer::new(config.limit),
            edge,
            fair_rate: FairRate::new(&config),
            follows_link: config.bandwidth.is_none(),
            in_bytes: matches!(config.limit, Size::Bytes(_)),
            threshold: config.threshold.number(),
            rolls: seed.stream("label"),
        })
    }

    /// Tells whether the queue is at its threshold or above.
    fn is_long(&self) -> bool {
        let queued = if self.in_bytes { self.buffer.fifo.bytes() } else { self.buffer.fifo.packets() as u64 };
        queued >= self.threshold
    }

    /// Returns the label of `packet`, after labelling it at the edge if it has none; 0 if it has none still.
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
    fn enqueue(&mut self, now: Time, mut packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        let (label, long, bytes) = (self.label(now, &mut packet), self.is_long(), packet.bytes());
        let fair = self.fair_rate.fair;
        // A packet without a label counts as if it were at the fair rate.
        let label = if label == 0 { fair } else { label as f64 };
        let above = fair > 0.0 && label > fair;
        // u < 1 - alpha / label without the division.
        if above && self.rolls.unit() * label < label - fair {
            self.fair_rate.estimate(now, bytes, label, false, long);
            return self.buffer.discard(now, packet, Reason::Label, sink);
        }
        self.fair_rate.estimate(now, bytes, label, true, long);
        if self.buffer.overflows(bytes) {
            self.fair_rate.cut(now);
            return self.buffer.discard(now, packet, Reason::Limit, sink);
        }
        if above && self.fair_rate.fair > 0.0 {
            packet.set_label(libm::round(label.min(self.fair_rate.fair)).max(1.0) as u64);
        }
        self.buffer.admit(now, packet, None, sink)
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.buffer.depart_last()
    }

    fn status(&self) -> Status {
        Status { flows: self.edge.as_ref().map(|edge| edge.flows.flows()), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        if self.follows_link {
            self.fair_rate.set_rate(rate);
        }
    }
}

/// The factor by which an overflow lowers the fair rate.
const CUT: f64 = 0.99;

/// The most cuts in one window, which lower the fair rate to three quarters.
const MOST_CUTS: u32 = 29;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// The paper's time constants, 10 Mbit/s and 64 kB, but no threshold.
    fn config() -> Config {
        Config {
            limit: Size::bytes(64_000),
            bandwidth: Some(Rate::from_bits_per_second(10_000_000)),
            table_size: 16,
            threshold: Size::bytes(0),
            ..Config::default()
        }
    }

    fn csfq(config: Config) -> Csfq<SimplePacket> {
        Csfq::new(config, Seed::new(1)).unwrap()
    }

    fn millis(count: u64) -> Time {
        Time::ZERO + Duration::from_millis(count)
    }

    /// Equation 3 by hand: a packet of 8000 bits 8 ms after the flow's first gets the label 76,883.65 bit/s. Packets
    /// that arrive at the same time count with the next.
    #[test]
    fn the_edge_labels_by_the_equation() {
        let mut queue = csfq(config());
        let mut label = |time, bytes| queue.label(time, &mut SimplePacket::new(3, bytes));
        assert_eq!(label(millis(5), 1000), 0, "the first packet starts the clock");
        assert_eq!(label(millis(13), 1000), 76_884);
        assert_eq!(label(millis(13), 500), 76_884);
        // 12,000 bits in 8 ms on top of the old rate.
        let old = libm::exp(-0.08);
        let expected = (1.0 - old) * 12_000.0 / 0.008 + old * 76_883.65;
        assert!((label(millis(21), 1000) as f64 - expected).abs() < 1.0);
    }

    /// Would catch an edge that replaces a label that a packet already has.
    #[test]
    fn a_label_is_kept() {
        let mut queue = csfq(config());
        let mut packet = SimplePacket::new(3, 1000).with_label(5);
        assert_eq!((queue.label(millis(1), &mut packet), packet.label), (5, 5));
    }

    /// Would catch a fair rate that does not converge: with four flows of 2.5 times their share each, it settles at
    /// C/4.
    #[test]
    fn the_fair_rate_settles_at_the_share() {
        let mut fair_rate = FairRate::new(&config());
        let mut rolls = Seed::new(4).stream("rolls");
        let mut mean = 0.0;
        let packets = 40_000_u64;
        for n in 0..packets {
            let label = 6_250_000.0;
            let accepted = fair_rate.fair == 0.0 || rolls.unit() >= 1.0 - fair_rate.fair / label;
            // 25 Mbit/s of packets of 1000 bytes.
            fair_rate.estimate(Time::from_nanos(320_000 * (n + 1)), 1000, label, accepted, true);
            mean += if n < packets / 2 { 0.0 } else { fair_rate.fair / (packets / 2) as f64 };
        }
        assert!((mean / 2_500_000.0 - 1.0).abs() < 0.03, "{mean}");
    }

    /// The paper's figure 3, step by step: the first label in congestion sets the fair rate, and a window later it is
    /// scaled; without congestion it is the largest label of a window, or open if the queue is short.
    #[test]
    fn the_fair_rate_follows_the_listing() {
        let mut fair_rate = FairRate::new(&config());
        // 1000 bytes a ms are 8 Mbit/s: no congestion.
        for ms in 1..=100 {
            fair_rate.estimate(millis(ms), 1000, if ms == 40 { 7e6 } else { 2e6 }, true, true);
        }
        assert_eq!(fair_rate.fair, 7e6);
        for ms in 101..=200 {
            fair_rate.estimate(millis(ms), 1000, 2e6, true, true);
        }
        assert_eq!(fair_rate.fair, 2e6);
        for ms in 201..=300 {
            fair_rate.estimate(millis(ms), 1000, 2e6, true, false);
        }
        assert_eq!(fair_rate.fair, 0.0, "a short queue opens it");
        // 20 Mbit/s: congested, but while the queue is short it stays open.
        let mut ms = 300;
        while !fair_rate.congested {
            ms += 1;
            fair_rate.estimate(millis(ms), 2500, 9e6, true, false);
        }
        assert_eq!(fair_rate.fair, 0.0);
        fair_rate.estimate(millis(ms), 2500, 9e6, true, true);
        assert_eq!(fair_rate.fair, 9e6);
        let since = fair_rate.start;
        while fair_rate.start == since {
            ms += 1;
            let before = fair_rate.fair;
            fair_rate.estimate(millis(ms), 2500, 9e6, true, true);
            let expected =
                if fair_rate.start == since { before } else { before * 10e6 / fair_rate.accepted.bits_per_second() };
            assert_eq!(fair_rate.fair, expected);
        }
        assert_eq!(millis(ms) - since, Duration::from_millis(101));
    }

    /// Would catch a fair rate that overflows lower without a bound: each takes a hundredth, and at most 29 count in a
    /// window (0.99^29 is 0.75).
    #[test]
    fn overflows_cut_the_fair_rate_to_three_quarters() {
        let mut fair_rate = FairRate::new(&config());
        fair_rate.fair = 1e6;
        for _ in 0..100 {
            fair_rate.cut(millis(1000));
        }
        assert!((fair_rate.fair - 0.747_172e6).abs() < 1.0, "{}", fair_rate.fair);
        fair_rate.cut(millis(1099));
        assert!((fair_rate.fair - 0.747_172e6).abs() < 1.0);
        fair_rate.cut(millis(1100));
        assert!((fair_rate.fair - 0.99 * 0.747_172e6).abs() < 1.0);
    }

    /// Would catch an edge that forgets another flow than the one unused for longest.
    #[test]
    fn the_edge_forgets_the_longest_unused() {
        let mut queue = csfq(Config { table_size: 2, ..config() });
        let mut labelled = |ms, flow| queue.label(millis(ms), &mut SimplePacket::new(flow, 1000)) > 0;
        let seen = [(1, 1), (2, 2), (3, 1), (4, 3), (5, 1), (6, 2)].map(|(ms, flow)| labelled(ms, flow));
        assert_eq!(seen, [false, false, true, false, true, false]);
    }

    /// Would catch a division by an unknown rate, and a rate that is not followed: without one the link never counts as
    /// congested, and a link that becomes slow does.
    #[test]
    fn the_fair_rate_follows_the_link() {
        let mut queue = csfq(Config { bandwidth: None, ..config() });
        let mut now = Time::ZERO;
        for (rate, congested) in [(None, false), (Some(1_000_000), true), (Some(100_000_000), false), (Some(0), false)]
        {
            rate.map(Rate::from_bits_per_second).into_iter().for_each(|rate| queue.link_rate(rate));
            // 8 Mbit/s.
            for n in 0..1000 {
                now += Duration::from_millis(1);
                queue.enqueue(now, SimplePacket::new(n % 4, 1000), &mut ());
                queue.dequeue(now, &mut ());
            }
            assert_eq!(queue.fair_rate.congested, congested, "{rate:?}");
            assert!(queue.fair_rate.fair.is_finite());
        }
    }

    /// Would catch a value out of its range, and a threshold in another unit than the limit, that are accepted.
    #[test]
    fn invalid_configs_are_refused() {
        for (key, config) in [
            ("table_size", Config { table_size: 0, ..Config::default() }),
            ("threshold", Config { threshold: Size::bytes(1000), ..Config::default() }),
            ("bandwidth", Config { bandwidth: Some(Rate::from_bits_per_second(0)), ..Config::default() }),
        ] {
            let error = Csfq::<SimplePacket>::new(config, Seed::new(1)).unwrap_err();
            assert_eq!(error.key(), key);
        }
    }
}
