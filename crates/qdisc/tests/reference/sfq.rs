//! Slow references of SFQ and of SFQ with RED: lists of packets in a list of queues.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Time};

use super::reference::{self, Reference};
use super::ties::Ties;
use super::{Room, Slow};
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sfq {
    pub(crate) limit: Room,
    pub(crate) flows: usize,
    pub(crate) quantum: Room,
    pub(crate) perturb: Option<Duration>,
    pub(crate) headdrop: bool,
    pub(crate) steals: bool,
}

/// A queue that is not empty.
struct Queue {
    number: usize,
    packets: Vec<SimplePacket>,
    /// The rest of its allotment, in the unit of the quantum.
    left: i64,
}

pub(crate) struct SlowSfq {
    s: Sfq,
    seed: Seed,
    /// The queues that are not empty, in the order of their turns.
    ring: Vec<Queue>,
    changes: u64,
    changed_at: Time,
    ties: Ties,
}

impl SlowSfq {
    pub(crate) fn new(s: Sfq, seed: Seed) -> Self {
        Self { s, seed, ring: Vec::new(), changes: 0, changed_at: Time::ZERO, ties: Ties::new(seed) }
    }

    fn quantum(&self) -> i64 {
        match self.s.quantum {
            Room::Packets(packets) => packets as i64,
            Room::Bytes(bytes) => bytes as i64,
        }
    }

    /// Appends `p` to its flow's queue.
    fn push(&mut self, p: SimplePacket) {
        let number = bin(self.seed.numbered(self.changes), p.flow, self.s.flows);
        if let Some(queue) = self.ring.iter_mut().find(|queue| queue.number == number) {
            queue.packets.push(p);
        } else {
            let left = self.quantum();
            self.ring.push(Queue { number, packets: vec![p], left });
        }
        self.changed(number, false);
    }

    fn perturb(&mut self, now: Time) {
        if self.s.perturb.is_some_and(|perturb| now.since(self.changed_at) >= perturb) {
            self.changed_at = now;
            self.changes += 1;
            for queue in std::mem::take(&mut self.ring) {
                for p in queue.packets {
                    self.push(p);
                }
            }
        }
    }

    /// Tells whether ns-2's `SFQ` refuses `p`.
    fn is_refused(&self, p: &SimplePacket) -> bool {
        let Room::Packets(limit) = self.s.limit else { return false };
        let number = bin(self.seed.numbered(self.changes), p.flow, self.s.flows);
        let used = self.ring.iter().find(|queue| queue.number == number).map_or(0, |queue| queue.packets.len());
        let left = limit - self.backlog().len();
        used >= left / 2 || (left < self.s.flows && used > limit / self.s.flows)
    }

    /// Notes that the length of queue `number` has changed. Where nothing is stolen, lengths do not matter.
    fn changed(&mut self, number: usize, is_empty: bool) {
        if self.s.steals {
            self.ties.changed(number as u64, is_empty);
        }
    }

    /// Returns the position in the ring of the longest queue.
    fn longest(&self) -> usize {
        let length = |queue: &Queue| match self.s.limit {
            Room::Packets(_) => queue.packets.len() as u64,
            Room::Bytes(_) => queue.packets.iter().map(|p| u64::from(p.bytes)).sum(),
        };
        let longest = self.ties.longest(self.ring.iter().map(|queue| (queue.number as u64, length(queue))));
        self.ring.iter().position(|queue| Some(queue.number as u64) == longest).unwrap_or(0)
    }
}

impl Slow for SlowSfq {
    fn enqueue(&mut self, now: Time, p: SimplePacket, events: &mut Vec<Event>) {
        self.perturb(now);
        if !self.s.limit.holds(&[], Some(&p)) || (!self.s.steals && self.is_refused(&p)) {
            events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        self.push(p);
        while !self.s.limit.holds(&self.backlog(), None) {
            let longest = self.longest();
            let Queue { number, packets, .. } = &mut self.ring[longest];
            let victim = if self.s.headdrop { packets.remove(0) } else { packets.remove(packets.len() - 1) };
            let (number, is_empty) = (*number, packets.is_empty());
            if is_empty {
                self.ring.remove(longest);
            }
            self.changed(number, is_empty);
            let reason = if victim.id == p.id { Reason::Limit } else { Reason::BufferSteal };
            events.push(Event::Dropped(victim.id, reason));
        }
    }

    fn dequeue(&mut self, _now: Time, events: &mut Vec<Event>) {
        let quantum = self.quantum();
        // A queue that has used up its allotment gets a quantum and goes to the end.
        while self.ring.first().is_some_and(|queue| queue.left <= 0) {
            self.ring[0].left += quantum;
            self.ring.rotate_left(1);
        }
        let Some(queue) = self.ring.first_mut() else { return };
        let p = queue.packets.remove(0);
        queue.left -= if matches!(self.s.quantum, Room::Packets(_)) { 1 } else { i64::from(p.bytes) };
        let (number, is_empty) = (queue.number, queue.packets.is_empty());
        if is_empty {
            self.ring.remove(0);
        } else if queue.left <= 0 {
            queue.left += quantum;
            self.ring.rotate_left(1);
        }
        self.changed(number, is_empty);
        events.push(Event::Departed(p.id));
    }

    fn backlog(&self) -> Vec<SimplePacket> {
        self.ring.iter().flat_map(|queue| queue.packets.iter().copied()).collect()
    }
}

/// SFQ with RED: a reference of RED for each queue, all with the same settings.
pub(crate) struct SlowSfqRed {
    seed: Seed,
    queues: Vec<Reference>,
    /// The queues that are not empty, in the order of their turns.
    ring: Vec<usize>,
}

impl SlowSfqRed {
    pub(crate) fn new(flows: usize, red: reference::Settings, seed: Seed) -> Self {
        let queues = (0..flows).map(|queue| Reference::new(red, seed.numbered(queue as u64))).collect();
        Self { seed, queues, ring: Vec::new() }
    }

    /// Takes over the events of `queue`, and adds it to the ring or removes it. An empty queue is asked for a packet,
    /// so that its idle time begins.
    fn take_over(&mut self, now: Time, queue: usize, events: &mut Vec<Event>) {
        let red = &mut self.queues[queue];
        events.append(&mut red.events);
        if red.live().is_empty() {
            red.dequeue(now);
            self.ring.retain(|&other| other != queue);
        } else if !self.ring.contains(&queue) {
            self.ring.push(queue);
        }
    }
}

impl Slow for SlowSfqRed {
    fn enqueue(&mut self, now: Time, p: SimplePacket, events: &mut Vec<Event>) {
        let queue = bin(self.seed, p.flow, self.queues.len());
        self.queues[queue].enqueue(now, p);
        self.take_over(now, queue, events);
    }

    fn dequeue(&mut self, now: Time, events: &mut Vec<Event>) {
        if !self.ring.is_empty() {
            let queue = self.ring.remove(0);
            self.queues[queue].dequeue(now);
            self.take_over(now, queue, events);
        }
    }

    fn backlog(&self) -> Vec<SimplePacket> {
        self.queues.iter().flat_map(Reference::live).collect()
    }
}

/// Returns the bin of `flow` under the hash function of `seed`.
fn bin(seed: Seed, flow: u64, bins: usize) -> usize {
    let mut secrets = seed.stream("hash");
    let hash = super::sfb::mix(super::sfb::mix(flow.min(u64::MAX - 1) ^ secrets.bits()) ^ secrets.bits());
    ((hash >> 32) * bins as u64 / (1 << 32)) as usize
}
