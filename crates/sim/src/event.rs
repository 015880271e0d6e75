//! What happens next: moments in order, with ties in the order in which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairlane_qdisc::Time;

/// What an event is about: which kind of thing, and which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The packet at the head of this link's pipe reaches the other end.
    Arrival(u32),
    /// This link has sent its packet.
    LinkFree(u32),
    /// This link's queue may have a packet that it held back.
    Release(u32),
    /// The next of the packets on this link that may overtake each other reaches the other end.
    Overtaking(u32),
    /// This flow's source starts, stops or sends its next packet.
    Source(u32),
    /// This flow's sender has a timer that may be due.
    SenderTimer(u32),
    /// This flow's receiver has a timer that may be due.
    ReceiverTimer(u32),
}

/// An entry's second word holds the sequence number above the target, so that one comparison orders both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: u64,
    tie: u64,
}

const KIND_BITS: u32 = 3;
const TARGET_BITS: u32 = 28;

/// The most links, and the most flows, that a target can name.
pub(crate) const TARGETS: usize = 1 << (TARGET_BITS - KIND_BITS);

impl Target {
    const fn encode(self) -> u64 {
        let (kind, index) = match self {
            Self::Arrival(index) => (0, index),
            Self::LinkFree(index) => (1, index),
            Self::Source(index) => (2, index),
            Self::SenderTimer(index) => (3, index),
            Self::ReceiverTimer(index) => (4, index),
            Self::Release(index) => (5, index),
            Self::Overtaking(index) => (6, index),
        };
        (index as u64) << KIND_BITS | kind
    }

    const fn decode(tie: u64) -> Self {
        let target = tie & ((1 << TARGET_BITS) - 1);
        let index = (target >> KIND_BITS) as u32;
        match target & ((1 << KIND_BITS) - 1) {
            0 => Self::Arrival(index),
            1 => Self::LinkFree(index),
            2 => Self::Source(index),
            3 => Self::SenderTimer(index),
            4 => Self::ReceiverTimer(index),
            5 => Self::Release(index),
            _ => Self::Overtaking(index),
        }
    }
}

impl Entry {
    const fn key(self) -> u128 {
        (self.time as u128) << 64 | self.tie as u128
    }
}

/// A wheel of short stretches of time, and a heap for what lies beyond one turn of it.
///
/// A stretch holds about two events, so that finding the next one costs the same however many are waiting. The events of a
/// stretch are put in order when its time comes.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A stretch is 2^shift nanoseconds.
    shift: u32,
    /// The stretch whose events are in `due`, counted from time zero.
    current: u64,
    /// What is left of the current stretch, the next event last.
    due: Vec<Entry>,
    /// The first event of each stretch of the turn to come: an index into `waiting`, or [`NIL`].
    heads: Vec<u32>,
    /// Which stretches have events, a bit each.
    occupied: Vec<u64>,
    /// The events of all stretches, each chained to the next of its own.
    waiting: Vec<(Entry, u32)>,
    /// The first free place of `waiting`.
    free: u32,
    /// What lies beyond the turn.
    beyond: BinaryHeap<Reverse<u128>>,
    sequence: u64,
}

/// The end of a chain.
const NIL: u32 = u32::MAX;

/// Stretches in a turn.
const STRETCHES: u64 = 1 << 15;

impl EventQueue {
    /// A queue for about so many events a second; another number makes it slower and changes nothing else.
    pub(crate) fn new(events_per_second: f64) -> Self {
        let nanos = 2e9 / events_per_second.max(1.0);
        Self {
            shift: (nanos as u64).max(1).ilog2(),
            current: 0,
            due: Vec::new(),
            heads: vec![NIL; STRETCHES as usize],
            occupied: vec![0; STRETCHES as usize / 64],
            waiting: Vec::new(),
            free: NIL,
            beyond: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Adds an event. One before the present comes next.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        self.sequence += 1;
        let entry = Entry { time: at.as_nanos(), tie: self.sequence << TARGET_BITS | target.encode() };
        let stretch = entry.time >> self.shift;
        if stretch <= self.current {
            self.make_due(entry);
        } else if stretch < self.current + STRETCHES {
            self.chain(stretch, entry);
        } else {
            self.beyond.push(Reverse(entry.key()));
        }
    }

    /// Takes the next event, if it is before `until`.
    pub(crate) fn pop_before(&mut self, until: Time) -> Option<(Time, Target)> {
        if self.due.is_empty() {
            self.turn();
        }
        let next = self.due.last()?;
        let at = Time::from_nanos(next.time);
        if at >= until {
            return None;
        }
        let target = Target::decode(next.tie);
        self.due.pop();
        Some((at, target))
    }

    /// Puts an event among those of the current stretch, which are few.
    fn make_due(&mut self, entry: Entry) {
        let later = self.due.iter().rposition(|due| due.key() > entry.key());
        self.due.insert(later.map_or(0, |place| place + 1), entry);
    }

    /// Puts an event in its stretch.
    fn chain(&mut self, stretch: u64, entry: Entry) {
        let place = (stretch % STRETCHES) as usize;
        let item = (entry, self.heads[place]);
        if self.free == NIL {
            self.heads[place] = self.waiting.len() as u32;
            self.waiting.push(item);
        } else {
            self.heads[place] = self.free;
            let slot = &mut self.waiting[self.free as usize];
            self.free = slot.1;
            *slot = item;
        }
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// Goes on to the next stretch that has events.
    fn turn(&mut self) {
        let Some(stretch) = self.next_stretch() else { return };
        self.current = stretch;
        let place = (stretch % STRETCHES) as usize;
        self.occupied[place / 64] &= !(1 << (place % 64));
        let mut chained = std::mem::replace(&mut self.heads[place], NIL);
        while chained != NIL {
            let slot = &mut self.waiting[chained as usize];
            let (entry, next) = *slot;
            slot.1 = self.free;
            self.free = chained;
            chained = next;
            self.due.push(entry);
        }
        // What lay beyond the turn may lie within it now.
        while let Some(&Reverse(key)) = self.beyond.peek() {
            let entry = Entry { time: (key >> 64) as u64, tie: key as u64 };
            let stretch = entry.time >> self.shift;
            if stretch >= self.current + STRETCHES {
                break;
            }
            self.beyond.pop();
            if stretch == self.current {
                self.due.push(entry);
            } else {
                self.chain(stretch, entry);
            }
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|entry| Reverse(entry.key()));
        }
    }

    /// The next stretch that has events: in the wheel, or else beyond it.
    fn next_stretch(&self) -> Option<u64> {
        let start = (self.current + 1) % STRETCHES;
        let words = self.occupied.len();
        let (first, bit) = (start as usize / 64, start % 64);
        // The first word is looked at twice: from the bit on at first, and as a whole when the turn comes round to it.
        let mut mask = u64::MAX << bit;
        for step in 0..=words {
            let word = (first + step) % words;
            let bits = self.occupied[word] & mask;
            if bits != 0 {
                let place = word as u64 * 64 + u64::from(bits.trailing_zeros());
                let ahead = (place + STRETCHES - start) % STRETCHES;
                return Some(self.current + 1 + ahead);
            }
            mask = u64::MAX;
        }
        self.beyond.peek().map(|&Reverse(key)| (key >> 64) as u64 >> self.shift)
    }
}

/// A timer's place in the event queue. A deadline that moves away costs nothing: the event stays, and when it comes it is put
/// off. Only a deadline that comes closer needs an event of its own.
#[derive(Debug)]
pub(crate) struct Alarm(Time);

impl Alarm {
    /// A timer that is not set.
    pub(crate) const fn off() -> Self {
        Self(Time::MAX)
    }

    /// Sees to it that an event for `target` comes at `deadline` or before.
    pub(crate) fn set(&mut self, deadline: Option<Time>, target: Target, events: &mut EventQueue) {
        if let Some(deadline) = deadline
            && deadline < self.0
        {
            self.0 = deadline;
            events.push(deadline, target);
        }
    }

    /// Whether the event at `now` is the one that was waited for; another has been overtaken by a closer one.
    pub(crate) fn rings(&mut self, now: Time) -> bool {
        let rings = self.0 == now;
        if rings {
            self.0 = Time::MAX;
        }
        rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_qdisc::Seed;

    /// Events of all distances, pushed while others are taken, come out as a sorted list has them.
    #[test]
    fn comes_out_by_time_and_then_by_order_of_scheduling() {
        for events_per_second in [0.0, 1e3, 1e6, 1e9, f64::INFINITY] {
            let mut random = Seed::new(1).stream("events");
            let mut queue = EventQueue::new(events_per_second);
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for index in 0..20_000 {
                // From the same nanosecond to hours away.
                let ahead = random.bits() >> (20 + random.below(44));
                queue.push(Time::from_nanos(now + ahead), Target::Source(index));
                let place = expected.partition_point(|&(at, _)| at <= now + ahead);
                expected.insert(place, (now + ahead, index));
                if random.chance(0.45) {
                    let (at, next) = expected.remove(0);
                    assert_eq!(queue.pop_before(Time::from_nanos(at)), None);
                    assert_eq!(queue.pop_before(Time::MAX), Some((Time::from_nanos(at), Target::Source(next))));
                    now = at;
                }
            }
            for (at, index) in expected {
                assert_eq!(queue.pop_before(Time::MAX), Some((Time::from_nanos(at), Target::Source(index))));
            }
            assert_eq!(queue.pop_before(Time::MAX), None);
        }
    }

    #[test]
    fn targets_survive_their_encoding() {
        let last = TARGETS as u32 - 1;
        for target in [
            Target::Arrival(0),
            Target::LinkFree(last),
            Target::Source(7),
            Target::SenderTimer(last),
            Target::ReceiverTimer(1),
        ] {
            assert_eq!(Target::decode(u64::MAX << TARGET_BITS | target.encode()), target);
        }
    }
}
