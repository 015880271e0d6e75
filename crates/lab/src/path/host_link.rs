//! The emulation of a host's link, and of delay.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use fairlane_qdisc::{Duration, LinkClock, Rate, Time};
use fairlane_scenario::Access;

use crate::plan::room;

/// One direction of a host's link with its droptail queue. A packet's departure or drop is known when it arrives.
#[derive(Debug)]
pub(crate) struct HostLink {
    rate: Rate,
    clock: LinkClock,
    delay: Duration,
    /// The maximum number of waiting packets.
    room: u64,
}

impl HostLink {
    /// Creates the link described by `access` for packets of `bytes` bytes.
    pub(crate) fn new(access: &Access, bytes: u64) -> Self {
        let room = room(&access.queue, bytes).unwrap_or(u64::MAX);
        Self { rate: access.rate, clock: LinkClock::new(access.rate), delay: access.delay, room }
    }

    /// Sends a packet of `bytes` bytes that arrives at `at`. Returns the time at which it reaches the other end; `None`
    /// if the queue is full.
    pub(crate) fn pass(&mut self, at: Time, bytes: u32) -> Option<Time> {
        let waits = self.clock.next().since(at).as_nanos();
        let transmission = self.rate.transmission(bytes.into()).as_nanos().max(1);
        // The packet that is being sent does not count as waiting.
        if waits / transmission > self.room {
            return None;
        }
        self.clock.wake(at);
        self.clock.advance(bytes);
        Some(self.clock.next() + self.delay)
    }
}

/// The hosts' links of flows: for each, the link before the queue and the link behind it. A flow without has none.
#[derive(Debug, Default)]
pub(crate) struct HostLinks {
    links: Vec<[Option<HostLink>; 2]>,
    /// By flow, the packets dropped since the start of the run, and those up to the start of the measurement.
    dropped: Vec<u64>,
    before: Vec<u64>,
}

impl HostLinks {
    pub(crate) fn new(links: Vec<[Option<HostLink>; 2]>) -> Self {
        let none = vec![0; links.len()];
        Self { dropped: none.clone(), before: none, links }
    }

    /// Sends a packet of `flow` over the link before the queue, or behind it. Returns the time at which it reaches the
    /// other end: at once without a link, and `None` if it was dropped, as the link's queue is full.
    pub(crate) fn pass(&mut self, behind: bool, flow: u32, at: Time, bytes: u32) -> Option<Time> {
        let place = flow as usize;
        let Some(link) = self.links.get_mut(place).and_then(|links| links[usize::from(behind)].as_mut()) else {
            return Some(at);
        };
        let there = link.pass(at, bytes);
        self.dropped[place] += u64::from(there.is_none());
        there
    }

    /// Starts the measurement.
    pub(crate) fn begin(&mut self) {
        self.before.clone_from(&self.dropped);
    }

    /// Returns, by flow, the packets dropped since the start of the run.
    pub(crate) fn dropped_since_start(&self) -> &[u64] {
        &self.dropped
    }

    /// Returns, by flow, the packets dropped since the start of the measurement.
    pub(crate) fn dropped(&self) -> Vec<u64> {
        self.dropped.iter().zip(&self.before).map(|(dropped, before)| dropped - before).collect()
    }
}

/// Items that wait until a given time. Items of the same time keep their order.
#[derive(Debug)]
pub(crate) struct DelayLine<T> {
    heap: BinaryHeap<Scheduled<T>>,
    number: u64,
}

#[derive(Debug)]
struct Scheduled<T> {
    due: Time,
    number: u64,
    item: T,
}

impl<T> DelayLine<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), number: 0 }
    }

    pub(crate) fn push(&mut self, due: Time, item: T) {
        self.heap.push(Scheduled { due, number: self.number, item });
        self.number += 1;
    }

    /// Returns the time of the first item.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.due)
    }

    /// Removes and returns the first item and its time, if the time is not after `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, T)> {
        self.next().filter(|due| *due <= now)?;
        self.heap.pop().map(|entry| (entry.due, entry.item))
    }
}

/// The earliest item is the greatest, since the heap returns the greatest first.
impl<T> Ord for Scheduled<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl<T> PartialOrd for Scheduled<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Scheduled<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Scheduled<T> {}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::{Kind, QdiscParameters};

    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// By hand: 1000 bytes take 8 ms at 1 Mbit/s, and then 5 ms of delay. Two packets may wait behind the one that is
    /// being sent.
    #[test]
    fn a_host_sends_one_packet_after_the_other() {
        let queue = QdiscParameters::new(Kind::DropTail).with("limit", "2p").unwrap().resolve(Rate::default()).unwrap();
        let access = Access { rate: Rate::from_bits_per_second(1_000_000), delay: Duration::from_millis(5), queue };
        let mut link = HostLink::new(&access, 1000);
        let passed: Vec<Option<Time>> = (0..4).map(|_| link.pass(ms(100), 1000)).collect();
        assert_eq!(passed, [Some(ms(113)), Some(ms(121)), Some(ms(129)), None]);
        // One packet has been sent by then. After a pause the link is idle.
        assert_eq!([link.pass(ms(108), 1000), link.pass(ms(500), 1000)], [Some(ms(137)), Some(ms(513))]);
    }

    /// Would catch items of the same time that change their order, which would reorder packets of a flow.
    #[test]
    fn items_of_the_same_time_keep_their_order() {
        let mut waiting = DelayLine::new();
        for (due, item) in [(3, 'c'), (1, 'a'), (3, 'd'), (2, 'b'), (3, 'e')] {
            waiting.push(ms(due), item);
        }
        assert_eq!((waiting.next(), waiting.pop(ms(0))), (Some(ms(1)), None));
        let all: Vec<(Time, char)> = std::iter::from_fn(|| waiting.pop(ms(3))).collect();
        assert_eq!(all, [(ms(1), 'a'), (ms(2), 'b'), (ms(3), 'c'), (ms(3), 'd'), (ms(3), 'e')]);
    }
}
