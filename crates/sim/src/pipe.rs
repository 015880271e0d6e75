//! Packets under way on links: all pipes share one store, so that memory follows the packets that are under way at a time, not
//! the sum of what each link ever had.

use fairlane_qdisc::Time;

use crate::packet::Packet;

/// The end of a chain.
const NIL: u32 = u32::MAX;

/// Where the packets of all pipes are kept, each chained to the next of its pipe.
#[derive(Debug)]
pub(crate) struct Store {
    places: Vec<(Packet, u32)>,
    free: u32,
}

/// The packets on one link, first in, first out.
#[derive(Debug)]
pub(crate) struct Pipe {
    head: u32,
    tail: u32,
    len: u32,
    /// The first packet that [`Pipe::after`] has not yet seen to be gone, and how many before it are.
    staying: u32,
    gone: u32,
}

impl Store {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: NIL }
    }

    /// The packet that is kept at `place`.
    pub(crate) fn at(&self, place: u32) -> &Packet {
        &self.places[place as usize].0
    }

    /// The packet behind the one at `place`.
    pub(crate) fn after(&self, place: u32) -> Option<&Packet> {
        let next = self.places[place as usize].1;
        (next != NIL).then(|| &self.places[next as usize].0)
    }

    /// Keeps a copy of `packet`, with another time and another place in its route.
    fn keep(&mut self, packet: &Packet, at: Time, route: u32) -> u32 {
        let place = self.free;
        // First the copy, then the changes: the other way round the processor would wait for them before it could copy.
        let kept = if place == NIL {
            self.places.push((*packet, NIL));
            self.places.len() as u32 - 1
        } else {
            let slot = &mut self.places[place as usize];
            self.free = slot.1;
            *slot = (*packet, NIL);
            place
        };
        let packet = &mut self.places[kept as usize].0;
        packet.at = at;
        packet.route = route;
        kept
    }
}

impl Pipe {
    pub(crate) const fn new() -> Self {
        Self { head: NIL, tail: NIL, len: 0, staying: NIL, gone: 0 }
    }

    /// Packets in the pipe.
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the first packet is kept.
    pub(crate) fn first(&self) -> Option<u32> {
        (self.len > 0).then_some(self.head)
    }

    /// Appends a copy of `packet` that reaches the other end at `at`, and stands there at `route`.
    pub(crate) fn push(&mut self, store: &mut Store, packet: &Packet, at: Time, route: u32) {
        let place = store.keep(packet, at, route);
        if self.len == 0 {
            self.head = place;
        } else {
            store.places[self.tail as usize].1 = place;
        }
        if self.staying == NIL {
            self.staying = place;
        }
        self.tail = place;
        self.len += 1;
    }

    /// Takes the first packet.
    pub(crate) fn pop(&mut self, store: &mut Store) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let place = self.head;
        let slot = &mut store.places[place as usize];
        let (packet, next) = *slot;
        slot.1 = store.free;
        store.free = place;
        self.head = next;
        self.len -= 1;
        if self.gone > 0 {
            self.gone -= 1;
        } else {
            self.staying = next;
        }
        Some(packet)
    }

    /// When the first packet reaches the other end.
    pub(crate) fn next_arrival(&self, store: &Store) -> Option<Time> {
        (self.len > 0).then(|| store.places[self.head as usize].0.at)
    }

    /// How many packets reach the other end after `time`, which must not be before that of an earlier call.
    pub(crate) fn after(&mut self, store: &Store, time: Time) -> usize {
        while self.staying != NIL && store.places[self.staying as usize].0.at <= time {
            self.staying = store.places[self.staying as usize].1;
            self.gone += 1;
        }
        (self.len - self.gone) as usize
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

    /// Would catch packets that are lost, exchanged between pipes or counted wrongly, and places that are not used again.
    #[test]
    fn pipes_of_one_store_behave_as_lists() {
        let mut random = Seed::new(1).stream("pipes");
        let mut store = Store::new();
        let mut pipes: Vec<(Pipe, VecDeque<(u64, u32)>)> = (0..5).map(|_| (Pipe::new(), VecDeque::new())).collect();
        let (mut now, mut most, mut inside) = (0, 0, 0);
        for seq in 0..50_000 {
            now += u64::from(random.below(3));
            let (pipe, list) = &mut pipes[random.below(5) as usize];
            if random.chance(0.5) {
                // As on a link, each packet arrives after the one before.
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
        assert_eq!(store.places.len() as i32, most, "a place is made only when none is free");
    }
}
