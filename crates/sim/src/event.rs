//! The event queue: events by time, and events of the same time in the order in which they were scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairlane_qdisc::Time;

/// The kind of an event, and the number of the link or flow that handles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The first packet of this link's pipe reaches the far end.
    Arrival(u32),
    /// This link has finished a transmission.
    LinkFree(u32),
    /// This link's discipline may release a packet that it held back.
    Release(u32),
    /// The next packet on this link, which reorders packets, reaches the far end.
    ReorderedArrival(u32),
    /// This flow's source starts, stops or sends its next packet.
    Source(u32),
    /// A timer of this flow's sender may be due.
    SenderTimer(u32),
    /// The timer of this flow's receiver may be due.
    ReceiverTimer(u32),
    /// The controller of this shaper observes the traffic and sends its next probe.
    RateControl(u32),
}

/// A pending event. `tie` holds the sequence number above the target, so that one comparison of the key orders events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    time: u64,
    tie: u64,
}

const KIND_BITS: u32 = 3;
const TARGET_BITS: u32 = 28;

/// The largest number of links, and of flows, that a target can address.
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
            Self::ReorderedArrival(index) => (6, index),
            Self::RateControl(index) => (7, index),
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
            6 => Self::ReorderedArrival(index),
            _ => Self::RateControl(index),
        }
    }
}

impl Entry {
    const fn key(self) -> u128 {
        (self.time as u128) << 64 | self.tie as u128
    }
}

/// A hierarchical timing wheel (Varghese and Lauck 1987) of two levels, with a heap for the distant future.
///
/// Time is divided into slots. The fine wheel holds the events of the current rotation, by slots; the coarse wheel
/// those of later rotations, by rotations, whose events move to the fine wheel when the rotation begins. A slot is
/// short enough to hold about two events, so the cost of finding the next event does not depend on how many are
/// pending. The events of a slot are sorted when its time comes.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// A slot is 2^shift nanoseconds long.
    shift: u32,
    /// The slot whose events are in `due`, counted from time zero.
    current: u64,
    /// The remaining events of the current slot, the next event last.
    due: Vec<Entry>,
    fine: FineWheel,
    /// The events on the fine wheel.
    chains: EntryChains,
    coarse: CoarseWheel,
    /// The keys of the events beyond the coarse wheel.
    distant: BinaryHeap<Reverse<u128>>,
    sequence: u64,
}

/// The end of a chain.
const NIL: u32 = u32::MAX;

/// Slots in a rotation of the fine wheel: a power of two.
const SLOTS: u64 = 1 << 15;

/// Rotations that the coarse wheel holds: a power of two.
const ROTATIONS: u64 = 1 << 12;

/// The positions of a wheel that hold events.
#[derive(Debug)]
struct Occupied {
    /// A bit for each position.
    words: Vec<u64>,
    /// A bit for each word that is not 0, so that a search passes over 64 empty words at once.
    summary: Vec<u64>,
}

impl Occupied {
    fn new(positions: u64) -> Self {
        let words = positions as usize / 64;
        Self { words: vec![0; words], summary: vec![0; words.div_ceil(64)] }
    }

    fn set(&mut self, position: usize) {
        let word = position / 64;
        self.words[word] |= 1 << (position % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    fn clear(&mut self, position: usize) {
        let word = position / 64;
        self.words[word] &= !(1 << (position % 64));
        if self.words[word] == 0 {
            self.summary[word / 64] &= !(1 << (word % 64));
        }
    }

    /// Returns the first occupied position at or after `from`.
    fn next(&self, from: u64) -> Option<u64> {
        let word = from as usize / 64;
        // In the first word, the positions before `from` do not count.
        let here = self.words.get(word)? & (u64::MAX << (from % 64));
        if here != 0 {
            return Some(word as u64 * 64 + u64::from(here.trailing_zeros()));
        }
        let next = first_bit(&self.summary, word + 1)?;
        Some(next as u64 * 64 + u64::from(self.words[next].trailing_zeros()))
    }
}

/// Returns the first bit of `words` at or after `from` that is set.
fn first_bit(words: &[u64], from: usize) -> Option<usize> {
    let mut word = from / 64;
    let mut bits = words.get(word)? & (u64::MAX << (from % 64));
    while bits == 0 {
        word += 1;
        bits = *words.get(word)?;
    }
    Some(word * 64 + bits.trailing_zeros() as usize)
}

/// The slots of a rotation, each a chain of events.
#[derive(Debug)]
struct FineWheel {
    /// The first event of each chain: an index into [`EntryChains`], or [`NIL`].
    heads: Vec<u32>,
    occupied: Occupied,
}

impl FineWheel {
    fn new() -> Self {
        Self { heads: vec![NIL; SLOTS as usize], occupied: Occupied::new(SLOTS) }
    }

    fn add(&mut self, slot: u64, entry: Entry, chains: &mut EntryChains) {
        let position = (slot % SLOTS) as usize;
        self.heads[position] = chains.insert(entry, self.heads[position]);
        self.occupied.set(position);
    }

    /// Removes a chain and returns its head.
    fn take(&mut self, position: u64) -> u32 {
        self.occupied.clear(position as usize);
        std::mem::replace(&mut self.heads[position as usize], NIL)
    }
}

/// The later rotations, each a list of events in chunks: the events of a rotation are adjacent in memory where they are
/// read together, and no list reserves memory that another one needs.
#[derive(Debug)]
struct CoarseWheel {
    /// The chunk of each rotation that is not full: an index into `chunks`, or [`NIL`].
    heads: Vec<u32>,
    occupied: Occupied,
    chunks: Vec<Chunk>,
    /// The first free chunk.
    free: u32,
}

/// Events of one rotation.
#[derive(Debug)]
struct Chunk {
    entries: [Entry; CHUNK],
    len: u32,
    /// The next chunk of the rotation, or the next free one.
    next: u32,
}

/// Events in a chunk.
const CHUNK: usize = 32;

impl CoarseWheel {
    fn new() -> Self {
        let heads = vec![NIL; ROTATIONS as usize];
        Self { heads, occupied: Occupied::new(ROTATIONS), chunks: Vec::new(), free: NIL }
    }

    fn add(&mut self, rotation: u64, entry: Entry) {
        let position = (rotation % ROTATIONS) as usize;
        let mut head = self.heads[position];
        if head == NIL || self.chunks[head as usize].len as usize == CHUNK {
            head = self.add_chunk(head);
            self.heads[position] = head;
            self.occupied.set(position);
        }
        let chunk = &mut self.chunks[head as usize];
        chunk.entries[chunk.len as usize] = entry;
        chunk.len += 1;
    }

    /// Returns the index of an empty chunk that is chained before `next`.
    fn add_chunk(&mut self, next: u32) -> u32 {
        if self.free == NIL {
            self.chunks.push(Chunk { entries: [Entry { time: 0, tie: 0 }; CHUNK], len: 0, next });
            return self.chunks.len() as u32 - 1;
        }
        let index = self.free;
        let chunk = &mut self.chunks[index as usize];
        self.free = chunk.next;
        (chunk.len, chunk.next) = (0, next);
        index
    }

    /// Removes the events of `rotation` and passes each to `to`.
    fn drain(&mut self, rotation: u64, mut to: impl FnMut(Entry)) {
        let position = (rotation % ROTATIONS) as usize;
        self.occupied.clear(position);
        let mut head = std::mem::replace(&mut self.heads[position], NIL);
        while head != NIL {
            let chunk = &mut self.chunks[head as usize];
            chunk.entries[..chunk.len as usize].iter().for_each(|entry| to(*entry));
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = head;
            head = next;
        }
    }
}

/// Storage for chains of events.
#[derive(Debug)]
struct EntryChains {
    /// Each entry with the index of the next one of its chain, or of the next free one.
    entries: Vec<(Entry, u32)>,
    /// The first free index.
    free: u32,
}

impl EntryChains {
    /// Chains `entry` before `next` and returns its index.
    fn insert(&mut self, entry: Entry, next: u32) -> u32 {
        if self.free == NIL {
            self.entries.push((entry, next));
            return self.entries.len() as u32 - 1;
        }
        let index = self.free;
        let slot = &mut self.entries[index as usize];
        self.free = slot.1;
        *slot = (entry, next);
        index
    }

    /// Removes the entry at `index`, and returns it with the index of the next one.
    fn remove(&mut self, index: u32) -> (Entry, u32) {
        let slot = &mut self.entries[index as usize];
        let taken = *slot;
        slot.1 = self.free;
        self.free = index;
        taken
    }
}

impl EventQueue {
    /// Returns an empty queue for about this many events per second. The number affects the speed and nothing else.
    pub(crate) fn new(events_per_second: f64) -> Self {
        let nanos = 2e9 / events_per_second.max(1.0);
        Self {
            shift: (nanos as u64).max(1).ilog2(),
            current: 0,
            due: Vec::new(),
            fine: FineWheel::new(),
            chains: EntryChains { entries: Vec::new(), free: NIL },
            coarse: CoarseWheel::new(),
            distant: BinaryHeap::new(),
            sequence: 0,
        }
    }

    /// Schedules an event. An event in the past comes next.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        self.sequence += 1;
        let entry = Entry { time: at.as_nanos(), tie: self.sequence << TARGET_BITS | target.encode() };
        let slot = entry.time >> self.shift;
        if slot <= self.current {
            self.make_due(entry);
            return;
        }
        let (rotation, present) = (slot / SLOTS, self.current / SLOTS);
        if rotation == present {
            self.fine.add(slot, entry, &mut self.chains);
        } else if rotation < present + ROTATIONS {
            self.coarse.add(rotation, entry);
        } else {
            self.distant.push(Reverse(entry.key()));
        }
    }

    /// Removes and returns the next event if it is before `until`.
    pub(crate) fn pop_before(&mut self, until: Time) -> Option<(Time, Target)> {
        if self.due.is_empty() {
            self.advance();
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

    /// Returns the slot whose events are being handled.
    pub(crate) const fn current_slot(&self) -> u64 {
        self.current
    }

    /// Appends the targets of the next events of this rotation after the current slot, in no particular order and at
    /// least `most` of them if there are as many. Returns the first slot after them.
    pub(crate) fn upcoming(&self, most: usize, targets: &mut Vec<Target>) -> u64 {
        let rotation = self.current / SLOTS * SLOTS;
        let mut position = self.current % SLOTS + 1;
        while targets.len() < most && position < SLOTS {
            let Some(next) = self.fine.occupied.next(position) else { break };
            let mut chained = self.fine.heads[next as usize];
            while chained != NIL {
                let (entry, after) = self.chains.entries[chained as usize];
                targets.push(Target::decode(entry.tie));
                chained = after;
            }
            position = next + 1;
        }
        rotation + position
    }

    /// Inserts an event into those of the current slot, which are few.
    fn make_due(&mut self, entry: Entry) {
        let later = self.due.iter().rposition(|due| due.key() > entry.key());
        self.due.insert(later.map_or(0, |index| index + 1), entry);
    }

    /// Advances to the next slot that holds events.
    fn advance(&mut self) {
        let mut next = self.fine.occupied.next(self.current % SLOTS);
        if next.is_none() && self.next_rotation() {
            next = self.fine.occupied.next(0);
        }
        let Some(position) = next else { return };
        self.current = self.current / SLOTS * SLOTS + position;
        let mut chained = self.fine.take(position);
        while chained != NIL {
            let (entry, next) = self.chains.remove(chained);
            self.due.push(entry);
            chained = next;
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|entry| Reverse(entry.key()));
        }
    }

    /// Begins the next rotation that has events; returns false if there is none.
    fn next_rotation(&mut self) -> bool {
        let present = self.current / SLOTS;
        let start = (present + 1) % ROTATIONS;
        let near = self.coarse.occupied.next(start).or_else(|| self.coarse.occupied.next(0));
        let near = near.map(|position| present + 1 + (position + ROTATIONS - start) % ROTATIONS);
        let far = self.distant.peek().map(|&Reverse(key)| self.rotation_of(key));
        let Some(rotation) = near.into_iter().chain(far).min() else { return false };
        self.current = rotation * SLOTS;
        let Self { coarse, fine, chains, shift, .. } = self;
        coarse.drain(rotation, |entry| fine.add(entry.time >> *shift, entry, chains));
        while let Some(&Reverse(key)) = self.distant.peek() {
            if self.rotation_of(key) > rotation {
                break;
            }
            self.distant.pop();
            let entry = Entry { time: (key >> 64) as u64, tie: key as u64 };
            self.fine.add(entry.time >> self.shift, entry, &mut self.chains);
        }
        true
    }

    /// Returns the rotation of an entry with this key.
    fn rotation_of(&self, key: u128) -> u64 {
        ((key >> 64) as u64 >> self.shift) / SLOTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_qdisc::Seed;

    /// Compares the queue with a sorted list, for events at all distances, pushed while others are removed. Would catch
    /// any event that is lost, doubled or out of order.
    #[test]
    fn comes_out_by_time_and_then_by_order_of_scheduling() {
        for events_per_second in [0.0, 1e3, 1e6, 1e9, f64::INFINITY] {
            let mut random = Seed::new(1).stream("events");
            let mut queue = EventQueue::new(events_per_second);
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for number in 0..20_000 {
                // From the same nanosecond to hours away.
                let ahead = random.bits() >> (20 + random.below(44));
                queue.push(Time::from_nanos(now + ahead), Target::Source(number));
                let index = expected.partition_point(|&(at, _)| at <= now + ahead);
                expected.insert(index, (now + ahead, number));
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

    /// Would catch an event from the heap that comes after a later one that was pushed when its rotation had come near.
    #[test]
    fn distant_events_keep_their_order() {
        let mut queue = EventQueue::new(1e9);
        let horizon = (SLOTS * ROTATIONS) << queue.shift;
        queue.push(Time::from_nanos(horizon / 2), Target::Source(0));
        queue.push(Time::from_nanos(horizon + horizon / 4), Target::Source(1));
        assert_eq!(queue.pop_before(Time::MAX).map(|(_, target)| target), Some(Target::Source(0)));
        queue.push(Time::from_nanos(horizon + horizon / 3), Target::Source(2));
        let rest: Vec<Target> = std::iter::from_fn(|| queue.pop_before(Time::MAX)).map(|(_, target)| target).collect();
        assert_eq!(rest, [Target::Source(1), Target::Source(2)]);
    }

    /// Would catch bits of a target that the sequence number overwrites.
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
