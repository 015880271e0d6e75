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

/// A packet with its neighbours in its queue; free nodes are linked by `next`. `previous` means nothing at the head of
/// a queue, and `next` is [`NIL`] at the tail.
#[derive(Debug)]
struct Node<P> {
    packet: Option<P>,
    next: u32,
    previous: u32,
}

/// The ends and the length of one queue. In an empty one `head` is [`NIL`], and `tail` means nothing.
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

    /// Makes `queues` queues, which are allocated now and not as they fill.
    pub(crate) fn with_room(queues: u32) -> Self {
        Self { queues: Vec::with_capacity(queues as usize), ..Self::new() }
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

    /// Returns the bytes in `queue`, but 1 if it holds packets of no bytes only: a length that is 0 for the empty queue
    /// alone.
    pub(crate) fn length_of(&self, queue: usize) -> u64 {
        let list = self.queue(queue);
        list.bytes.max(u64::from(list.packets > 0))
    }

    /// Returns the oldest packet of `queue`.
    pub(crate) fn front(&self, queue: usize) -> Option<&P> {
        self.packet(self.queue(queue).head)
    }

    /// Returns the newest packet of `queue`.
    pub(crate) fn back(&self, queue: usize) -> Option<&P> {
        self.packet(self.back_place(queue))
    }

    /// Returns the packets of `queue`, the oldest first, each with its place, by which it can be
    /// [removed](Self::remove).
    pub(crate) fn iter(&self, queue: usize) -> impl Iterator<Item = (u32, &P)> {
        let mut next = self.queue(queue).head;
        iter::from_fn(move || {
            let node = self.nodes.get(next as usize)?;
            let place = mem::replace(&mut next, node.next);
            node.packet.as_ref().map(|packet| (place, packet))
        })
    }

    /// Appends `packet` to `queue`.
    #[inline(always)]
    pub(crate) fn push_back(&mut self, queue: usize, packet: P) {
        if queue >= self.queues.len() {
            self.add(queue);
        }
        let bytes = u64::from(packet.bytes());
        self.packets += 1;
        self.bytes += bytes;
        // The number of nodes is far below 2^32: no discipline holds more than `MAX_PACKETS` packets.
        let node = if self.free == NIL { self.nodes.len() as u32 } else { self.free };
        let list = &mut self.queues[queue];
        // The first packet of a queue is put behind itself: that takes no branch, which would often be mispredicted.
        let is_first = list.packets == 0;
        let previous = if is_first { node } else { list.tail };
        list.head = if is_first { node } else { list.head };
        list.tail = node;
        list.packets += 1;
        list.bytes += bytes;
        match self.nodes.get_mut(node as usize) {
            Some(slot) => {
                self.free = slot.next;
                slot.previous = previous;
                slot.packet = Some(packet);
            }
            None => self.nodes.push(Node { packet: Some(packet), next: NIL, previous }),
        }
        self.nodes[previous as usize].next = node;
        self.nodes[node as usize].next = NIL;
    }

    /// Adds the queues up to `queue`.
    #[cold]
    fn add(&mut self, queue: usize) {
        self.queues.resize(queue + 1, EMPTY);
    }

    /// Removes and returns the oldest packet of `queue`.
    #[inline(always)]
    pub(crate) fn pop_front(&mut self, queue: usize) -> Option<P> {
        let node = self.unlink_front(queue);
        self.take(node)
    }

    /// Does what [`unlink`](Self::unlink) does with the oldest packet of `queue`, and returns its place; no place of a
    /// packet if there is none.
    #[inline(always)]
    pub(crate) fn unlink_front(&mut self, queue: usize) -> u32 {
        let node = self.front_place(queue);
        let Some(slot) = self.nodes.get_mut(node as usize) else { return NIL };
        let Some(packet) = &slot.packet else { return NIL };
        let bytes = u64::from(packet.bytes());
        let next = mem::replace(&mut slot.next, self.free);
        self.release(queue, node, bytes);
        self.queues[queue].head = next;
        node
    }

    /// Counts a packet of `bytes` bytes out of `queue`; its place `node`, which links to the free ones, is the first of
    /// them.
    #[inline(always)]
    fn release(&mut self, queue: usize, node: u32, bytes: u64) {
        self.free = node;
        self.packets -= 1;
        self.bytes -= bytes;
        let list = &mut self.queues[queue];
        list.packets -= 1;
        list.bytes -= bytes;
    }

    /// Removes and returns the newest packet of `queue`.
    #[inline(always)]
    pub(crate) fn pop_back(&mut self, queue: usize) -> Option<P> {
        self.remove(queue, self.back_place(queue))
    }

    fn queue(&self, queue: usize) -> &PacketList {
        self.queues.get(queue).unwrap_or(&EMPTY)
    }

    /// Returns the packet at the place `node`, which may have been [unlinked](Self::unlink).
    pub(crate) fn packet(&self, node: u32) -> Option<&P> {
        self.nodes.get(node as usize)?.packet.as_ref()
    }

    /// Returns the packet at the place `node`, which may have been [unlinked](Self::unlink).
    pub(crate) fn packet_mut(&mut self, node: u32) -> Option<&mut P> {
        self.nodes.get_mut(node as usize)?.packet.as_mut()
    }

    /// Removes and returns the packet at the place `node`, which is one of `queue`'s.
    #[inline(always)]
    pub(crate) fn remove(&mut self, queue: usize, node: u32) -> Option<P> {
        self.unlink(queue, node);
        self.take(node)
    }

    /// Removes the packet at the place `node` from `queue`, but leaves it where it is: [`take`](Self::take) must follow
    /// before the next push. A packet that is moved last is copied only once.
    #[inline(always)]
    pub(crate) fn unlink(&mut self, queue: usize, node: u32) {
        let Some(slot) = self.nodes.get_mut(node as usize) else { return };
        let Some(packet) = &slot.packet else { return };
        let bytes = u64::from(packet.bytes());
        let (previous, next) = (slot.previous, slot.next);
        slot.next = self.free;
        self.release(queue, node, bytes);
        let list = &mut self.queues[queue];
        if list.head == node {
            list.head = next;
        } else if let Some(slot) = self.nodes.get_mut(previous as usize) {
            slot.next = next;
        }
        if list.tail == node {
            list.tail = previous;
        } else if let Some(slot) = self.nodes.get_mut(next as usize) {
            slot.previous = previous;
        }
    }

    /// Removes and returns the packet at the place `node`, after [`unlink`](Self::unlink).
    #[inline(always)]
    pub(crate) fn take(&mut self, node: u32) -> Option<P> {
        self.nodes.get_mut(node as usize)?.packet.take()
    }

    /// Returns the place of the oldest packet of `queue`; no place of a packet if there is none.
    pub(crate) fn front_place(&self, queue: usize) -> u32 {
        self.queue(queue).head
    }

    /// Returns the place of the newest packet of `queue`; no place of a packet if there is none.
    pub(crate) fn back_place(&self, queue: usize) -> u32 {
        let list = self.queue(queue);
        if list.packets == 0 { NIL } else { list.tail }
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

        /// Would catch a packet that is lost, duplicated, out of order or in another queue, a wrong count, and memory
        /// that grows with the number of operations instead of the backlog.
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
