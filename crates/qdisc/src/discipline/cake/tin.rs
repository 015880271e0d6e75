//! One tin of CAKE: its flows, found by an 8-way set-associative hash, and their schedule (DRR++).

use alloc::vec;
use alloc::vec::Vec;

use super::QUEUES;
use super::hosts::Hosts;
use crate::discipline::cobalt::{CobaltCore, CobaltSettings};
use crate::rate::link_clock::Pace;
use crate::{Duration, Seed, Time};

/// The number of queues that a flow may be in.
const WAYS: usize = 8;

/// Stands for no queue, at the ends of a list.
const NIL: u32 = u32::MAX;

/// The parts of a byte in which deficits are counted, since a quantum is divided among a host's flows.
const PART: i64 = 1 << 16;

/// The state of a flow, as sch_cake's `CAKE_SET_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// The queue is not in use.
    None,
    /// The queue has not used up its first quantum.
    Sparse,
    /// The queue was empty when it had used up its first quantum.
    SparseWait,
    /// The queue has packets turn after turn.
    Bulk,
    /// The queue is empty, and its COBALT is not yet back at its initial state.
    Decaying,
}

/// The lists in which flows wait for their turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListKind {
    New,
    Old,
    Decaying,
}

/// The state of a queue and the flow in it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TinFlow {
    core: CobaltCore,
    /// In parts of a byte.
    deficit: i64,
    source: u64,
    destination: u64,
    before: u32,
    after: u32,
    list: ListKind,
}

/// A list of flows, linked by the numbers of their queues.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FlowList {
    head: u32,
    tail: u32,
    flows: u32,
}

const EMPTY: FlowList = FlowList { head: NIL, tail: NIL, flows: 0 };

/// A tin's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TinSettings {
    pub(super) cobalt: CobaltSettings,
    /// The time of a packet of the largest size at the tin's rate.
    pub(super) packet: Duration,
    /// A delay of two packets of each bulk flow is not too long, and dropped packets count as sent.
    pub(super) ingress: bool,
    /// The bytes that a flow may send in its turn if its hosts have no other bulk flow.
    pub(super) flow_quantum: u64,
    /// The tin's share of the rate.
    pub(super) pace: Pace,
    /// The bytes that the tin may send in its turn where nothing is shaped.
    pub(super) tin_quantum: i64,
    /// Divides a quantum among the bulk flows of a sender.
    pub(super) by_source: bool,
    /// Divides a quantum among the bulk flows of a receiver.
    pub(super) by_destination: bool,
}

/// A tin: the queues of one class of traffic.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) settings: TinSettings,
    /// The time from which the tin is within its share of the rate.
    pub(super) next: Time,
    /// The bytes that the tin may still send in its turn.
    pub(super) deficit: i64,
    /// The packets in the tin.
    pub(super) packets: usize,
    flows: Vec<TinFlow>,
    /// The hash of the flow that each queue is reserved for. Those of a set of queues share a cache line.
    tags: Vec<u64>,
    /// The state of each queue's flow.
    sets: Vec<Set>,
    lists: [FlowList; 3],
    /// The number of flows that are sparse or bulk.
    active: u32,
    /// The number of bulk flows.
    bulk: u32,
    sources: Hosts,
    destinations: Hosts,
}

impl Tin {
    /// Creates an empty tin.
    pub(super) fn new(settings: TinSettings, seed: Seed) -> Self {
        let flow = TinFlow {
            core: CobaltCore::new(),
            deficit: 0,
            source: 0,
            destination: 0,
            before: NIL,
            after: NIL,
            list: ListKind::New,
        };
        let flows = vec![flow; QUEUES];
        Self {
            settings,
            next: Time::ZERO,
            deficit: 0,
            packets: 0,
            flows,
            tags: vec![0; QUEUES],
            sets: vec![Set::None; QUEUES],
            lists: [EMPTY; 3],
            active: 0,
            bulk: 0,
            sources: Hosts::new(seed.named("sources")),
            destinations: Hosts::new(seed.named("destinations")),
        }
    }

    /// Tells whether some flow is sparse or bulk.
    pub(super) const fn is_active(&self) -> bool {
        self.active > 0
    }

    /// Returns the number of flows of which state is kept.
    pub(super) fn flows(&self) -> usize {
        self.lists.iter().map(|list| list.flows as usize).sum()
    }

    /// Notes that a packet comes to the tin, which loses the time that it did not use.
    pub(super) fn wake(&mut self, now: Time) {
        if self.packets == 0 {
            self.next = self.next.max(now);
        }
        self.packets += 1;
    }

    /// Takes the time of `bytes` bytes from the tin's share of the rate. A tin that sent before its time does not wait
    /// longer for that.
    pub(super) fn advance(&mut self, now: Time, bytes: u32) {
        let time = self.settings.pace.duration(bytes);
        self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
    }

    /// Returns the COBALT of `queue`.
    pub(super) fn core(&mut self, queue: usize) -> &mut CobaltCore {
        &mut self.flows[queue].core
    }

    /// Returns the parameters of COBALT at present.
    pub(super) fn cobalt(&self) -> CobaltSettings {
        let mut settings = self.settings.cobalt;
        if self.settings.ingress {
            let two_each = self.settings.packet.as_nanos().saturating_mul(2 * u64::from(self.bulk));
            settings.floor = settings.floor.max(Duration::from_nanos(two_each));
        }
        settings
    }

    /// Returns the queue of the flow with `tag`: the one reserved for it, else an idle one of its set, else the one
    /// that its hash names, which it then shares.
    pub(super) fn find(&mut self, tag: u64, source: u64, destination: u64) -> usize {
        let home = tag as usize % QUEUES;
        if self.tags[home] == tag && self.sets[home] != Set::None {
            return home;
        }
        let ways = || (0..WAYS).map(|way| home / WAYS * WAYS + (home + way) % WAYS);
        let reserved = ways().find(|&queue| self.tags[queue] == tag);
        let queue = match reserved.or_else(|| ways().find(|&queue| self.sets[queue] == Set::None)) {
            Some(queue) => queue,
            None => home,
        };
        if reserved.is_none() || self.sets[queue] == Set::None {
            let bulk = self.sets[queue] == Set::Bulk;
            if bulk {
                self.leave_hosts(queue);
            }
            self.tags[queue] = tag;
            (self.flows[queue].source, self.flows[queue].destination) = (source, destination);
            if bulk {
                self.enter_hosts(queue);
            }
        }
        queue
    }

    /// Returns the number of queues in use.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.sets.iter().filter(|set| **set != Set::None).count()
    }

    fn enter_hosts(&mut self, queue: usize) {
        let TinFlow { source, destination, .. } = self.flows[queue];
        if self.settings.by_source {
            self.sources.enter(source);
        }
        if self.settings.by_destination {
            self.destinations.enter(destination);
        }
    }

    fn leave_hosts(&mut self, queue: usize) {
        let TinFlow { source, destination, .. } = self.flows[queue];
        if self.settings.by_source {
            self.sources.leave(source);
        }
        if self.settings.by_destination {
            self.destinations.leave(destination);
        }
    }

    /// Returns the bytes that `queue` may send in a turn: a quantum, divided among the bulk flows of the busier of its
    /// hosts.
    fn quantum(&self, queue: usize) -> i64 {
        let TinFlow { source, destination, .. } = self.flows[queue];
        let mut load = 1;
        if self.settings.by_source {
            load = load.max(self.sources.load(source));
        }
        if self.settings.by_destination {
            load = load.max(self.destinations.load(destination));
        }
        self.settings.flow_quantum as i64 * SHARES[(load as usize).min(QUEUES)]
    }

    /// Notes that a packet was put into `queue`.
    pub(super) fn arrived(&mut self, queue: usize) {
        match self.sets[queue] {
            Set::None => self.start(queue),
            Set::Decaying => {
                self.take_out(queue);
                self.start(queue);
            }
            Set::SparseWait => self.become_bulk(queue),
            Set::Sparse | Set::Bulk => {}
        }
    }

    fn start(&mut self, queue: usize) {
        self.sets[queue] = Set::Sparse;
        self.flows[queue].deficit = self.quantum(queue);
        self.active += 1;
        self.join(queue, ListKind::New);
    }

    fn become_bulk(&mut self, queue: usize) {
        self.sets[queue] = Set::Bulk;
        self.bulk += 1;
        self.enter_hosts(queue);
    }

    /// Returns the queue whose turn it is. With `decaying_first` a decaying one comes before all others.
    pub(super) fn next(&mut self, decaying_first: bool, has_packets: impl Fn(usize) -> bool) -> Option<usize> {
        let mut order = [ListKind::New, ListKind::Old, ListKind::Decaying];
        if decaying_first {
            order = [ListKind::Decaying, ListKind::New, ListKind::Old];
        }
        let mut asked = 0;
        loop {
            let list = order.into_iter().find(|list| self.lists[*list as usize].flows > 0)?;
            let queue = self.lists[list as usize].head as usize;
            if self.flows[queue].deficit > 0 {
                return Some(queue);
            }
            // A flow that has used up its quantum is no longer sparse.
            if self.sets[queue] == Set::Sparse {
                if has_packets(queue) {
                    self.become_bulk(queue);
                } else {
                    self.sets[queue] = Set::SparseWait;
                }
            }
            self.flows[queue].deficit += self.quantum(queue);
            self.take_out(queue);
            self.join(queue, ListKind::Old);
            order = [ListKind::New, ListKind::Old, ListKind::Decaying];
            asked += 1;
            if asked > self.lists[ListKind::Old as usize].flows {
                self.skip_rounds();
                asked = 0;
            }
        }
    }

    /// Adds the quanta of all the rounds before the first in which some flow may send.
    fn skip_rounds(&mut self) {
        let mut rounds = i64::MAX;
        let mut at = self.lists[ListKind::Old as usize].head as usize;
        while let Some(flow) = self.flows.get(at) {
            // A share is never 0: a quantum is 300 bytes or more, in 65536 parts each, among 1024 flows.
            rounds = rounds.min((-flow.deficit).max(0) / self.quantum(at));
            at = flow.after as usize;
        }
        let mut at = self.lists[ListKind::Old as usize].head as usize;
        while at < self.flows.len() {
            self.flows[at].deficit += rounds * self.quantum(at);
            at = self.flows[at].after as usize;
        }
    }

    /// Takes `bytes` bytes from the turns of the tin and of `queue`, whose turn it is, and from the tin's share of the
    /// rate.
    pub(super) fn charge(&mut self, now: Time, queue: usize, bytes: u32) {
        self.flows[queue].deficit -= i64::from(bytes) * PART;
        self.deficit -= i64::from(bytes);
        self.advance(now, bytes);
    }

    /// Notes that `queue`, whose turn it is, is empty.
    pub(super) fn retire(&mut self, queue: usize, now: Time) {
        let (core, set) = (&mut self.flows[queue].core, self.sets[queue]);
        core.empty(&self.settings.cobalt, now);
        let rest = core.is_at_rest(now);
        if set == Set::Bulk {
            self.bulk -= 1;
            self.leave_hosts(queue);
        }
        if set != Set::Decaying {
            self.active -= 1;
        }
        self.take_out(queue);
        self.sets[queue] = if rest { Set::None } else { Set::Decaying };
        if !rest {
            self.join(queue, ListKind::Decaying);
        }
    }

    /// Takes `queue` out of its list.
    fn take_out(&mut self, queue: usize) {
        let TinFlow { before, after, list, .. } = self.flows[queue];
        match self.flows.get_mut(before as usize) {
            Some(flow) => flow.after = after,
            None => self.lists[list as usize].head = after,
        }
        match self.flows.get_mut(after as usize) {
            Some(flow) => flow.before = before,
            None => self.lists[list as usize].tail = before,
        }
        self.lists[list as usize].flows -= 1;
    }

    /// Puts `queue`, which is in no list, at the tail of `kind`.
    fn join(&mut self, queue: usize, kind: ListKind) {
        let list = &mut self.lists[kind as usize];
        let before = list.tail;
        list.tail = queue as u32;
        list.flows += 1;
        if before == NIL {
            list.head = queue as u32;
        } else {
            self.flows[before as usize].after = queue as u32;
        }
        let flow = &mut self.flows[queue];
        (flow.before, flow.after, flow.list) = (before, NIL, kind);
    }
}

/// The parts of a byte that one of n flows gets, by n.
const SHARES: [i64; QUEUES + 1] = {
    let mut shares = [PART; QUEUES + 1];
    let mut n = 1;
    while n <= QUEUES {
        shares[n] = PART / n as i64;
        n += 1;
    }
    shares
};
