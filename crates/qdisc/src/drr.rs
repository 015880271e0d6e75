//! Deficit Round Robin: a queue for each flow, served in turns of so many bytes, with drops from the longest.
//!
//! The flows that have packets stand in a ring. A turn gives a flow its quantum on top of what it had left, and lasts as
//! long as the packet at the head fits into that. So flows get equal bytes, whatever the size of their packets, without
//! sorting anything. When the queue is full, the flow that has the most bytes queued loses a packet: who sends too much
//! loses his own.
//!
//! **Source.** Shreedhar, Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995, section 3; the
//! longest queue's drop: McKenney 1990, and Suter, Lakshman, Stiliadis, Choudhury, INFOCOM 1998.
//!
//! **Deviations.** Every flow has a queue of its own, where the paper hashes flows into queues. A packet that would not fit
//! even into the empty queue is dropped alone. The packet that goes may be the arriving one: then the reason is `limit`.
//! Turns in which nobody could send are not walked through but counted at once.
//!
//! **Cost.** A hash and O(log n) to know the longest of n queues; O(1) for the turn if no packet is larger than the
//! quantum, else O(n) for a packet at worst.

use alloc::vec::Vec;

use crate::config::shared::{LIMIT, WEIGHTED};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::flow_buffer::FlowBuffer;
use crate::weight::weight;
use crate::{Bytes, Counters, Fate, Packet, Qdisc, Reason, Seed, Size, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "drr",
    summary: "serves flows in turns of equal bytes and drops from the longest queue",
    source: "Shreedhar, Varghese: Efficient Fair Queueing using Deficit Round Robin, SIGCOMM 1995",
    year: Some(1995),
    needs: "a queue for each flow",
    flow_state: FlowState::Queued,
    experimental: false,
    parameters: &[LIMIT.default("160kb, as in the BARE paper's comparison"), QUANTUM, DROP, WEIGHTED],
};

const QUANTUM: Parameter = parameter(
    "quantum",
    Domain::Bytes,
    "1000b, the packets of the papers",
    "bytes that a turn gives to a flow of weight 1; not less than the largest packet keeps a turn O(1)",
)
.elsewhere(&["quantum_", "allot"]);

const DROP: Parameter = parameter(
    "drop",
    Domain::Choice(&["front", "tail"]),
    "front, as ns-2",
    "which packet of the longest queue goes when there is no room: its oldest or its newest",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    quantum: u64,
    drop_front: bool,
    weighted: bool,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("as in the BARE paper's comparison"), Size::Bytes(Bytes::new(160_000)))?;
    let quantum = r.take("quantum", Origin::Default("the packets of the papers"), Bytes::new(1000))?;
    let drop_front = r.take("drop", Origin::Default("as ns-2"), "front")? == "front";
    let weighted = r.take("weighted", Origin::Default("all flows are equal"), false)?;
    let turns = ETHERNET.div_ceil(quantum.get());
    if turns > 1 {
        r.say(alloc::format!("a packet of {ETHERNET}b waits for {turns} turns"));
    }
    if turns > MANY_TURNS {
        r.warn(alloc::format!("quantum {quantum} is small: most turns send nothing, which costs time"));
    }
    if matches!(limit, Size::Bytes(bytes) if bytes < quantum) {
        r.warn(alloc::format!("quantum {quantum} is above limit {limit}: a turn empties the whole queue of a flow"));
    }
    Ok(Settings { limit, quantum: quantum.get(), drop_front, weighted })
}

/// The largest packet of Ethernet.
const ETHERNET: u64 = 1500;

/// From more turns for a packet on, a quantum is suspicious. ns-2's default of 250 bytes is not.
const MANY_TURNS: u64 = 8;

/// No flow.
const NOBODY: usize = usize::MAX;

/// A flow's place in the ring, and what its turns have left.
#[derive(Clone, Copy, Debug)]
struct Turn {
    deficit: u64,
    next: usize,
    previous: usize,
}

/// The flows that have packets, in a ring that is linked both ways, since a drop may empty a flow anywhere.
#[derive(Debug)]
struct Ring {
    turns: Vec<Turn>,
    /// Whose turn it is; [`NOBODY`] when nobody has packets.
    head: usize,
    /// The head has got its quantum.
    begun: bool,
}

impl Ring {
    const fn new() -> Self {
        Self { turns: Vec::new(), head: NOBODY, begun: false }
    }

    /// Puts `flow` at the end: just before the head.
    fn join(&mut self, flow: usize) {
        if self.turns.len() <= flow {
            self.turns.resize(flow + 1, Turn { deficit: 0, next: NOBODY, previous: NOBODY });
        }
        let (next, previous) = match self.turns.get(self.head) {
            Some(head) => (self.head, head.previous),
            None => {
                self.head = flow;
                (flow, flow)
            }
        };
        self.turns[flow] = Turn { deficit: 0, next, previous };
        self.turns[previous].next = flow;
        self.turns[next].previous = flow;
    }

    /// Takes `flow` out; if it was its turn, the next one's begins.
    fn leave(&mut self, flow: usize) {
        let Turn { next, previous, .. } = self.turns[flow];
        self.turns[previous].next = next;
        self.turns[next].previous = previous;
        if flow == self.head {
            self.head = if next == flow { NOBODY } else { next };
            self.begun = false;
        }
    }

    /// Ends the head's turn.
    fn pass(&mut self) {
        self.head = self.turns[self.head].next;
        self.begun = false;
    }
}

/// Deficit Round Robin.
#[derive(Debug)]
pub struct Drr<P> {
    buffer: FlowBuffer<P>,
    ring: Ring,
    quantum: u64,
    drop_front: bool,
    weighted: bool,
}

impl<P: Packet> Drr<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { limit, quantum, drop_front, weighted } = settings;
        Self { buffer: FlowBuffer::new(limit, seed), ring: Ring::new(), quantum, drop_front, weighted }
    }

    /// Size of the packet that `flow` sends next, and its quantum for it.
    fn head_of(&self, flow: usize) -> Option<(u64, u64)> {
        let head = self.buffer.queues.front(flow)?;
        let weight = if self.weighted { weight(head.class()) } else { 1 };
        Some((u64::from(head.bytes()), self.quantum * u64::from(weight)))
    }

    /// The flow that sends now. Its deficit has room for its packet.
    fn next(&mut self) -> Option<usize> {
        let mut passed = 0;
        loop {
            let (bytes, quantum) = self.head_of(self.ring.head)?;
            if passed == self.buffer.flows().1 {
                self.skip_rounds();
                passed = 0;
            }
            let turn = &mut self.ring.turns[self.ring.head];
            if !self.ring.begun {
                turn.deficit += quantum;
                self.ring.begun = true;
            }
            if bytes <= turn.deficit {
                turn.deficit -= bytes;
                return Some(self.ring.head);
            }
            self.ring.pass();
            passed += 1;
        }
    }

    /// Gives everybody the quanta of the rounds in which nobody could send yet, but for the last one's.
    fn skip_rounds(&mut self) {
        let mut rounds = u64::MAX;
        self.each(|turn, bytes, quantum| {
            rounds = rounds.min(bytes.saturating_sub(turn.deficit).div_ceil(quantum).saturating_sub(1));
        });
        self.each(|turn, _, quantum| turn.deficit += rounds * quantum);
    }

    /// Calls `f` for everybody in the ring, with the size of the packet at the head and the quantum.
    fn each(&mut self, mut f: impl FnMut(&mut Turn, u64, u64)) {
        let mut flow = self.ring.head;
        while let Some((bytes, quantum)) = self.head_of(flow) {
            f(&mut self.ring.turns[flow], bytes, quantum);
            flow = self.ring.turns[flow].next;
            if flow == self.ring.head {
                return;
            }
        }
    }

    /// Lets `flow` go if it has nothing queued any more.
    fn release(&mut self, flow: usize) {
        if self.buffer.is_empty(flow) {
            self.ring.leave(flow);
            self.buffer.forget(flow);
        }
    }

    /// Drops from the longest queue until there is room. The newest packet of flow `arrived` is the arriving one.
    fn make_room(&mut self, now: Time, arrived: usize, fate: &mut impl Fate<P>) {
        let mut queued = true;
        while self.buffer.overflows()
            && let Some(flow) = self.buffer.longest()
        {
            let victim = if self.drop_front { self.buffer.pop_front(flow) } else { self.buffer.pop_back(flow) };
            let Some(victim) = victim else { return };
            let is_arrival = queued && flow == arrived && (!self.drop_front || self.buffer.is_empty(flow));
            queued = queued && !is_arrival;
            let reason = if is_arrival { Reason::Limit } else { Reason::BufferSteal };
            self.buffer.discard(now, victim, reason, fate);
            self.release(flow);
        }
    }
}

impl<P: Packet> Qdisc<P> for Drr<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.never_fits(packet.bytes()) {
            self.buffer.discard(now, packet, Reason::Limit, fate);
            return;
        }
        let (flow, new) = self.buffer.know(packet.flow());
        if new {
            self.ring.join(flow);
        }
        self.buffer.push(flow, packet);
        self.make_room(now, flow, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let flow = self.next()?;
        let packet = self.buffer.pop_front(flow)?;
        self.buffer.counters.departed.add(packet.bytes());
        self.release(flow);
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
