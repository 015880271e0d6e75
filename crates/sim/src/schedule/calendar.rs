//! Packets on links that come out of order, because they waited for their link.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fairlane_qdisc::Time;

use crate::network::prefetch::{FAR, NEAR, Waiting};
use crate::packet::Packet;
use crate::schedule::arrival::FirstArrival;
use crate::schedule::bit_index::Occupied;
use crate::schedule::delay_line::order;

/// A calendar queue (Brown, CACM 31(10), 1988): there are so many days that most packets arrive on one of them, and so short ones that a day has few
/// packets, which are sorted when it is the first day that has some. Packets beyond the last day are in a heap; where these are many, days become
/// twice as long. Where a day has more than [`A_DAY`] packets in the mean, there are twice as many days of half the length. The number and the
/// length of days affect the speed and nothing else.
#[derive(Debug)]
pub(crate) struct WaitedPackets {
    /// A day is 2^shift nanoseconds long.
    shift: u32,
    /// The first day of the calendar, counted from time zero: no packet in it arrives earlier.
    today: u64,
    /// The packets of each day, in the order in which they came; those of the current day, and of days whose packets have been announced, are sorted. Empty
    /// until a packet has waited; then the number of days is a power of two.
    days: Vec<Vec<Packet>>,
    /// The days that have packets.
    occupied: Occupied,
    /// The first of these, an index into `days`, if the calendar has packets. Its packets are sorted.
    current: usize,
    /// The number of packets of the current day that have been taken; they are still in its `Vec`.
    taken: usize,
    /// The packets that arrive on no day of the calendar.
    distant: BinaryHeap<Reverse<Distant>>,
    /// The number of packets that have come to these.
    numbered: u64,
    /// The packets in the calendar.
    in_calendar: usize,
    /// The packets that have come to the calendar, and beyond its end, since the days have had their length.
    counted: [u32; 2],
    /// The first packet of all.
    first: FirstArrival,
    /// The packets that have been [announced](Waiting) and are still to arrive, as far as no other one comes before them.
    announced: usize,
}

/// A packet beyond the calendar. Of two packets of a flow that arrive at the same time the first one sent comes first.
#[derive(Debug)]
struct Distant {
    packet: Packet,
    number: u64,
}

/// The days of a new calendar, and the most that it may have: 6 megabytes without their packets.
const DAYS: usize = 256;
const MOST_DAYS: usize = 1 << 18;

/// The packets of a day, in the mean, from which there are more days.
const A_DAY: usize = 8;

/// The length of the first days: 2^10 ns.
const FIRST_SHIFT: u32 = 10;

/// The packets beyond the calendar that are tolerated before days become longer.
const TOLERATED: u32 = 64;

/// The places of [`WaitedPackets::first`].
const IN_CALENDAR: u32 = 0;
const IN_HEAP: u32 = 1;

impl Default for WaitedPackets {
    fn default() -> Self {
        Self {
            shift: FIRST_SHIFT,
            today: 0,
            days: Vec::new(),
            occupied: Occupied::default(),
            current: 0,
            taken: 0,
            distant: BinaryHeap::new(),
            numbered: 0,
            in_calendar: 0,
            counted: [0; 2],
            first: FirstArrival::NONE,
            announced: 0,
        }
    }
}

impl WaitedPackets {
    /// Adds `packet`. Returns true if it is the first one.
    #[inline]
    pub(crate) fn push(&mut self, packet: &Packet) -> bool {
        let before = self.first;
        let place = if self.is_within(packet.at) {
            self.counted[0] += 1;
            self.enter(packet);
            if self.in_calendar > A_DAY * self.days.len() && self.days.len() < MOST_DAYS {
                self.divide_days();
            }
            IN_CALENDAR
        } else {
            self.push_beyond(packet)
        };
        let new = packet.as_first(place);
        let is_first = new.comes_before(&before);
        if is_first {
            self.first = new;
        }
        is_first
    }

    /// Adds a packet that is not on a day of the calendar as it is, and returns its place.
    #[inline(never)]
    fn push_beyond(&mut self, packet: &Packet) -> u32 {
        if self.in_calendar == 0 {
            if self.days.is_empty() {
                self.set_days(DAYS);
            }
            self.today = self.today.max(self.day_of(packet.at).saturating_sub(self.days.len() as u64 / 4));
        }
        if self.is_within(packet.at) {
            self.enter(packet);
            return IN_CALENDAR;
        }
        let [inside, beyond] = &mut self.counted;
        *beyond += u32::from(packet.at.as_nanos() >> self.shift > self.today);
        if *beyond > TOLERATED + *inside / 16 {
            self.lengthen_days();
        }
        self.distant.push(Reverse(Distant { packet: *packet, number: self.numbered }));
        self.numbered += 1;
        IN_HEAP
    }

    /// Adds a packet that arrives on a day of the calendar.
    #[inline]
    fn enter(&mut self, packet: &Packet) {
        let day = self.place_of(self.day_of(packet.at));
        let is_first = self.in_calendar == 0 || self.is_before(day, self.current);
        self.in_calendar += 1;
        if day == self.current && !is_first {
            return self.insert(packet);
        }
        self.days[day].push(*packet);
        self.occupied.set(day);
        if is_first {
            self.turn_to(day);
        }
    }

    /// Adds a packet to the current day, behind those that arrive no later.
    #[inline(never)]
    fn insert(&mut self, packet: &Packet) {
        let packets = &mut self.days[self.current];
        let place = packets.iter().rposition(|other| order(other, packet).is_le()).map_or(0, |before| before + 1);
        packets.insert(place.max(self.taken), *packet);
    }

    /// Returns true if of two days the first one comes before the other.
    #[inline(always)]
    fn is_before(&self, day: usize, other: usize) -> bool {
        let since = |day: usize| day.wrapping_sub(self.place_of(self.today)) & (self.days.len() - 1);
        since(day) < since(other)
    }

    /// Makes a day the current one.
    fn turn_to(&mut self, day: usize) {
        // A day of which packets have been taken is today, and no packet comes to an earlier one.
        debug_assert_eq!(self.taken, 0);
        self.current = day;
        self.days[day].sort_by(order);
    }

    /// Makes days twice as long.
    #[cold]
    fn lengthen_days(&mut self) {
        let packets = self.take_calendar();
        self.shift += 1;
        self.today /= 2;
        self.fill_calendar(&packets);
    }

    /// Makes twice as many days of half the length, or of the same if it is a nanosecond.
    #[cold]
    fn divide_days(&mut self) {
        let packets = self.take_calendar();
        self.set_days(2 * self.days.len());
        if self.shift > 0 {
            self.shift -= 1;
            self.today *= 2;
        }
        self.fill_calendar(&packets);
    }

    /// Sets the number of days of an empty calendar.
    fn set_days(&mut self, number: usize) {
        self.days.resize_with(number, Vec::new);
        self.occupied = Occupied::new(number);
    }

    /// Removes and returns the packets in the calendar, those of the same time in the order in which they came.
    fn take_calendar(&mut self) -> Vec<Packet> {
        let mut packets = Vec::with_capacity(self.in_calendar);
        let mut next = Some(self.current).filter(|_| self.in_calendar > 0);
        while let Some(day) = next {
            packets.extend(self.days[day].drain(std::mem::take(&mut self.taken)..));
            self.days[day].clear();
            self.occupied.clear(day);
            next = self.occupied_from(day);
        }
        self.in_calendar = 0;
        packets
    }

    /// Enters packets into the calendar, whose days have changed.
    fn fill_calendar(&mut self, packets: &[Packet]) {
        self.counted = [0; 2];
        packets.iter().for_each(|packet| self.enter(packet));
        self.find_first();
    }

    /// Returns the first packet.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Packet> {
        if self.first.place == IN_HEAP {
            return self.distant.peek().map(|Reverse(distant)| &distant.packet);
        }
        self.first_in_calendar()
    }

    /// Removes and returns the first packet; `None` if there is none.
    #[inline(never)]
    pub(crate) fn take_first(&mut self) -> Option<Packet> {
        let taken = self.front().copied();
        self.remove_first();
        taken
    }

    /// Removes the first packet, if there is one.
    #[inline(never)]
    pub(crate) fn remove_first(&mut self) {
        if self.first.at == Time::MAX {
            return;
        }
        self.today = self.today.max(self.day_of(self.first.at));
        if self.first.place == IN_HEAP {
            self.distant.pop();
        } else {
            self.in_calendar -= 1;
            self.taken += 1;
            if self.taken == self.days[self.current].len() {
                self.end_day();
            }
        }
        self.find_first();
    }

    /// Goes on to the next day that has packets, if there is one: all of the current day have been taken.
    fn end_day(&mut self) {
        // After a burst its memory is returned: over time each day may have one.
        self.days[self.current].clear();
        self.days[self.current].shrink_to(4 * A_DAY);
        self.taken = 0;
        self.occupied.clear(self.current);
        if let Some(next) = self.occupied_from(self.current) {
            self.turn_to(next);
        }
    }

    #[inline]
    fn find_first(&mut self) {
        let mut first = self.first_in_calendar().map_or(FirstArrival::NONE, |packet| packet.as_first(IN_CALENDAR));
        if let Some(Reverse(Distant { packet, .. })) = self.distant.peek() {
            // It was sent before an equal one in the calendar.
            let distant = packet.as_first(IN_HEAP);
            first = if first.comes_before(&distant) { first } else { distant };
        }
        self.first = first;
    }

    /// Returns the first day that has packets from `day` on; after the last one in `days` the first one follows.
    #[inline(always)]
    fn occupied_from(&self, day: usize) -> Option<usize> {
        self.occupied.next(day as u64).or_else(|| self.occupied.next(0)).map(|day| day as usize)
    }

    /// Returns the first packet in the calendar.
    #[inline(always)]
    fn first_in_calendar(&self) -> Option<&Packet> {
        if self.in_calendar == 0 { None } else { self.days[self.current].get(self.taken) }
    }

    /// Returns the arrival of the first packet; [`FirstArrival::NONE`] if there is none.
    #[inline(always)]
    pub(crate) const fn first(&self) -> FirstArrival {
        self.first
    }

    /// Returns the number of packets.
    pub(crate) fn len(&self) -> usize {
        self.in_calendar + self.distant.len()
    }

    /// Returns all packets.
    pub(crate) fn into_packets(mut self) -> impl Iterator<Item = Packet> {
        std::iter::from_fn(move || self.take_first())
    }

    #[inline(always)]
    const fn day_of(&self, at: Time) -> u64 {
        at.as_nanos() >> self.shift
    }

    /// Tells whether a time is on a day of the calendar.
    #[inline(always)]
    const fn is_within(&self, at: Time) -> bool {
        self.day_of(at).wrapping_sub(self.today) < self.days.len() as u64
    }

    /// Returns the index of a day into `days`.
    #[inline(always)]
    const fn place_of(&self, day: u64) -> usize {
        day as usize & (self.days.len() - 1)
    }
}

/// Packets that are announced at once.
const ANNOUNCED: usize = 8;

impl Waiting for WaitedPackets {
    /// It passes over the packets beyond the calendar, and sorts the days of those that it announces.
    fn announce(&mut self, each: &mut dyn FnMut(&Packet)) {
        self.announced = self.announced.saturating_sub(1);
        if self.announced + ANNOUNCED > FAR {
            return;
        }
        let (first, mut place) = (Some(self.current).filter(|_| self.in_calendar > 0), 0);
        let mut day = first;
        while let Some(here) = day {
            let taken = if day == first { self.taken } else { 0 };
            if taken == 0 {
                self.days[here].sort_by(order);
            }
            for packet in self.days[here][taken..].iter().take(FAR - place) {
                if place >= self.announced {
                    each(packet);
                }
                place += 1;
            }
            day = self.occupied_from(here + 1).filter(|next| place < FAR && Some(*next) != first);
        }
        self.announced = place;
    }

    fn near(&self) -> Option<&Packet> {
        if self.announced <= NEAR {
            return None;
        }
        let (mut day, mut place) = (self.current, self.taken + NEAR);
        loop {
            let packets = self.days.get(day)?;
            if place < packets.len() {
                return packets.get(place);
            }
            place -= packets.len();
            day = self.occupied_from(day + 1).filter(|next| *next != self.current)?;
        }
    }
}

impl PartialEq for Distant {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Distant {}

impl PartialOrd for Distant {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Distant {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.packet, &other.packet).then(self.number.cmp(&other.number))
    }
}

#[cfg(test)]
mod tests;
