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
/// delay line. A packet that waited for the link of its host comes out of that order. Behind equal bursts such packets are
/// nearly in order among themselves, so each source has a second line for them. What is still out of order is in a
/// calendar. Of packets of a flow that arrive at the same time, those on second lines come first, then those in the
/// calendar.
#[derive(Debug, Default)]
pub(crate) struct Port {
    /// The second line of each source, a line that is always empty, and the first line of each source.
    lines: Vec<DelayLine>,
    pub(super) calendar: Calendar,
    /// The place of the calendar: that of the line that is always empty.
    calendar_place: u32,
    /// The first packets of all lines and of the calendar.
    firsts: FirstArrivals,
    /// The tag of late packets, and that of the first line of each source.
    tags: (u32, Vec<u32>),
}

impl Port {
    /// Returns a port without packets, with a source for each of `tags`, in whose order packets of a flow arrive that arrive
    /// at several ports at the same time; `late` is the tag of late packets. `events_per_second` affects the speed and
    /// nothing else.
    pub(crate) fn new(late: u32, tags: Vec<u32>, events_per_second: f64) -> Self {
        let sources = tags.len() as u32;
        Self {
            lines: (0..Self::first_line(sources, sources)).map(|_| DelayLine::default()).collect(),
            calendar: Calendar::new(events_per_second),
            calendar_place: sources,
            firsts: FirstArrivals::default(),
            tags: (late, tags),
        }
    }

    /// Returns the number of the first line of a source in a port of so many sources.
    pub(crate) const fn first_line(source: u32, sources: u32) -> u32 {
        sources + 1 + source
    }

    /// Adds `packet`, which arrives at `at` at this step of its route, behind others on this line; returns false, and adds
    /// nothing, where it may be the first one or out of order: then [`insert`](Self::insert) adds it.
    #[inline(always)]
    pub(crate) fn push_behind(&mut self, line: u32, packet: &Packet, (at, route): (Time, u32)) -> bool {
        self.lines[line as usize].push_behind(packet, at, route)
    }

    /// Adds `packet`, on this line, the second line of the source, or else in the calendar; returns true if it is the first
    /// packet of all.
    pub(crate) fn insert(&mut self, line: u32, packet: &Packet) -> bool {
        let line = line as usize;
        let second = line.checked_sub(self.calendar_place as usize + 1);
        let (mut place, mut inserted) = (line, self.lines[line].insert(packet));
        if let (None, Some(second)) = (inserted, second) {
            (place, inserted) = (second, self.lines[second].insert(packet));
        }
        let first = match inserted {
            Some(is_first) => is_first.then(|| FirstArrival::of(packet, place as u32)),
            None => self.calendar.push(packet).then(|| self.calendar.bound(self.calendar_place)),
        };
        let Some(first) = first else { return false };
        self.firsts.bring_forward(first);
        self.first().place() == first.place()
    }

    /// Returns the second line of the source whose first line this is.
    #[inline(always)]
    pub(crate) const fn second_line(&self, line: u32) -> u32 {
        line - self.calendar_place - 1
    }

    /// Returns the next arrival, or an earlier one of no packet: [`pop`](Self::pop) tells which.
    #[inline(always)]
    pub(crate) fn first(&self) -> FirstArrival {
        self.firsts.first()
    }

    /// Returns the packet of the [first](Self::first) arrival; `None` if it is that of no packet.
    #[inline(always)]
    pub(crate) fn front(&mut self) -> Option<&Packet> {
        let place = self.first().place() as usize;
        if self.lines.get(place)?.len() == 0 {
            return self.calendar_front();
        }
        self.lines[place].front()
    }

    /// Removes the packet of the first arrival, of which there is one.
    #[inline(always)]
    pub(crate) fn remove_first(&mut self) {
        let place = self.first().place();
        let line = &mut self.lines[place as usize];
        if line.len() == 0 {
            return self.remove_from_calendar();
        }
        let next = line.remove_first();
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
            self.firsts.replace_first(self.calendar.bound(self.calendar_place));
            return None;
        }
        self.calendar.front()
    }

    #[inline(never)]
    fn remove_from_calendar(&mut self) {
        self.calendar.remove_first();
        self.firsts.replace_first(self.calendar.bound(self.calendar_place));
    }

    /// Returns the packets at the place of an arrival.
    pub(crate) fn upcoming(&mut self, place: u32) -> &mut dyn Upcoming {
        if place == self.calendar_place {
            return &mut self.calendar;
        }
        &mut self.lines[place as usize]
    }

    /// Returns the tag of the first arrival.
    pub(crate) fn tag(&self) -> u32 {
        let (late, tags) = &self.tags;
        let source = self.first().place().checked_sub(Self::first_line(0, self.calendar_place));
        source.and_then(|source| tags.get(source as usize)).copied().unwrap_or(*late)
    }

    /// Returns the number of packets.
    pub(crate) fn len(&self) -> usize {
        self.calendar.len() + self.lines.iter().map(DelayLine::len).sum::<usize>()
    }
}
