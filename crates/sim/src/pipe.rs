//! Packets on links. All pipes share one store, so that memory follows the number of packets in flight at a time and
//! not the sum of each link's maximum.

use fairlane_qdisc::Time;

use crate::packet::Packet;

/// The end of a chain.
const NIL: u32 = u32::MAX;

/// The packets of all pipes, each chained to the next one of its pipe.
#[derive(Debug)]
pub(crate) struct PacketStore {
    slots: Vec<(Packet, u32)>,
    /// The first free slot.
    free: u32,
}

/// The packets on one link, first in, first out.
#[derive(Debug)]
pub(crate) struct Pipe {
    head: u32,
    tail: u32,
    len: u32,
    /// The first packet that arrives after the time of the last call of [`Pipe::after`].
    later: u32,
    /// The number of packets before it.
    earlier: u32,
}

impl PacketStore {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: NIL }
    }

    /// Returns the packet in `slot`.
    pub(crate) fn get(&self, slot: u32) -> &Packet {
        &self.slots[slot as usize].0
    }

    /// Returns the packet behind the one in `slot`.
    pub(crate) fn next(&self, slot: u32) -> Option<&Packet> {
        let next = self.slots[slot as usize].1;
        (next != NIL).then(|| &self.slots[next as usize].0)
    }

    /// Stores a copy of `packet` with the given time and route, and returns its slot.
    fn insert(&mut self, packet: &Packet, at: Time, route: u32) -> u32 {
        let slot = self.free;
        // Copying first is faster: after a change the processor would have to wait before it could copy.
        let kept = if slot == NIL {
            self.slots.push((*packet, NIL));
            self.slots.len() as u32 - 1
        } else {
            let free = &mut self.slots[slot as usize];
            self.free = free.1;
            *free = (*packet, NIL);
            slot
        };
        let packet = &mut self.slots[kept as usize].0;
        packet.at = at;
        packet.route = route;
        kept
    }
}

impl Pipe {
    pub(crate) const fn new() -> Self {
        Self { head: NIL, tail: NIL, len: 0, later: NIL, earlier: 0 }
    }

    /// Returns the number of packets.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there are no packets.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slot of the first packet.
    pub(crate) fn first(&self) -> Option<u32> {
        (self.len > 0).then_some(self.head)
    }

    /// Appends a copy of `packet` that arrives at `at` with its next hop at `route`.
    pub(crate) fn push(&mut self, store: &mut PacketStore, packet: &Packet, at: Time, route: u32) {
        let slot = store.insert(packet, at, route);
        if self.len == 0 {
            self.head = slot;
        } else {
            store.slots[self.tail as usize].1 = slot;
        }
        if self.later == NIL {
            self.later = slot;
        }
        self.tail = slot;
        self.len += 1;
    }

    /// Removes and returns the first packet.
    pub(crate) fn pop(&mut self, store: &mut PacketStore) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let slot = self.head;
        let taken = &mut store.slots[slot as usize];
        let (packet, next) = *taken;
        taken.1 = store.free;
        store.free = slot;
        self.head = next;
        self.len -= 1;
        if self.earlier > 0 {
            self.earlier -= 1;
        } else {
            self.later = next;
        }
        Some(packet)
    }

    /// Returns the time of the first arrival.
    pub(crate) fn next_arrival(&self, store: &PacketStore) -> Option<Time> {
        (self.len > 0).then(|| store.slots[self.head as usize].0.at)
    }

    /// Returns the number of packets that arrive after `time`, which must not decrease between calls.
    pub(crate) fn after(&mut self, store: &PacketStore, time: Time) -> usize {
        while self.later != NIL && store.slots[self.later as usize].0.at <= time {
            self.later = store.slots[self.later as usize].1;
            self.earlier += 1;
        }
        (self.len - self.earlier) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use fairlane_qdisc::Seed;

    use super::*;
    use crate::packet::{Flags, NO_SACK};

    fn packet(seq: u32) -> Packet {
        Packet {
            sent: Time::ZERO,
            at: Time::ZERO,
            flow: 0,
            seq,
            bytes: 1,
            route: 0,
            sack: NO_SACK,
            flags: Flags::default(),
            class: 0,
        }
    }

    /// Compares pipes with lists. Would catch packets that are lost, exchanged between pipes or counted wrongly, and
    /// slots that are not reused.
    #[test]
    fn pipes_of_one_store_behave_as_lists() {
        let mut random = Seed::new(1).stream("pipes");
        let mut store = PacketStore::new();
        let mut pipes: Vec<(Pipe, VecDeque<(u64, u32)>)> = (0..5).map(|_| (Pipe::new(), VecDeque::new())).collect();
        let (mut now, mut most, mut inside) = (0, 0, 0);
        for seq in 0..50_000 {
            now += u64::from(random.below(3));
            let (pipe, list) = &mut pipes[random.below(5) as usize];
            if random.chance(0.5) {
                // As on a link, packets arrive in order.
                let at = list.back().map_or(now, |&(at, _)| at.max(now)) + u64::from(random.below(4));
                pipe.push(&mut store, &packet(seq), Time::from_nanos(at), seq + 1);
                list.push_back((at, seq));
                inside += 1;
            } else {
                let taken = pipe.pop(&mut store).map(|packet| (packet.at.as_nanos(), packet.seq, packet.route));
                assert_eq!(taken, list.pop_front().map(|(at, seq)| (at, seq, seq + 1)));
                inside -= i32::from(taken.is_some());
            }
            assert_eq!(pipe.next_arrival(&store), list.front().map(|&(at, _)| Time::from_nanos(at)));
            assert_eq!((pipe.len(), pipe.is_empty()), (list.len(), list.is_empty()));
            if random.chance(0.3) {
                let after = list.iter().filter(|(at, _)| *at > now).count();
                assert_eq!(pipe.after(&store, Time::from_nanos(now)), after);
            }
            most = most.max(inside);
        }
        assert_eq!(store.slots.len() as i32, most, "a slot is allocated only if none is free");
    }
}
