//! A queue for each flow, with the common parts of all disciplines with such queues: the flow's number, one hard limit
//! for all queues, the longest queue, the counters, and reports to the sink.

use alloc::vec::Vec;

use crate::flow::table::FlowTable;
use crate::queue::flow_queues::FlowQueues;
use crate::queue::longest::Longest;
use crate::queue::room::Room;
use crate::queue::signal::discard;
use crate::{Counters, DropSink, Fate, FlowKey, Packet, Reason, Seed, Size, Status, Time};

/// A queue for each flow, with one limit and one set of counters for all. Known flows are identified by small numbers.
#[derive(Debug)]
pub(crate) struct FlowBuffer<P> {
    pub(crate) queues: FlowQueues<P>,
    pub(crate) counters: Counters,
    table: FlowTable,
    /// The key of each known flow.
    keys: Vec<FlowKey>,
    /// The backlogged flows by bytes.
    longest: Longest,
    room: Room,
}

impl<P: Packet> FlowBuffer<P> {
    /// Creates a buffer without flows whose queues hold at most `limit` together.
    pub(crate) fn new(limit: Size, seed: Seed) -> Self {
        Self {
            queues: FlowQueues::new(),
            counters: Counters::default(),
            table: FlowTable::new(seed),
            keys: Vec::new(),
            longest: Longest::new(seed),
            room: Room::of(limit),
        }
    }

    /// Tells whether the queues hold more than the limit.
    pub(crate) const fn overflows(&self) -> bool {
        self.room.is_exceeded(self.queues.packets(), self.queues.bytes())
    }

    /// Tells whether a packet of `bytes` bytes is too large even if all queues are empty.
    pub(crate) const fn never_fits(&self, bytes: u32) -> bool {
        self.room.never_fits(bytes)
    }

    /// Returns the state of all queues together.
    pub(crate) const fn status(&self) -> Status {
        let mut status = Status::new(self.queues.packets(), self.queues.bytes());
        status.flows = Some(self.known_flows());
        status
    }

    /// Returns the number of known flows, backlogged or not.
    pub(crate) const fn known_flows(&self) -> usize {
        self.table.flows()
    }

    /// Returns the number of flows with packets in their queues.
    pub(crate) fn backlogged_flows(&self) -> usize {
        self.longest.len()
    }

    /// Returns the number of `flow`, which becomes known if it is not yet, and tells whether it is new.
    pub(crate) fn insert(&mut self, flow: FlowKey) -> (usize, bool) {
        let (number, new) = self.table.insert(flow);
        if new {
            match self.keys.get_mut(number) {
                Some(key) => *key = flow,
                None => self.keys.push(flow),
            }
        }
        (number, new)
    }

    /// Forgets a flow whose queue is empty. Its number may be given to another flow.
    pub(crate) fn forget(&mut self, flow: usize) {
        self.table.remove(self.keys[flow]);
    }

    /// Tells whether the queue of `flow` is empty.
    pub(crate) fn is_empty(&self, flow: usize) -> bool {
        self.queues.packets_in(flow) == 0
    }

    /// Appends `packet` to the queue of `flow`, without checking the limit.
    #[inline(always)]
    pub(crate) fn push(&mut self, flow: usize, packet: P) {
        self.queues.push_back(flow, packet);
        self.update_longest(flow);
    }

    /// Removes and returns the oldest packet of `flow`.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self, flow: usize) -> Option<P> {
        let place = self.unlink_front(flow);
        self.queues.take(place)
    }

    /// Removes the oldest packet of `flow` from its queue, but leaves it at the place that is returned, for
    /// [`FlowQueues::take`].
    #[inline(always)]
    pub(crate) fn unlink_front(&mut self, flow: usize) -> u32 {
        let place = self.queues.unlink_front(flow);
        self.update_longest(flow);
        place
    }

    /// Takes the packet that [`unlink_front`](Self::unlink_front) left at `place`, which departs.
    #[inline(always)]
    pub(crate) fn depart(&mut self, place: u32) -> Option<P> {
        if let Some(packet) = self.queues.packet(place) {
            self.counters.departed.add(packet.bytes());
        }
        self.queues.take(place)
    }

    /// Removes and returns the newest packet of `flow`.
    #[inline(always)]
    pub(crate) fn pop_back(&mut self, flow: usize) -> Option<P> {
        let place = self.queues.back_place(flow);
        self.queues.unlink(flow, place);
        self.update_longest(flow);
        self.queues.take(place)
    }

    /// Returns the flow with the most bytes in its queue, a random one of several.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        self.longest.get()
    }

    fn update_longest(&mut self, flow: usize) {
        self.longest.set(flow, self.queues.length_of(flow));
    }

    /// Drops a packet that is no longer queued: counts it and reports it to `sink`. Returns its fate.
    pub(crate) fn discard<Q: Packet>(
        &mut self,
        now: Time,
        packet: Q,
        reason: Reason,
        sink: &mut dyn DropSink<Q>,
    ) -> Fate {
        discard(now, packet, reason, &mut self.counters, sink)
    }
}
