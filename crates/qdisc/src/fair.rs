//! Fair queueing by virtual time: WFQ, SCFQ and STFQ.
//!
//! Imagine a server that sends a little of every flow at a time, to each in proportion to its weight (GPS). Each packet is
//! tagged with the virtual time at which it would start and finish there, and the packets leave in the order of their
//! tags. The three differ in what virtual time is, and in which tag counts.
//!
//! | kind | virtual time V | next is the least |
//! |---|---|---|
//! | wfq | that of the fluid server: it runs at C over the sum of the weights of those who are backlogged there | finish |
//! | scfq | the finish of the packet in service | finish |
//! | stfq | the start of the packet in service | start |
//!
//! `start = max(V, finish of the flow's packet before)`, `finish = start + size / weight`. When nothing is left to send, V
//! begins anew. When the queue is full, the flow that has the most bytes queued loses its newest packet.
//!
//! **Source.** Demers, Keshav, Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989; Parekh,
//! Gallager, "A generalized processor sharing approach to flow control", IEEE/ACM ToN 1(3), 1993; Golestani, "A
//! self-clocked fair queueing scheme for broadband applications", INFOCOM 1994; Goyal, Vin, Cheng, "Start-time fair
//! queuing", SIGCOMM 1996.
//!
//! **Deviations.** A flow's weight is that of its newest packet. What the fluid server has served of a packet that is
//! dropped later stays served. Flows that have nothing queued, but that virtual time has not passed, are remembered, at most
//! two for each packet that the queue holds (64 to 65,536): of more, the one nearest to its end is taken to have
//! reached it. On a link of the fluid server's rate there are no more, unless small packets meet much larger ones.
//!
//! **Cost.** A hash, and O(log n) for n flows: to find who is next and who is the longest, and for wfq the fluid server,
//! which takes a division for each arrival.

use crate::config::shared::{BANDWIDTH, LIMIT, WEIGHTED};
use crate::config::{About, FlowState, Origin, Parameter, ParameterError, Resolver};
use crate::flow_buffer::FlowBuffer;
use crate::schedule::Schedule;
use crate::weight::weight;
use crate::{Counters, Fate, FlowKey, Packet, Qdisc, Rate, Reason, Seed, Size, Tagged, Time};
use alloc::vec::Vec;
use clock::{Fluid, Tag};

mod clock;

/// Weighted fair queueing.
pub(crate) const WFQ: About = About {
    name: "wfq",
    summary: "sends in the order in which a fluid server, fair at every moment, would finish",
    source: "Demers, Keshav, Shenker: Analysis and Simulation of a Fair Queueing Algorithm, SIGCOMM 1989; \
             Parekh, Gallager: A Generalized Processor Sharing Approach to Flow Control, IEEE/ACM ToN 1(3)",
    year: Some(1989),
    needs: "a queue for each flow, and the link's rate",
    flow_state: FlowState::Seen,
    experimental: false,
    parameters: &[LIMIT, WEIGHTED, FLUID_BANDWIDTH],
};

/// Self-clocked fair queueing.
pub(crate) const SCFQ: About = About {
    name: "scfq",
    summary: "fair queueing whose clock is the finish of the packet that is being sent",
    source: "Golestani: A Self-Clocked Fair Queueing Scheme for Broadband Applications, INFOCOM 1994",
    year: Some(1994),
    needs: "a queue for each flow",
    flow_state: FlowState::Queued,
    parameters: &[LIMIT, WEIGHTED],
    ..WFQ
};

/// Start-time fair queueing.
pub(crate) const STFQ: About = About {
    name: "stfq",
    summary: "fair queueing by starts, whose clock is the start of the packet that is being sent",
    source: "Goyal, Vin, Cheng: Start-Time Fair Queuing, SIGCOMM 1996",
    year: Some(1996),
    flow_state: FlowState::Seen,
    ..SCFQ
};

const FLUID_BANDWIDTH: Parameter = Parameter { meaning: "rate of the fluid server", ..BANDWIDTH };

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    weighted: bool,
    law: Law,
}

/// Which of the three.
#[derive(Clone, Copy, Debug)]
enum Law {
    Wfq(Rate),
    Scfq,
    Stfq,
}

/// What wfq is told.
pub(crate) fn wfq(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    family(r, |r| Ok(Law::Wfq(r.bandwidth("the fluid server")?)))
}

/// What scfq is told.
pub(crate) fn scfq(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    family(r, |_| Ok(Law::Scfq))
}

/// What stfq is told.
pub(crate) fn stfq(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    family(r, |_| Ok(Law::Stfq))
}

fn family(
    r: &mut Resolver<'_>,
    law: impl FnOnce(&mut Resolver<'_>) -> Result<Law, ParameterError>,
) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let weighted = r.take("weighted", Origin::Default("all flows are equal"), false)?;
    Ok(Settings { limit, weighted, law: law(r)? })
}

/// The smallest packet of Ethernet.
const ETHERNET: u64 = 64;

/// How many flows that have nothing queued are remembered at most by a queue of `limit`.
fn most_remembered(limit: Size) -> usize {
    let packets = match limit {
        Size::Packets(packets) => u64::from(packets.get()),
        Size::Bytes(bytes) => bytes.get() / ETHERNET,
    };
    (2 * packets).clamp(64, 65_536) as usize
}

/// A packet with its start in virtual time.
type Begun<P> = Tagged<P, Tag>;

/// Virtual time.
#[derive(Debug)]
enum Clock {
    /// The fluid server's. Flows are remembered until it has served them.
    Fluid(Fluid),
    /// The finish of the packet in service, which no flow that has nothing queued has passed.
    Finish(Tag),
    /// The start of the packet in service, and the flows whose packets have all left but are not finished by then.
    Start { now: Tag, ends: Schedule<Tag> },
}

/// Fair queueing by virtual time: WFQ, SCFQ, STFQ.
#[derive(Debug)]
pub struct FairQueue<P> {
    buffer: FlowBuffer<Begun<P>>,
    /// The finish of each flow's newest packet.
    finishes: Vec<Tag>,
    /// The flows that have packets, by the tag of the one at the head.
    next: Schedule<(Tag, FlowKey)>,
    clock: Clock,
    weighted: bool,
    /// Flows that have nothing queued and are remembered at most.
    most_remembered: usize,
}

impl<P: Packet> FairQueue<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { limit, weighted, law } = settings;
        let clock = match law {
            Law::Wfq(rate) => Clock::Fluid(Fluid::new(rate)),
            Law::Scfq => Clock::Finish(Tag::default()),
            Law::Stfq => Clock::Start { now: Tag::default(), ends: Schedule::new() },
        };
        Self {
            buffer: FlowBuffer::new(limit, seed),
            finishes: Vec::new(),
            next: Schedule::new(),
            clock,
            weighted,
            most_remembered: most_remembered(limit),
        }
    }

    /// Lets virtual time come to `now`, and forgets the flows that it has passed.
    fn advance(&mut self, now: Time) {
        if let Clock::Fluid(fluid) = &mut self.clock {
            fluid.advance(now, |flow| {
                if self.buffer.is_empty(flow) {
                    self.buffer.forget(flow);
                }
            });
        }
    }

    const fn virtual_time(&self) -> Tag {
        match &self.clock {
            Clock::Fluid(fluid) => fluid.virtual_time(),
            Clock::Finish(now) | Clock::Start { now, .. } => *now,
        }
    }

    /// Tags `packet`, the newest of `flow`, and queues it.
    fn push(&mut self, flow: usize, new: bool, packet: P) {
        let now = self.virtual_time();
        let start = if new { now } else { now.max(self.finishes[flow]) };
        let was_empty = self.buffer.is_empty(flow);
        let weight = self.weight(&packet);
        let finish = start.after(packet.bytes(), weight);
        if self.finishes.len() <= flow {
            self.finishes.resize(flow + 1, finish);
        }
        self.finishes[flow] = finish;
        match &mut self.clock {
            Clock::Fluid(fluid) => fluid.set(flow, finish, weight),
            Clock::Finish(_) => {}
            Clock::Start { ends, .. } => ends.remove(flow),
        }
        self.buffer.push(flow, Tagged::new(packet, start));
        if was_empty {
            self.line_up(flow);
        }
    }

    fn weight(&self, packet: &impl Packet) -> u32 {
        if self.weighted { weight(packet.class()) } else { 1 }
    }

    fn finish(&self, packet: &impl Packet, start: Tag) -> Tag {
        start.after(packet.bytes(), self.weight(packet))
    }

    /// The newest packet of `flow`, which would have started at `start`, was dropped: as if it had not come, the next one
    /// starts there.
    fn take_back(&mut self, flow: usize, start: Tag) {
        self.finishes[flow] = start;
        if let Clock::Fluid(fluid) = &mut self.clock {
            fluid.shorten(flow, start);
        }
        if self.buffer.is_empty(flow) {
            self.line_up(flow);
        }
    }

    /// Schedules `flow` by the packet at its head, or forgets it if it can be.
    fn line_up(&mut self, flow: usize) {
        let Some(head) = self.buffer.queues.front(flow) else {
            self.next.remove(flow);
            self.retire(flow);
            return;
        };
        let tag = match self.clock {
            Clock::Start { .. } => head.tag,
            Clock::Fluid(_) | Clock::Finish(_) => self.finish(head, head.tag),
        };
        self.next.set(flow, (tag, self.buffer.key(flow)));
    }

    /// `flow` has nothing queued: it is forgotten as soon as virtual time has passed its finish.
    fn retire(&mut self, flow: usize) {
        let passed = match &mut self.clock {
            Clock::Fluid(fluid) => !fluid.is_backlogged(flow),
            Clock::Finish(_) => true,
            Clock::Start { now, ends } => {
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

    /// Forgets flows that virtual time is about to pass, if too many are remembered.
    fn limit_memory(&mut self) {
        loop {
            let (known, queued) = self.buffer.flows();
            if known - queued <= self.most_remembered {
                return;
            }
            let Some(flow) = self.pass_next() else { return };
            if self.buffer.is_empty(flow) {
                self.buffer.forget(flow);
            }
        }
    }

    /// Takes the flow whose finish is next to have reached it.
    fn pass_next(&mut self) -> Option<usize> {
        match &mut self.clock {
            Clock::Fluid(fluid) => fluid.hurry(),
            Clock::Finish(_) => None,
            Clock::Start { ends, .. } => {
                let (_, flow) = ends.first()?;
                ends.remove(flow);
                Some(flow)
            }
        }
    }

    /// Virtual time is `start` or `finish` now, as the clock goes.
    fn serve(&mut self, start: Tag, finish: Tag) {
        match &mut self.clock {
            Clock::Fluid(_) => {}
            Clock::Finish(now) => *now = finish,
            Clock::Start { now, ends } => {
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

    /// Nothing is left to send: virtual time begins anew, and nobody is remembered.
    fn reset(&mut self, now: Time) {
        while let Some(flow) = self.pass_next() {
            self.buffer.forget(flow);
        }
        match &mut self.clock {
            Clock::Fluid(fluid) => fluid.reset(now),
            Clock::Finish(now) | Clock::Start { now, .. } => *now = Tag::default(),
        }
    }

    /// Drops from the longest queue until there is room. The newest packet of flow `arrived` is the arriving one.
    fn make_room(&mut self, now: Time, arrived: usize, fate: &mut impl Fate<P>) {
        let mut queued = true;
        while self.buffer.overflows()
            && let Some(flow) = self.buffer.longest()
        {
            let Some(Tagged { packet, tag: start }) = self.buffer.pop_back(flow) else { return };
            let is_arrival = queued && flow == arrived;
            queued = queued && !is_arrival;
            self.take_back(flow, start);
            let reason = if is_arrival { Reason::Limit } else { Reason::BufferSteal };
            self.buffer.discard(now, packet, reason, fate);
        }
    }
}

impl<P: Packet> Qdisc<P> for FairQueue<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.never_fits(packet.bytes()) {
            self.buffer.discard(now, packet, Reason::Limit, fate);
            return;
        }
        self.advance(now);
        let (flow, new) = self.buffer.know(packet.flow());
        self.push(flow, new, packet);
        self.make_room(now, flow, fate);
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let Some((_, flow)) = self.next.first() else {
            self.reset(now);
            return None;
        };
        let Tagged { packet, tag: start } = self.buffer.pop_front(flow)?;
        self.buffer.counters.departed.add(packet.bytes());
        let finish = self.finish(&packet, start);
        self.serve(start, finish);
        self.line_up(flow);
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.buffer.queues.packets()
    }

    fn bytes(&self) -> u64 {
        self.buffer.queues.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
