//! Fair queueing by virtual time: WFQ, SCFQ and STFQ.
//!
//! The ideal is a fluid server that serves all backlogged flows at once, each in proportion to its weight (generalized
//! processor sharing, GPS). Each packet is tagged with the virtual times at which it would start and finish there, and
//! packets leave in the order of one of these tags. The three disciplines differ in how virtual time advances and in
//! which tag decides.
//!
//! | kind | virtual time V | next packet |
//! |---|---|---|
//! | wfq | that of the fluid server, which advances at the link's rate over the sum of the weights of the flows backlogged there | least finish |
//! | scfq | the finish of the packet in service | least finish |
//! | stfq | the start of the packet in service | least start |
//!
//! `start = max(V, finish of the flow's previous packet)`, `finish = start + size / weight`. V restarts at 0 when the
//! link finds nothing to send. When the limit is exceeded, the flow with the most bytes queued loses its newest packet;
//! of several flows, a random one.
//!
//! **Source.** Demers, Keshav, Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989; Parekh,
//! Gallager, "A generalized processor sharing approach to flow control", IEEE/ACM ToN 1(3), 1993; Golestani, "A
//! self-clocked fair queueing scheme for broadband applications", INFOCOM 1994; Goyal, Vin, Cheng, "Start-time fair
//! queuing", SIGCOMM 1996.
//!
//! **Deviations.** A flow's weight is that of its newest packet. Service that the fluid server has given to a packet
//! that is dropped later is not taken back. A flow whose queue is empty is remembered until virtual time reaches its
//! finish. No more than two such flows for each packet of the limit are remembered (at least 64, at most 65,536);
//! beyond that, the flow with the least finish is taken to have reached it. On a link of the fluid server's rate this
//! happens only if small packets meet much larger ones.
//!
//! **Cost.** A hash, and O(log n) for n flows to find the next flow, where the limit is exceeded the longest queue, and
//! for wfq to advance the fluid server, which also takes a division per arrival.

use alloc::vec::Vec;

use crate::error::check;
use crate::flow::weight::weight;
use crate::queue::flow_buffer::FlowBuffer;
use crate::queue::schedule::Schedule;
use crate::queue::virtual_time::{FluidServer, Turn, VirtualTime};
use crate::{Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status, Tagged, Time};

/// The configuration of [`FairQueue`]: start from [`wfq`](Self::wfq), [`scfq`](Self::scfq) or [`stfq`](Self::stfq).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Config {
    /// The most that all queues hold together, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper
    /// (section III).
    pub limit: Size,
    /// Gives a flow a weight of 1 to 4, by the two highest bits of its packets' traffic class ([`Packet::class`]).
    /// Default: `false`, a weight of 1.
    pub weighted: bool,
    /// The virtual time, and with it the order of packets.
    pub clock: Clock,
}

/// The virtual time of fair queueing, and the tag by which packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Clock {
    /// Weighted Fair Queueing (Demers, Keshav, Shenker; Parekh, Gallager): virtual time is that of a fluid server, and
    /// the packet with the least finish is sent next.
    Fluid {
        /// The rate of the fluid server, above 0. Default: `None`, the link's rate ([`Qdisc::link_rate`]). As long as
        /// that is not known, virtual time stands still until the link is idle: flows then share equally what has been
        /// sent since the link was last idle. A change of the link's rate takes effect from the last arrival on.
        bandwidth: Option<Rate>,
    },
    /// Self-Clocked Fair Queueing (Golestani): virtual time is the finish of the packet in service, and the packet with
    /// the least finish is sent next.
    Finish,
    /// Start-time Fair Queueing (Goyal, Vin, Cheng): virtual time is the start of the packet in service, and the packet
    /// with the least start is sent next.
    Start,
}

impl Config {
    /// Returns the default configuration of Weighted Fair Queueing.
    #[must_use]
    pub const fn wfq() -> Self {
        Self::with_clock(Clock::Fluid { bandwidth: None })
    }

    /// Returns the default configuration of Self-Clocked Fair Queueing.
    #[must_use]
    pub const fn scfq() -> Self {
        Self::with_clock(Clock::Finish)
    }

    /// Returns the default configuration of Start-time Fair Queueing.
    #[must_use]
    pub const fn stfq() -> Self {
        Self::with_clock(Clock::Start)
    }

    const fn with_clock(clock: Clock) -> Self {
        Self { limit: Size::packets(300), weighted: false, clock }
    }

    /// Checks every value.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        match self.clock {
            Clock::Fluid { bandwidth: Some(rate) } => check::rate("bandwidth", rate),
            Clock::Fluid { bandwidth: None } | Clock::Finish | Clock::Start => Ok(()),
        }
    }
}

/// The smallest packet of Ethernet in bytes.
const SMALLEST_PACKET: u64 = 64;

/// Returns the largest number of flows with empty queues that are remembered by a queue of `limit`.
fn most_remembered(limit: Size) -> usize {
    let packets = match limit {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get() / SMALLEST_PACKET,
    };
    (2 * packets).clamp(64, 65_536) as usize
}

/// A packet with its start in virtual time.
type StartTagged<P> = Tagged<P, VirtualTime>;

/// The state of virtual time.
#[derive(Debug)]
enum ClockState {
    /// The fluid server. Flows are remembered until it has served them.
    Fluid { server: FluidServer, follows_link: bool },
    /// The finish of the packet in service, which no flow with an empty queue has passed.
    Finish(VirtualTime),
    /// The start of the packet in service, and the finish of each flow whose queue is empty but whose finish is later.
    Start { now: VirtualTime, ends: Schedule<VirtualTime> },
}

impl ClockState {
    const fn new(clock: Clock) -> Self {
        match clock {
            Clock::Fluid { bandwidth: Some(rate) } => {
                Self::Fluid { server: FluidServer::new(rate), follows_link: false }
            }
            Clock::Fluid { bandwidth: None } => {
                Self::Fluid { server: FluidServer::new(Rate::from_bits_per_second(0)), follows_link: true }
            }
            Clock::Finish => Self::Finish(VirtualTime::ZERO),
            Clock::Start => Self::Start { now: VirtualTime::ZERO, ends: Schedule::new() },
        }
    }
}

/// Fair queueing by virtual time: WFQ, SCFQ or STFQ.
#[derive(Debug)]
pub struct FairQueue<P> {
    buffer: FlowBuffer<StartTagged<P>>,
    /// The finish of each flow's newest packet.
    finishes: Vec<VirtualTime>,
    /// The backlogged flows by the deciding tag of the packet at the head, and by the number of that packet among all
    /// that came to the heads.
    next: Schedule<Turn>,
    heads: u64,
    clock: ClockState,
    weighted: bool,
    /// The largest number of remembered flows with empty queues.
    most_remembered: usize,
}

impl<P: Packet> FairQueue<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, weighted, clock } = config;
        Ok(Self {
            buffer: FlowBuffer::new(limit, seed),
            finishes: Vec::new(),
            next: Schedule::new(),
            heads: 0,
            clock: ClockState::new(clock),
            weighted,
            most_remembered: most_remembered(limit),
        })
    }

    /// Advances the fluid server to `now`, and forgets the flows with empty queues that it has served.
    fn advance(&mut self, now: Time) {
        if let ClockState::Fluid { server, .. } = &mut self.clock {
            server.advance(now, |flow| {
                if self.buffer.is_empty(flow) {
                    self.buffer.forget(flow);
                }
            });
        }
    }

    const fn virtual_time(&self) -> VirtualTime {
        match &self.clock {
            ClockState::Fluid { server, .. } => server.virtual_time(),
            ClockState::Finish(now) | ClockState::Start { now, .. } => *now,
        }
    }

    /// Tags `packet`, the newest of `flow`, and queues it.
    fn push(&mut self, flow: usize, new: bool, packet: P) {
        let now = self.virtual_time();
        let start = if new { now } else { now.max(self.finishes[flow]) };
        let was_empty = self.buffer.is_empty(flow);
        let weight = self.weight(&packet);
        let finish = start.after(packet.bytes(), weight);
        match self.finishes.get_mut(flow) {
            Some(known) => *known = finish,
            // Numbers of flows are dense: it is the next one.
            None => self.finishes.push(finish),
        }
        match &mut self.clock {
            ClockState::Fluid { server, .. } => server.set_backlog(flow, finish, weight),
            ClockState::Finish(_) => {}
            ClockState::Start { ends, .. } => ends.remove(flow),
        }
        self.buffer.push(flow, Tagged::new(packet, start));
        if was_empty {
            self.schedule(flow);
        }
    }

    fn weight(&self, packet: &impl Packet) -> u32 {
        if self.weighted { weight(packet.class()) } else { 1 }
    }

    fn finish(&self, packet: &impl Packet, start: VirtualTime) -> VirtualTime {
        start.after(packet.bytes(), self.weight(packet))
    }

    /// Notes that the newest packet of `flow`, with tag `start`, was dropped. The flow's next packet starts there, as
    /// if the dropped one had never arrived.
    fn undo_push(&mut self, flow: usize, start: VirtualTime) {
        self.finishes[flow] = start;
        if let ClockState::Fluid { server, .. } = &mut self.clock {
            server.shorten(flow, start);
        }
        if self.buffer.is_empty(flow) {
            self.schedule(flow);
        }
    }

    /// Schedules `flow` by the packet at the head of its queue, or retires it if the queue is empty.
    fn schedule(&mut self, flow: usize) {
        let Some(head) = self.buffer.queues.front(flow) else {
            self.next.remove(flow);
            self.retire(flow);
            return;
        };
        let tag = match self.clock {
            ClockState::Start { .. } => head.tag,
            ClockState::Fluid { .. } | ClockState::Finish(_) => self.finish(head, head.tag),
        };
        self.heads += 1;
        self.next.set(flow, Turn::new(tag, self.heads));
    }

    /// Forgets `flow`, whose queue is empty, now or as soon as virtual time reaches its finish.
    fn retire(&mut self, flow: usize) {
        let passed = match &mut self.clock {
            ClockState::Fluid { server, .. } => !server.is_backlogged(flow),
            ClockState::Finish(_) => true,
            ClockState::Start { now, ends } => {
                let passed = self.finishes[flow] <= *now;
                if !passed {
                    ends.set(flow, self.finishes[flow]);
                }
                passed
            }
        };
        if passed {
            self.buffer.forget(flow);
        }
        self.limit_memory();
    }

    /// Forgets the flows with the least finish while too many with empty queues are remembered.
    fn limit_memory(&mut self) {
        while self.buffer.known_flows() - self.buffer.backlogged_flows() > self.most_remembered {
            let Some(flow) = self.finish_next() else { return };
            if self.buffer.is_empty(flow) {
                self.buffer.forget(flow);
            }
        }
    }

    /// Returns the flow that virtual time reaches the finish of next, and takes it to have reached it.
    fn finish_next(&mut self) -> Option<usize> {
        match &mut self.clock {
            ClockState::Fluid { server, .. } => server.finish_next(),
            ClockState::Finish(_) => None,
            ClockState::Start { ends, .. } => {
                let (_, flow) = ends.first()?;
                ends.remove(flow);
                Some(flow)
            }
        }
    }

    /// Sets virtual time as a packet with these tags begins service.
    fn serve(&mut self, start: VirtualTime, finish: VirtualTime) {
        match &mut self.clock {
            ClockState::Fluid { .. } => {}
            ClockState::Finish(now) => *now = finish,
            ClockState::Start { now, ends } => {
                *now = start;
                while let Some((end, flow)) = ends.first()
                    && end <= start
                {
                    ends.remove(flow);
                    self.buffer.forget(flow);
                }
            }
        }
    }

    /// Restarts virtual time and forgets all flows, as nothing is queued.
    fn reset(&mut self, now: Time) {
        while let Some(flow) = self.finish_next() {
            self.buffer.forget(flow);
        }
        match &mut self.clock {
            ClockState::Fluid { server, .. } => server.reset(now),
            ClockState::Finish(now) | ClockState::Start { now, .. } => *now = VirtualTime::ZERO,
        }
    }

    /// Drops from the longest queue until the limit is kept. The newest packet of flow `arrived` is the arriving one,
    /// whose fate is returned.
    fn make_room(&mut self, now: Time, arrived: usize, sink: &mut dyn DropSink<P>) -> Fate {
        let mut fate = Fate::Queued;
        while self.buffer.overflows() {
            let Some(flow) = self.buffer.longest() else { return fate };
            let Some(Tagged { packet, tag: start }) = self.buffer.pop_back(flow) else { return fate };
            let is_arrival = fate == Fate::Queued && flow == arrived;
            self.undo_push(flow, start);
            let reason = if is_arrival { Reason::Limit } else { Reason::BufferSteal };
            if is_arrival {
                fate = Fate::Dropped(reason);
            }
            self.buffer.discard(now, packet, reason, sink);
        }
        fate
    }
}

impl<P: Packet> Qdisc<P> for FairQueue<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.never_fits(packet.bytes()) {
            return self.buffer.discard(now, packet, Reason::Limit, sink);
        }
        self.advance(now);
        let (flow, new) = self.buffer.insert(packet.flow());
        self.push(flow, new, packet);
        self.make_room(now, flow, sink)
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let Some((_, flow)) = self.next.first() else {
            self.reset(now);
            return None;
        };
        let head = self.buffer.queues.front(flow)?;
        let (start, finish) = (head.tag, self.finish(head, head.tag));
        let place = self.buffer.unlink_front(flow);
        self.serve(start, finish);
        self.schedule(flow);
        self.buffer.depart(place).map(|tagged| tagged.packet)
    }

    fn status(&self) -> Status {
        self.buffer.status()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        if let ClockState::Fluid { server, follows_link: true } = &mut self.clock {
            server.set_rate(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// 1 Mbit/s: a packet of 1000 bytes takes 8 ms.
    const RATE: Rate = Rate::from_bits_per_second(1_000_000);

    /// Would catch a value that is let in out of its range, or refused under the key of another parameter.
    #[test]
    fn impossible_configurations_are_refused() {
        let no_rate = Clock::Fluid { bandwidth: Some(Rate::from_bits_per_second(0)) };
        for (config, key) in [
            (Config { clock: no_rate, ..Config::wfq() }, "bandwidth"),
            (Config { limit: Size::packets(u32::MAX), ..Config::stfq() }, "limit"),
        ] {
            let refused = FairQueue::<SimplePacket>::new(config, Seed::new(1)).map(|_| ());
            assert_eq!(refused.as_ref().map_err(ParameterError::key), Err(key));
        }
    }

    /// Returns the flows in the order of service: flow 1 arrives with three packets, and flow 2 with one packet when
    /// the fluid server of 1 Mbit/s has served flow 1 alone for 20 ms.
    fn order(config: Config, rates: &[Rate]) -> Result<Vec<u64>, ParameterError> {
        let mut queue = FairQueue::new(config, Seed::new(1))?;
        for rate in rates {
            queue.link_rate(*rate);
        }
        for _ in 0..3 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        }
        queue.enqueue(Time::from_nanos(20_000_000), SimplePacket::new(2, 1000), &mut ());
        let sent = core::iter::from_fn(|| queue.dequeue(Time::from_nanos(20_000_000), &mut ()));
        Ok(sent.map(|packet| packet.flow).collect())
    }

    /// Would catch a fluid server that ignores the link's rate, or that takes it although it has its own rate, and
    /// a panic while the rate is not known.
    #[test]
    fn the_fluid_server_follows_the_link() -> Result<(), ParameterError> {
        // After 20 ms virtual time is 2500 bytes, so flow 2 finishes at 3500 bytes, after flow 1's 3000.
        assert_eq!(order(Config::wfq(), &[RATE])?, [1, 1, 1, 2]);
        let slow = Rate::from_bits_per_second(1_000);
        assert_eq!(order(Config::wfq(), &[slow, RATE])?, [1, 1, 1, 2]);
        let own = Config { clock: Clock::Fluid { bandwidth: Some(RATE) }, ..Config::wfq() };
        assert_eq!(order(own, &[slow])?, [1, 1, 1, 2]);
        // At 1 kbit/s it is 2.5 bytes, and without a rate 0.
        assert_eq!(order(Config::wfq(), &[slow])?, [1, 2, 1, 1]);
        assert_eq!(order(Config::wfq(), &[])?, [1, 2, 1, 1]);
        Ok(())
    }

    /// Would catch a flow that is forgotten before the fluid server has served it, and one that is never forgotten.
    #[test]
    fn the_status_counts_remembered_flows() -> Result<(), ParameterError> {
        let mut queue = FairQueue::new(Config::wfq(), Seed::new(1))?;
        queue.link_rate(RATE);
        queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        assert!(queue.dequeue(Time::ZERO, &mut ()).is_some());
        assert_eq!(queue.status().flows, Some(1));
        assert!(queue.dequeue(Time::from_nanos(8_000_000), &mut ()).is_none());
        assert_eq!(queue.status().flows, Some(0));
        Ok(())
    }
}
