//! Many first-in first-out queues in one block of memory, for disciplines that keep flows apart.
//!
//! Packets stand in one vector of nodes; each queue is a chain through it, linked both ways, and free nodes are a
//! chain too. So memory is that of the most packets that were ever queued, however they are spread over the queues, and
//! every operation is O(1). An empty queue costs 24 bytes.

use alloc::vec::Vec;

use crate::Packet;

/// No node.
const NIL: u32 = u32::MAX;

/// A packet and its neighbours in its queue; free nodes are chained by `next`.
#[derive(Debug)]
struct Node<P> {
    packet: Option<P>,
    next: u32,
    previous: u32,
}

/// One queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: u64,
}

const EMPTY: Queue = Queue { head: NIL, tail: NIL, packets: 0, bytes: 0 };

/// Queues, numbered from 0. A queue is there as soon as it is pushed to; before, it is empty.
#[derive(Debug)]
pub(crate) struct FlowQueues<P> {
    nodes: Vec<Node<P>>,
    free: u32,
    queues: Vec<Queue>,
    packets: usize,
    bytes: u64,
}

impl<P: Packet> FlowQueues<P> {
    /// Queues that are all empty. They take memory as they fill.
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new(), free: NIL, queues: Vec::new(), packets: 0, bytes: 0 }
    }

    /// Packets in all queues.
    pub(crate) const fn packets(&self) -> usize {
        self.packets
    }

    /// Bytes in all queues.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Packets in `queue`.
    pub(crate) fn packets_in(&self, queue: usize) -> usize {
        self.queue(queue).packets as usize
    }

    /// Bytes in `queue`.
    pub(crate) fn bytes_in(&self, queue: usize) -> u64 {
        self.queue(queue).bytes
    }

    /// The oldest packet of `queue`.
    pub(crate) fn front(&self, queue: usize) -> Option<&P> {
        self.packet(self.queue(queue).head)
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

    /// Takes the oldest packet of `queue`.
    pub(crate) fn pop_front(&mut self, queue: usize) -> Option<P> {
        self.remove(queue, self.queue(queue).head)
    }

    /// Takes the newest packet of `queue`.
    pub(crate) fn pop_back(&mut self, queue: usize) -> Option<P> {
        self.remove(queue, self.queue(queue).tail)
    }

    fn queue(&self, queue: usize) -> Queue {
        self.queues.get(queue).copied().unwrap_or(EMPTY)
    }

    fn packet(&self, node: u32) -> Option<&P> {
        self.nodes.get(node as usize)?.packet.as_ref()
    }

    /// Takes the packet at `node`, which is of `queue` or none.
    fn remove(&mut self, queue: usize, node: u32) -> Option<P> {
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

    /// Makes `next` the one after `node`, or the head where there is no node.
    fn link(&mut self, queue: usize, node: u32, next: u32) {
        match self.nodes.get_mut(node as usize) {
            Some(slot) => slot.next = next,
            None => self.queues[queue].head = next,
        }
    }

    /// Makes `previous` the one before `node`, or the tail where there is no node.
    fn link_back(&mut self, queue: usize, node: u32, previous: u32) {
        match self.nodes.get_mut(node as usize) {
            Some(slot) => slot.previous = previous,
            None => self.queues[queue].tail = previous,
        }
    }

    /// Puts `node` in a free place; where.
    fn occupy(&mut self, node: Node<P>) -> u32 {
        if let Some(slot) = self.nodes.get_mut(self.free as usize) {
            let place = self.free;
            self.free = slot.next;
            *slot = node;
            return place;
        }
        // Far below 2^32: no discipline holds more than `MAX_PACKETS`.
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

        /// Would catch a packet lost, doubled, out of order or in another's queue, a wrong count, and memory that grows
        /// with the number of operations instead of with the backlog.
        #[test]
        fn behaves_as_a_row_of_lists(script in prop::collection::vec((0..6_usize, 0..5_u8, 0..2000_u32), 0..600)) {
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
                    _ => prop_assert_eq!(flows.pop_back(queue), lists[queue].pop_back()),
                }
                let bytes = |list: &VecDeque<SimplePacket>| list.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>();
                let list = &lists[queue];
                prop_assert_eq!(flows.front(queue), list.front());
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

    #[test]
    fn a_queue_that_was_never_used_is_empty() {
        let mut flows: FlowQueues<SimplePacket> = FlowQueues::new();
        assert_eq!((flows.pop_front(9), flows.pop_back(9), flows.front(9)), (None, None, None));
        assert_eq!((flows.packets_in(9), flows.bytes_in(9)), (0, 0));
    }
}
