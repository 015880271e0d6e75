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

/// Two wheels, and a heap for what lies beyond both.
///
/// Time is cut into short stretches, and as many stretches as the first wheel has places make a turn of it. The first wheel holds
/// what comes in the present turn, by stretches; the second what comes in later turns, by turns; when a turn begins, its events
/// move from the second to the first. A stretch holds about two events, so that finding the next one costs the same however many
/// are waiting. The events of a stretch are put in order when its time comes.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A stretch is 2^shift nanoseconds.
    shift: u32,
    /// The stretch whose events are in `due`, counted from time zero.
    current: u64,
    /// What is left of the current stretch, the next event last.
    due: Vec<Entry>,
    /// The stretches of this turn.
    stretches: Stretches,
    /// The events of this turn.
    waiting: Waiting,
    /// The turns after it.
    turns: Turns,
    /// What lies beyond the turns.
    beyond: BinaryHeap<Reverse<u128>>,
    sequence: u64,
}

/// The end of a chain.
const NIL: u32 = u32::MAX;

/// Stretches in a turn: a power of two.
const STRETCHES: u64 = 1 << 15;

/// Turns that the second wheel holds: a power of two.
const TURNS: u64 = 1 << 12;

/// Which places of a ring are not empty, a bit each.
#[derive(Debug)]
struct Occupied(Vec<u64>);

impl Occupied {
    fn new(places: u64) -> Self {
        Self(vec![0; places as usize / 64])
    }

    fn set(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    fn clear(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    /// The first place at or after `from` that is not empty.
    fn next(&self, from: u64) -> Option<u64> {
        let first = from as usize / 64;
        // Of the first word, only what is not before `from`.
        let mut mask = u64::MAX << (from % 64);
        for (word, bits) in self.0.iter().enumerate().skip(first) {
            let bits = bits & mask;
            if bits != 0 {
                return Some(word as u64 * 64 + u64::from(bits.trailing_zeros()));
            }
            mask = u64::MAX;
        }
        None
    }
}

/// The stretches of a turn, a chain of events each.
#[derive(Debug)]
struct Stretches {
    /// The first event of each chain: a place in [`Waiting`], or [`NIL`].
    heads: Vec<u32>,
    occupied: Occupied,
}

impl Stretches {
    fn new() -> Self {
        Self { heads: vec![NIL; STRETCHES as usize], occupied: Occupied::new(STRETCHES) }
    }

    fn add(&mut self, stretch: u64, entry: Entry, waiting: &mut Waiting) {
        let place = (stretch % STRETCHES) as usize;
        self.heads[place] = waiting.keep(entry, self.heads[place]);
        self.occupied.set(place);
    }

    /// The head of a chain, which then is empty here.
    fn take(&mut self, place: u64) -> u32 {
        self.occupied.clear(place as usize);
        std::mem::replace(&mut self.heads[place as usize], NIL)
    }
}

/// The turns to come, a list of events each, in chunks: a turn's events lie side by side where they are read in one go when it
/// begins, and no list holds room that another one needs.
#[derive(Debug)]
struct Turns {
    /// The chunk of each turn that is not full: a place in `chunks`, or [`NIL`].
    heads: Vec<u32>,
    occupied: Occupied,
    chunks: Vec<Chunk>,
    /// The first free chunk.
    free: u32,
}

/// Events of one turn.
#[derive(Debug)]
struct Chunk {
    entries: [Entry; CHUNK],
    len: u32,
    /// The next chunk of the turn, or the next free one.
    next: u32,
}

/// Events in a chunk.
const CHUNK: usize = 32;

impl Turns {
    fn new() -> Self {
        let heads = vec![NIL; TURNS as usize];
        Self { heads, occupied: Occupied::new(TURNS), chunks: Vec::new(), free: NIL }
    }

    fn add(&mut self, turn: u64, entry: Entry) {
        let place = (turn % TURNS) as usize;
        let mut head = self.heads[place];
        if head == NIL || self.chunks[head as usize].len as usize == CHUNK {
            head = self.begin_chunk(head);
            self.heads[place] = head;
            self.occupied.set(place);
        }
        let chunk = &mut self.chunks[head as usize];
        chunk.entries[chunk.len as usize] = entry;
        chunk.len += 1;
    }

    /// An empty chunk before `next`.
    fn begin_chunk(&mut self, next: u32) -> u32 {
        if self.free == NIL {
            self.chunks.push(Chunk { entries: [Entry { time: 0, tie: 0 }; CHUNK], len: 0, next });
            return self.chunks.len() as u32 - 1;
        }
        let place = self.free;
        let chunk = &mut self.chunks[place as usize];
        self.free = chunk.next;
        (chunk.len, chunk.next) = (0, next);
        place
    }

    /// Gives each event of `turn` to `to`, and forgets them.
    fn drain(&mut self, turn: u64, mut to: impl FnMut(Entry)) {
        let place = (turn % TURNS) as usize;
        self.occupied.clear(place);
        let mut head = std::mem::replace(&mut self.heads[place], NIL);
        while head != NIL {
            let chunk = &mut self.chunks[head as usize];
            chunk.entries[..chunk.len as usize].iter().for_each(|entry| to(*entry));
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = head;
            head = next;
        }
    }
}

/// Events in chains.
#[derive(Debug)]
struct Waiting {
    places: Vec<(Entry, u32)>,
    /// The first free place.
    free: u32,
}

impl Waiting {
    /// Keeps `entry` before `next`, and tells where.
    fn keep(&mut self, entry: Entry, next: u32) -> u32 {
        if self.free == NIL {
            self.places.push((entry, next));
            return self.places.len() as u32 - 1;
        }
        let place = self.free;
        let slot = &mut self.places[place as usize];
        self.free = slot.1;
        *slot = (entry, next);
        place
    }

    /// Frees `place`; its entry, and the place of the next one.
    fn release(&mut self, place: u32) -> (Entry, u32) {
        let slot = &mut self.places[place as usize];
        let taken = *slot;
        slot.1 = self.free;
        self.free = place;
        taken
    }
}

impl EventQueue {
    /// A queue for about so many events a second; another number makes it slower and changes nothing else.
    pub(crate) fn new(events_per_second: f64) -> Self {
        let nanos = 2e9 / events_per_second.max(1.0);
        Self {
            shift: (nanos as u64).max(1).ilog2(),
            current: 0,
            due: Vec::new(),
            stretches: Stretches::new(),
            waiting: Waiting { places: Vec::new(), free: NIL },
            turns: Turns::new(),
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
            return;
        }
        let (turn, present) = (stretch / STRETCHES, self.current / STRETCHES);
        if turn == present {
            self.stretches.add(stretch, entry, &mut self.waiting);
        } else if turn < present + TURNS {
            self.turns.add(turn, entry);
        } else {
            self.beyond.push(Reverse(entry.key()));
        }
    }

    /// Takes the next event, if it is before `until`.
    pub(crate) fn pop_before(&mut self, until: Time) -> Option<(Time, Target)> {
        if self.due.is_empty() {
            self.go_on();
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

    /// The stretch of time that is being handled.
    pub(crate) const fn stretch(&self) -> u64 {
        self.current
    }

    /// Appends the next events of this turn after the present stretch, at least `most` where there are so many, in no
    /// particular order, and gives the first stretch after them.
    pub(crate) fn upcoming(&self, most: usize, targets: &mut Vec<Target>) -> u64 {
        let turn = self.current / STRETCHES * STRETCHES;
        let mut place = self.current % STRETCHES + 1;
        while targets.len() < most && place < STRETCHES {
            let Some(next) = self.stretches.occupied.next(place) else { break };
            let mut chained = self.stretches.heads[next as usize];
            while chained != NIL {
                let (entry, after) = self.waiting.places[chained as usize];
                targets.push(Target::decode(entry.tie));
                chained = after;
            }
            place = next + 1;
        }
        turn + place
    }

    /// Puts an event among those of the current stretch, which are few.
    fn make_due(&mut self, entry: Entry) {
        let later = self.due.iter().rposition(|due| due.key() > entry.key());
        self.due.insert(later.map_or(0, |place| place + 1), entry);
    }

    /// Goes on to the next stretch that has events.
    fn go_on(&mut self) {
        let mut next = self.stretches.occupied.next(self.current % STRETCHES);
        if next.is_none() && self.next_turn() {
            next = self.stretches.occupied.next(0);
        }
        let Some(place) = next else { return };
        self.current = self.current / STRETCHES * STRETCHES + place;
        let mut chained = self.stretches.take(place);
        while chained != NIL {
            let (entry, next) = self.waiting.release(chained);
            self.due.push(entry);
            chained = next;
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|entry| Reverse(entry.key()));
        }
    }

    /// Begins the next turn that has events; false when there is none.
    fn next_turn(&mut self) -> bool {
        let present = self.current / STRETCHES;
        let start = (present + 1) % TURNS;
        let near = self.turns.occupied.next(start).or_else(|| self.turns.occupied.next(0));
        let near = near.map(|place| present + 1 + (place + TURNS - start) % TURNS);
        let far = self.beyond.peek().map(|&Reverse(key)| self.turn_of(key));
        let Some(turn) = near.into_iter().chain(far).min() else { return false };
        self.current = turn * STRETCHES;
        let Self { turns, stretches, waiting, shift, .. } = self;
        turns.drain(turn, |entry| stretches.add(entry.time >> *shift, entry, waiting));
        while let Some(&Reverse(key)) = self.beyond.peek() {
            if self.turn_of(key) > turn {
                break;
            }
            self.beyond.pop();
            let entry = Entry { time: (key >> 64) as u64, tie: key as u64 };
            self.stretches.add(entry.time >> self.shift, entry, &mut self.waiting);
        }
        true
    }

    /// The turn of an entry with this key.
    fn turn_of(&self, key: u128) -> u64 {
        ((key >> 64) as u64 >> self.shift) / STRETCHES
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

    /// One that was pushed when it lay beyond all turns, and one that was pushed later, for a later turn that had come near.
    #[test]
    fn what_lay_beyond_the_turns_comes_before_what_comes_after_it() {
        let mut queue = EventQueue::new(1e9);
        let horizon = (STRETCHES * TURNS) << queue.shift;
        queue.push(Time::from_nanos(horizon / 2), Target::Source(0));
        queue.push(Time::from_nanos(horizon + horizon / 4), Target::Source(1));
        assert_eq!(queue.pop_before(Time::MAX).map(|(_, target)| target), Some(Target::Source(0)));
        queue.push(Time::from_nanos(horizon + horizon / 3), Target::Source(2));
        let rest: Vec<Target> = std::iter::from_fn(|| queue.pop_before(Time::MAX)).map(|(_, target)| target).collect();
        assert_eq!(rest, [Target::Source(1), Target::Source(2)]);
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
