//! The packets on their way to one destination.

use fairlane_qdisc::Time;

use crate::packet::Packet;
use crate::schedule::calendar::Calendar;
use crate::schedule::delay_line::DelayLine;
use crate::schedule::event_key::FirstArrival;
use crate::schedule::tournament::Tournament;
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
    /// The second line of each source, then the first line of each.
    lines: Vec<DelayLine>,
    pub(super) calendar: Calendar,
    /// The first packets of the second lines, of the calendar, and of the first lines.
    firsts: Tournament<FirstArrival>,
}

impl Port {
    /// Returns a port without packets that has `sources` sources. `events_per_second` affects the speed and nothing else.
    pub(crate) fn new(sources: u32, events_per_second: f64) -> Self {
        let lines = 2 * sources as usize;
        Self {
            lines: (0..lines).map(|_| DelayLine::default()).collect(),
            calendar: Calendar::new(events_per_second),
            firsts: Tournament::new(lines + 1),
        }
    }

    /// Adds `packet`, which arrives at `at` at this step of its route, behind others on this line; returns false, and adds
    /// nothing, where it may be the first one or out of order: then [`insert`](Self::insert) adds it.
    #[inline(always)]
    pub(crate) fn push_behind(&mut self, line: u32, packet: &Packet, (at, route): (Time, u32)) -> bool {
        self.lines[line as usize].push_behind(packet, at, route)
    }

    /// Adds `packet`, on this line, the second line of the source, or else in the calendar; returns true if it is the first
    /// packet of all.
    pub(crate) fn insert(&mut self, line: u32, packet: Packet) -> bool {
        let line = line as usize;
        let second = if line < self.sources() { line } else { line - self.sources() };
        let before = self.first();
        let taken = [line, second].into_iter().find(|line| self.lines[*line].insert(packet));
        let leaf = taken.map_or(self.sources(), |line| self.leaf(line));
        if taken.is_none() {
            self.calendar.push(packet);
        }
        self.update(leaf);
        self.first() != before
    }

    /// Returns the second line of the source whose first line this is.
    #[inline(always)]
    pub(crate) fn second_line(&self, line: u32) -> u32 {
        line - self.sources() as u32
    }

    /// Returns the next arrival, or an earlier one of no packet: [`pop`](Self::pop) tells which.
    #[inline(always)]
    pub(crate) fn first(&mut self) -> FirstArrival {
        self.firsts.winner()
    }

    /// Removes and returns the packet of the [first](Self::first) arrival; `None` if it was that of no packet.
    #[inline(always)]
    pub(crate) fn pop(&mut self, first: FirstArrival) -> Option<Packet> {
        let leaf = first.place as usize;
        if leaf == self.sources() {
            return self.pop_from_calendar();
        }
        let line = leaf - usize::from(leaf > self.sources());
        let line = &mut self.lines[line];
        let packet = line.pop();
        self.firsts.replace_winner(line.front().map_or(FirstArrival::NONE, |next| FirstArrival::of(next, 0)));
        packet
    }

    #[inline(never)]
    fn pop_from_calendar(&mut self) -> Option<Packet> {
        let packet = self.calendar.pop();
        self.update(self.sources());
        packet
    }

    /// Returns the packets at the place of an arrival.
    pub(crate) fn upcoming(&mut self, first: FirstArrival) -> &mut dyn Upcoming {
        let leaf = first.place as usize;
        if leaf == self.sources() {
            return &mut self.calendar;
        }
        let line = leaf - usize::from(leaf > self.sources());
        &mut self.lines[line]
    }

    /// Returns the number of packets.
    pub(crate) fn len(&self) -> usize {
        self.calendar.len() + self.lines.iter().map(DelayLine::len).sum::<usize>()
    }

    /// Compares the first packet of a leaf anew.
    fn update(&mut self, leaf: usize) {
        let first = if leaf == self.sources() {
            self.calendar.bound(0)
        } else {
            let line = &self.lines[leaf - usize::from(leaf > self.sources())];
            line.front().map_or(FirstArrival::NONE, |first| FirstArrival::of(first, 0))
        };
        self.firsts.set(leaf, first);
    }

    const fn sources(&self) -> usize {
        self.lines.len() / 2
    }

    /// Returns the leaf of a line: the calendar is between second and first lines.
    const fn leaf(&self, line: usize) -> usize {
        line + (line >= self.sources()) as usize
    }
}
