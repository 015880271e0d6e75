//! FQ-CoDel: hashes flows into queues, serves the queues by deficit round robin, and runs a CoDel in each.
//!
//! Flows that send little do not wait behind flows that send much, and the delay of every queue is kept at `target`.
//! When the limit is exceeded, the longest queue loses packets from its head, and its CoDel counts them as signals.
//!
//! **Source.** RFC 8290 (Hoeiland-Joergensen, McKenney, Täht, Gettys, Dumazet, 2018); parameters as tc-fq_codel(8).
//! Packets dropped for room raise CoDel's count as in Linux.
//!
//! **Deviations.** A new queue that becomes empty always becomes old, as in the RFC; in Linux it becomes inactive if
//! there are no old queues. The longest queue loses packets in batches as in Linux, but until the limit is kept; a heap
//! tracks it instead of a search, and of several a random one, where Linux takes the one with the lowest number. A
//! packet larger than the limit is dropped alone. The hash is keyed by the seed and covers the flow's key.
//!
//! **Cost.** State of the queues that have packets or whose CoDel remembers signals. A hash, a push and a pop, CoDel's;
//! to find the longest queue, O(log n) for each queue that has changed since it was last sought.

use alloc::vec::Vec;

use crate::discipline::codel::{self, Backlog, CodelCore, CodelVerdict};
use crate::error::check;
use crate::flow::hash::FlowHash;
use crate::queue::flow_queues::FlowQueues;
use crate::queue::longest::Longest;
use crate::queue::new_old_lists::NewOldLists;
use crate::queue::queue_numbers::{QueueNumbers, put};
use crate::queue::room::Room;
use crate::queue::signal::discard;
use crate::queue::tagged::Stamped;
use crate::{Bytes, Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Time};

/// The configuration of [`FqCodel`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that all queues hold together, in packets or bytes. Default: 10,240 packets, as tc-fq_codel(8).
    pub limit: Size,
    /// The most bytes that all queues hold together, independently of `limit`: up to 1 TiB. Default: 32 MiB, as
    /// tc-fq_codel(8).
    pub memory_limit: Bytes,
    /// The number of queues that flows are hashed to, 1 to 65,536. Default: 1024, RFC 8290, section 5.2.
    pub flows: u32,
    /// The bytes that a queue may send per round, 1 byte to 16 MiB. Default: 1514, an Ethernet frame, RFC 8290, section
    /// 5.2.
    pub quantum: Bytes,
    /// The most packets that the longest queue loses at once, 1 to 65,536; it also loses no more than it takes to halve
    /// its bytes. Default: 64, as tc-fq_codel(8).
    pub drop_batch: u32,
    /// CoDel for each queue. Default: CoDel's, with `ecn`, as tc-fq_codel(8).
    pub codel: codel::CodelParameters,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(10_240),
            memory_limit: Bytes::new(32 << 20),
            flows: 1024,
            quantum: Bytes::new(1514),
            drop_batch: 64,
            codel: codel::CodelParameters { ecn: true, ..codel::CodelParameters::default() },
        }
    }
}

impl Config {
    /// Checks every value.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::size("memory_limit", Size::Bytes(self.memory_limit))?;
        check::count("flows", self.flows, 1..=65_536)?;
        check::bytes("quantum", self.quantum)?;
        check::count("drop_batch", self.drop_batch, 1..=65_536)?;
        self.codel.validate()
    }
}

/// One of the queues, for its CoDel.
struct QueueBacklog<'a, P> {
    queues: &'a mut FlowQueues<Stamped<P>>,
    queue: usize,
}

impl<P: Packet> Backlog<P> for QueueBacklog<'_, P> {
    fn head(&self) -> Option<(u32, Time)> {
        self.queues.front(self.queue).map(|head| (head.bytes(), head.tag))
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<P> {
        self.queues.pop_front(self.queue).map(|stamped| stamped.packet)
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes_in(self.queue)
    }
}

/// FQ-CoDel.
#[derive(Debug)]
pub struct FqCodel<P> {
    room: Room,
    flows: u32,
    drop_batch: u32,
    codel: codel::CodelParameters,
    hash: FlowHash,
    /// The queues of which there is state. Everything below is indexed by their numbers.
    numbers: QueueNumbers,
    queues: FlowQueues<Stamped<P>>,
    /// CoDel's state for each queue.
    cores: Vec<CodelCore>,
    lists: NewOldLists,
    longest: Longest,
    counters: Counters,
}

impl<P: Packet> FqCodel<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, memory_limit, flows, quantum, drop_batch, codel } = config;
        Ok(Self {
            room: Room::new(limit, memory_limit.get()),
            flows,
            drop_batch,
            codel,
            hash: FlowHash::new(seed),
            numbers: QueueNumbers::new(flows),
            queues: FlowQueues::with_room(flows),
            cores: Vec::with_capacity(flows as usize),
            lists: NewOldLists::new(flows, quantum.get()),
            longest: Longest::with_room(seed, flows),
            counters: Counters::default(),
        })
    }

    /// Returns the number of the queue of `packet`, of which there is state from now on.
    #[inline]
    fn number(&mut self, packet: &P) -> usize {
        let (number, new) = self.numbers.insert(self.hash.bin(packet.flow().get(), self.flows));
        if new {
            put(&mut self.cores, number, CodelCore::new());
        }
        number
    }

    /// Notes that `queue`, whose turn it is, has no packet to send.
    fn exhausted(&mut self, now: Time, queue: usize) {
        if !self.lists.exhausted(queue) && self.cores[queue].is_at_rest(&self.codel, now) {
            self.numbers.remove(queue);
        }
    }

    /// Updates the length of `queue`.
    #[inline]
    fn update_longest(&mut self, queue: usize) {
        self.longest.set(queue, self.queues.length_of(queue));
    }

    /// Drops half of the bytes of the longest queue, but at most a batch of packets. CoDel counts them as its signals.
    #[inline(never)]
    fn drop_from_longest(&mut self, now: Time, sink: &mut dyn DropSink<P>) {
        let Some(queue) = self.longest.get() else { return };
        let bytes = self.queues.bytes_in(queue);
        let (mut packets, mut dropped) = (0, 0);
        while packets < self.drop_batch
            && let Some(stamped) = self.queues.pop_front(queue)
        {
            packets += 1;
            dropped += u64::from(stamped.packet.bytes());
            discard(now, stamped.packet, Reason::BufferSteal, &mut self.counters, sink);
            if 2 * dropped >= bytes {
                break;
            }
        }
        self.cores[queue].dropped_for_room(packets);
        self.update_longest(queue);
    }
}

impl<P: Packet> FqCodel<P> {
    /// Removes and returns the head of `queue`, which leaves as it is.
    #[inline(always)]
    fn send_head(&mut self, queue: usize) -> Option<P> {
        let place = self.queues.unlink_front(queue);
        let bytes = self.queues.packet(place)?.bytes();
        self.update_longest(queue);
        self.lists.charge(queue, bytes);
        self.counters.departed.add(bytes);
        self.queues.take(place).map(|stamped| stamped.packet)
    }

    /// Removes and returns the packet that leaves `queue` where CoDel's `verdict` on the head is not simply that it
    /// leaves.
    #[inline(never)]
    fn dequeue_signalled(
        &mut self,
        now: Time,
        queue: usize,
        verdict: CodelVerdict,
        sink: &mut dyn DropSink<P>,
    ) -> Option<P> {
        let mut backlog = QueueBacklog { queues: &mut self.queues, queue };
        let core = &mut self.cores[queue];
        let packet = core.dequeue_signalled(verdict, &self.codel, now, &mut backlog, &mut self.counters, sink);
        self.update_longest(queue);
        if let Some(packet) = &packet {
            self.lists.charge(queue, packet.bytes());
            self.counters.departed.add(packet.bytes());
        }
        packet
    }
}

impl<P: Packet> Qdisc<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let bytes = packet.bytes();
        self.counters.arrived.add(bytes);
        if self.room.never_fits(bytes) {
            return discard(now, packet, Reason::Limit, &mut self.counters, sink);
        }
        let queue = self.number(&packet);
        self.queues.push_back(queue, Stamped::new(packet, now));
        self.update_longest(queue);
        self.lists.activate(queue);
        let mut fate = Fate::Queued;
        while self.room.is_exceeded(self.queues.packets(), self.queues.bytes()) {
            self.drop_from_longest(now, sink);
            // The arriving packet is the newest one of its queue.
            if self.queues.packets_in(queue) == 0 {
                fate = Fate::Dropped(Reason::BufferSteal);
            }
        }
        fate
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        loop {
            let queue = self.lists.next()?;
            let backlog = QueueBacklog { queues: &mut self.queues, queue };
            let verdict = self.cores[queue].judge(&self.codel, now, &backlog);
            if verdict != CodelVerdict::Leaves {
                if let Some(packet) = self.dequeue_signalled(now, queue, verdict, sink) {
                    return Some(packet);
                }
            } else if self.queues.packets_in(queue) > 0 {
                return self.send_head(queue);
            }
            self.exhausted(now, queue);
        }
    }

    fn status(&self) -> Status {
        Status::new(self.queues.packets(), self.queues.bytes())
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duration, SimplePacket};

    /// Would catch packets dropped for room that CoDel does not count: in Linux, they raise the rate of its signals.
    #[test]
    fn packets_dropped_for_room_count_as_signals() -> Result<(), ParameterError> {
        let config = Config { limit: Size::packets(3000), drop_batch: 63, ..Config::default() };
        let mut queue = FqCodel::new(config, Seed::new(1))?;
        let mut drops = Vec::new();
        for _ in 0..3000 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        }
        for tick in 1..4000_u64 {
            let now = Time::from_nanos(tick * 100_000);
            let before = queue.counters().dropped(Reason::AqmDequeue).packets;
            queue.dequeue(now, &mut ());
            if queue.counters().dropped(Reason::AqmDequeue).packets > before {
                drops.push(tick);
                // After the first signal the queue fills up, and 63 packets go at once.
                while drops.len() == 1 && queue.counters().dropped(Reason::BufferSteal).packets == 0 {
                    queue.enqueue(now, SimplePacket::new(1, 1000), &mut ());
                }
            }
        }
        // The second signal comes 100 ms after the first. It is number 65: the others follow after 100 ms / sqrt(65)
        // and so on, at the next tick of 0.1 ms.
        let gaps: Vec<u64> = drops.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps[..4], [1000, 125, 123, 122]);
        Ok(())
    }

    /// RFC 8289, section 5.4: a dropping state that begins within 16 intervals of the last one takes up its rate of
    /// signals. Would catch state that is forgotten before, and state that is never forgotten.
    #[test]
    fn state_is_kept_while_signals_are_remembered() -> Result<(), ParameterError> {
        let mut queue = FqCodel::new(Config::default(), Seed::new(1))?;
        let keeps =
            |queue: &FqCodel<SimplePacket>, flow| queue.numbers.get(queue.hash.bin(flow, queue.flows)).is_some();
        let at = Time::from_nanos;
        for _ in 0..3000 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        }
        queue.enqueue(Time::ZERO, SimplePacket::new(2, 1000), &mut ());
        let mut tick = 1;
        while queue.dequeue(at(tick * 100_000), &mut ()).is_some() {
            tick += 1;
        }
        assert!(queue.counters().dropped(Reason::AqmDequeue).packets > 0);
        // The queue became empty after 0.3 s, and 16 intervals are 1.6 s.
        assert_eq!((keeps(&queue, 1), keeps(&queue, 2)), (true, false));
        for (millis, kept) in [(1700, true), (2200, false)] {
            let now = at(millis * 1_000_000);
            queue.enqueue(now, SimplePacket::new(1, 1000), &mut ());
            assert!(queue.dequeue(now, &mut ()).is_some() && queue.dequeue(now, &mut ()).is_none());
            assert_eq!(keeps(&queue, 1), kept, "{millis} ms");
        }
        Ok(())
    }

    /// Would catch a value that is let in out of its range, or refused under the key of another parameter.
    #[test]
    fn impossible_configurations_are_refused() {
        let default = Config::default();
        for (config, key) in [
            (Config { flows: 65_537, ..default }, "flows"),
            (Config { drop_batch: 0, ..default }, "drop_batch"),
            (Config { memory_limit: Bytes::new(u64::MAX), ..default }, "memory_limit"),
            (Config { codel: codel::CodelParameters { target: Duration::ZERO, ..default.codel }, ..default }, "target"),
        ] {
            let refused = FqCodel::<SimplePacket>::new(config, Seed::new(1)).map(|_| ());
            assert_eq!(refused.as_ref().map_err(ParameterError::key), Err(key));
        }
    }
}
