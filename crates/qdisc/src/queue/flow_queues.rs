//! Many FIFOs in one block of memory, for disciplines that keep flows apart.
//!
//! One vector of nodes holds all packets. Each queue is a list of nodes, linked in both directions, and so are the free
//! nodes. Memory is needed for the largest number of packets that were ever queued, however they are spread over the
//! queues. Every operation takes O(1), and an empty queue takes 24 bytes.

use alloc::vec::Vec;
use core::{iter, mem};

use crate::Packet;

/// No node.
const NIL: u32 = u32::MAX;

/// A packet with its neighbours in its queue; free nodes are linked by `next`.
#[derive(Debug)]
struct Node<P> {
    packet: Option<P>,
    next: u32,
    previous: u32,
}

/// The ends and the length of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PacketList {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

const EMPTY: PacketList = PacketList { head: NIL, tail: NIL, packets: 0, bytes: 0 };

/// Queues, numbered from 0. All numbers are valid: a queue that was never pushed to is empty.
#[derive(Debug)]
pub(crate) struct FlowQueues<P> {
    nodes: Vec<Node<P>>,
    free: u32,
    queues: Vec<PacketList>,
    packets: usize,
    bytes: u64,
}

impl<P: Packet> FlowQueues<P> {
    /// Creates queues that are all empty and allocate memory as they fill.
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NIL, queues: Vec::new(), packets: 0, bytes: 0 }
    }

    /// Returns the number of packets in all queues.
    pub(crate) const fn packets(&self) -> usize {
        self.packets
    }

    /// Returns the bytes in all queues.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of packets in `queue`.
    pub(crate) fn packets_in(&self, queue: usize) -> usize {
        self.queue(queue).packets as usize
    }

    /// Returns the bytes in `queue`.
    pub(crate) fn bytes_in(&self, queue: usize) -> u64 {
        self.queue(queue).bytes
    }

    /// Returns the oldest packet of `queue`.
    pub(crate) fn front(&self, queue: usize) -> Option<&P> {
        self.packet(self.queue(queue).head)
    }

    /// Returns the newest packet of `queue`.
    pub(crate) fn back(&self, queue: usize) -> Option<&P> {
        self.packet(self.queue(queue).tail)
    }

    /// Returns the packets of `queue`, the oldest first, each with its place, by which it can be [removed](Self::remove).
    pub(crate) fn iter(&self, queue: usize) -> impl Iterator<Item = (u32, &P)> {
        let mut next = self.queue(queue).head;
        iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            let place = mem::replace(&mut next, node.next);
            node.packet.as_ref().map(|packet| (place, packet))
        })
    }

    /// Appends `packet` to `queue`.
    pub(crate) fn push_back(&mut self, queue: usize, packet: P) {
        if queue >= self.queues.len() {
            self.queues.resize(queue + 1, EMPTY);
        }
        let bytes = u64::from(packet.bytes());
        let tail = self.queues[queue].tail;
        let node = self.occupy(Node { packet: Some(packet), next: NIL, previous: tail });
        self.link(queue, tail, node);
        self.link_back(queue, NIL, node);
        self.queues[queue].packets += 1;
        self.queues[queue].bytes += bytes;
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Removes and returns the oldest packet of `queue`.
    pub(crate) fn pop_front(&mut self, queue: usize) -> Option<P> {
        self.remove(queue, self.queue(queue).head)
    }

    /// Removes and returns the newest packet of `queue`.
    pub(crate) fn pop_back(&mut self, queue: usize) -> Option<P> {
        self.remove(queue, self.queue(queue).tail)
    }

    fn queue(&self, queue: usize) -> PacketList {
        self.queues.get(queue).copied().unwrap_or(EMPTY)
    }

    fn packet(&self, node: u32) -> Option<&P> {
        self.nodes.get(node as usize)?.packet.as_ref()
    }

    /// Removes and returns the packet at the place `node`, which is one of `queue`'s.
    pub(crate) fn remove(&mut self, queue: usize, node: u32) -> Option<P> {
        let slot = self.nodes.get_mut(node as usize)?;
        let packet = slot.packet.take()?;
        let (previous, next) = (slot.previous, slot.next);
        slot.next = self.free;
        self.free = node;
        self.link(queue, previous, next);
        self.link_back(queue, next, previous);
        let bytes = u64::from(packet.bytes());
        self.queues[queue].packets -= 1;
        self.queues[queue].bytes -= bytes;
        self.packets -= 1;
        self.bytes -= bytes;
        Some(packet)
    }

    /// Links `next` behind `node`, or makes it the head if `node` is none.
    fn link(&mut self, queue: usize, node: u32, next: u32) {
        match self.nodes.get_mut(node as usize) {
            Some(slot) => slot.next = next,
            None => self.queues[queue].head = next,
        }
    }

    /// Links `previous` in front of `node`, or makes it the tail if `node` is none.
    fn link_back(&mut self, queue: usize, node: u32, previous: u32) {
        match self.nodes.get_mut(node as usize) {
            Some(slot) => slot.previous = previous,
            None => self.queues[queue].tail = previous,
        }
    }

    /// Stores `node` in a free place and returns its index.
    fn occupy(&mut self, node: Node<P>) -> u32 {
        if let Some(slot) = self.nodes.get_mut(self.free as usize) {
            let place = self.free;
            self.free = slot.next;
            *slot = node;
            return place;
        }
        // The number of nodes is far below 2^32: no discipline holds more than `MAX_PACKETS` packets.
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::SimplePacket;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Would catch a packet that is lost, duplicated, out of order or in another queue, a wrong count, and memory that
        /// grows with the number of operations instead of the backlog.
        #[test]
        fn behaves_as_many_lists(script in prop::collection::vec((0..6_usize, 0..6_u8, 0..2000_u32), 0..600)) {
            let mut flows = FlowQueues::new();
            let mut lists: Vec<VecDeque<SimplePacket>> = std::vec![VecDeque::new(); 6];
            let mut most = 0;
            for (id, &(queue, action, bytes)) in script.iter().enumerate() {
                match action {
                    0..=2 => {
                        let packet = SimplePacket::new(0, bytes).with_id(id as u64);
                        flows.push_back(queue, packet);
                        lists[queue].push_back(packet);
                    }
                    3 => prop_assert_eq!(flows.pop_front(queue), lists[queue].pop_front()),
                    4 if lists[queue].len() > 2 => {
                        let place = flows.iter(queue).nth(1).map(|(place, _)| place);
                        prop_assert_eq!(place.and_then(|place| flows.remove(queue, place)), lists[queue].remove(1));
                    }
                    _ => prop_assert_eq!(flows.pop_back(queue), lists[queue].pop_back()),
                }
                let bytes = |list: &VecDeque<SimplePacket>| list.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>();
                let list = &lists[queue];
                prop_assert_eq!((flows.front(queue), flows.back(queue)), (list.front(), list.back()));
                prop_assert!(flows.iter(queue).map(|(_, packet)| packet).eq(list));
                prop_assert_eq!((flows.packets_in(queue), flows.bytes_in(queue)), (list.len(), bytes(list)));
                let all: usize = lists.iter().map(VecDeque::len).sum();
                prop_assert_eq!((flows.packets(), flows.bytes()), (all, lists.iter().map(bytes).sum::<u64>()));
                most = most.max(all);
                prop_assert_eq!(flows.nodes.len(), most);
            }
            for (queue, list) in lists.iter_mut().enumerate() {
                while let Some(packet) = list.pop_front() {
                    prop_assert_eq!(flows.pop_front(queue), Some(packet));
                }
                prop_assert_eq!(flows.pop_front(queue), None);
            }
        }
    }

    /// Would catch a panic on a number that no packet was pushed to.
    #[test]
    fn a_queue_that_was_never_used_is_empty() {
        let mut flows: FlowQueues<SimplePacket> = FlowQueues::new();
        assert_eq!((flows.pop_front(9), flows.pop_back(9), flows.front(9)), (None, None, None));
        assert_eq!((flows.packets_in(9), flows.bytes_in(9)), (0, 0));
    }
}
