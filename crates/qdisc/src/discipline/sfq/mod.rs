//! Stochastic Fairness Queueing: hashes flows into queues, serves the queues in turn, and drops from the longest.
//!
//! Flows in different queues do not affect each other, at any rates. When the limit is exceeded, the longest queue
//! loses a packet, so buffer space is shared fairly too. A new hash function from time to time (`perturb`) keeps two
//! flows from sharing a queue for ever.
//!
//! **Source.** McKenney, "Stochastic Fairness Queueing", INFOCOM 1990; quantum, perturbation and `headdrop` as in
//! tc-sfq(8), `admission = ns2` as in ns-2's `SFQ` (`queue/sfq.cc`).
//!
//! **Deviations.** A queue that has used up its allotment goes to the end of the round at once; in Linux it goes there
//! when its turn comes again, so a queue that became active meanwhile is served before it. Of equally long queues a
//! random one loses a packet; in Linux, the one that came to this length last. The hash function changes at the first
//! arrival after its time, and the queued packets move to the queues of the new function: each flow keeps its order, as
//! in Linux. A packet larger than the limit is dropped alone.
//!
//! **Cost.** A hash, and where the limit is exceeded O(log n) for the longest of n active queues; a change of the hash
//! function moves every queued packet.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::error::check;
use crate::flow::hash::FlowHash;
use crate::queue::flow_queues::FlowQueues;
use crate::queue::longest::Longest;
use crate::queue::queue_numbers::QueueNumbers;
use crate::queue::ring::Ring;
use crate::queue::room::Room;
use crate::queue::signal::discard;
use crate::{Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Time};

/// The configuration of [`Sfq`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that all queues hold together, in packets or bytes. Its unit is also that of a queue's length, where
    /// the longest queue loses a packet. Default: 300 packets, the buffer of the CHOKe paper (section III).
    pub limit: Size,
    /// The number of queues that flows are hashed to, 1 to 65,536. Default: 1024, the divisor of tc-sfq(8).
    pub flows: u32,
    /// The allotment of a queue for one turn, in packets or bytes, above 0. In bytes, the last packet of a turn may
    /// exceed the allotment, and the excess is subtracted from the next one. Default: 1 packet, as McKenney.
    pub quantum: Size,
    /// The time between two changes of the hash function, above 0. Default: `None`, never, as tc-sfq(8).
    pub perturb: Option<Duration>,
    /// Drops the oldest packet of the longest queue instead of the newest. It has no effect with [`Admission::Ns2`].
    /// Default: `false`, as McKenney and tc-sfq(8).
    pub headdrop: bool,
    /// The treatment of a packet that arrives when there is no room. Default: [`Admission::Steal`].
    pub admission: Admission,
}

/// The treatment of a packet that arrives when there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Admission {
    /// The packet is queued, and the longest queue loses packets until the limit is kept (McKenney).
    #[default]
    Steal,
    /// The packet is dropped (ns-2's `SFQ`). A packet is also dropped if its queue holds at least half as many packets
    /// as there is room for, or, once there is room for fewer than `flows`, more than `limit / flows`. The limit must
    /// be in packets.
    Ns2,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            flows: 1024,
            quantum: Size::packets(1),
            perturb: None,
            headdrop: false,
            admission: Admission::Steal,
        }
    }
}

impl Config {
    /// Checks every value, and the admission against the limit.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let Self { limit, quantum, .. } = *self;
        check::size("limit", limit)?;
        check::count("flows", self.flows, 1..=65_536)?;
        check::size("quantum", quantum)?;
        self.perturb.map_or(Ok(()), |time| check::duration("perturb", time))?;
        if quantum.number() == 0 {
            let message = format!("{quantum} never sends anything: write for example 1p or 1514b");
            return Err(ParameterError::new("quantum", message));
        }
        if let (Size::Bytes(_), Admission::Ns2) = (limit, self.admission) {
            let message = format!("ns2 counts packets and limit is {limit}: give the limit in packets, or write steal");
            return Err(ParameterError::new("admission", message));
        }
        Ok(())
    }
}

/// Stochastic Fairness Queueing.
#[derive(Debug)]
pub struct Sfq<P> {
    /// The queues that are not empty. Everything below is indexed by their numbers.
    numbers: QueueNumbers,
    /// One more than flows are hashed to: the last holds packets while the hash function changes.
    queues: FlowQueues<P>,
    /// The order of their turns.
    ring: Ring,
    /// The rest of each queue's allotment, in the unit of `quantum`.
    allotments: Vec<i64>,
    longest: Longest,
    counters: Counters,
    config: Config,
    room: Room,
    /// Whole packets of the limit for each queue.
    share: usize,
    quantum: i64,
    hash: FlowHash,
    /// The number of changes of the hash function so far.
    changes: u64,
    changed_at: Time,
    seed: Seed,
}

impl<P: Packet> Sfq<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or `admission` does not fit the unit of `limit`.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let room = Room::of(config.limit);
        Ok(Self {
            numbers: QueueNumbers::new(config.flows),
            queues: FlowQueues::with_room(config.flows),
            ring: Ring::new(),
            allotments: vec![0; config.flows as usize],
            longest: Longest::with_room(seed, config.flows),
            counters: Counters::default(),
            config,
            room,
            share: room.packets() / config.flows as usize,
            // A size is at most 2^40.
            quantum: config.quantum.number() as i64,
            hash: FlowHash::new(seed.numbered(0)),
            changes: 0,
            changed_at: Time::ZERO,
            seed,
        })
    }

    /// Returns the part of an allotment that `packet` takes.
    fn cost(&self, packet: &P) -> i64 {
        match self.config.quantum {
            Size::Packets(_) => 1,
            Size::Bytes(_) => i64::from(packet.bytes()),
        }
    }

    /// Updates the length of `queue` where the longest queue loses packets.
    fn update_longest(&mut self, queue: usize) {
        if self.config.admission == Admission::Steal {
            let length = match self.config.limit {
                Size::Packets(_) => self.queues.packets_in(queue) as u64,
                Size::Bytes(_) => self.queues.bytes_in(queue),
            };
            self.longest.set(queue, length);
        }
    }

    /// Returns the queue of the flow of `packet`.
    fn queue_of(&self, packet: &P) -> u32 {
        self.hash.bin(packet.flow().get(), self.config.flows)
    }

    /// Returns the number of packets in `queue`.
    fn packets_in(&self, queue: u32) -> usize {
        self.numbers.get(queue).map_or(0, |queue| self.queues.packets_in(queue))
    }

    /// Appends `packet` to the queue of its flow, and returns that queue's number.
    fn push(&mut self, packet: P) -> usize {
        let (queue, new) = self.numbers.insert(self.queue_of(&packet));
        if new {
            self.ring.join(queue);
            self.allotments[queue] = self.quantum;
        }
        self.queues.push_back(queue, packet);
        self.update_longest(queue);
        queue
    }

    /// Notes that a packet has left `queue`.
    fn shrink(&mut self, queue: usize) {
        if self.queues.packets_in(queue) == 0 {
            self.ring.leave(queue);
            self.numbers.remove(queue);
        }
        self.update_longest(queue);
    }

    /// Changes the hash function if it is time, and moves every packet to its flow's new queue. Flows keep their order.
    fn perturb(&mut self, now: Time) {
        let Some(perturb) = self.config.perturb else { return };
        if now.since(self.changed_at) < perturb {
            return;
        }
        self.changed_at = now;
        self.changes += 1;
        self.hash = FlowHash::new(self.seed.numbered(self.changes));
        let spare = self.config.flows as usize;
        while let Some(queue) = self.ring.head() {
            while let Some(packet) = self.queues.pop_front(queue) {
                self.queues.push_back(spare, packet);
            }
            self.shrink(queue);
        }
        while let Some(packet) = self.queues.pop_front(spare) {
            self.push(packet);
        }
    }

    /// Returns the queue that sends next: the first one whose allotment is not used up.
    fn next(&mut self) -> Option<usize> {
        let mut passed = 0;
        loop {
            let queue = self.ring.head()?;
            if self.allotments[queue] > 0 {
                return Some(queue);
            }
            if passed == self.ring.len() {
                self.skip_rounds();
                passed = 0;
            }
            self.end_turn(queue);
            passed += 1;
        }
    }

    /// Ends the turn of `queue`, which is at the head, and grants the allotment for its next one.
    fn end_turn(&mut self, queue: usize) {
        self.allotments[queue] += self.quantum;
        self.ring.pass();
    }

    /// Grants at once the allotments of all rounds in which no queue may send.
    fn skip_rounds(&mut self) {
        let Self { ring, allotments, quantum, .. } = self;
        // No round if a queue has something left after the last one.
        let rounds = ring.iter().map(|queue| -allotments[queue] / *quantum).min().unwrap_or(0).max(0);
        for queue in ring.iter() {
            allotments[queue] += rounds * *quantum;
        }
    }

    /// Tells whether ns-2's rule refuses an arrival for `queue`.
    fn is_refused(&self, queue: u32) -> bool {
        let free = self.room.packets().saturating_sub(self.queues.packets());
        let used = self.packets_in(queue);
        used >= free / 2 || (free < self.config.flows as usize && used > self.share)
    }

    /// Drops from the longest queue until the limit is kept. The newest packet of queue `arrived` is the arriving one,
    /// whose fate is returned.
    fn make_room(&mut self, now: Time, arrived: usize, sink: &mut dyn DropSink<P>) -> Fate {
        let mut fate = Fate::Queued;
        while self.room.is_exceeded(self.queues.packets(), self.queues.bytes()) {
            let Some(queue) = self.longest.get() else { return fate };
            let head = self.config.headdrop;
            let is_arrival = fate == Fate::Queued && queue == arrived && (!head || self.queues.packets_in(queue) == 1);
            let victim = if head { self.queues.pop_front(queue) } else { self.queues.pop_back(queue) };
            let Some(victim) = victim else { return fate };
            self.shrink(queue);
            let reason = if is_arrival { Reason::Limit } else { Reason::BufferSteal };
            if is_arrival {
                fate = Fate::Dropped(reason);
            }
            discard(now, victim, reason, &mut self.counters, sink);
        }
        fate
    }
}

impl<P: Packet> Qdisc<P> for Sfq<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        self.perturb(now);
        let is_refused = self.config.admission == Admission::Ns2 && self.is_refused(self.queue_of(&packet));
        if self.room.never_fits(packet.bytes()) || is_refused {
            return discard(now, packet, Reason::Limit, &mut self.counters, sink);
        }
        let queue = self.push(packet);
        self.make_room(now, queue, sink)
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let queue = self.next()?;
        let packet = self.queues.pop_front(queue)?;
        self.allotments[queue] -= self.cost(&packet);
        if self.allotments[queue] <= 0 {
            self.end_turn(queue);
        }
        self.shrink(queue);
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }

    fn status(&self) -> Status {
        Status::new(self.queues.packets(), self.queues.bytes())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests;
