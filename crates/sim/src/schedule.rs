//! Everything that is going to happen: packets that arrive, links that become free, and the events of flows.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fairlane_qdisc::Time;

use crate::event::EventQueue;
use crate::line::{DelayLine, order};
use crate::packet::Packet;
use crate::target::{Target, arrival_key, event_key, time_of};
use crate::tournament::{NEVER, Tournament};

/// What happens next.
#[derive(Debug)]
pub(crate) enum Next {
    /// A packet reaches the far end of a link.
    Arrival(Packet),
    Event(Target),
}

/// The arrivals and events of a run, each kept where that is cheapest: most packets in [delay lines](DelayLine), where they need not
/// be sorted; the packets that waited for their link, which come in any order, in a heap; the ends of transmissions in a place for each
/// link; and all else in an [event queue](EventQueue). A [tournament](Tournament) tells which of them has what comes next.
#[derive(Debug)]
pub(crate) struct Schedule {
    events: EventQueue,
    waited: BinaryHeap<Reverse<Waited>>,
    /// The number of packets that have come into `waited`.
    numbered: u64,
    /// The packets that have not waited.
    lines: Vec<DelayLine>,
    /// The number of links that have a place for the end of their transmission.
    transmitters: usize,
    /// The leaves are the event queue, the packets that waited, the transmitters and the lines.
    tournament: Tournament,
    /// The line of the last arrival.
    line: usize,
}

/// The leaves of a [`Schedule`]'s tournament.
const EVENTS: usize = 0;
const WAITED: usize = 1;
const TRANSMITTERS: usize = 2;

/// A packet that waited for its link. Of two packets of a flow that arrive at the same time the first one sent comes first.
#[derive(Debug)]
struct Waited {
    packet: Packet,
    number: u64,
}

impl Schedule {
    /// Returns an empty schedule with this many delay lines, and a place for the ends of the transmissions of the first `transmitters` links.
    /// `events_per_second` affects the speed and nothing else.
    pub(crate) fn new(lines: usize, transmitters: usize, events_per_second: f64) -> Self {
        Self {
            events: EventQueue::new(events_per_second),
            waited: BinaryHeap::new(),
            numbered: 0,
            lines: std::iter::repeat_with(DelayLine::default).take(lines).collect(),
            transmitters,
            tournament: Tournament::new(TRANSMITTERS + transmitters + lines),
            line: 0,
        }
    }

    /// Schedules an event. An event in the past comes next.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        self.events.push(at, target);
        self.tournament.set(EVENTS, self.events.bound());
    }

    /// Schedules the end of the transmission on `link`, which has no other one.
    #[inline]
    pub(crate) fn free_at(&mut self, at: Time, link: u32) {
        let link_free = Target::LinkFree(link);
        if (link as usize) < self.transmitters {
            self.tournament.set(TRANSMITTERS + link as usize, event_key(at, link_free));
        } else {
            self.push(at, link_free);
        }
    }

    /// Schedules the arrival of a packet at [`Packet::at`] that comes on this line. `waited` is true if the link was busy when the
    /// packet came.
    #[inline]
    pub(crate) fn send(&mut self, line: u32, packet: Packet, waited: bool) {
        let line = line as usize;
        let pushed = if waited { Err(packet) } else { self.lines[line].push(packet) };
        match pushed {
            Ok(true) => self.tournament.set(self.leaf_of(line), arrival_key(packet.at, packet.flow)),
            Ok(false) => {}
            Err(packet) => self.send_unordered(packet),
        }
    }

    fn send_unordered(&mut self, packet: Packet) {
        self.waited.push(Reverse(Waited { packet, number: self.numbered }));
        self.numbered += 1;
        self.tournament.set(WAITED, self.first_that_waited());
    }

    /// Removes and returns what happens next, with its time, if that is before `until`.
    #[inline]
    pub(crate) fn pop_before(&mut self, until: Time) -> Option<(Time, Next)> {
        loop {
            let (leaf, key) = self.tournament.winner();
            let at = time_of(key);
            if at >= until {
                return None;
            }
            if let Some(line) = leaf.checked_sub(TRANSMITTERS + self.transmitters) {
                let packet = self.lines[line].pop()?;
                let next = self.lines[line].first().map_or(NEVER, |(at, flow)| arrival_key(at, flow));
                self.tournament.set(leaf, next);
                self.line = line;
                return Some((at, Next::Arrival(packet)));
            }
            if let Some(link) = leaf.checked_sub(TRANSMITTERS) {
                self.tournament.set(leaf, NEVER);
                return Some((at, Next::Event(Target::LinkFree(link as u32))));
            }
            if leaf == WAITED {
                let Reverse(Waited { packet, .. }) = self.waited.pop()?;
                self.tournament.set(WAITED, self.first_that_waited());
                return Some((at, Next::Arrival(packet)));
            }
            let event = self.events.pop();
            self.tournament.set(EVENTS, self.events.bound());
            if let Some(target) = event {
                return Some((at, Next::Event(target)));
            }
        }
    }

    /// Returns a time before which nothing happens.
    pub(crate) fn next_at(&mut self) -> Time {
        time_of(self.tournament.winner().1)
    }

    /// Returns the number of packets on links.
    pub(crate) fn packets(&self) -> usize {
        self.waited.len() + self.lines.iter().map(DelayLine::len).sum::<usize>()
    }

    /// Returns the next `count` packets on the line of the last arrival, once those of the last call have arrived.
    pub(crate) fn unread(&mut self, count: usize) -> impl Iterator<Item = &Packet> {
        self.lines.get_mut(self.line).into_iter().flat_map(move |line| line.read_next(count))
    }

    const fn leaf_of(&self, line: usize) -> usize {
        TRANSMITTERS + self.transmitters + line
    }

    fn first_that_waited(&self) -> u128 {
        self.waited.peek().map_or(NEVER, |Reverse(first)| arrival_key(first.packet.at, first.packet.flow))
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
