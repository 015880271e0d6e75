//! What a packet passes beside the queue: the link of its host, and time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use fairlane_qdisc::{Duration, LinkClock, Rate, Time};
use fairlane_scenario::Access;

use super::plan::room;

/// The link by which a host hangs on its node, in one direction, with its droptail queue. What becomes of a packet there is
/// certain when it comes.
#[derive(Debug)]
pub(super) struct HostLink {
    rate: Rate,
    clock: LinkClock,
    delay: Duration,
    /// Packets that may wait.
    room: u64,
}

impl HostLink {
    /// `access` for packets of `bytes` bytes.
    pub(super) fn new(access: &Access, bytes: u64) -> Self {
        let room = room(&access.queue, bytes).unwrap_or(u64::MAX);
        Self { rate: access.rate, clock: LinkClock::new(access.rate), delay: access.delay, room }
    }

    /// A packet of `bytes` bytes comes at `at`: when it is at the other end; `None` if the queue has no room.
    pub(super) fn pass(&mut self, at: Time, bytes: u32) -> Option<Time> {
        let waits = self.clock.next().since(at).as_nanos();
        let transmission = self.rate.transmission(bytes.into()).as_nanos().max(1);
        // The one that is being sent does not wait.
        if waits / transmission > self.room {
            return None;
        }
        self.clock.wake(at);
        self.clock.advance(bytes);
        Some(self.clock.next() + self.delay)
    }
}

/// Things that wait until their time has come; of the same time, the one that came first is first.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    heap: BinaryHeap<Entry<T>>,
    number: u64,
}

#[derive(Debug)]
struct Entry<T> {
    due: Time,
    number: u64,
    thing: T,
}

impl<T> Waiting<T> {
    pub(super) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), number: 0 }
    }

    pub(super) fn push(&mut self, due: Time, thing: T) {
        self.heap.push(Entry { due, number: self.number, thing });
        self.number += 1;
    }

    /// When the first is due.
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.due)
    }

    /// The first, if it is due at `now`, and since when.
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, T)> {
        self.next().filter(|due| *due <= now)?;
        self.heap.pop().map(|entry| (entry.due, entry.thing))
    }
}

/// The earliest is the greatest, since a heap gives out that.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::{Kind, QdiscConfig};

    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// By hand: 1000 bytes take 8 ms at 1 Mbit/s, and then 5 ms of delay. Two may wait behind the one that is sent.
    #[test]
    fn a_host_sends_one_packet_after_the_other() {
        let queue = QdiscConfig::new(Kind::DropTail).with("limit", "2p").unwrap();
        let access = Access { rate: Rate::from_bits_per_second(1_000_000), delay: Duration::from_millis(5), queue };
        let mut link = HostLink::new(&access, 1000);
        let passed: Vec<Option<Time>> = (0..4).map(|_| link.pass(ms(100), 1000)).collect();
        assert_eq!(passed, [Some(ms(113)), Some(ms(121)), Some(ms(129)), None]);
        // One has gone by then, and after a pause the link is free.
        assert_eq!([link.pass(ms(108), 1000), link.pass(ms(500), 1000)], [Some(ms(137)), Some(ms(513))]);
    }

    /// Would catch an order of arrival that is lost, which would be reordering of a flow's packets.
    #[test]
    fn the_first_of_a_moment_is_first() {
        let mut waiting = Waiting::new();
        for (due, thing) in [(3, 'c'), (1, 'a'), (3, 'd'), (2, 'b'), (3, 'e')] {
            waiting.push(ms(due), thing);
        }
        assert_eq!((waiting.next(), waiting.pop(ms(0))), (Some(ms(1)), None));
        let all: Vec<(Time, char)> = std::iter::from_fn(|| waiting.pop(ms(3))).collect();
        assert_eq!(all, [(ms(1), 'a'), (ms(2), 'b'), (ms(3), 'c'), (ms(3), 'd'), (ms(3), 'e')]);
    }
}
