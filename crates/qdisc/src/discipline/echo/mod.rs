//! ECHO: measures flows by a sample that does not depend on the queue, and drops what exceeds a fair share of the
//! sample, which follows the queue's delay.
//!
//! CHOKe draws its sample from the queue, so that a short queue is a bad sample and a long one is delay. ECHO keeps the
//! two apart: the sample is a few hundred tags of two bytes, each a salted hash of an arrival's flow, for any
//! number of flows. The number of a flow's tags, K, measures its rate. The more tags a flow has beyond the fair share
//! T, the fewer of its arrivals are sampled: in proportion to T/K. So the square of K is in proportion to the rate, and
//! with w = ((K + 1/4) / T)² - 1, the part by which a flow exceeds the fair rate, an arrival is dropped with the
//! probability w² / (1 + w + w²). A flow that exceeds the fair rate a little loses little, as TCP needs it, and one
//! that does not slow down keeps at most 4/3 of the fair rate. A controller moves T so that the queue's delay is at its
//! target, the faster the longer a flood keeps it above.
//!
//! A TCP that can lose little stays below the fair rate by the noise of its K; a flood does not. So M, the mean of K +
//! 1/4 where an arrival is sampled of a flow with K ≤ 2 T + 1, tells what the others have, and w is counted in their
//! rates: it is multiplied by T/M, 1 to 3.
//!
//! **Source.** Fairlane's own; `docs/echo.md` derives it. Its ancestor is AFD (Pan, Breslau, Prabhakar, Shenker, ACM
//! CCR 33(2), 2003), which has the sampled history, the drop by the rate's excess and the controller on the queue.
//!
//! **Deviations.** All arithmetic is in integers, with 16 binary digits behind the point. Two flows with the same tag
//! count as one: one of 65,535 pairs. A rate that the host tells ([`Qdisc::link_rate`]) is where the measurement of the
//! link's rate starts; without one the sample has 256 tags.
//!
//! **Cost.** A random number, a hash, and K, which is known or takes 32 comparisons of 16 bytes for 256 tags. Two
//! products of 64 bits decide for a flow within its share, six for others. No division but in the controller, once in
//! 16 ms, or in 1 ms in a flood.

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::queue::signal::{discard, mark};
use crate::queue::tagged::Stamped;
use crate::{
    Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status, Time,
};

mod control;
mod fixed;
mod lane;
mod mean;
mod meter;
mod sample;
mod tag_share;
#[cfg(test)]
mod tests;

use control::{Controller, QueueReading};
use lane::SparseLane;
use meter::FlowMeter;
use sample::MOST_TAGS;

/// The configuration of [`Echo`]. None of it has to be set.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes: for bursts, since the controller holds the delay. From a
    /// quarter of it on the controller counts the queue as at its target. Default: 10000 packets, as tc-dualpi2(8).
    pub limit: Size,
    /// The delay to which the controller steers, above 0. Where four of the largest packets take longer, it is their
    /// time. Default: 10 ms, between the 5 ms of CoDel and the 15 ms of PIE.
    pub target: Duration,
    /// The size of the sample, a power of two from 64 to 4096. The error of a flow's rate is about one over the root of
    /// the tags that it has. Default: `None`, 256 for each Gbit/s of the link's rate, rounded up to a power of two,
    /// from 256 to 4096.
    pub tags: Option<u32>,
    /// Marks packets that can be marked, unless the flow is so far above its share that one of five is signalled.
    /// Default: `true`.
    pub ecn: bool,
    /// Sends packets of sparse flows, those with at most half of the fair share, ahead of the others, in their flow's
    /// order and up to a quarter of the link. It takes 512 bytes. Default: `false`.
    pub lane: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(10_000), target: Duration::from_millis(10), tags: None, ecn: true, lane: false }
    }
}

impl Config {
    /// Checks every value.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::duration("target", self.target)?;
        match self.tags {
            Some(tags) if !tags.is_power_of_two() || !(LEAST_TAGS..=MOST_TAGS).contains(&tags) => {
                let message =
                    alloc::format!("it cannot be {tags}: expected a power of two from {LEAST_TAGS} to {MOST_TAGS}");
                Err(ParameterError::new("tags", message))
            }
            _ => Ok(()),
        }
    }
}

/// The smallest sample.
const LEAST_TAGS: u32 = 64;

/// The default sample, and the tags for each Gbit/s of a fast link.
const DEFAULT_TAGS: u32 = 256;

/// Returns the size of the sample for a link of `rate`; 0 if it is not known.
pub(crate) fn tags_for(rate: Rate) -> u32 {
    let gigabits = rate.bits_per_second().div_ceil(1_000_000_000).clamp(1, u64::from(MOST_TAGS / DEFAULT_TAGS));
    DEFAULT_TAGS * gigabits.next_power_of_two() as u32
}

/// ECHO over a FIFO.
#[derive(Debug)]
pub struct Echo<P> {
    config: Config,
    buffer: Buffer<Stamped<P>>,
    lane: SparseLane<P>,
    controller: Controller,
    meter: FlowMeter,
}

impl<P: Packet> Echo<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let tags = config.tags.unwrap_or(DEFAULT_TAGS);
        let controller = Controller::new(config.target, tags);
        let meter = FlowMeter::new(&controller, tags, seed);
        Ok(Self { config, buffer: Buffer::new(config.limit), lane: SparseLane::new(config.lane), controller, meter })
    }

    /// Returns the queue and its limit, in the unit of the limit.
    #[inline]
    fn fill<const LANE: bool>(&self) -> (u64, u64) {
        match self.config.limit {
            Size::Packets(limit) => (self.packets::<LANE>() as u64, u64::from(limit.get())),
            Size::Bytes(limit) => (self.bytes::<LANE>(), limit.get()),
        }
    }

    /// Returns the packets in the FIFO, and in the lane if there is one.
    #[inline]
    fn packets<const LANE: bool>(&self) -> usize {
        self.buffer.fifo.packets() + if LANE { self.lane.fifo.packets() } else { 0 }
    }

    /// Returns their bytes.
    #[inline]
    fn bytes<const LANE: bool>(&self) -> u64 {
        self.buffer.fifo.bytes() + if LANE { self.lane.fifo.bytes() } else { 0 }
    }

    /// Updates the fair share.
    #[cold]
    #[inline(never)]
    fn control(&mut self, now: Time) {
        let (fill, limit) = self.fill::<true>();
        let fifo = &self.buffer.fifo;
        let head = fifo.front().and_then(|place| fifo.packet(place));
        let age = head.map_or(Duration::ZERO, |head| head.sojourn(now));
        let arrived = self.buffer.counters.arrived.packets;
        let reading = QueueReading { age, bytes: self.bytes::<true>(), fill, limit, arrived: arrived as u32 };
        self.controller.update(now, self.meter.tags(), reading);
        self.meter.follow(&self.controller);
        self.meter.weigh(arrived);
    }

    /// Admits `packet` with a mark, or drops it if it cannot be marked or `severe`.
    #[cold]
    #[inline(never)]
    fn signal(&mut self, now: Time, mut packet: P, severe: bool, sink: &mut dyn DropSink<P>) -> Fate {
        if !self.config.ecn || severe || !packet.ecn_capable() {
            self.controller.note_drop();
            return discard(now, packet, Reason::Label, &mut self.buffer.counters, sink);
        }
        let fate = mark(now, &mut packet, Reason::Label, &mut self.buffer.counters, sink);
        if self.lane.exists() {
            self.lane.joins(self.meter.tag(packet.flow().get()));
        }
        self.buffer.fifo.push(Stamped::new(packet, now));
        fate
    }

    /// Tells whether `packet` may go into the lane.
    #[inline(never)]
    fn goes_ahead(&mut self, packet: &P) -> bool {
        let flow = packet.flow().get();
        self.meter.is_sparse(flow) && self.lane.is_open(self.meter.tag(flow), packet.bytes())
    }

    /// Enqueues `packet`. Without a `LANE` it is compiled without one, since each copy of a packet costs more than the
    /// rest.
    #[inline(always)]
    fn admit<const LANE: bool>(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let bytes = packet.bytes();
        self.buffer.counters.arrived.add(bytes);
        self.controller.largest = self.controller.largest.max(bytes);
        let (fill, limit) = self.fill::<LANE>();
        if self.controller.is_due(now, self.bytes::<LANE>(), fill, limit) {
            self.control(now);
        }
        let ahead = LANE && self.goes_ahead(&packet);
        let excess = self.meter.arrive(packet.flow().get(), bytes, self.packets::<LANE>() == 0);
        let (packets, beside) = if LANE { (self.lane.fifo.packets(), self.lane.fifo.bytes()) } else { (0, 0) };
        if self.buffer.overflows_with(1 + packets, beside + u64::from(bytes)) {
            return discard(now, packet, Reason::Limit, &mut self.buffer.counters, sink);
        }
        match excess {
            None if ahead => self.lane.push(Stamped::new(packet, now)),
            None => {
                if LANE {
                    self.lane.joins(self.meter.tag(packet.flow().get()));
                }
                self.buffer.fifo.push(Stamped::new(packet, now));
            }
            Some(excess) => return self.signal(now, packet, !excess.is_small(), sink),
        }
        Fate::Queued
    }

    /// Enqueues `packet` where there is a lane.
    #[inline(never)]
    fn enqueue_by_lane(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.admit::<true>(now, packet, sink)
    }

    /// Removes the next packet, where there is a lane.
    #[inline(never)]
    fn dequeue_by_lane(&mut self, now: Time) -> Option<P> {
        let packet = self.depart_by_lane();
        self.controller.depart(now, packet.as_ref().map(Packet::bytes), self.packets::<true>() > 0);
        packet.map(|stamped| stamped.packet)
    }

    /// Removes the next packet of the lane, or of the FIFO.
    fn depart_by_lane(&mut self) -> Option<Stamped<P>> {
        let most = self.controller.target_bytes();
        if let Some(packet) = self.lane.fifo.pop() {
            self.buffer.counters.departed.add(packet.bytes());
            self.lane.earn(packet.bytes(), most);
            return Some(packet);
        }
        let packet = self.buffer.depart()?;
        self.lane.leaves(self.meter.tag(packet.flow().get()), self.buffer.fifo.packets() == 0);
        self.lane.earn(packet.bytes(), most);
        Some(packet)
    }
}

impl<P: Packet> Qdisc<P> for Echo<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        if self.lane.exists() {
            self.enqueue_by_lane(now, packet, sink)
        } else {
            self.admit::<false>(now, packet, sink)
        }
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        if self.lane.exists() {
            return self.dequeue_by_lane(now);
        }
        let packet = self.buffer.depart();
        self.controller.depart(now, packet.as_ref().map(Packet::bytes), self.buffer.fifo.packets() > 0);
        packet.map(|stamped| stamped.packet)
    }

    fn status(&self) -> Status {
        Status::new(self.packets::<true>(), self.bytes::<true>())
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        self.controller.set_rate(rate);
        if self.config.tags.is_none() {
            let (old, new) = (self.meter.tags(), tags_for(rate));
            self.meter.resize(new);
            self.controller.resize(old, new);
        }
        self.meter.follow(&self.controller);
    }
}
