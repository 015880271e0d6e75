//! The queue under every discipline: first in, first out, with removal from the middle and a uniform draw.
//!
//! A ring whose size is a power of two holds the packets. A second array holds one byte a slot, the tag: a hash of
//! the packet's flow, or that the slot is a hole. Tags of different flows are mostly different, so a draw mostly
//! needs nothing but its tag, and the tags of a million packets stay near the processor. Equal tags prove nothing:
//! then the packet itself is asked.
//!
//! A packet that is removed from the middle leaves a hole (the papers' drop bit). Holes at both ends are swallowed
//! at once, and the ring is compacted in place when more than half of it is holes. Each compaction is paid for by
//! the removals that made the holes, so everything costs amortised O(1), and the ring's span stays below twice the
//! live packets plus a constant at any overload.

use alloc::vec::Vec;

use crate::{FlowKey, Packet, Stream};

mod halves;

pub(crate) use halves::Halves;

/// Holes that are tolerated beyond the number of live packets.
const SLACK: usize = 8;

/// Slots of the first ring.
const FIRST: usize = 16;

/// What is known of a slot without looking at it.
type Tag = u8;

/// The tag of a slot without a packet; no flow has it.
const HOLE: Tag = 0;

/// The tag of `flow`'s packets.
fn tag(flow: FlowKey) -> Tag {
    // The top of a product with an odd number depends on every bit: Fibonacci hashing (Knuth, TAOCP 6.4).
    let hash = flow.get().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> (u64::BITS - Tag::BITS)).max(1) as Tag
}

/// A live packet's place. It stays right until [`Fifo::settle`], a push or a pop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// The ring.
///
/// What takes or gives a packet by value is always inlined, here and in what is built on it: a call left standing
/// copies the packet once more, and that costs more than the rest.
///
/// Between calls the slot at `head` and the one before `tail` are live, unless the two are equal: then the queue is
/// empty.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    slots: Vec<Option<P>>,
    tags: Vec<Tag>,
    head: usize,
    tail: usize,
    holes: usize,
    mask: usize,
    bytes: u64,
    /// Counts how often the packets were given new places.
    numbering: u32,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue. It takes memory as it fills.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), tags: Vec::new(), head: 0, tail: 0, holes: 0, mask: 0, bytes: 0, numbering: 0 }
    }

    /// Live packets.
    pub(crate) const fn packets(&self) -> usize {
        self.span() - self.holes
    }

    /// Whether no packet is queued.
    const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Bytes in live packets.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Slots from the head to the tail, holes included.
    const fn span(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// Whether the slot at position `at` is a hole.
    fn is_hole(&self, at: usize) -> bool {
        self.tags[at & self.mask] == HOLE
    }

    /// The flow of the packet at `place`.
    fn flow(&self, place: Place) -> FlowKey {
        self.slots[place.0 & self.mask].as_ref().map_or(FlowKey::NONE, P::flow)
    }

    /// Whether the packet at `place` is of `flow`.
    pub(crate) fn is_of(&self, place: Place, flow: FlowKey) -> bool {
        self.tags[place.0 & self.mask] == tag(flow) && self.flow(place) == flow
    }

    /// The packet at `place`.
    pub(crate) fn packet(&self, place: Place) -> Option<&P> {
        self.slots[place.0 & self.mask].as_ref()
    }

    /// Appends `packet`.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: P) {
        if self.span() == self.slots.len() {
            self.make_room();
        }
        let slot = self.tail & self.mask;
        self.tail = self.tail.wrapping_add(1);
        self.bytes += u64::from(packet.bytes());
        self.tags[slot] = tag(packet.flow());
        self.slots[slot] = Some(packet);
    }

    /// Takes the oldest packet.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<P> {
        if self.is_empty() {
            return None;
        }
        let packet = self.take(self.head);
        self.head = self.head.wrapping_add(1);
        if self.holes > 0 {
            self.settle();
        }
        packet
    }

    /// Takes the packet at `place` and leaves a hole. [`settle`](Self::settle) must follow.
    #[inline(always)]
    pub(crate) fn remove(&mut self, place: Place) -> Option<P> {
        let packet = self.take(place.0);
        self.holes += usize::from(packet.is_some());
        packet
    }

    /// Empties the slot at position `at`.
    #[inline(always)]
    fn take(&mut self, at: usize) -> Option<P> {
        let slot = at & self.mask;
        let packet = self.slots[slot].take();
        self.tags[slot] = HOLE;
        self.bytes -= packet.as_ref().map_or(0, |packet| u64::from(packet.bytes()));
        packet
    }

    /// Swallows the holes at both ends, and all holes when they are too many.
    pub(crate) fn settle(&mut self) {
        while !self.is_empty() && self.is_hole(self.head) {
            self.head = self.head.wrapping_add(1);
            self.holes -= 1;
        }
        while !self.is_empty() && self.is_hole(self.tail.wrapping_sub(1)) {
            self.tail = self.tail.wrapping_sub(1);
            self.holes -= 1;
        }
        if self.holes > self.packets() + SLACK {
            self.compact();
        }
    }

    /// The oldest packet.
    pub(crate) const fn front(&self) -> Option<Place> {
        if self.is_empty() { None } else { Some(Place(self.head)) }
    }

    /// The newest packet.
    pub(crate) const fn back(&self) -> Option<Place> {
        if self.is_empty() { None } else { Some(Place(self.tail.wrapping_sub(1))) }
    }

    /// The packet that came after the one at `place`.
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

    /// The packet that came before the one at `place`.
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

    /// A packet drawn uniformly from the live ones: holes are drawn again.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Option<Place> {
        if self.is_empty() {
            return None;
        }
        loop {
            let place = self.throw(stream);
            if !self.is_hole(place.0) {
                return Some(place);
            }
        }
    }

    /// A packet drawn as Linux `sch_choke` does: three throws, then the head.
    pub(crate) fn draw_as_linux(&self, stream: &mut Stream) -> Option<Place> {
        let head = self.front()?;
        for _ in 0..3 {
            let place = self.throw(stream);
            if !self.is_hole(place.0) {
                return Some(place);
            }
        }
        Some(head)
    }

    /// A slot drawn uniformly from the span, which may be a hole.
    fn throw(&self, stream: &mut Stream) -> Place {
        // The span stays far below 2^32: at most twice `MAX_PACKETS` and the slack.
        Place(self.head.wrapping_add(stream.below(self.span() as u32) as usize))
    }

    /// Makes a free slot in a full ring: by compaction when a quarter of it is holes, else by a ring twice as large.
    #[cold]
    fn make_room(&mut self) {
        let capacity = self.slots.len();
        if capacity > 0 && self.holes * 4 >= capacity {
            self.compact();
        } else {
            self.grow();
        }
    }

    /// Moves the live packets together, towards the head.
    #[cold]
    fn compact(&mut self) {
        let mut to = self.head;
        let mut from = self.head;
        while from != self.tail {
            if !self.is_hole(from) {
                if from != to {
                    self.tags[to & self.mask] = self.tags[from & self.mask];
                    self.tags[from & self.mask] = HOLE;
                    self.slots[to & self.mask] = self.slots[from & self.mask].take();
                }
                to = to.wrapping_add(1);
            }
            from = from.wrapping_add(1);
        }
        self.tail = to;
        self.holes = 0;
        self.numbering = self.numbering.wrapping_add(1);
    }

    /// Doubles the ring, leaving the holes behind.
    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(FIRST);
        let mut slots = Vec::with_capacity(capacity);
        let mut tags = Vec::with_capacity(capacity);
        let mut at = self.head;
        while at != self.tail {
            if let Some(packet) = self.slots[at & self.mask].take() {
                tags.push(self.tags[at & self.mask]);
                slots.push(Some(packet));
            }
            at = at.wrapping_add(1);
        }
        let live = slots.len();
        slots.resize_with(capacity, || None);
        tags.resize(capacity, HOLE);
        self.slots = slots;
        self.tags = tags;
        self.mask = capacity - 1;
        self.head = 0;
        self.tail = live;
        self.holes = 0;
        self.numbering = self.numbering.wrapping_add(1);
    }

    /// Slots of the ring, for tests of its bound.
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

    /// Would catch a hole or a packet lost, doubled or reordered by removal, compaction, wrapping or growth.
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

    /// Would catch a draw that favours a position, such as the one behind a hole or the head.
    #[test]
    fn a_draw_is_uniform_over_live_packets_among_holes() {
        let mut stream = Seed::new(9).stream("draw");
        let mut fifo = Fifo::new();
        for flow in 0..60 {
            fifo.push(SimplePacket::new(flow, 1));
        }
        // A wide gap and scattered holes: 25 of 60 are dead, the ends live.
        for (n, flow) in (5..20).chain((31..50).step_by(2)).enumerate() {
            let mut at = fifo.front();
            while let Some(place) = at.filter(|&place| fifo.flow(place).get() != flow) {
                at = fifo.after(place);
            }
            assert!(at.and_then(|place| fifo.remove(place)).is_some(), "removal {n}");
            fifo.settle();
        }
        assert_eq!((fifo.packets(), fifo.span()), (35, 60));
        let draws = 350_000;
        let mut seen = [0_u32; 60];
        for _ in 0..draws {
            let place = fifo.draw(&mut stream).map_or(0, |place| fifo.flow(place).get());
            seen[place as usize] += 1;
        }
        let expected = f64::from(draws) / 35.0;
        let square = |count: u32| (f64::from(count) - expected) * (f64::from(count) - expected) / expected;
        let chi2: f64 = seen.iter().filter(|&&count| count > 0).map(|&count| square(count)).sum();
        assert_eq!(seen.iter().filter(|&&count| count > 0).count(), 35);
        // The 99.9 % point of chi-square with 34 degrees of freedom.
        assert!(chi2 < 65.25, "{chi2}");
    }

    /// Linux finds the head by the fourth step with the cube of the hole fraction on top of its share.
    #[test]
    fn linux_draws_favour_the_head_by_the_cube_of_the_hole_fraction() {
        let mut stream = Seed::new(5).stream("draw");
        let mut fifo = Fifo::new();
        for flow in 0..20 {
            fifo.push(SimplePacket::new(flow, 1));
        }
        for flow in 5..15 {
            let mut at = fifo.front();
            while let Some(place) = at.filter(|&place| fifo.flow(place).get() != flow) {
                at = fifo.after(place);
            }
            assert!(at.and_then(|place| fifo.remove(place)).is_some());
            fifo.settle();
        }
        // Half of the span is holes: the head has 1/20 (1 + 1/2 + 1/4) + 1/8.
        let draws = 400_000;
        let mut heads = 0;
        for _ in 0..draws {
            heads += i32::from(fifo.draw_as_linux(&mut stream) == fifo.front());
        }
        let share = f64::from(heads) / f64::from(draws);
        assert!((share - 0.2125).abs() < 0.003, "{share}");
    }

    /// Would catch a match by the tag alone: of so many flows, some share one.
    #[test]
    fn a_shared_tag_is_no_match() {
        let mut fifo = Fifo::new();
        let flows = 4 * u64::from(Tag::MAX);
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

    /// Would catch memory that grows with the number of removals rather than with the queue.
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
