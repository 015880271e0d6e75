//! Packets on links that come out of order, because they waited for their link.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fairlane_qdisc::Time;

use crate::arrival::FirstArrival;
use crate::line::order;
use crate::occupied::Occupied;
use crate::packet::Packet;
use crate::prefetch::{FAR, NEAR, Waiting};

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
    /// The packets of each day, in the order in which they came; those of the current day, and of days that [approach](Waiting), are sorted. Empty
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
    /// The packets for which something has been [asked](crate::prefetch) and that are still to arrive, as far as no other one comes before them.
    asked: usize,
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
            asked: 0,
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

impl Waiting for WaitedPackets {
    /// It passes over the packets beyond the calendar.
    fn approach(&mut self, each: &mut dyn FnMut(&Packet)) {
        self.asked = self.asked.saturating_sub(1);
        let first = Some(self.current).filter(|_| self.in_calendar > 0);
        let mut day = first.filter(|_| self.asked == 0);
        while let Some(here) = day {
            let taken = if day == first { self.taken } else { 0 };
            if taken == 0 {
                self.days[here].sort_by(order);
            }
            for packet in self.days[here][taken..].iter().take(FAR - self.asked) {
                each(packet);
                self.asked += 1;
            }
            day = self.occupied_from(here + 1).filter(|next| self.asked < FAR && Some(*next) != first);
        }
    }

    fn near(&self) -> Option<&Packet> {
        self.days.get(self.current)?.get(self.taken + NEAR)
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
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;
    use crate::packet::{Flags, NO_SACK};

    fn packet(nanos: u64, flow: u32, seq: u32) -> Packet {
        let (sent, at, flags) = (Time::ZERO, Time::from_nanos(nanos), Flags::default());
        Packet { sent, at, flow, seq, bytes: 1, route: 3, sack: NO_SACK, flags, class: 0 }
    }

    /// Compares with a sorted list, with packets on the same nanosecond, days and far beyond the calendar, few and thousands. Would catch a packet
    /// that is lost or out of order, in the calendar, beyond it, as days become longer, or more and shorter, and where packets have approached.
    #[test]
    fn packets_that_waited_come_out_in_order() {
        for (reach, far, pushed) in [
            (300, 0.0, 0.5),
            (30_000, 0.01, 0.5),
            (3_000_000, 0.1, 0.5),
            (200_000_000, 0.5, 0.5),
            (300, 0.0, 0.6),
            (30_000, 0.0, 0.6),
            (3_000_000, 0.1, 0.8),
        ] {
            let mut random = Seed::new(1).stream("waited");
            let (mut waited, mut list) = (WaitedPackets::default(), Vec::<Packet>::new());
            let mut now = 5_000_000_000;
            for seq in 0..20_000 {
                if random.chance(pushed) {
                    let wait = if random.chance(far) { 100 * u64::from(reach) } else { u64::from(random.below(reach)) };
                    let packet = packet(now + wait - wait % 7, random.below(50), seq);
                    let place = list.partition_point(|other| order(other, &packet).is_le());
                    list.insert(place, packet);
                    let is_first = waited.push(&packet);
                    assert_eq!(is_first, place == 0);
                } else if list.is_empty() {
                    assert_eq!(waited.front(), None);
                    assert_eq!(waited.take_first(), None);
                } else {
                    assert_eq!(waited.front(), list.first());
                    waited.approach(&mut |_| ());
                    let packet = list.remove(0);
                    assert_eq!(waited.take_first(), Some(packet));
                    now = packet.at.as_nanos();
                }
                assert_eq!(waited.len(), list.len());
                let (first, least) =
                    (waited.first(), list.first().map_or((Time::MAX, 0), |packet| (packet.at, packet.flow)));
                assert_eq!((first.at, first.flow), least);
            }
            // At most 12,000 packets wait, or 4,000, or few.
            let days = [DAYS, 512, 2048][usize::from(pushed > 0.5) + usize::from(pushed > 0.7)];
            assert_eq!(waited.days.len(), days, "{reach}, {pushed}");
            // A few far ones do not make the days of all others longer.
            assert!(days > DAYS || (waited.shift > FIRST_SHIFT) == (reach > 30_000), "{reach}");
            assert_eq!(waited.into_packets().collect::<Vec<_>>(), list);
        }
    }

    /// Of packets in the calendar each approaches once, several at a time, and before it is taken; the days begin anew after the last one. Would catch
    /// what costs time and changes no result: packets that do not approach, in their order, or do again and again.
    #[test]
    fn each_packet_approaches_once() {
        let mut random = Seed::new(2).stream("waited");
        let (mut waited, mut near, mut taken) = (WaitedPackets::default(), Vec::new(), Vec::new());
        for round in 0..3_u64 {
            // The calendar has 262 microseconds, and each round is 100.
            for seq in 0..100 {
                // The first one is the earliest, so that the calendar reaches all.
                let within = if seq == 0 { 0 } else { u64::from(random.below(100_000)) };
                waited.push(&packet(1_000_000 + 100_000 * round + within, 1, 100 * round as u32 + seq));
            }
            while waited.len() > 0 {
                waited.approach(&mut |packet| near.push(packet.seq));
                taken.extend(waited.take_first().map(|packet| packet.seq));
                assert!(near.len() >= taken.len() && near.len() < taken.len() + FAR);
            }
            assert_eq!(near, taken);
            waited.approach(&mut |_| panic!("there is none"));
        }
    }

    /// Two packets of a flow arrive on the same nanosecond, and the calendar reaches it only when the second one is sent. Would catch that the
    /// second one comes first.
    #[test]
    fn the_first_one_sent_is_the_first_of_equal_ones() {
        let push = |waited: &mut WaitedPackets, seq, nanos| waited.push(&packet(nanos, 1, seq));
        let taken = |waited: &mut WaitedPackets| waited.take_first().map(|packet| packet.seq);
        let mut waited = WaitedPackets::default();
        // The calendar has 262 microseconds.
        push(&mut waited, 0, 10_000);
        push(&mut waited, 1, 300_000);
        push(&mut waited, 2, 200_000);
        assert_eq!([taken(&mut waited), taken(&mut waited)], [Some(0), Some(2)]);
        push(&mut waited, 3, 300_000);
        push(&mut waited, 4, 250_000);
        assert_eq!((waited.in_calendar, waited.distant.len()), (2, 1));
        assert_eq!([(); 4].map(|()| taken(&mut waited)), [Some(4), Some(1), Some(3), None]);
    }

    /// Each packet comes before all others, while days are divided several times. Would catch a packet that is first and not announced, because
    /// it is the one for which days are divided: it would arrive late.
    #[test]
    fn the_first_one_is_announced_as_days_are_divided() {
        let mut waited = WaitedPackets::default();
        waited.push(&packet(1_000_000, 1, 0));
        let others = (0..10_000).map(|seq| waited.push(&packet(1_010_000 - u64::from(seq), 1, seq)));
        assert_eq!(others.filter(|is_first| *is_first).count(), 0);
        assert!((0..20_000).all(|seq| waited.push(&packet(999_999 - u64::from(seq), 1, seq))));
        assert!(waited.days.len() > 4 * DAYS);
    }

    /// A thousand packets arrive on the same nanosecond, again and again, each time on another day. Would catch days that keep the memory of their
    /// largest burst, which for many days is hundreds of times as much as ever waited.
    #[test]
    fn memory_of_bursts_is_returned() {
        let mut waited = WaitedPackets::default();
        for burst in 0..1_000 {
            let first = (0..1_000).filter(|seq| waited.push(&packet(1_000_000 + burst * 1_000_003, 1, *seq)));
            assert_eq!(first.count(), 1);
            (0..1_000).for_each(|_| waited.remove_first());
        }
        let memory: usize = waited.days.iter().map(Vec::capacity).sum();
        assert!(memory < 10 * 1_000, "{memory}");
    }
}
