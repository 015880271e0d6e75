//! FQ-PIE: flows are hashed into queues that take turns, and each queue has a PIE of its own.
//!
//! **Source.** Ramakrishnan et al., "FQ-PIE Queue Discipline in the Linux Kernel: Design, Implementation and Challenges",
//! LCN Symposium 2019; parameters and defaults as tc-fq_pie(8). The turns are those of RFC 8290, the controller that of
//! RFC 8033.
//!
//! **Deviations.** A queue's probability is brought up to date when a packet comes to it or leaves it, which gives the
//! same values as a timer over all queues; after more than 4096 periods without either it may be short of them. The hash
//! is keyed by the seed, over the flow's key.
//!
//! **Cost.** A hash, a push and a pop, PIE's, and the periods that have passed.

use alloc::vec;
use alloc::vec::Vec;

use crate::config::shared::{FLOWS, QUANTUM};
use crate::config::{About, FlowState, Origin, ParameterError, Resolver};
use crate::delay::{LIMIT_10240, MARK, MEMORY_LIMIT, Room, TUPDATE};
use crate::flows::FlowQueues;
use crate::hash::FlowHash;
use crate::pie::{
    ALPHA, AVPKT, BETA, BYTEMODE, DQ_RATE_ESTIMATOR, ECN_PROB, MAX_BURST, Marks, PIE_TARGET, Periods, PieCore,
    PieSettings, resolve_core,
};
use crate::rounds::Rounds;
use crate::signal::{discard, mark};
use crate::tagged::Stamped;
use crate::{Bytes, Counters, Fate, Packet, Qdisc, Reason, Seed, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "fq-pie",
    summary: "a queue for each flow, by hash, in turns, with a PIE each",
    source: "Ramakrishnan, Bhasi, Saicharan, Monis, Patil, Tahiliani: FQ-PIE Queue Discipline in the Linux Kernel: Design, \
             Implementation and Challenges, LCN Symposium 2019; RFC 8290; RFC 8033",
    year: Some(2019),
    needs: "a table of `flows` queues, each with its delay",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[
        LIMIT_10240,
        FLOWS,
        QUANTUM,
        MEMORY_LIMIT,
        PIE_TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        MAX_BURST,
        AVPKT,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
        MARK,
        ECN_PROB,
    ],
};

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    room: Room,
    flows: u32,
    quantum: u64,
    pie: PieSettings,
    marks: Marks,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let room = Room::resolve(r)?;
    let flows = r.take("flows", Origin::Default("as tc(8)"), 1024_u32)?;
    let quantum = r.take("quantum", Origin::Default("an Ethernet frame, as tc(8)"), Bytes::new(1514))?;
    let (pie, _) = resolve_core(r)?;
    let marks = Marks::resolve(r)?;
    Ok(Settings { room, flows, quantum: quantum.get(), pie: PieSettings { decay: DECAY, ..pie }, marks })
}

/// What a period without delay leaves of the probability: 1 - 1/64, as Linux.
const DECAY: f64 = 63.0 / 64.0;

/// A queue's PIE, and the periods that it has seen.
#[derive(Clone, Copy, Debug)]
struct Own {
    core: PieCore,
    periods: u64,
}

/// FQ-PIE.
#[derive(Debug)]
pub struct FqPie<P> {
    settings: Settings,
    hash: FlowHash,
    queues: FlowQueues<Stamped<P>>,
    own: Vec<Own>,
    rounds: Rounds,
    timer: Periods,
    /// Periods that have ended.
    periods: u64,
    rolls: Stream,
    counters: Counters,
}

impl<P: Packet> FqPie<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let own = vec![Own { core: PieCore::new(&settings.pie), periods: 0 }; settings.flows as usize];
        Self {
            settings,
            hash: FlowHash::new(seed),
            queues: FlowQueues::new(),
            own,
            rounds: Rounds::new(settings.flows, settings.quantum),
            timer: Periods::new(settings.pie.tupdate),
            periods: 0,
            rolls: seed.stream("pie"),
            counters: Counters::default(),
        }
    }

    fn run_timer(&mut self, now: Time) {
        self.periods += self.timer.ended(now).0;
    }

    /// Brings the PIE of `queue` up to date. It comes before anything that changes the queue.
    fn catch_up(&mut self, queue: usize) {
        let own = &mut self.own[queue];
        if own.periods != self.periods {
            own.core.catch_up(&self.settings.pie, self.periods - own.periods, self.queues.bytes_in(queue));
            own.periods = self.periods;
        }
    }
}

impl<P: Packet> Qdisc<P> for FqPie<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, fate: &mut impl Fate<P>) {
        self.run_timer(now);
        let bytes = packet.bytes();
        self.counters.arrived.add(bytes);
        let queue = self.hash.bin(packet.flow().get(), self.settings.flows) as usize;
        let backlog = self.queues.bytes_in(queue);
        self.catch_up(queue);
        let Self { settings, own, rolls, counters, .. } = self;
        let core = &mut own[queue].core;
        let total = self.queues.bytes() + u64::from(bytes);
        if settings.room.is_exceeded(self.queues.packets() + 1, total) {
            core.overflow();
            discard(now, packet, Reason::Limit, counters, fate);
            return;
        }
        if core.test(&settings.pie, bytes, backlog, rolls) {
            if !settings.marks.apply(packet.ecn_capable(), core.probability()) {
                discard(now, packet, Reason::Early, counters, fate);
                return;
            }
            mark(now, &mut packet, Reason::Early, counters, fate);
        }
        self.queues.push_back(queue, Stamped::new(packet, now));
        self.rounds.wake(queue);
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.run_timer(now);
        loop {
            let queue = self.rounds.next()?;
            self.catch_up(queue);
            let Some(stamped) = self.queues.pop_front(queue) else {
                self.rounds.exhausted(queue);
                continue;
            };
            let (waited, packet) = (stamped.sojourn(now), stamped.packet);
            let backlog = self.queues.bytes_in(queue);
            self.own[queue].core.departed(&self.settings.pie, now, packet.bytes(), waited, backlog);
            self.rounds.charge(queue, packet.bytes());
            self.counters.departed.add(packet.bytes());
            return Some(packet);
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
