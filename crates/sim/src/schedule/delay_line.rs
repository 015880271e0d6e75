//! Packets on their way over links with a constant delay.

use fairlane_qdisc::Time;

use crate::packet::Packet;
use crate::schedule::event_key::arrival_order;
use crate::schedule::upcoming::{FAR, NEAR, Upcoming};

/// Packets that arrive a constant time after they were sent. They leave in the order in which they entered, so none has
/// to be sorted among the events. Packets that arrive at the same time come out in the
/// [order](crate::schedule::event_key::arrival_key) of their flows.
///
/// The line is a ring whose size is a power of two. A packet is written to its place at once, and read there.
#[derive(Debug)]
pub(crate) struct DelayLine {
    slots: Vec<Packet>,
    /// The positions of the first packet and after the last one, which only grow; a slot's index is the position modulo
    /// the size.
    head: usize,
    tail: usize,
    /// The time of the last packet; [`Time::MAX`] if there is none, so that [`push_behind`](Self::push_behind) has one
    /// comparison for both.
    last: Time,
    /// The position before which all packets have been [announced](Upcoming).
    announced: usize,
}

impl Default for DelayLine {
    fn default() -> Self {
        Self { slots: Vec::new(), head: 0, tail: 0, last: Time::MAX, announced: 0 }
    }
}

/// How far from its end a line looks for the place of a packet. Sizes that differ, or fractions of a nanosecond, let a
/// packet arrive a little before others.
const REACH: usize = 16;

/// The size of the first ring.
const FIRST_SIZE: usize = 16;

impl DelayLine {
    /// Adds `packet`, which arrives at `at` at this step of its route, behind others; returns false, and adds nothing,
    /// where it is not so simple: the line is empty, the ring is full, or the packet does not come last.
    #[inline(always)]
    pub(crate) fn push_behind(&mut self, packet: &Packet, at: Time, route: u32) -> bool {
        if at <= self.last || self.len() == self.slots.len() {
            return false;
        }
        let index = self.slot(self.tail);
        self.slots[index] = Packet { at, route, ..*packet };
        self.tail = self.tail.wrapping_add(1);
        self.last = at;
        true
    }

    /// Adds `packet` where it belongs, and tells whether it is the first one; returns `None`, and adds nothing, if that
    /// is too far from the end.
    pub(crate) fn insert(&mut self, packet: &Packet) -> Option<bool> {
        let is_before = |other: &Packet| arrival_order(packet, other).is_lt();
        if self.len() > REACH && is_before(&self.at(self.len() - 1 - REACH)) {
            return None;
        }
        if self.len() == self.slots.len() {
            self.grow(packet);
        }
        let mut position = self.tail;
        while position != self.head {
            let before = self.slot(position.wrapping_sub(1));
            if !is_before(&self.slots[before]) {
                break;
            }
            let behind = self.slot(position);
            self.slots[behind] = self.slots[before];
            position = position.wrapping_sub(1);
        }
        let slot = self.slot(position);
        self.slots[slot] = *packet;
        if position == self.tail {
            self.last = packet.at;
        }
        self.tail = self.tail.wrapping_add(1);
        self.announced = self.announced.min(position);
        Some(position == self.head)
    }

    /// Doubles the ring; `any` packet fills the new slots.
    fn grow(&mut self, any: &Packet) {
        let (len, size) = (self.len(), (2 * self.slots.len()).max(FIRST_SIZE));
        let mut slots: Vec<Packet> = Vec::with_capacity(size);
        slots.extend((0..len).map(|place| self.at(place)));
        slots.resize(size, *any);
        (self.slots, self.head, self.tail, self.announced) = (slots, 0, len, self.announced.saturating_sub(self.head));
    }

    /// Removes the first packet, which must exist, and returns the one behind it.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self) -> Option<&Packet> {
        debug_assert!(self.len() < 2 || arrival_order(&self.at(0), &self.at(1)).is_le(), "packets are out of order");
        self.head = self.head.wrapping_add(1);
        if self.head == self.tail {
            self.last = Time::MAX;
            return None;
        }
        self.slots.get(self.slot(self.head))
    }

    /// Returns the first packet.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&Packet> {
        if self.head == self.tail { None } else { self.slots.get(self.slot(self.head)) }
    }

    /// Returns the packet before which this many come.
    fn at(&self, place: usize) -> Packet {
        self.slots[self.slot(self.head.wrapping_add(place))]
    }

    /// Returns the index of the slot at a position.
    #[inline(always)]
    const fn slot(&self, position: usize) -> usize {
        position & self.slots.len().wrapping_sub(1)
    }

    /// Returns the number of packets.
    pub(crate) const fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }
}

impl Upcoming for DelayLine {
    fn announce(&mut self, each: &mut dyn FnMut(&Packet)) {
        let (from, to) = (self.announced.max(self.head), self.tail.min(self.head.wrapping_add(FAR)));
        (from..to).for_each(|position| each(&self.slots[self.slot(position)]));
        self.announced = self.announced.max(to);
    }

    fn near(&self) -> Option<&Packet> {
        if NEAR < self.len() { self.slots.get(self.slot(self.head.wrapping_add(NEAR))) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;
    use crate::packet::{Flags, NO_SACK};

    fn packet(at: u64, flow: u32, seq: u32) -> Packet {
        Packet {
            sent: Time::ZERO,
            at: Time::from_nanos(at),
            flow,
            seq,
            bytes: 1,
            route: 0,
            sack: NO_SACK,
            flags: Flags::default(),
            class: 0,
        }
    }

    /// Compares with a sorted list. Would catch packets that are lost or out of order, a first packet that is not
    /// announced, and packets of a flow that overtake each other.
    #[test]
    fn packets_come_out_in_order() {
        let mut random = Seed::new(1).stream("line");
        let (mut line, mut list) = (DelayLine::default(), Vec::<Packet>::new());
        let (mut now, mut refused) = (0, 0);
        for seq in 0..50_000 {
            now += u64::from(random.below(3));
            if random.chance(0.5) {
                let ahead = if random.chance(0.02) { 0 } else { 30 + random.below(4) };
                let packet = packet(now + u64::from(ahead), random.below(3), seq);
                let place = list.partition_point(|other| arrival_order(other, &packet).is_le());
                let behind = line.push_behind(&packet, packet.at, packet.route);
                assert!(!behind || !list.is_empty() && place == list.len());
                let is_first = if behind { Some(false) } else { line.insert(&packet) };
                assert!(is_first.is_none_or(|is_first| is_first == (place == 0)));
                if is_first.is_some() {
                    assert!(list.len() - place <= REACH);
                    list.insert(place, packet);
                } else {
                    assert!(list.len() - place > REACH);
                    refused += 1;
                }
            } else if !list.is_empty() {
                assert_eq!(line.front(), Some(&list.remove(0)));
                assert_eq!(line.remove_first(), list.first());
            }
            assert_eq!(line.len(), list.len());
            assert_eq!((line.front(), line.near()), (list.first(), list.get(NEAR)));
        }
        assert!(refused > 0, "no packet came too early");
    }

    /// Packets that come a little before others are announced, too. Would catch what costs time and changes no result:
    /// a packet that is put before others that have been announced, and never is.
    #[test]
    fn each_packet_is_announced_before_it_is_taken() {
        let mut random = Seed::new(3).stream("line");
        let (mut line, mut announced) = (DelayLine::default(), Vec::new());
        for seq in 0..5_000 {
            let packet = packet(u64::from(seq + random.below(12)), 1, seq);
            assert!(line.push_behind(&packet, packet.at, 0) || line.insert(&packet).is_some());
            if seq >= 10 {
                line.announce(&mut |packet| announced.push(packet.seq));
                let first = line.front().map(|packet| packet.seq);
                assert!(first.is_some_and(|first| announced.contains(&first)), "{first:?}");
                line.remove_first();
            }
        }
    }
}
