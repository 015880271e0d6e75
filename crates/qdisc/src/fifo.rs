//! The queue under every discipline: first in, first out, with removal from the middle and a uniform draw.
//!
//! A ring whose size is a power of two holds the packets; a second array holds their flow keys, so that looking
//! at a random packet's flow touches one cache line. A packet that is removed from the middle leaves a hole (the
//! papers' drop bit). Holes at both ends are swallowed at once, and the ring is compacted in place when more than
//! half of it is holes. Each compaction is paid for by the removals that made the holes, so everything costs
//! amortised O(1), and the ring's span stays below twice the live packets plus a constant at any overload.

use alloc::vec::Vec;
use core::hint::black_box;

use crate::{FlowKey, Packet, Stream};

/// Holes that are tolerated beyond the number of live packets.
const SLACK: usize = 8;

/// Keys of a ring up to this size are in a near cache anyway.
const NEAR: usize = 1 << 15;

/// Slots of the first ring.
const FIRST: usize = 16;

/// A live packet's place. It stays right until [`Fifo::settle`], a push or a pop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

/// The ring.
///
/// Between calls the slot at `head` and the one before `tail` are live, unless the queue is empty.
#[derive(Debug)]
pub(crate) struct Fifo<P> {
    slots: Vec<Option<P>>,
    keys: Vec<FlowKey>,
    mask: usize,
    head: usize,
    tail: usize,
    live: usize,
    bytes: u64,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue. It takes memory as it fills.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), keys: Vec::new(), mask: 0, head: 0, tail: 0, live: 0, bytes: 0 }
    }

    /// Live packets.
    pub(crate) const fn packets(&self) -> usize {
        self.live
    }

    /// Bytes in live packets.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Slots from the head to the tail, holes included.
    const fn span(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    /// The flow of the packet at `place`.
    pub(crate) fn flow(&self, place: Place) -> FlowKey {
        self.keys[place.0 & self.mask]
    }

    /// The packet at `place`.
    pub(crate) fn packet(&self, place: Place) -> Option<&P> {
        self.slots[place.0 & self.mask].as_ref()
    }

    /// Appends `packet`.
    pub(crate) fn push(&mut self, packet: P) {
        if self.span() == self.slots.len() {
            self.make_room();
        }
        self.bytes += u64::from(packet.bytes());
        self.live += 1;
        self.keys[self.tail & self.mask] = packet.flow();
        self.slots[self.tail & self.mask] = Some(packet);
        self.tail = self.tail.wrapping_add(1);
    }

    /// Takes the oldest packet.
    pub(crate) fn pop(&mut self) -> Option<P> {
        if self.live == 0 {
            return None;
        }
        let packet = self.remove(Place(self.head));
        self.settle();
        packet
    }

    /// Takes the packet at `place` and leaves a hole. [`settle`](Self::settle) must follow.
    pub(crate) fn remove(&mut self, place: Place) -> Option<P> {
        let slot = place.0 & self.mask;
        let packet = self.slots[slot].take()?;
        self.keys[slot] = FlowKey::NONE;
        self.live -= 1;
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    /// Swallows the holes at both ends, and all holes when they are too many.
    pub(crate) fn settle(&mut self) {
        if self.live == 0 {
            self.head = self.tail;
            return;
        }
        while self.keys[self.head & self.mask] == FlowKey::NONE {
            self.head = self.head.wrapping_add(1);
        }
        while self.keys[self.tail.wrapping_sub(1) & self.mask] == FlowKey::NONE {
            self.tail = self.tail.wrapping_sub(1);
        }
        if self.span() - self.live > self.live + SLACK {
            self.compact();
        }
    }

    /// The oldest packet.
    pub(crate) const fn front(&self) -> Option<Place> {
        if self.live == 0 { None } else { Some(Place(self.head)) }
    }

    /// The newest packet.
    pub(crate) const fn back(&self) -> Option<Place> {
        if self.live == 0 { None } else { Some(Place(self.tail.wrapping_sub(1))) }
    }

    /// The packet that came after the one at `place`.
    pub(crate) fn after(&self, place: Place) -> Option<Place> {
        let mut at = place.0.wrapping_add(1);
        while at != self.tail {
            if self.keys[at & self.mask] != FlowKey::NONE {
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
            if self.keys[at & self.mask] != FlowKey::NONE {
                return Some(Place(at));
            }
        }
        None
    }

    /// A packet drawn uniformly from the live ones: holes are drawn again.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Option<Place> {
        if self.live == 0 {
            return None;
        }
        loop {
            let place = self.throw(stream);
            if self.flow(place) != FlowKey::NONE {
                return Some(place);
            }
        }
    }

    /// Loads the key that the next draw from `stream` will look at, if little changes until then.
    ///
    /// In a long queue that key is far from the processor. Asked for now, it comes while other work is done.
    pub(crate) fn anticipate(&self, stream: &Stream) {
        if self.slots.len() > NEAR {
            black_box(self.flow(self.throw(&mut stream.clone())));
        }
    }

    /// A packet drawn as Linux `sch_choke` does: three throws, then the head.
    pub(crate) fn draw_as_linux(&self, stream: &mut Stream) -> Option<Place> {
        let head = self.front()?;
        for _ in 0..3 {
            let place = self.throw(stream);
            if self.flow(place) != FlowKey::NONE {
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
    fn make_room(&mut self) {
        let capacity = self.slots.len();
        if capacity > 0 && (capacity - self.live) * 4 >= capacity {
            self.compact();
        } else {
            self.grow();
        }
    }

    /// Moves the live packets together, towards the head.
    fn compact(&mut self) {
        let mut to = self.head;
        let mut from = self.head;
        while from != self.tail {
            let key = self.keys[from & self.mask];
            if key != FlowKey::NONE {
                if from != to {
                    self.keys[from & self.mask] = FlowKey::NONE;
                    self.keys[to & self.mask] = key;
                    self.slots[to & self.mask] = self.slots[from & self.mask].take();
                }
                to = to.wrapping_add(1);
            }
            from = from.wrapping_add(1);
        }
        self.tail = to;
    }

    /// Doubles the ring, leaving the holes behind.
    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(FIRST);
        let mut slots = Vec::with_capacity(capacity);
        let mut keys = Vec::with_capacity(capacity);
        let mut at = self.head;
        while at != self.tail {
            if let Some(packet) = self.slots[at & self.mask].take() {
                keys.push(self.keys[at & self.mask]);
                slots.push(Some(packet));
            }
            at = at.wrapping_add(1);
        }
        slots.resize_with(capacity, || None);
        keys.resize(capacity, FlowKey::NONE);
        self.slots = slots;
        self.keys = keys;
        self.mask = capacity - 1;
        self.head = 0;
        self.tail = self.live;
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
