//! FQ-PIE: hashes flows into queues, serves the queues by deficit round robin, and runs a PIE in each.
//!
//! **Source.** Ramakrishnan et al., "FQ-PIE Queue Discipline in the Linux Kernel: Design, Implementation and
//! Challenges", LCN Symposium 2019; parameters and defaults as tc-fq_pie(8). The round robin is that of RFC 8290, the
//! controller that of RFC 8033.
//!
//! **Deviations.** The probability of a queue is updated when a packet arrives at it or leaves it, which gives the same
//! values as a timer for all queues; after more than 4096 periods without either, the remaining updates are skipped.
//! The hash is keyed by the seed and covers the flow's key.
//!
//! **Cost.** A hash, a push and a pop, PIE's, and the updates for the periods that have ended.

use alloc::vec::Vec;

use crate::discipline::pie::{self, Periods, PieCore, PieSettings};
use crate::error::check;
use crate::flow::hash::FlowHash;
use crate::queue::flow_queues::FlowQueues;
use crate::queue::new_old_lists::NewOldLists;
use crate::queue::queue_numbers::{QueueNumbers, put};
use crate::queue::room::Room;
use crate::queue::signal::{discard, mark};
use crate::queue::tagged::Stamped;
use crate::{Bytes, Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time};

/// The configuration of [`FqPie`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that all queues hold together, in packets or bytes. Default: 10,240 packets, as tc-fq_pie(8).
    pub limit: Size,
    /// The most bytes that all queues hold together, independently of `limit`: up to 1 TiB. Default: 32 MiB, as
    /// tc-fq_pie(8).
    pub memory_limit: Bytes,
    /// The number of queues that flows are hashed to, 1 to 65,536. Default: 1024, as tc-fq_pie(8).
    pub flows: u32,
    /// The bytes that a queue may send per round, 1 byte to 16 MiB. Default: 1514, an Ethernet frame, as tc-fq_pie(8).
    pub quantum: Bytes,
    /// PIE for each queue. Default: PIE's.
    pub pie: pie::PieParameters,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(10_240),
            memory_limit: Bytes::new(32 << 20),
            flows: 1024,
            quantum: Bytes::new(1514),
            pie: pie::PieParameters::default(),
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
        self.pie.validate()
    }
}

/// The factor of the probability at an update without delay: 1 - 1/64, as Linux.
const DECAY: f64 = 63.0 / 64.0;

/// PIE's state for one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct QueuePie {
    core: PieCore,
    /// The number of periods whose updates have been made or skipped.
    periods: u64,
}

/// FQ-PIE.
#[derive(Debug)]
pub struct FqPie<P> {
    room: Room,
    flows: u32,
    settings: PieSettings,
    hash: FlowHash,
    /// The queues of which there is state. Everything below is indexed by their numbers.
    numbers: QueueNumbers,
    queues: FlowQueues<Stamped<P>>,
    pies: Vec<QueuePie>,
    /// The state of a PIE at the start. The updates of an empty queue do not change it, so it need not be kept.
    at_rest: PieCore,
    lists: NewOldLists,
    timer: Periods,
    /// The number of periods that have ended.
    periods: u64,
    rolls: Stream,
    counters: Counters,
}

impl<P: Packet> FqPie<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, memory_limit, flows, quantum, pie } = config;
        let settings = PieSettings::new(&pie, DECAY, None);
        Ok(Self {
            room: Room::new(limit, memory_limit.get()),
            flows,
            hash: FlowHash::new(seed),
            numbers: QueueNumbers::new(flows),
            queues: FlowQueues::with_room(flows),
            pies: Vec::with_capacity(flows as usize),
            at_rest: PieCore::new(&settings),
            lists: NewOldLists::new(flows, quantum.get()),
            timer: Periods::new(settings.tupdate()),
            periods: 0,
            rolls: seed.stream("pie"),
            counters: Counters::default(),
            settings,
        })
    }

    fn run_timer(&mut self, now: Time) {
        self.periods += self.timer.ended(now).0;
    }

    /// Returns the number of the queue of `packet`, of which there is state from now on.
    fn number(&mut self, packet: &P) -> usize {
        let (number, new) = self.numbers.insert(self.hash.bin(packet.flow().get(), self.flows));
        if new {
            put(&mut self.pies, number, QueuePie { core: self.at_rest, periods: self.periods });
        }
        number
    }

    /// Forgets the state of `queue` if it need not be kept.
    fn forget_at_rest(&mut self, queue: usize) {
        if !self.lists.is_active(queue) && self.pies[queue].core == self.at_rest {
            self.numbers.remove(queue);
        }
    }

    /// Makes the missing updates of the PIE of `queue`. It must be called before the queue changes.
    fn catch_up(&mut self, queue: usize) {
        let pie = &mut self.pies[queue];
        if pie.periods != self.periods {
            pie.core.catch_up(&self.settings, self.periods - pie.periods, self.queues.bytes_in(queue));
            pie.periods = self.periods;
        }
    }
}

impl<P: Packet> Qdisc<P> for FqPie<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.run_timer(now);
        let bytes = packet.bytes();
        self.counters.arrived.add(bytes);
        let queue = self.number(&packet);
        let backlog = self.queues.bytes_in(queue);
        self.catch_up(queue);
        let Self { room, settings, pies, rolls, counters, .. } = self;
        let core = &mut pies[queue].core;
        let total = self.queues.bytes() + u64::from(bytes);
        if room.is_exceeded(self.queues.packets() + 1, total) {
            core.overflow();
            let fate = discard(now, packet, Reason::Limit, counters, sink);
            self.forget_at_rest(queue);
            return fate;
        }
        let mut fate = Fate::Queued;
        if core.test(settings, bytes, backlog, rolls) {
            if !settings.marks(packet.ecn_capable(), core.control()) {
                let fate = discard(now, packet, Reason::Early, counters, sink);
                self.forget_at_rest(queue);
                return fate;
            }
            fate = mark(now, &mut packet, Reason::Early, counters, sink);
        }
        self.queues.push_back(queue, Stamped::new(packet, now));
        self.lists.activate(queue);
        fate
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.run_timer(now);
        loop {
            let queue = self.lists.next()?;
            self.catch_up(queue);
            let Some(stamped) = self.queues.pop_front(queue) else {
                if !self.lists.exhausted(queue) {
                    self.forget_at_rest(queue);
                }
                continue;
            };
            let (waited, packet) = (stamped.sojourn(now), stamped.packet);
            let backlog = self.queues.bytes_in(queue);
            self.pies[queue].core.departed(&self.settings, now, packet.bytes(), waited, backlog);
            self.lists.charge(queue, packet.bytes());
            self.counters.departed.add(packet.bytes());
            return Some(packet);
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
    use crate::SimplePacket;

    /// Would catch a value that is let in out of its range, or refused under the key of another parameter.
    #[test]
    fn impossible_configurations_are_refused() {
        let default = Config::default();
        for (config, key) in [
            (Config { flows: 0, ..default }, "flows"),
            (Config { quantum: Bytes::new(0), ..default }, "quantum"),
            (Config { pie: pie::PieParameters { ecn_prob: 101, ..default.pie }, ..default }, "ecn_prob"),
        ] {
            let refused = FqPie::<SimplePacket>::new(config, Seed::new(1)).map(|_| ());
            assert_eq!(refused.as_ref().map_err(ParameterError::key), Err(key));
        }
    }
}
