//! CHOKeW: CHOKe without RED, whose number of candidates follows the queue and a packet's weight. Experimental.
//!
//! A drawing factor rises with each arrival that finds a long queue and falls with each that finds a short one. A
//! packet of weight w is compared with the w-th part of the factor, so that weights become shares of the link. The
//! comparison ends with the first match, which drops both packets.
//!
//! **Source.** Wen, Fang, Sun, "CHOKeW: bandwidth differentiation and TCP protection in core networks", MILCOM 2005.
//!
//! **Deviations.** Only the abstract and the published constants are followed; what they leave open is decided in
//! `docs/qdiscs/chokew.md`. The factor has an upper bound, which the paper does not mention: the work for one packet
//! must not grow with an attack.
//!
//! **Cost.** Two random numbers and one cache line a candidate, while the queue is above `threshold`.

use alloc::format;

use super::candidates::Drawn;
use super::{Draw, candidates};
use crate::error::check;
use crate::flow::weight::weight;
use crate::queue::buffer::Buffer;
use crate::queue::fifo::Fifo;
use crate::{
    Counters, DropSink, Fate, FlowKey, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time,
};

/// The largest bound of the drawing factor.
pub(crate) const MAX_FACTOR: u32 = 1024;

/// The configuration of [`Chokew`]. `threshold`, `min` and `max` have one unit, packets or bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 500 packets, as the paper.
    pub limit: Size,
    /// The queue up to which nothing is compared (L_th). Default: 100 packets, as the paper.
    pub threshold: Size,
    /// The queue below which the drawing factor falls (L-), at most `max`. Default: 125 packets, as the paper.
    pub min: Size,
    /// The queue above which the drawing factor rises (L+). Default: 175 packets, as the paper.
    pub max: Size,
    /// The rise of the drawing factor with an arrival (p+), above 0 and at most 1. Default: 0.002, as the paper.
    pub increment: f64,
    /// The fall of the drawing factor with an arrival (p-), above 0 and at most 1. Default: 0.001, as the paper.
    pub decrement: f64,
    /// The upper bound of the drawing factor, 1 to 1024. Default: 64; the paper has none.
    pub max_candidates: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(500),
            threshold: Size::packets(100),
            min: Size::packets(125),
            max: Size::packets(175),
            increment: 0.002,
            decrement: 0.001,
            max_candidates: 64,
        }
    }
}

impl Config {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let Self { limit, threshold, min, max, .. } = *self;
        for (key, size) in [("limit", limit), ("max", max), ("min", min), ("threshold", threshold)] {
            check::size(key, size)?;
        }
        for (key, size) in [("min", min), ("threshold", threshold)] {
            same_unit(key, size, max)?;
        }
        if min.number() > max.number() {
            let message = format!("{min} is above max, which is {max}: the factor would rise and fall at once");
            return Err(ParameterError::new("min", message));
        }
        check::ratio("increment", self.increment)?;
        check::ratio("decrement", self.decrement)?;
        check::count("max_candidates", self.max_candidates, 1..=MAX_FACTOR)
    }
}

/// Checks that `size`, the value of `key`, has the unit of `other`.
pub(crate) fn same_unit(key: &str, size: Size, other: Size) -> Result<(), ParameterError> {
    if size.has_unit_of(other) {
        return Ok(());
    }
    let unit = if matches!(other, Size::Bytes(_)) { "bytes" } else { "packets" };
    let message = format!("{size} has another unit than the other sizes, which are in {unit}");
    Err(ParameterError::new(key, message))
}

/// The drawing factor and its control.
#[derive(Debug)]
pub(super) struct DrawingFactor {
    threshold: f64,
    min: f64,
    max: f64,
    in_bytes: bool,
    increment: f64,
    decrement: f64,
    bound: f64,
    factor: f64,
    rolls: Stream,
}

impl DrawingFactor {
    pub(super) fn new(config: &Config, seed: Seed) -> Self {
        // Sizes stay below 2^53.
        let number = |size: Size| size.number() as f64;
        Self {
            threshold: number(config.threshold),
            min: number(config.min),
            max: number(config.max),
            in_bytes: matches!(config.max, Size::Bytes(_)),
            increment: config.increment,
            decrement: config.decrement,
            bound: f64::from(config.max_candidates),
            factor: 0.0,
            rolls: seed.stream("factor"),
        }
    }

    /// Moves the factor by what an arrival finds in `fifo`; `steps` are the increments of a rise, from the queue above
    /// `max`. Tells whether arrivals are compared.
    pub(super) fn follow<P: Packet>(&mut self, fifo: &Fifo<P>, steps: impl FnOnce(f64) -> f64) -> bool {
        let queue = if self.in_bytes { fifo.bytes() as f64 } else { fifo.packets() as f64 };
        if queue < self.min {
            self.factor = (self.factor - self.decrement).max(0.0);
        } else if queue > self.max {
            self.factor = (self.factor + self.increment * steps(queue - self.max)).min(self.bound);
        }
        queue > self.threshold
    }

    /// Returns the number of candidates of an arrival of `class`: the factor over the packet's weight, rounded at
    /// random.
    fn candidates(&mut self, class: u8) -> u32 {
        let share = self.factor * ONE_OVER_WEIGHT[(weight(class) - 1) as usize];
        // The factor is neither negative nor above its bound: the cast truncates.
        let whole = share as u32;
        whole + u32::from(self.rolls.chance(share - f64::from(whole)))
    }
}

/// One over each weight.
const ONE_OVER_WEIGHT: [f64; 4] = [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0];

/// CHOKe without RED, whose number of candidates follows the queue and a packet's weight.
#[derive(Debug)]
pub struct Chokew<P> {
    buffer: Buffer<P>,
    factor: DrawingFactor,
    draws: Stream,
    drawn: Drawn,
}

impl<P: Packet> Chokew<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, `min` is above `max`, or units differ.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        Ok(Self {
            buffer: Buffer::new(config.limit),
            factor: DrawingFactor::new(&config, seed),
            draws: seed.stream("choke"),
            drawn: Drawn::with_room_for(config.max_candidates),
        })
    }

    /// Compares an arrival of `flow` with `most` candidates until one matches, which is dropped; tells whether one did.
    fn drop_first_match(&mut self, now: Time, flow: FlowKey, most: u32, sink: &mut dyn DropSink<P>) -> bool {
        let Self { buffer, draws, drawn, .. } = self;
        (0..most).any(|_| {
            let candidate = candidates::one(&buffer.fifo, Draw::Random, draws);
            let matched = candidates::drop_if_match(buffer, now, candidate, flow, sink);
            if !matched {
                drawn.add(&buffer.fifo, candidate);
            }
            matched
        })
    }

    /// Does [`Qdisc::enqueue`] with a rise of the drawing factor of `steps` increments.
    pub(super) fn enqueue_with(
        &mut self,
        now: Time,
        packet: P,
        sink: &mut dyn DropSink<P>,
        steps: impl FnOnce(f64) -> f64,
    ) -> Fate {
        self.buffer.arrive(&packet);
        self.drawn.clear();
        if self.factor.follow(&self.buffer.fifo, steps) {
            let most = self.factor.candidates(packet.class());
            if self.drop_first_match(now, packet.flow(), most, sink) {
                return self.buffer.discard(now, packet, Reason::MatchArrival, sink);
            }
        }
        self.buffer.admit(now, packet, None, sink)
    }
}

impl<P: Packet> Qdisc<P> for Chokew<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.enqueue_with(now, packet, sink, |_| 1.0)
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.buffer.depart_last()
    }

    fn status(&self) -> Status {
        self.buffer.status()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.drawn.tell(&self.buffer.fifo, each);
    }
}
