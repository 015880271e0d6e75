//! Random Early Detection: signals congestion at random, the more the longer the *average* queue.
//!
//! **Source.** Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1(4),
//! 1993. The order of the steps, the treatment of idle time and the spared packet follow ns-2; `gentle` is Floyd's
//! recommendation of 2000.
//!
//! **Deviations.** After an idle time of `m` packets the average decays by `m + 1` samples as in ns-2; the paper has
//! `m`. A forced signal marks an ECN-capable packet unless `harddrop`; RFC 3168 and ns-2 drop.
//!
//! **Cost.** A few multiplications and one random number a packet between the thresholds; one division when an idle
//! time ends.

use alloc::format;

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::{Bytes, Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status, Time};

mod core;

pub(crate) use self::core::{RedCore, power};

/// The configuration of [`Red`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The average, the thresholds and the probability.
    pub red: RedParameters,
    /// The weight of a sample in a low-pass filter of the probability, which is sampled at each arrival; above 0 and at
    /// most 1. Signals are then given with the filtered probability at any average, and none is forced (Feng, Shin,
    /// Kandlur, Saha, IEEE/ACM ToN 10(4), section III-C). Default: 1, no filter.
    pub probability_weight: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(300), red: RedParameters::default(), probability_weight: 1.0 }
    }
}

/// RED's own parameters, for all disciplines that build on RED.
///
/// The default is the router of the CHOKe paper (section III): thresholds of 100 and 200 packets, and ns-2's values for
/// the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct RedParameters {
    /// The average below which no packet is signalled (min_th), in packets or bytes. Default: 100 packets.
    pub min: Size,
    /// The average from which every packet is signalled (max_th), in the unit of `min` and not below it. Default: 200
    /// packets.
    pub max: Size,
    /// The base probability of a signal as the average reaches `max` (max_p), above 0 and at most 1. Default: 0.1, as
    /// ns-2.
    pub probability: f64,
    /// The weight of a sample in the average (w_q), above 0 and at most 1. Default: 0.002, as Floyd and Jacobson.
    pub weight: f64,
    /// The mean packet: the unit of the idle clock and of `byte_drop`. Default: 1000 bytes.
    pub avpkt: Bytes,
    /// The rate at which the average's clock ticks while the link is idle. Default: `None`, the link's rate
    /// ([`Qdisc::link_rate`]); as long as that is not known, idle time leaves the average alone.
    pub bandwidth: Option<Rate>,
    /// Lets the probability climb to 1 between `max` and twice `max`, instead of at once. Default: `false`, as ns-2
    /// before 2001.
    pub gentle: bool,
    /// The distribution of the gaps between early signals. Default: [`Uniformize::Wait`], as ns-2.
    pub uniformize: Uniformize,
    /// Spares a packet that finds at most one packet queued, and the first one that finds the average at or above
    /// `min`. Default: `true`, as ns-2.
    pub spare: bool,
    /// Makes early signals proportional to the packet's size over `avpkt`. Default: `false`, as ns-2 before 2004.
    pub byte_drop: bool,
    /// Marks packets that can be marked instead of dropping them, for early and forced signals. Default: `false`.
    pub ecn: bool,
    /// Drops at a forced signal even what could be marked. Default: `false`.
    pub harddrop: bool,
}

/// The distribution of the gaps between early signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Uniformize {
    /// Not at all: each packet is signalled with the base probability p_b; gaps are geometric.
    None,
    /// Uniform on 1..1/p_b - 1 (Floyd and Jacobson, section VII, method 2).
    Count,
    /// Uniform on 1/p_b..2/p_b - 1 (ns-2's `wait`).
    Wait,
}

impl Default for RedParameters {
    fn default() -> Self {
        Self {
            min: Size::packets(100),
            max: Size::packets(200),
            probability: 0.1,
            weight: 0.002,
            avpkt: Bytes::new(1000),
            bandwidth: None,
            gentle: false,
            uniformize: Uniformize::Wait,
            spare: true,
            byte_drop: false,
            ecn: false,
            harddrop: false,
        }
    }
}

/// Checks two thresholds, each under its key, and against each other.
pub(crate) fn check_thresholds([lower, upper]: [&str; 2], min: Size, max: Size) -> Result<(), ParameterError> {
    check::size(lower, min)?;
    check::size(upper, max)?;
    if !min.has_unit_of(max) {
        let message = format!("it is {max} and {lower} is {min}: both must be packets or both bytes");
        return Err(ParameterError::new(upper, message));
    }
    if min.number() > max.number() {
        let message = format!("{min} is above {upper}, which is {max}: {lower} must not be above {upper}");
        return Err(ParameterError::new(lower, message));
    }
    Ok(())
}

impl RedParameters {
    /// Checks every value, and the thresholds against each other.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check_thresholds(["min", "max"], self.min, self.max)?;
        check::ratio("probability", self.probability)?;
        check::ratio("weight", self.weight)?;
        check::bytes("avpkt", self.avpkt)?;
        self.bandwidth.map_or(Ok(()), |rate| check::rate("bandwidth", rate))
    }
}

/// Random Early Detection over a FIFO.
#[derive(Debug)]
pub struct Red<P> {
    pub(super) buffer: Buffer<P>,
    pub(super) core: RedCore,
}

impl<P: Packet> Red<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, `min` is above `max`, or their units differ.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        check::size("limit", config.limit)?;
        check::ratio("probability_weight", config.probability_weight)?;
        let mut core = RedCore::new(config.red, seed)?;
        core.filter(config.probability_weight);
        Ok(Self { buffer: Buffer::new(config.limit), core })
    }

    /// Does the first half of [`Qdisc::enqueue`]: counts `packet`, which arrives, and updates the average.
    #[inline(always)]
    pub(super) fn arrive(&mut self, now: Time, packet: &P) {
        self.buffer.arrive(packet);
        self.core.arrive(now, &self.buffer);
    }

    /// Does the second half: RED and the limit decide on `packet`. Steps before RED come between the halves.
    #[inline(always)]
    pub(super) fn decide(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let signal = self.core.test(self.buffer.fifo.packets(), packet.bytes());
        if signal.is_none() && !self.buffer.overflows(packet.bytes()) {
            self.buffer.fifo.push(packet);
            return Fate::Queued;
        }
        self.signal(now, packet, signal, sink)
    }

    /// Does [`Qdisc::enqueue`] in any state.
    #[inline(never)]
    fn enqueue_any(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.arrive(now, &packet);
        self.decide(now, packet, sink)
    }

    /// Does [`decide`](Self::decide) apart from the packet path.
    #[inline(never)]
    fn decide_any(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.decide(now, packet, sink)
    }

    /// Does what [`arrive`](Self::arrive) does while the core is [straight](RedCore::is_straight).
    #[inline(always)]
    pub(super) fn arrive_straight(&mut self, packet: &P) {
        self.buffer.arrive(packet);
        self.core.average_in(self.core.occupancy(&self.buffer));
    }

    /// Tells whether the average is between the thresholds and the arrival is not one that RED spares.
    #[inline(always)]
    pub(super) fn is_between(&self) -> bool {
        self.core.is_between() && self.buffer.fifo.packets() > 1
    }

    /// Does what [`decide`](Self::decide) does while the core is [straight](RedCore::is_straight) and the average
    /// [between](Self::is_between) the thresholds.
    #[inline(always)]
    pub(super) fn decide_between(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.decide_straight::<false>(now, packet, sink)
    }

    /// Does the same after a [`look`](crate::queue::fifo::Fifo::look) at a candidate.
    #[inline(always)]
    pub(super) fn decide_looked(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.decide_straight::<true>(now, packet, sink)
    }

    #[inline(always)]
    fn decide_straight<const LOOKED: bool>(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let is_signalled = self.core.signals_between();
        if is_signalled || self.buffer.overflows(packet.bytes()) {
            return self.signal(now, packet, is_signalled.then_some(Reason::Early), sink);
        }
        if LOOKED {
            self.buffer.fifo.push_looked(packet);
        } else {
            self.buffer.fifo.push(packet);
        }
        Fate::Queued
    }

    /// Does [`Qdisc::dequeue`] for a caller that looks at the packet.
    #[inline(always)]
    pub(super) fn depart(&mut self, now: Time) -> Option<P> {
        if self.buffer.fifo.is_empty() {
            self.core.idle(now);
            return None;
        }
        self.buffer.depart()
    }

    /// Marks or drops `packet` if RED gives a `signal`, and drops it if it does not fit.
    #[inline(never)]
    pub(super) fn signal(&mut self, now: Time, packet: P, signal: Option<Reason>, sink: &mut dyn DropSink<P>) -> Fate {
        let mark = match self.core.fate(signal, packet.ecn_capable()) {
            Fate::Queued => None,
            Fate::Marked(reason) => Some(reason),
            Fate::Dropped(reason) => return self.buffer.discard(now, packet, reason, sink),
        };
        self.buffer.admit(now, packet, mark, sink)
    }
}

impl<P: Packet> Qdisc<P> for Red<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        if !self.core.is_straight() {
            return self.enqueue_any(now, packet, sink);
        }
        self.arrive_straight(&packet);
        if !self.is_between() {
            return self.decide_any(now, packet, sink);
        }
        self.decide_between(now, packet, sink)
    }

    #[inline]
    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        if self.buffer.fifo.is_empty() {
            self.core.idle(now);
            return None;
        }
        self.buffer.depart_last()
    }

    fn status(&self) -> Status {
        self.core.status(&self.buffer)
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        self.core.link_rate(rate);
    }
}
