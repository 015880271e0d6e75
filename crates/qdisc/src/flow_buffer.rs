//! What every discipline with a queue for each flow does alike: finding the queue, the hard limit on all of them, the
//! longest one, counting, and telling the packets' fate.

use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::buffer::MAX_PACKETS;
use crate::flow_table::FlowTable;
use crate::flows::FlowQueues;
use crate::schedule::Schedule;
use crate::{Counters, Fate, FlowKey, Packet, Reason, Seed, Size, Time};

/// A queue for each flow, with one limit for all, and their counters. Flows go by their numbers.
#[derive(Debug)]
pub(crate) struct FlowBuffer<P> {
    pub(crate) queues: FlowQueues<P>,
    pub(crate) counters: Counters,
    table: FlowTable,
    keys: Vec<FlowKey>,
    /// The longest first; of equally long ones, the one with the lowest key.
    longest: Schedule<(Reverse<u64>, FlowKey)>,
    max_packets: usize,
    max_bytes: u64,
}

impl<P: Packet> FlowBuffer<P> {
    /// No flows, and at most `limit` in all their queues.
    pub(crate) fn new(limit: Size, seed: Seed) -> Self {
        let (packets, bytes) = match limit {
            Size::Packets(packets) => (packets.get().min(MAX_PACKETS), u64::MAX),
            Size::Bytes(bytes) => (MAX_PACKETS, bytes.get()),
        };
        Self {
            queues: FlowQueues::new(),
            counters: Counters::default(),
            table: FlowTable::new(seed),
            keys: Vec::new(),
            longest: Schedule::new(),
            max_packets: packets as usize,
            max_bytes: bytes,
        }
    }

    /// Whether there is more than the limit.
    pub(crate) const fn overflows(&self) -> bool {
        self.queues.packets() > self.max_packets || self.queues.bytes() > self.max_bytes
    }

    /// Whether a packet of `bytes` bytes would find no room even if nothing were queued.
    pub(crate) fn never_fits(&self, bytes: u32) -> bool {
        self.max_packets == 0 || u64::from(bytes) > self.max_bytes
    }

    /// How many flows are known, and how many of them have packets queued.
    pub(crate) const fn flows(&self) -> (usize, usize) {
        (self.table.flows(), self.longest.len())
    }

    /// The number of `flow`, which is known from now on, and whether it is new.
    pub(crate) fn know(&mut self, flow: FlowKey) -> (usize, bool) {
        let (number, new) = self.table.insert(flow);
        if new {
            match self.keys.get_mut(number) {
                Some(key) => *key = flow,
                None => self.keys.push(flow),
            }
        }
        (number, new)
    }

    /// Forgets a flow that has nothing queued. Another may get its number.
    pub(crate) fn forget(&mut self, flow: usize) {
        self.table.remove(self.keys[flow]);
    }

    /// The key of `flow`.
    pub(crate) fn key(&self, flow: usize) -> FlowKey {
        self.keys[flow]
    }

    /// Whether `flow` has nothing queued.
    pub(crate) fn is_empty(&self, flow: usize) -> bool {
        self.queues.packets_in(flow) == 0
    }

    /// Queues `packet`, whatever the limit says.
    pub(crate) fn push(&mut self, flow: usize, packet: P) {
        self.queues.push_back(flow, packet);
        self.measure(flow);
    }

    /// Takes the oldest packet of `flow`.
    pub(crate) fn pop_front(&mut self, flow: usize) -> Option<P> {
        let packet = self.queues.pop_front(flow);
        self.measure(flow);
        packet
    }

    /// Takes the newest packet of `flow`.
    pub(crate) fn pop_back(&mut self, flow: usize) -> Option<P> {
        let packet = self.queues.pop_back(flow);
        self.measure(flow);
        packet
    }

    /// The flow with the most bytes queued; of several, the one with the lowest key.
    pub(crate) fn longest(&self) -> Option<usize> {
        self.longest.first().map(|(_, flow)| flow)
    }

    fn measure(&mut self, flow: usize) {
        if self.is_empty(flow) {
            self.longest.remove(flow);
        } else {
            self.longest.set(flow, (Reverse(self.queues.bytes_in(flow)), self.keys[flow]));
        }
    }

    /// Drops a packet that is not queued any more.
    pub(crate) fn discard<Q: Packet>(&mut self, now: Time, packet: Q, reason: Reason, fate: &mut impl Fate<Q>) {
        self.counters.count_drop(reason, packet.bytes());
        fate.dropped(now, packet, reason);
    }
}
