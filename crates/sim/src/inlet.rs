//! Links between nodes that are looked at only when their packets are needed.
//!
//! What happens at a link between nodes affects nothing else before the link's delay and the transmission of a packet have passed: a packet
//! that it sends arrives that much later. So the arrivals and the ends of transmissions at one link can wait that long, and are then handled together, in their order: no
//! other event has to be compared with them, and the link stays in the caches. The result is the same as if each were handled in its turn.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fairlane_qdisc::{Duration, Time};

use crate::arrival::FirstArrival;
use crate::line::{DelayLine, Pushed, order};
use crate::packet::Packet;

/// What happens at a link between nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtLink {
    /// It has finished a transmission.
    Free,
    /// Its discipline may release a packet that it held back.
    Release,
    /// The first packet of this place arrives.
    Arrival(u32),
}

/// Packets that come out of order, because they waited for their link.
#[derive(Debug)]
pub(crate) struct WaitedPackets {
    /// Most come in order: those that waited for one other packet, those that waited for two, and so on.
    lines: [DelayLine; LINES],
    /// All others.
    others: BinaryHeap<Reverse<Waited>>,
    /// The number of packets that have come to the others.
    numbered: u64,
    /// The first packet of all; its place is its line, and that after the last line for the others.
    first: FirstArrival,
}

/// The most packets for which others wait that come on a line.
const LINES: usize = 4;

/// A packet that waited for its link. Of two packets of a flow that arrive at the same time the first one sent comes first.
#[derive(Debug)]
struct Waited {
    packet: Packet,
    number: u64,
}

/// What is to happen at a link between nodes that is looked at later.
#[derive(Debug)]
pub(crate) struct Inlet {
    /// The least time from what happens here to its effect elsewhere.
    pub(crate) lookahead: Duration,
    /// The numbers of the delay lines that lead here, in rising order.
    pub(crate) numbers: Vec<u32>,
    /// These lines, while the link is being looked at.
    pub(crate) lines: Vec<DelayLine>,
    pub(crate) waited: WaitedPackets,
    /// When the transmission ends; [`Time::MAX`] without one.
    pub(crate) free: Time,
    /// When the discipline may release a packet that it held back; [`Time::MAX`] if it holds none back.
    pub(crate) release: Time,
    /// The first of these times and that of the next arrival.
    pub(crate) next: Time,
}

/// The place of the first packet at an [`Inlet`] if that has waited.
const WAITED: u32 = u32::MAX;

impl Default for WaitedPackets {
    fn default() -> Self {
        Self { lines: Default::default(), others: BinaryHeap::new(), numbered: 0, first: FirstArrival::NONE }
    }
}

impl WaitedPackets {
    /// Adds `packet`, which arrives at `at` at this step of its route, and waited for about as many packets as were `ahead`.
    pub(crate) fn push(&mut self, packet: &Packet, (at, route): (Time, u32), ahead: u8) {
        let mut line = usize::from(ahead.saturating_sub(1));
        let pushed = self.lines.get_mut(line).map_or(Pushed::Refused, |line| line.push(packet, at, route));
        if pushed == Pushed::Refused {
            self.others.push(Reverse(Waited { packet: Packet { at, route, ..*packet }, number: self.numbered }));
            self.numbered += 1;
            line = LINES;
        }
        let new = FirstArrival { at, flow: packet.flow, place: line as u32 };
        if new.comes_before(&self.first) {
            self.first = new;
        }
    }

    /// Returns the first packet.
    pub(crate) fn front(&self) -> Option<&Packet> {
        match self.lines.get(self.first.place as usize) {
            Some(line) => line.front(),
            None => self.others.peek().map(|Reverse(waited)| &waited.packet),
        }
    }

    /// Removes the first packet, of which there is one.
    pub(crate) fn remove_first(&mut self) {
        match self.lines.get_mut(self.first.place as usize) {
            Some(line) => _ = line.remove_first(),
            None => drop(self.others.pop()),
        }
        self.find_first();
    }

    fn find_first(&mut self) {
        let mut least = FirstArrival::NONE;
        for (line, place) in self.lines.iter().zip(0..) {
            if line.first_at() <= least.at
                && let Some(packet) = line.front()
            {
                let first = packet.as_first(place);
                least = if first.comes_before(&least) { first } else { least };
            }
        }
        if let Some(Reverse(Waited { packet, .. })) = self.others.peek() {
            let first = packet.as_first(LINES as u32);
            least = if first.comes_before(&least) { first } else { least };
        }
        self.first = least;
    }

    /// Returns the first packet; [`FirstArrival::NONE`] if there is none.
    #[inline(always)]
    pub(crate) const fn first(&self) -> FirstArrival {
        self.first
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.iter().map(DelayLine::len).sum::<usize>() + self.others.len()
    }

    pub(crate) fn into_packets(self) -> impl Iterator<Item = Packet> {
        let others = self.others.into_iter().map(|Reverse(waited)| waited.packet);
        self.lines.into_iter().flat_map(DelayLine::into_packets).chain(others)
    }
}

impl Inlet {
    /// Returns the inlet of `link`, to which those of `lines` lead that are to it.
    pub(crate) fn new(link: u32, lookahead: Duration, lines: &[Option<u32>]) -> Self {
        let numbers = (0..).zip(lines).filter(|(_, to)| **to == Some(link));
        Self {
            lookahead,
            numbers: numbers.map(|(line, _)| line).collect(),
            lines: Vec::new(),
            waited: WaitedPackets::default(),
            free: Time::MAX,
            release: Time::MAX,
            next: Time::MAX,
        }
    }

    /// Returns the time at which what happens here is needed elsewhere; [`Time::MAX`] if nothing is. While the link sends, arrivals have no
    /// effect.
    pub(crate) fn wake(&self) -> Time {
        let next = if self.free < Time::MAX { self.free } else { self.next };
        if next < Time::MAX { next + self.lookahead } else { Time::MAX }
    }

    /// Returns what happens next, with its time, if that is before `until`. Of what happens at the same time, the link becomes free first,
    /// then its discipline releases a packet, then packets arrive.
    #[inline(always)]
    pub(crate) fn next_before(&mut self, until: Time, (first, place): (Time, u32)) -> Option<(Time, AtLink)> {
        let at = first.min(self.free).min(self.release);
        if at >= until {
            self.next = at;
            return None;
        }
        if self.free == at {
            self.free = Time::MAX;
            return Some((at, AtLink::Free));
        }
        if self.release == at {
            self.release = Time::MAX;
            return Some((at, AtLink::Release));
        }
        Some((at, AtLink::Arrival(place)))
    }

    /// Returns the time and the place of the next arrival. Of packets of a flow that arrive at the same time, that which waited comes first,
    /// and then that of the lower line.
    #[inline(always)]
    pub(crate) fn first(&self) -> (Time, u32) {
        let (mut at, mut place) = (self.waited.first().at, WAITED);
        for (line, other) in self.lines.iter().zip(0..) {
            let first = line.first_at();
            if first < at || (first == at && self.comes_before(other, place)) {
                (at, place) = (first, other);
            }
        }
        (at, place)
    }

    /// Returns true if of two places whose first packets arrive at the same time that of `place` comes first.
    #[inline(never)]
    fn comes_before(&self, place: u32, other: u32) -> bool {
        let first = |place| self.front(place).map(|packet| packet.as_first(place));
        first(place).zip(first(other)).is_some_and(|(first, second)| first.comes_before(&second))
    }

    /// Returns the first packet of a place.
    #[inline(always)]
    pub(crate) fn front(&self, place: u32) -> Option<&Packet> {
        match self.lines.get(place as usize) {
            Some(line) => line.front(),
            None => self.waited.front(),
        }
    }

    /// Removes the first packet of a place, where there is one.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self, place: u32) {
        match self.lines.get_mut(place as usize) {
            Some(line) => _ = line.remove_first(),
            None => self.waited.remove_first(),
        }
    }
}

impl PartialEq for Waited {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waited {}

impl PartialOrd for Waited {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waited {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.packet, &other.packet).then(self.number.cmp(&other.number))
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;
    use crate::packet::{Flags, NO_SACK};

    /// Compares with a sorted list. Would catch a packet that is lost or out of order, whatever is said of those ahead of it.
    #[test]
    fn packets_that_waited_come_out_in_order() {
        let mut random = Seed::new(1).stream("waited");
        let (mut waited, mut list) = (WaitedPackets::default(), Vec::<Packet>::new());
        let mut now = 0;
        for seq in 0..20_000 {
            now += u64::from(random.below(4));
            if random.chance(0.5) {
                let ahead = 1 + random.below(8);
                // Mostly in the order of those that wait for as many, and often at the same time as others.
                let at = Time::from_nanos(now + 20 * u64::from(ahead) + u64::from(random.below(3)));
                let (flow, flags, sent) = (seq, Flags::default(), Time::ZERO);
                let packet = Packet { sent, at, flow, seq, bytes: 1, route: 3, sack: NO_SACK, flags, class: 0 };
                list.insert(list.partition_point(|other| order(other, &packet).is_lt()), packet);
                waited.push(&Packet { at: Time::ZERO, route: 2, ..packet }, (at, 3), ahead as u8);
            } else if list.is_empty() {
                assert_eq!(waited.front(), None);
            } else {
                assert_eq!(waited.front(), Some(&list.remove(0)));
                waited.remove_first();
            }
            assert_eq!(waited.len(), list.len());
            let (first, least) =
                (waited.first(), list.first().map_or((Time::MAX, 0), |packet| (packet.at, packet.flow)));
            assert_eq!((first.at, first.flow), least);
        }
        assert_eq!(waited.into_packets().count(), list.len());
    }
}
