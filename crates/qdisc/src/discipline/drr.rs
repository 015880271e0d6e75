//! Deficit Round Robin: a queue for each flow, served in turns of a number of bytes, with drops from the longest queue.
//!
//! The flows that have packets take turns. A turn adds a quantum to the flow's deficit counter and lasts while the
//! packet at the head of its queue fits into the counter. Flows thus get equal bytes, with packets of any size, without
//! sorting. When the limit is exceeded, the flow with the most bytes queued loses a packet, so the losses fall on the
//! flows that send too much.
//!
//! **Source.** Shreedhar, Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995, section 3. Drops
//! from the longest queue: McKenney, "Stochastic Fairness Queueing", INFOCOM 1990, and Suter, Lakshman, Stiliadis,
//! Choudhury, INFOCOM 1998.
//!
//! **Deviations.** Every flow has its own queue; in the paper flows are hashed into queues. A packet larger than the
//! limit is dropped alone. A packet that is dropped on its own arrival is counted as `limit`. Rounds in which no flow
//! can send are added up at once. Of equally long queues a random one loses the packet.
//!
//! **Cost.** A hash, and where the limit is exceeded O(log n) for the longest of n queues; O(1) for the turn if no
//! packet is larger than the quantum, else up to O(n) for a packet.

use alloc::vec::Vec;

use crate::error::check;
use crate::flow::weight::weight;
use crate::queue::flow_buffer::FlowBuffer;
use crate::{Bytes, Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Time};

/// The configuration of [`Drr`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that all queues hold together, in packets or bytes. Default: 160 kB, DRR's limit in the BARE paper (Cho
    /// and Cho, Computer Networks 39, 2002).
    pub limit: Size,
    /// The bytes that a turn gives to a flow of weight 1, 1 byte to 16 MiB. A turn takes O(1) if it is not less than
    /// the largest packet. Default: 1000 bytes, the packets of the CHOKe paper (section III).
    pub quantum: Bytes,
    /// The packet that the longest queue loses. Default: [`DropFrom::Front`], as ns-2.
    pub drop: DropFrom,
    /// Gives a flow 1 to 4 quanta per turn, by the two highest bits of the traffic class of the packet at its head
    /// ([`Packet::class`]). Default: `false`.
    pub weighted: bool,
}

/// The packet that the longest queue loses when the limit is exceeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DropFrom {
    /// Its oldest packet.
    #[default]
    Front,
    /// Its newest packet.
    Tail,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::bytes(160_000), quantum: Bytes::new(1000), drop: DropFrom::Front, weighted: false }
    }
}

impl Config {
    /// Checks every value.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::bytes("quantum", self.quantum)
    }
}

/// No flow.
const NIL: usize = usize::MAX;

/// A flow's position in the list of active flows, and its deficit counter.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ListedFlow {
    deficit: u64,
    next: usize,
    previous: usize,
}

/// The flows that have packets, in a ring that is linked in both directions because a drop may empty any queue.
#[derive(Debug)]
struct ActiveList {
    flows: Vec<ListedFlow>,
    /// The flow whose turn it is; [`NIL`] if no flow is active.
    head: usize,
    /// The head has received the quantum of its turn.
    begun: bool,
}

impl ActiveList {
    const fn new() -> Self {
        Self { flows: Vec::new(), head: NIL, begun: false }
    }

    /// Adds `flow` at the end: just before the head.
    fn join(&mut self, flow: usize) {
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, ListedFlow { deficit: 0, next: NIL, previous: NIL });
        }
        let (next, previous) = match self.flows.get(self.head) {
            Some(head) => (self.head, head.previous),
            None => {
                self.head = flow;
                (flow, flow)
            }
        };
        self.flows[flow] = ListedFlow { deficit: 0, next, previous };
        self.flows[previous].next = flow;
        self.flows[next].previous = flow;
    }

    /// Removes `flow`. If it was the head, the turn of the next flow begins.
    fn leave(&mut self, flow: usize) {
        let ListedFlow { next, previous, .. } = self.flows[flow];
        self.flows[previous].next = next;
        self.flows[next].previous = previous;
        if flow == self.head {
            self.head = if next == flow { NIL } else { next };
            self.begun = false;
        }
    }

    /// Ends the head's turn.
    fn pass(&mut self) {
        self.head = self.flows[self.head].next;
        self.begun = false;
    }
}

/// Deficit Round Robin.
#[derive(Debug)]
pub struct Drr<P> {
    buffer: FlowBuffer<P>,
    active: ActiveList,
    quantum: u64,
    drop_front: bool,
    weighted: bool,
}

impl<P: Packet> Drr<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, quantum, drop, weighted } = config;
        Ok(Self {
            buffer: FlowBuffer::new(limit, seed),
            active: ActiveList::new(),
            quantum: quantum.get(),
            drop_front: drop == DropFrom::Front,
            weighted,
        })
    }

    /// Returns the size of the packet at the head of `flow`'s queue, and the flow's quantum.
    fn head_of(&self, flow: usize) -> Option<(u64, u64)> {
        let head = self.buffer.queues.front(flow)?;
        let weight = if self.weighted { weight(head.class()) } else { 1 };
        Some((u64::from(head.bytes()), self.quantum * u64::from(weight)))
    }

    /// Returns the flow that sends next, and subtracts its packet from its deficit counter.
    fn next(&mut self) -> Option<usize> {
        let mut passed = 0;
        loop {
            let (bytes, quantum) = self.head_of(self.active.head)?;
            if passed == self.buffer.backlogged_flows() {
                self.skip_rounds();
                passed = 0;
            }
            let flow = &mut self.active.flows[self.active.head];
            if !self.active.begun {
                flow.deficit += quantum;
                self.active.begun = true;
            }
            if bytes <= flow.deficit {
                flow.deficit -= bytes;
                return Some(self.active.head);
            }
            self.active.pass();
            passed += 1;
        }
    }

    /// Grants at once the quanta of all rounds in which no flow can send.
    fn skip_rounds(&mut self) {
        let mut rounds = u64::MAX;
        self.for_each_active(|flow, bytes, quantum| {
            rounds = rounds.min(bytes.saturating_sub(flow.deficit).div_ceil(quantum).saturating_sub(1));
        });
        self.for_each_active(|flow, _, quantum| flow.deficit += rounds * quantum);
    }

    /// Calls `f` for each active flow, with the size of the packet at the head of its queue and its quantum.
    fn for_each_active(&mut self, mut f: impl FnMut(&mut ListedFlow, u64, u64)) {
        let mut flow = self.active.head;
        while let Some((bytes, quantum)) = self.head_of(flow) {
            f(&mut self.active.flows[flow], bytes, quantum);
            flow = self.active.flows[flow].next;
            if flow == self.active.head {
                return;
            }
        }
    }

    /// Forgets `flow` if its queue is empty.
    fn release(&mut self, flow: usize) {
        if self.buffer.is_empty(flow) {
            self.active.leave(flow);
            self.buffer.forget(flow);
        }
    }

    /// Drops from the longest queue until the limit is kept. The newest packet of flow `arrived` is the arriving one,
    /// whose fate is returned.
    fn make_room(&mut self, now: Time, arrived: usize, sink: &mut dyn DropSink<P>) -> Fate {
        let mut fate = Fate::Queued;
        while self.buffer.overflows() {
            let Some(flow) = self.buffer.longest() else { return fate };
            let victim = if self.drop_front { self.buffer.pop_front(flow) } else { self.buffer.pop_back(flow) };
            let Some(victim) = victim else { return fate };
            let is_arrival =
                fate == Fate::Queued && flow == arrived && (!self.drop_front || self.buffer.is_empty(flow));
            let reason = if is_arrival { Reason::Limit } else { Reason::BufferSteal };
            if is_arrival {
                fate = Fate::Dropped(reason);
            }
            self.buffer.discard(now, victim, reason, sink);
            self.release(flow);
        }
        fate
    }
}

impl<P: Packet> Qdisc<P> for Drr<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.never_fits(packet.bytes()) {
            return self.buffer.discard(now, packet, Reason::Limit, sink);
        }
        let (flow, new) = self.buffer.insert(packet.flow());
        if new {
            self.active.join(flow);
        }
        self.buffer.push(flow, packet);
        self.make_room(now, flow, sink)
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let flow = self.next()?;
        let place = self.buffer.unlink_front(flow);
        self.release(flow);
        self.buffer.depart(place)
    }

    fn status(&self) -> Status {
        self.buffer.status()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// Would catch a value that is let in out of its range, or refused under the key of another parameter.
    #[test]
    fn impossible_configurations_are_refused() {
        for (config, key) in [
            (Config { quantum: Bytes::new(0), ..Config::default() }, "quantum"),
            (Config { limit: Size::packets(u32::MAX), ..Config::default() }, "limit"),
        ] {
            let refused = Drr::<SimplePacket>::new(config, Seed::new(1)).map(|_| ());
            assert_eq!(refused.as_ref().map_err(ParameterError::key), Err(key));
        }
    }

    /// Would catch a flow that is still known after its last packet has left.
    #[test]
    fn the_status_counts_flows() -> Result<(), ParameterError> {
        let mut queue = Drr::new(Config::default(), Seed::new(1))?;
        for flow in [1, 2, 2] {
            queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
        }
        assert_eq!(queue.status().flows, Some(2));
        while queue.dequeue(Time::ZERO, &mut ()).is_some() {}
        assert_eq!(queue.status().flows, Some(0));
        Ok(())
    }
}
