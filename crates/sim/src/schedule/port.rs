//! The packets on their way to one destination.

use fairlane_qdisc::Time;

use crate::packet::Packet;
use crate::schedule::calendar::Calendar;
use crate::schedule::delay_line::DelayLine;
use crate::schedule::event_key::FirstArrival;
use crate::schedule::first_arrivals::FirstArrivals;
use crate::schedule::upcoming::Upcoming;

/// The packets on their way to one destination: a link between nodes, or hosts.
///
/// Packets from one source, a link or the hosts of a group, arrive in the order in which they were sent: they are on a
/// delay line. A packet that waited for its host's link, or left a reordering link, may be further out of that order
/// than a line reaches: then it is in the calendar. Of packets of a flow that arrive at the same time, that in the
/// calendar comes first.
#[derive(Debug, Default)]
pub(crate) struct Port {
    /// The line of each source.
    lines: Vec<DelayLine>,
    pub(super) calendar: Calendar,
    /// The first packets of the calendar, which has place 0, and of the lines, which have the places after it.
    firsts: FirstArrivals,
    /// The tag of each place.
    tags: Vec<u32>,
}

/// The place of the calendar.
const CALENDAR: u32 = 0;

impl Port {
    /// Returns a port without packets, with a calendar and a source for each further one of `tags`, in whose order
    /// packets of a flow arrive that arrive at several ports at the same time. `events_per_second` affects the speed
    /// and nothing else.
    pub(crate) fn new(tags: Vec<u32>, events_per_second: f64) -> Self {
        Self {
            lines: tags.iter().skip(1).map(|_| DelayLine::default()).collect(),
            calendar: Calendar::new(events_per_second),
            firsts: FirstArrivals::default(),
            tags,
        }
    }

    /// Adds `packet`, which arrives at `at` at this step of its route, behind others on this line; returns false, and
    /// adds nothing, where it may be the first one or out of order: then [`insert`](Self::insert) adds it.
    #[inline(always)]
    pub(crate) fn push_behind(&mut self, line: u32, packet: &Packet, (at, route): (Time, u32)) -> bool {
        self.lines[line as usize].push_behind(packet, at, route)
    }

    /// Adds `packet` on this line or else in the calendar; returns true if it is the first packet of all.
    pub(crate) fn insert(&mut self, line: u32, packet: &Packet) -> bool {
        let first = match self.lines[line as usize].insert(packet) {
            Some(is_first) => is_first.then(|| FirstArrival::of(packet, line + 1)),
            None => self.calendar.push(packet).then(|| self.calendar.bound(CALENDAR)),
        };
        let Some(first) = first else { return false };
        self.firsts.bring_forward(first);
        self.first().place() == first.place()
    }

    /// Returns the next arrival, or an earlier one of no packet: [`pop`](Self::pop) tells which.
    #[inline(always)]
    pub(crate) fn first(&self) -> FirstArrival {
        self.firsts.first()
    }

    /// Returns the packet of the [first](Self::first) arrival; `None` if it is that of no packet.
    #[inline(always)]
    pub(crate) fn front(&mut self) -> Option<&Packet> {
        match self.first().place() {
            CALENDAR => self.calendar_front(),
            place => self.lines[place as usize - 1].front(),
        }
    }

    /// Removes the packet of the first arrival, which must exist.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self) {
        let place = self.first().place();
        if place == CALENDAR {
            return self.remove_from_calendar();
        }
        let next = self.lines[place as usize - 1].remove_first();
        self.firsts.replace_first(next.map_or(FirstArrival::NONE, |next| FirstArrival::of(next, place)));
    }

    /// Removes and returns the packet of the first arrival; `None` if it is that of no packet.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        let packet = *self.front()?;
        self.remove_first();
        Some(packet)
    }

    #[inline(never)]
    fn calendar_front(&mut self) -> Option<&Packet> {
        if self.calendar.front().is_none() {
            self.firsts.replace_first(self.calendar.bound(CALENDAR));
            return None;
        }
        self.calendar.front()
    }

    #[inline(never)]
    fn remove_from_calendar(&mut self) {
        self.calendar.remove_first();
        self.firsts.replace_first(self.calendar.bound(CALENDAR));
    }

    /// Returns the packets at the place of an arrival.
    pub(crate) fn upcoming(&mut self, place: u32) -> &mut dyn Upcoming {
        match place {
            CALENDAR => &mut self.calendar,
            place => &mut self.lines[place as usize - 1],
        }
    }

    /// Returns the tag of the first arrival.
    pub(crate) fn tag(&self) -> u32 {
        self.tags.get(self.first().place() as usize).copied().unwrap_or_default()
    }

    /// Returns the number of packets.
    pub(crate) fn len(&self) -> usize {
        self.calendar.len() + self.lines.iter().map(DelayLine::len).sum::<usize>()
    }
}
