//! Links between nodes that are looked at only when their packets are needed.
//!
//! What happens at a link between nodes affects nothing else before the link's delay and the transmission of a packet have passed: a packet
//! that it sends arrives that much later. So the arrivals and the ends of transmissions at one link can wait that long, and are then handled together, in their order: no
//! other event has to be compared with them, and the link stays in the caches. The result is the same as if each were handled in its turn.

use fairlane_qdisc::{Duration, Time};

use crate::network::prefetch::Waiting;
use crate::packet::Packet;
use crate::schedule::calendar::WaitedPackets;
use crate::schedule::delay_line::{DelayLine, LineEnd};

/// What happens at a link between nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtLink {
    /// It has finished a transmission.
    Free,
    /// Its discipline may release a packet that it held back.
    Release,
    /// The next packet arrives.
    Arrival,
}

/// The next arrival at a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coming {
    /// Its time; [`Time::MAX`] if there is none.
    pub(crate) at: Time,
    /// Where it is: the number of a line among those of the link, or [`WAITED`].
    place: u32,
    /// The time of the first arrival at any other place.
    elsewhere: Time,
}

/// What is to happen at a link between nodes that is looked at later.
#[derive(Debug)]
pub(crate) struct Inlet {
    /// The least time from what happens here to its effect elsewhere.
    pub(crate) lookahead: Duration,
    /// The numbers of the delay lines that lead here: those of packets that waited for their link, then the others, each in rising order.
    pub(crate) numbers: Vec<u32>,
    /// Those of these lines that have packets, while the link is being looked at; in place of all others, empty ones.
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
    /// Returns the inlet of `link`, to which those of `lines` lead that are to it, and the lines of packets that waited that follow all these.
    pub(crate) fn new(link: u32, lookahead: Duration, lines: &[LineEnd]) -> Self {
        let own = (0_u32..).zip(lines).filter(|(_, end)| **end == LineEnd::Link(link)).map(|(line, _)| line);
        let numbers: Vec<u32> = own.clone().map(|line| line + lines.len() as u32).chain(own).collect();
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
    pub(crate) fn next_before(&mut self, until: Time, coming: Coming) -> Option<(Time, AtLink)> {
        let own = self.free.min(self.release);
        let at = own.min(coming.at);
        if at >= until {
            self.next = at;
            return None;
        }
        if coming.at < own {
            return Some((at, AtLink::Arrival));
        }
        if self.free == own {
            self.free = Time::MAX;
            return Some((at, AtLink::Free));
        }
        self.release = Time::MAX;
        Some((at, AtLink::Release))
    }

    /// Returns the next arrival. Of packets of a flow that arrive at the same time, those that waited come first, and of these the one on a line: it
    /// was sent before the one that found no place there.
    #[inline]
    pub(crate) fn coming(&self) -> Coming {
        let mut first = Coming { at: self.waited.first().at, place: WAITED, elsewhere: Time::MAX };
        for (line, place) in self.lines.iter().zip(0..) {
            let at = line.first_at();
            if at < first.at || (at == first.at && at < Time::MAX && self.comes_before(place, first.place)) {
                first = Coming { at, place, elsewhere: first.at };
            } else {
                first.elsewhere = first.elsewhere.min(at);
            }
        }
        first
    }

    /// Returns true if of two places whose first packets arrive at the same time that of the line `place` comes first.
    #[inline(never)]
    fn comes_before(&self, place: u32, other: u32) -> bool {
        let has_waited = (place as usize) < self.lines.len() / 2;
        let first = |place| self.front(place).map(|packet| packet.as_first(place));
        first(place).zip(first(other)).is_some_and(|(first, second)| {
            first.comes_before(&second) || first.flow == second.flow && other == WAITED && has_waited
        })
    }

    /// Returns the first packet of a place.
    #[inline(always)]
    fn front(&self, place: u32) -> Option<&Packet> {
        match self.lines.get(place as usize) {
            Some(line) => line.front(),
            None => self.waited.front(),
        }
    }

    /// Returns the packet that arrives next.
    #[inline(always)]
    pub(crate) fn packet(&self, coming: Coming) -> Option<&Packet> {
        self.front(coming.place)
    }

    /// Removes the packet that arrives next, and returns the arrival after it.
    #[inline(always)]
    pub(crate) fn pass(&mut self, Coming { place, elsewhere, .. }: Coming) -> Coming {
        let at = match self.lines.get_mut(place as usize) {
            Some(line) => {
                line.remove_first();
                line.first_at()
            }
            None => {
                self.waited.remove_first();
                self.waited.first().at
            }
        };
        if at < elsewhere { Coming { at, place, elsewhere } } else { self.coming() }
    }

    /// Returns the packets that wait at the place of the next arrival.
    pub(crate) fn waiting(&mut self, coming: Coming) -> &mut dyn Waiting {
        match self.lines.get_mut(coming.place as usize) {
            Some(line) => line,
            None => &mut self.waited,
        }
    }
}
