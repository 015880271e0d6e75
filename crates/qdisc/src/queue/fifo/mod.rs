//! A FIFO that also removes packets from the middle and draws packets uniformly.
//!
//! A ring buffer whose size is a power of two holds the packets. A second array holds one byte for each slot: a hash of
//! the packet's flow, or zero for a hole. The hashes of different flows mostly differ, so comparing the flow of a drawn
//! packet mostly reads this byte alone, and the bytes of a million packets fit into the cache. Where the hashes are
//! equal, the flows of the packets are compared.
//!
//! A packet that is removed from the middle leaves a hole. Holes at both ends are
//! removed at once, and the ring is compacted in place when more than half of it is holes. The cost of a compaction is
//! shared by the removals that made its holes, so every operation takes amortised O(1), and the span of the ring stays
//! below twice the number of live packets plus a constant.

use alloc::vec::Vec;

use crate::{FlowKey, Packet};

mod draw;
mod foresee;
mod halves;

pub(crate) use draw::DrawnPlaces;
pub(crate) use halves::Halves;

/// Holes that are tolerated beyond the number of live packets.
const SLACK: usize = 8;

/// The number of slots of the first ring.
const FIRST: usize = 16;

/// A hash of the flow of a slot's packet, or [`HOLE`]. In front of the head and from the tail on it means nothing.
type FlowHint = u8;

/// The hint of a slot without a packet; no flow has it.
const HOLE: FlowHint = 0;

/// Returns the hint for packets of `flow`.
#[inline]
fn hint(flow: FlowKey) -> FlowHint {
    // The highest bits of a product with an odd number depend on every bit: Fibonacci hashing (Knuth, TAOCP 6.4).
    let hash = flow.get().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - FlowHint::BITS)).max(1) as FlowHint
}

/// The position of a live packet, valid until the next [`Fifo::settle`], push or pop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// The FIFO.
///
/// Functions that take or return a packet by value are always inlined, here and in their callers: a call copies the
/// packet once more, which costs more than the rest of the function.
///
/// Between calls the slot at `head` and the slot before `tail` hold packets, unless `head` equals `tail`: then the
/// queue is empty.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    slots: Vec<Option<P>>,
    hints: Vec<FlowHint>,
    head: usize,
    tail: usize,
    /// The live packets; the other slots from the head to the tail are holes.
    packets: usize,
    mask: usize,
    bytes: u64,
    /// The number of times that packets have been moved to new positions.
    numbering: u32,
}

impl<P: Packet> Fifo<P> {
    /// Creates an empty queue, which allocates memory as it fills.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), hints: Vec::new(), head: 0, tail: 0, packets: 0, mask: 0, bytes: 0, numbering: 0 }
    }

    /// Returns the number of times that packets have been moved: a [`Place`] of an earlier numbering is not valid.
    pub(crate) const fn numbering(&self) -> u32 {
        self.numbering
    }

    /// Returns the number of live packets.
    pub(crate) const fn packets(&self) -> usize {
        self.packets
    }

    /// Tells whether no packet is queued.
    pub(crate) const fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Returns the bytes of all live packets.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of slots from the head to the tail, including holes.
    const fn span(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Returns the number of holes between the head and the tail.
    const fn holes(&self) -> usize {
        self.span() - self.packets
    }

    /// Tells whether so many slots are holes that the ring is to be compacted.
    const fn has_too_many_holes(&self) -> bool {
        self.holes() > self.packets + SLACK
    }

    /// Returns the index of the slot at position `at`, as with the mask. The compiler knows that it is one of the slots
    /// if there are any, and the mask need not be read.
    #[inline(always)]
    fn slot_at(&self, at: usize) -> usize {
        at & self.slots.len().wrapping_sub(1)
    }

    /// Returns the same index, of which the compiler knows that it is one of the hints.
    #[inline(always)]
    fn hint_at(&self, at: usize) -> usize {
        at & self.hints.len().wrapping_sub(1)
    }

    /// Tells whether the slot at position `at` is a hole.
    fn is_hole(&self, at: usize) -> bool {
        self.hints[self.hint_at(at)] == HOLE
    }

    /// Returns the flow of the packet at `place`.
    fn flow(&self, place: Place) -> FlowKey {
        self.slots[self.slot_at(place.0)].as_ref().map_or(FlowKey::NONE, P::flow)
    }

    /// Tells whether the packet at `place` belongs to `flow`.
    pub(crate) fn is_of(&self, place: Place, flow: FlowKey) -> bool {
        self.hints[self.hint_at(place.0)] == hint(flow) && self.flow(place) == flow
    }

    /// Returns the packet at `place`.
    pub(crate) fn packet(&self, place: Place) -> Option<&P> {
        self.slots[self.slot_at(place.0)].as_ref()
    }

    /// Appends `packet`.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: P) {
        if self.span() == self.slots.len() {
            return self.push_into_full(packet);
        }
        self.push_into_free_slot::<false>(packet);
    }

    /// Does the same after a [`look`](Self::look), which has read how many hints there are.
    #[inline(always)]
    pub(crate) fn push_looked(&mut self, packet: P) {
        if self.span() == self.slots.len() {
            return self.push_into_full(packet);
        }
        self.push_into_free_slot::<true>(packet);
    }

    /// Appends `packet` to a ring without a free slot. Apart, so that nothing is kept across a call where there is one.
    #[cold]
    #[inline(never)]
    fn push_into_full(&mut self, packet: P) {
        self.make_room();
        self.push_into_free_slot::<false>(packet);
    }

    #[inline(always)]
    fn push_into_free_slot<const LOOKED: bool>(&mut self, packet: P) {
        let (bytes, hint) = (packet.bytes(), hint(packet.flow()));
        let at = if LOOKED { self.hint_at(self.tail) } else { self.tail & self.mask };
        let slot = if LOOKED { self.slot_at(self.tail) } else { at };
        self.tail = self.tail.wrapping_add(1);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.hints[at] = hint;
        let free = self.slots[slot].replace(packet);
        debug_assert!(free.is_none());
        // Nothing to drop, which the compiler does not know.
        core::mem::forget(free);
    }

    /// Removes and returns the oldest packet.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<P> {
        self.pop_after(|_| ())
    }

    /// Removes and returns the oldest packet, after `look` has seen it: a packet that is moved last is copied only
    /// once.
    #[inline(always)]
    pub(crate) fn pop_after(&mut self, look: impl FnOnce(&P)) -> Option<P> {
        self.pop_and_settle::<false>(look)
    }

    /// Does the same for a caller that returns the packet at once: nothing is kept across a call, which few need. To
    /// look into a packet that comes by two ways would take longer.
    #[inline(always)]
    pub(crate) fn pop_last(&mut self, look: impl FnOnce(&P)) -> Option<P> {
        self.pop_and_settle::<true>(look)
    }

    #[inline(always)]
    fn pop_and_settle<const LAST: bool>(&mut self, look: impl FnOnce(&P)) -> Option<P> {
        let slot = if LAST { self.slot_at(self.head) } else { self.head & self.mask };
        // There is a packet in it unless the queue is empty.
        let packet = self.slots.get(slot)?.as_ref()?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes());
        look(packet);
        self.head = self.head.wrapping_add(1);
        // Where there are holes the slot before the tail still holds a packet, so the head may move over one. A sum
        // takes no branch, which would often be mispredicted.
        if self.holes() > 0 {
            let is_hole =
                |fifo: &Self| fifo.hints[if LAST { fifo.hint_at(fifo.head) } else { fifo.head & fifo.mask }] == HOLE;
            self.head = self.head.wrapping_add(usize::from(is_hole(self)));
            if is_hole(self) || self.has_too_many_holes() {
                if LAST {
                    return self.settle_and_take(slot);
                }
                self.settle_ends();
            }
        }
        // Settling touches the packets from the head on only.
        self.slots[slot].take()
    }

    #[cold]
    #[inline(never)]
    fn settle_and_take(&mut self, slot: usize) -> Option<P> {
        self.settle_ends();
        self.slots[slot].take()
    }

    /// Removes and returns the packet at `place`, which becomes a hole. [`settle`](Self::settle) must follow.
    #[inline(always)]
    pub(crate) fn remove(&mut self, place: Place) -> Option<P> {
        let slot = self.slot_at(place.0);
        let packet = self.slots[slot].as_ref()?;
        self.bytes -= u64::from(packet.bytes());
        self.hints[slot] = HOLE;
        self.packets -= 1;
        self.slots[slot].take()
    }

    /// Removes the holes at both ends, and all holes when there are too many.
    #[inline]
    pub(crate) fn settle(&mut self) {
        let ends_live = self.packets > 0 && !self.is_hole(self.head) && !self.is_hole(self.tail.wrapping_sub(1));
        if !ends_live || self.has_too_many_holes() {
            self.settle_ends();
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_ends(&mut self) {
        while self.head != self.tail && self.is_hole(self.head) {
            self.head = self.head.wrapping_add(1);
        }
        while self.head != self.tail && self.is_hole(self.tail.wrapping_sub(1)) {
            self.tail = self.tail.wrapping_sub(1);
        }
        if self.has_too_many_holes() {
            self.compact();
        }
    }

    /// Returns the position of the oldest packet.
    pub(crate) const fn front(&self) -> Option<Place> {
        if self.is_empty() { None } else { Some(Place(self.head)) }
    }

    /// Returns the position of the newest packet.
    pub(crate) const fn back(&self) -> Option<Place> {
        if self.is_empty() { None } else { Some(Place(self.tail.wrapping_sub(1))) }
    }

    /// Returns the number of slots in front of the one at `place`, holes included.
    pub(crate) const fn slots_before(&self, place: Place) -> usize {
        place.0.wrapping_sub(self.head)
    }

    /// Returns the position of the packet behind the one at `place`.
    pub(crate) fn after(&self, place: Place) -> Option<Place> {
        let mut at = place.0.wrapping_add(1);
        while at != self.tail {
            if !self.is_hole(at) {
                return Some(Place(at));
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// Returns the position of the packet in front of the one at `place`.
    pub(crate) fn before(&self, place: Place) -> Option<Place> {
        let mut at = place.0;
        while at != self.head {
            at = at.wrapping_sub(1);
            if !self.is_hole(at) {
                return Some(Place(at));
            }
        }
        None
    }

    /// Makes a free slot in a full ring: compacts it if at least a quarter is holes, doubles it otherwise.
    #[cold]
    fn make_room(&mut self) {
        let capacity = self.slots.len();
        if capacity > 0 && self.holes() * 4 >= capacity {
            self.compact();
        } else {
            self.grow();
        }
    }

    /// Moves the live packets towards the head, over all holes.
    #[cold]
    fn compact(&mut self) {
        let mut to = self.head;
        let mut from = self.head;
        while from != self.tail {
            if !self.is_hole(from) {
                if from != to {
                    self.hints[to & self.mask] = self.hints[from & self.mask];
                    self.hints[from & self.mask] = HOLE;
                    self.slots[to & self.mask] = self.slots[from & self.mask].take();
                }
                to = to.wrapping_add(1);
            }
            from = from.wrapping_add(1);
        }
        self.tail = to;
        self.numbering = self.numbering.wrapping_add(1);
    }

    /// Doubles the ring and removes all holes.
    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(FIRST);
        let mut slots = Vec::with_capacity(capacity);
        let mut hints = Vec::with_capacity(capacity);
        let mut at = self.head;
        while at != self.tail {
            if let Some(packet) = self.slots[at & self.mask].take() {
                hints.push(self.hints[at & self.mask]);
                slots.push(Some(packet));
            }
            at = at.wrapping_add(1);
        }
        let live = slots.len();
        slots.resize_with(capacity, || None);
        hints.resize(capacity, HOLE);
        self.slots = slots;
        self.hints = hints;
        self.mask = capacity - 1;
        self.head = 0;
        self.tail = live;
        self.numbering = self.numbering.wrapping_add(1);
    }

    /// Returns the number of slots of the ring, for tests of its bound.
    #[cfg(test)]
    pub(crate) const fn capacity(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;

    use super::*;
    use crate::{Seed, SimplePacket};

    fn ids(fifo: &Fifo<SimplePacket>) -> Vec<u64> {
        let mut ids = Vec::new();
        let mut at = fifo.front();
        while let Some(place) = at {
            ids.push(fifo.flow(place).get());
            at = fifo.after(place);
        }
        ids
    }

    /// Would catch a packet that is lost, duplicated or reordered by removal, compaction, wrapping or growth.
    #[test]
    fn behaves_as_a_list_under_any_script() {
        let mut script = Seed::new(3).stream("script");
        let mut fifo = Fifo::new();
        let mut list: VecDeque<u64> = VecDeque::new();
        for step in 0..200_000_u64 {
            // Phases of filling, of removing and of draining.
            let push = [6, 2, 1][(step / 700 % 3) as usize];
            match script.below(10) {
                roll if roll < push => {
                    fifo.push(SimplePacket::new(step, 10 + script.below(5)));
                    list.push_back(step);
                }
                roll if roll < 8 => {
                    if let Some(place) = fifo.draw(&mut script) {
                        let flow = fifo.flow(place).get();
                        assert_eq!(fifo.remove(place).map(|packet| packet.flow), Some(flow));
                        fifo.settle();
                        list.retain(|&id| id != flow);
                    } else {
                        assert!(list.is_empty());
                    }
                }
                _ => assert_eq!(fifo.pop().map(|packet| packet.flow), list.pop_front()),
            }
            assert_eq!(fifo.packets(), list.len());
            assert!(fifo.span() <= 2 * list.len() + SLACK, "span {} of {}", fifo.span(), list.len());
            if step % 50 == 0 {
                assert_eq!(ids(&fifo), Vec::from(list.clone()));
                assert_eq!(fifo.back().map(|place| fifo.flow(place).get()), list.back().copied());
                let mut backwards = fifo.back();
                for &id in list.iter().rev() {
                    assert_eq!(backwards.map(|place| fifo.flow(place).get()), Some(id));
                    backwards = backwards.and_then(|place| fifo.before(place));
                }
                assert_eq!(backwards, None);
            }
        }
    }

    /// Would catch a comparison of hints alone: some of so many flows have the same hint.
    #[test]
    fn an_equal_hint_is_no_match() {
        let mut fifo = Fifo::new();
        let flows = 4 * u64::from(FlowHint::MAX);
        for flow in 0..flows {
            fifo.push(SimplePacket::new(flow, 1));
        }
        let mut place = fifo.front();
        for flow in 0..flows {
            let here = |other| place.is_some_and(|place| fifo.is_of(place, FlowKey::new(other)));
            assert_eq!((0..flows).filter(|&other| here(other)).collect::<Vec<_>>(), [flow]);
            place = place.and_then(|place| fifo.after(place));
        }
    }

    /// Would catch memory that grows with the number of removals instead of the length of the queue.
    #[test]
    fn the_ring_stays_small_behind_a_stalled_head() {
        let mut fifo = Fifo::new();
        for flow in 0..300 {
            fifo.push(SimplePacket::new(flow, 1));
        }
        for flow in 0..100_000 {
            fifo.push(SimplePacket::new(flow, 1));
            let victim = fifo.front().and_then(|head| fifo.after(head));
            assert!(victim.and_then(|place| fifo.remove(place)).is_some());
            fifo.settle();
        }
        assert_eq!(fifo.packets(), 300);
        assert!(fifo.capacity() <= 1024, "{}", fifo.capacity());
    }
}
