//! Links between nodes that are looked at only when their packets are needed.
//!
//! What happens at a link between nodes affects nothing else before the link's delay and the transmission of a packet have passed: a packet
//! that it sends arrives that much later. So the arrivals and the ends of transmissions at one link can wait that long, and are then handled together, in their order: no
//! other event has to be compared with them, and the link stays in the caches. The result is the same as if each were handled in its turn.

use fairlane_qdisc::{Duration, Time};

use crate::line::{DelayLine, LineEnd};
use crate::packet::Packet;
use crate::prefetch::ReadAhead;
use crate::waited::WaitedPackets;

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

/// What is to happen at a link between nodes that is looked at later.
#[derive(Debug)]
pub(crate) struct Inlet {
    /// The least time from what happens here to its effect elsewhere.
    pub(crate) lookahead: Duration,
    /// The numbers of the delay lines that lead here, in rising order.
    pub(crate) numbers: Vec<u32>,
    /// These lines, while the link is being looked at; else as many empty ones.
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

impl Inlet {
    /// Returns the inlet of `link`, to which those of `lines` lead that are to it.
    pub(crate) fn new(link: u32, lookahead: Duration, lines: &[LineEnd]) -> Self {
        let numbers: Vec<u32> = (0..).zip(lines).filter(|(_, end)| **end == LineEnd::Link(link)).map(|(line, _)| line).collect();
        Self {
            lookahead,
            lines: numbers.iter().map(|_| DelayLine::default()).collect(),
            numbers,
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

    /// Removes and returns the first packet of a place, where there is one. `before_arrival` is called before that with the packets that
    /// wait there.
    #[inline(always)]
    pub(crate) fn take_first(&mut self, place: u32, before_arrival: impl FnOnce(&mut dyn ReadAhead)) -> Option<Packet> {
        let Some(line) = self.lines.get_mut(place as usize) else {
            before_arrival(&mut self.waited);
            return self.waited.take_first();
        };
        before_arrival(line);
        let packet = line.front().copied();
        line.remove_first();
        packet
    }
}
