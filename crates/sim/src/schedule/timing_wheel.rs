//! A priority queue of timers, and of packets that arrive out of order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fairlane_qdisc::Time;

use crate::schedule::bit_index::Occupied;
use crate::schedule::event_key::{start_key, time_of};
use crate::schedule::tournament::NEVER;

/// A hierarchical timing wheel (Varghese and Lauck 1987) of two levels, with a heap for the distant future.
///
/// Time is divided into slots. The fine wheel holds the events of the current rotation, by slots; the coarse wheel
/// those of later rotations, by rotations, whose events move to the fine wheel when the rotation begins. A slot is
/// short enough to hold about two events, so the cost of finding the next event does not depend on how many are
/// pending. The events of a slot are sorted when its time comes.
///
/// Each event has a key, which orders it, and an item.
#[derive(Debug)]
pub(crate) struct TimingWheel<T> {
    /// A slot is 2^shift nanoseconds long.
    shift: u32,
    /// The slot whose events are in `due`, counted from time zero.
    current: u64,
    /// The remaining events of the current slot, the next event last.
    due: Vec<(u128, T)>,
    fine: FineWheel,
    /// The events on the fine wheel.
    chains: EntryChains<T>,
    coarse: CoarseWheel<T>,
    /// The events beyond the coarse wheel.
    distant: BinaryHeap<Reverse<Distant<T>>>,
    /// See [`TimingWheel::bound`].
    bound: u128,
    /// The slot before which all events have been announced.
    announced: u64,
}

/// The end of a chain.
const NIL: u32 = u32::MAX;

/// Slots in a rotation of the fine wheel: a power of two.
const SLOTS: u64 = 1 << 15;

/// Rotations that the coarse wheel holds: a power of two.
const ROTATIONS: u64 = 1 << 12;

/// The slots of a rotation, each a chain of events.
#[derive(Debug)]
struct FineWheel {
    /// The first event of each chain: an index into [`EntryChains`], or [`NIL`].
    heads: Vec<u32>,
    occupied: Occupied,
}

impl FineWheel {
    fn new() -> Self {
        Self { heads: vec![NIL; SLOTS as usize], occupied: Occupied::new(SLOTS as usize) }
    }

    fn add<T: Copy>(&mut self, slot: u64, event: (u128, T), chains: &mut EntryChains<T>) {
        let position = (slot % SLOTS) as usize;
        self.heads[position] = chains.insert(event, self.heads[position]);
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
struct CoarseWheel<T> {
    /// The chunk of each rotation that is not full: an index into `chunks`, or [`NIL`].
    heads: Vec<u32>,
    occupied: Occupied,
    chunks: Vec<Chunk<T>>,
    /// The first free chunk.
    free: u32,
}

/// Events of one rotation.
#[derive(Debug)]
struct Chunk<T> {
    entries: [(u128, T); CHUNK],
    len: u32,
    /// The next chunk of the rotation, or the next free one.
    next: u32,
}

/// Events in a chunk.
const CHUNK: usize = 32;

impl<T: Copy> CoarseWheel<T> {
    fn new() -> Self {
        let heads = vec![NIL; ROTATIONS as usize];
        Self { heads, occupied: Occupied::new(ROTATIONS as usize), chunks: Vec::new(), free: NIL }
    }

    fn add(&mut self, rotation: u64, event: (u128, T)) {
        let position = (rotation % ROTATIONS) as usize;
        let mut head = self.heads[position];
        if head == NIL || self.chunks[head as usize].len as usize == CHUNK {
            head = self.add_chunk(head, event);
            self.heads[position] = head;
            self.occupied.set(position);
        }
        let chunk = &mut self.chunks[head as usize];
        chunk.entries[chunk.len as usize] = event;
        chunk.len += 1;
    }

    /// Returns the index of an empty chunk that is chained before `next`; `any` event fills it.
    fn add_chunk(&mut self, next: u32, any: (u128, T)) -> u32 {
        if self.free == NIL {
            self.chunks.push(Chunk { entries: [any; CHUNK], len: 0, next });
            return self.chunks.len() as u32 - 1;
        }
        let index = self.free;
        let chunk = &mut self.chunks[index as usize];
        self.free = chunk.next;
        (chunk.len, chunk.next) = (0, next);
        index
    }

    /// Removes the events of `rotation` and passes each to `to`.
    fn drain(&mut self, rotation: u64, mut to: impl FnMut((u128, T))) {
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
struct EntryChains<T> {
    /// Each event with the index of the next one of its chain, or of the next free one.
    entries: Vec<((u128, T), u32)>,
    /// The first free index.
    free: u32,
}

impl<T: Copy> EntryChains<T> {
    /// Chains `event` before `next` and returns its index.
    fn insert(&mut self, event: (u128, T), next: u32) -> u32 {
        if self.free == NIL {
            self.entries.push((event, next));
            return self.entries.len() as u32 - 1;
        }
        let index = self.free;
        let slot = &mut self.entries[index as usize];
        self.free = slot.1;
        *slot = (event, next);
        index
    }

    /// Returns the least key of the chain that begins at `head`.
    fn least(&self, head: u32) -> u128 {
        let (mut least, mut chained) = (NEVER, head);
        while chained != NIL {
            let ((key, _), next) = self.entries[chained as usize];
            (least, chained) = (least.min(key), next);
        }
        least
    }

    /// Removes the event at `index`, and returns it with the index of the next one.
    fn remove(&mut self, index: u32) -> ((u128, T), u32) {
        let slot = &mut self.entries[index as usize];
        let taken = *slot;
        slot.1 = self.free;
        self.free = index;
        taken
    }
}

/// An event beyond the coarse wheel, ordered by its key.
#[derive(Debug)]
struct Distant<T>(u128, T);

impl<T> PartialEq for Distant<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T> Eq for Distant<T> {}

impl<T> PartialOrd for Distant<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Distant<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl<T: Copy> TimingWheel<T> {
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
            bound: NEVER,
            announced: 0,
        }
    }

    /// Adds an event. An event in the past comes next. Of equal keys any comes first.
    #[inline]
    pub(crate) fn push(&mut self, key: u128, item: T) {
        let slot = self.slot_of(key);
        let (rotation, present) = (slot / SLOTS, self.current / SLOTS);
        let mut bound = key;
        if slot <= self.current {
            self.make_due((key, item));
        } else if rotation == present {
            self.fine.add(slot, (key, item), &mut self.chains);
        } else {
            if rotation < present + ROTATIONS {
                self.coarse.add(rotation, (key, item));
            } else {
                self.distant.push(Reverse(Distant(key, item)));
            }
            bound = self.start_of(rotation * SLOTS);
        }
        self.bound = self.bound.min(bound);
    }

    /// Returns a key that none of the events is before: that of the next one, or the beginning of the next rotation if
    /// it is there; [`NEVER`] if there are no events.
    #[inline]
    pub(crate) const fn bound(&self) -> u128 {
        self.bound
    }

    /// Returns the item of the event whose key is the [bound](Self::bound). If that is the beginning of a rotation,
    /// moves on to it and returns `None`.
    pub(crate) fn front(&mut self) -> Option<&T> {
        if self.due.is_empty() {
            let is_exact = self.advance();
            self.bound = self.due.last().map_or_else(|| self.next_bound(), |(key, _)| *key);
            if !is_exact {
                return None;
            }
        }
        self.due.last().map(|(_, item)| item)
    }

    /// Removes and returns the event whose key is the [bound](Self::bound). If that is the beginning of a rotation,
    /// moves on to it and returns `None`.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u128, T)> {
        let mut next = self.due.pop();
        if next.is_none() && self.advance() {
            next = self.due.pop();
        }
        self.bound = self.due.last().map_or_else(|| self.next_bound(), |(key, _)| *key);
        next
    }

    /// Calls `each` with the events of the next slots of this rotation, about `count` of them; with none while such
    /// events are still to come.
    pub(crate) fn announce(&mut self, count: usize, each: &mut dyn FnMut(u128, &T)) {
        if self.current + 1 < self.announced {
            return;
        }
        let (mut left, mut position) = (count, self.current % SLOTS + 1);
        while left > 0
            && let Some(next) = self.fine.occupied.next(position)
        {
            let mut chained = self.fine.heads[next as usize];
            while let Some(((key, item), behind)) = self.chains.entries.get(chained as usize) {
                each(*key, item);
                left = left.saturating_sub(1);
                chained = *behind;
            }
            position = next + 1;
        }
        self.announced = self.current / SLOTS * SLOTS + position;
    }

    /// Inserts an event into those of the current slot, which are few.
    fn make_due(&mut self, event: (u128, T)) {
        let later = self.due.iter().rposition(|(due, _)| *due > event.0);
        self.due.insert(later.map_or(0, |index| index + 1), event);
    }

    /// Advances to the next slot of this rotation that holds events and returns true, or else advances to the beginning
    /// of the next rotation.
    fn advance(&mut self) -> bool {
        let slot = self.fine.occupied.next(self.current % SLOTS);
        match slot {
            Some(position) => self.current = self.current / SLOTS * SLOTS + position,
            None => self.next_rotation(),
        }
        let mut chained = self.fine.take(self.current % SLOTS);
        while chained != NIL {
            let (entry, next) = self.chains.remove(chained);
            self.due.push(entry);
            chained = next;
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|(key, _)| Reverse(*key));
        }
        slot.is_some()
    }

    /// Begins the next rotation that has events.
    fn next_rotation(&mut self) {
        let Some(rotation) = self.rotation_ahead() else { return };
        self.current = rotation * SLOTS;
        let Self { coarse, fine, chains, shift, .. } = self;
        coarse.drain(rotation, |event| fine.add(slot(event.0, *shift), event, chains));
        while let Some(&Reverse(Distant(key, item))) = self.distant.peek() {
            if self.slot_of(key) / SLOTS > rotation {
                break;
            }
            self.distant.pop();
            self.fine.add(self.slot_of(key), (key, item), &mut self.chains);
        }
    }

    /// Returns the next rotation that has events.
    fn rotation_ahead(&self) -> Option<u64> {
        let present = self.current / SLOTS;
        let start = (present + 1) % ROTATIONS;
        let near = self.coarse.occupied.next(start).or_else(|| self.coarse.occupied.next(0));
        let near = near.map(|position| present + 1 + (position + ROTATIONS - start) % ROTATIONS);
        let far = self.distant.peek().map(|Reverse(distant)| self.slot_of(distant.0) / SLOTS);
        near.into_iter().chain(far).min()
    }

    /// Returns the first key of the slot, or else the beginning of the rotation, to which [`advance`](Self::advance)
    /// would go.
    fn next_bound(&self) -> u128 {
        if let Some(position) = self.fine.occupied.next(self.current % SLOTS) {
            return self.chains.least(self.fine.heads[position as usize]);
        }
        self.rotation_ahead().map_or(NEVER, |rotation| self.start_of(rotation * SLOTS))
    }

    /// Returns the slot of an event.
    fn slot_of(&self, key: u128) -> u64 {
        slot(key, self.shift)
    }

    /// Returns the beginning of a slot, as a key before those of its events.
    fn start_of(&self, slot: u64) -> u128 {
        start_key(Time::from_nanos(slot << self.shift))
    }
}

/// Returns the slot, of 2^`shift` nanoseconds, of an event.
const fn slot(key: u128, shift: u32) -> u64 {
    time_of(key).as_nanos() >> shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::event_key::{Target, event_key};
    use fairlane_qdisc::Seed;

    fn push(queue: &mut TimingWheel<()>, nanos: u64, target: Target) {
        queue.push(event_key(Time::from_nanos(nanos), target), ());
    }

    /// Removes and returns the next event, and checks that the bound never comes after it and is exact at last.
    fn next(queue: &mut TimingWheel<()>) -> Option<(u64, Target)> {
        loop {
            let bound = queue.bound();
            if bound == NEVER {
                assert_eq!(queue.pop(), None);
                return None;
            }
            let popped = queue.pop();
            assert!(popped.is_some() || queue.bound() >= bound);
            if let Some((key, ())) = popped {
                assert_eq!(bound, key);
                return Some((time_of(key).as_nanos(), Target::decode(key)));
            }
        }
    }

    /// Compares the queue with a sorted list, for events at all distances, pushed while others are removed, also while
    /// the queue has moved on to a rotation and not yet to its first event. Would catch any event that is lost, doubled
    /// or out of order.
    #[test]
    fn comes_out_by_keys() {
        let key = |(at, number)| event_key(Time::from_nanos(at), Target::Source(number));
        for events_per_second in [0.0, 1e3, 1e6, 1e9, f64::INFINITY] {
            let mut random = Seed::new(1).stream("events");
            let mut queue = TimingWheel::new(events_per_second);
            let mut expected: Vec<(u64, u32)> = Vec::new();
            let mut now = 0;
            for _ in 0..20_000 {
                // From the same nanosecond to hours away.
                let event = (now + (random.bits() >> (20 + random.below(44))), random.below(1000));
                push(&mut queue, event.0, Target::Source(event.1));
                expected.insert(expected.partition_point(|other| key(*other) <= key(event)), event);
                let first = key(expected[0]);
                if random.chance(0.2) && queue.bound() < first {
                    // Time goes on to the beginning of a rotation, after which an earlier event may be scheduled.
                    now = now.max(time_of(queue.bound()).as_nanos());
                    assert_eq!(queue.pop(), None);
                }
                if random.chance(0.45) {
                    let (at, number) = expected.remove(0);
                    assert_eq!(next(&mut queue), Some((at, Target::Source(number))));
                    now = at;
                }
            }
            for (at, number) in expected {
                assert_eq!(next(&mut queue), Some((at, Target::Source(number))));
            }
            assert_eq!(next(&mut queue), None);
        }
    }

    /// Would catch an event from the heap that comes after a later one that was pushed when its rotation had come near.
    #[test]
    fn distant_events_keep_their_order() {
        let mut queue = TimingWheel::new(1e9);
        let horizon = (SLOTS * ROTATIONS) << queue.shift;
        push(&mut queue, horizon / 2, Target::Source(0));
        push(&mut queue, horizon + horizon / 4, Target::Source(1));
        assert_eq!(next(&mut queue).map(|(_, target)| target), Some(Target::Source(0)));
        push(&mut queue, horizon + horizon / 3, Target::Source(2));
        let rest: Vec<Target> = std::iter::from_fn(|| next(&mut queue)).map(|(_, target)| target).collect();
        assert_eq!(rest, [Target::Source(1), Target::Source(2)]);
    }

    /// Of the events of a rotation each is announced once before its slot comes, about eight at a time. Would catch
    /// what costs time and changes no result: events that are not announced, or again and again.
    #[test]
    fn each_event_is_announced_once() {
        let mut random = Seed::new(3).stream("events");
        let mut queue = TimingWheel::new(1e6);
        let in_rotation = (SLOTS << queue.shift) as u32;
        push(&mut queue, 0, Target::Source(0));
        for flow in 1..200 {
            let at = (1 << queue.shift) + u64::from(random.below(in_rotation / 2));
            push(&mut queue, at, Target::Source(flow));
        }
        let (mut announced, mut popped) = (Vec::new(), 0);
        loop {
            queue.announce(8, &mut |key, ()| announced.push(Target::decode(key)));
            let Some(target) = queue.pop().map(|(key, ())| Target::decode(key)) else { break };
            assert!(target == Target::Source(0) || announced.contains(&target), "{target:?}");
            popped += 1;
            // A slot is announced as a whole.
            assert!(announced.len() < popped + 8 + 8, "{}", announced.len());
        }
        assert_eq!((popped, announced.len()), (200, 199));
    }
}
