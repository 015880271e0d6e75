//! FQ-CoDel: flows are hashed into queues that take turns, and each queue has a CoDel of its own.
//!
//! Flows that send little never wait for those that send much, and every queue's delay is kept at `target`. When all is
//! full the fattest queue loses packets from its head.
//!
//! **Source.** RFC 8290 (Hoeiland-Joergensen, McKenney, Täht, Gettys, Dumazet, 2018); parameters as tc-fq_codel(8).
//!
//! **Deviations.** A new queue that has run empty always goes to the old line, as the RFC says; Linux lets it go when
//! that line is empty. The fattest queue is known from a heap, not searched for, and loses packets until there is room
//! again, in batches as in Linux. A packet that would not fit even if all were empty is dropped alone. The hash is
//! keyed by the seed, over the flow's key.
//!
//! **Cost.** A hash, a push and a pop, CoDel's, and two changes of the heap.

use alloc::vec;
use alloc::vec::Vec;

use crate::codel::{Backlog, CodelCore, CodelSettings, resolve_core};
use crate::config::shared::{FLOWS, INTERVAL, QUANTUM, TARGET};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::delay::{CE_THRESHOLD, LIMIT_10240, MARK, MEMORY_LIMIT, MTU, Room};
use crate::flows::FlowQueues;
use crate::hash::FlowHash;
use crate::longest::Longest;
use crate::rounds::Rounds;
use crate::signal::discard;
use crate::tagged::Stamped;
use crate::{Bytes, Counters, Fate, Packet, Qdisc, Reason, Seed, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "fq-codel",
    summary: "a queue for each flow, by hash, in turns, with a CoDel each",
    source: "Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet: The Flow Queue CoDel Packet Scheduler and Active Queue \
             Management Algorithm, RFC 8290",
    year: Some(2018),
    needs: "a table of `flows` queues and each packet's time of arrival",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT_10240, FLOWS, QUANTUM, MEMORY_LIMIT, DROP_BATCH, TARGET, INTERVAL, MTU, FQ_ECN, CE_THRESHOLD],
};

const FQ_ECN: Parameter = MARK.default("true, as tc(8)");
const DROP_BATCH: Parameter = parameter(
    "drop_batch",
    Domain::Count { min: 1, max: 65_536, infinite: false },
    "64, as tc(8)",
    "packets that the fattest queue loses at most when all is full; no more than half its bytes",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    room: Room,
    flows: u32,
    quantum: u64,
    drop_batch: u32,
    codel: CodelSettings,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let room = Room::resolve(r)?;
    let flows = r.take("flows", Origin::Default("RFC 8290, section 5.2"), 1024_u32)?;
    let quantum = r.take("quantum", Origin::Default("an Ethernet frame, RFC 8290, section 5.2"), Bytes::new(1514))?;
    let drop_batch = r.take("drop_batch", Origin::Default("as tc(8)"), 64_u32)?;
    let codel = resolve_core(r, true)?;
    Ok(Settings { room, flows, quantum: quantum.get(), drop_batch, codel })
}

/// One of the queues, as its CoDel sees it.
struct Own<'a, P> {
    queues: &'a mut FlowQueues<Stamped<P>>,
    queue: usize,
}

impl<P: Packet> Backlog<P> for Own<'_, P> {
    fn pop(&mut self) -> Option<(P, Time)> {
        self.queues.pop_front(self.queue).map(|stamped| (stamped.packet, stamped.tag))
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes_in(self.queue)
    }
}

/// FQ-CoDel.
#[derive(Debug)]
pub struct FqCodel<P> {
    settings: Settings,
    hash: FlowHash,
    queues: FlowQueues<Stamped<P>>,
    cores: Vec<CodelCore>,
    rounds: Rounds,
    fattest: Longest,
    counters: Counters,
}

impl<P: Packet> FqCodel<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let cores = vec![CodelCore::new(); settings.flows as usize];
        Self {
            settings,
            hash: FlowHash::new(seed),
            queues: FlowQueues::new(),
            cores,
            rounds: Rounds::new(settings.flows, settings.quantum),
            fattest: Longest::new(),
            counters: Counters::default(),
        }
    }

    /// Notes how fat `queue` is. Packets without bytes count as one, or their queue would not be found.
    fn weigh(&mut self, queue: usize) {
        let least = u64::from(self.queues.packets_in(queue) > 0);
        self.fattest.set(queue, self.queues.bytes_in(queue).max(least));
    }

    /// The fattest queue loses half of its bytes, or a batch of packets.
    fn drop_from_fattest(&mut self, now: Time, fate: &mut impl Fate<P>) {
        let Some((queue, _)) = self.fattest.get() else { return };
        let bytes = self.queues.bytes_in(queue);
        let mut dropped = 0;
        for _ in 0..self.settings.drop_batch {
            let Some(stamped) = self.queues.pop_front(queue) else { break };
            dropped += u64::from(stamped.packet.bytes());
            discard(now, stamped.packet, Reason::BufferSteal, &mut self.counters, fate);
            if 2 * dropped >= bytes {
                break;
            }
        }
        self.weigh(queue);
    }
}

impl<P: Packet> Qdisc<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        let bytes = packet.bytes();
        self.counters.arrived.add(bytes);
        if self.settings.room.never_fits(bytes) {
            discard(now, packet, Reason::Limit, &mut self.counters, fate);
            return;
        }
        let queue = self.hash.bin(packet.flow().get(), self.settings.flows) as usize;
        self.queues.push_back(queue, Stamped::new(packet, now));
        self.weigh(queue);
        self.rounds.wake(queue);
        while self.settings.room.is_exceeded(self.queues.packets(), self.queues.bytes()) {
            self.drop_from_fattest(now, fate);
        }
    }

    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        loop {
            let queue = self.rounds.next()?;
            let mut own = Own { queues: &mut self.queues, queue };
            let packet = self.cores[queue].dequeue(&self.settings.codel, now, &mut own, &mut self.counters, fate);
            self.weigh(queue);
            if let Some(packet) = packet {
                self.rounds.charge(queue, packet.bytes());
                self.counters.departed.add(packet.bytes());
                return Some(packet);
            }
            self.rounds.exhausted(queue);
        }
    }

    fn packets(&self) -> usize {
        self.queues.packets()
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
