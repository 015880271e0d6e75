//! One tin of CAKE: its flows, found by an 8-way set-associative hash, and whose turn it is among them (DRR++).

use alloc::vec;
use alloc::vec::Vec;

use super::hosts::Hosts;
use crate::cobalt::{CobaltCore, CobaltSettings};
use crate::link_clock::Pace;
use crate::{Seed, Time};

/// Queues of a tin.
pub(super) const QUEUES: usize = 1024;

/// Queues that a flow may be in.
const WAYS: usize = 8;

/// No queue.
const NIL: u32 = u32::MAX;

/// Parts of a byte in a deficit: a quantum is divided among a host's flows.
const PART: i64 = 1 << 16;

/// Which hosts' flows share what a flow would get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Isolation {
    pub(super) source: bool,
    pub(super) destination: bool,
}

/// What a flow counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// Nothing is known of it.
    None,
    /// It has not yet used up what a new flow gets.
    Sparse,
    /// The same, but it was empty when its turn came to wait with the old ones.
    SparseWait,
    /// It always has something to send.
    Bulk,
    /// It is empty, and COBALT still remembers it.
    Decaying,
}

/// The lines that flows wait in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    New,
    Old,
    Decaying,
}

/// What is known of a queue.
#[derive(Clone, Copy, Debug)]
struct Flow {
    core: CobaltCore,
    /// In parts of a byte.
    deficit: i64,
    /// The hash of the flow that the queue is reserved for.
    tag: u64,
    source: u64,
    destination: u64,
    before: u32,
    after: u32,
    set: Set,
    row: Row,
}

/// A line of flows.
#[derive(Clone, Copy, Debug)]
struct Line {
    head: u32,
    tail: u32,
    flows: u32,
}

const EMPTY: Line = Line { head: NIL, tail: NIL, flows: 0 };

/// What a tin is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct TinSettings {
    pub(super) cobalt: CobaltSettings,
    /// Bytes that a flow whose hosts have no other may send in its turn.
    pub(super) flow_quantum: u64,
    /// Its share of the rate.
    pub(super) pace: Pace,
    /// Bytes that the tin may send in its turn when nothing is shaped.
    pub(super) tin_quantum: i64,
    pub(super) isolation: Isolation,
}

/// A tin.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) settings: TinSettings,
    /// From when the tin is within its share of the rate.
    pub(super) next: Time,
    /// Bytes that the tin may still send in its turn.
    pub(super) deficit: i64,
    /// Packets in the tin.
    pub(super) packets: usize,
    flows: Vec<Flow>,
    lines: [Line; 3],
    /// Flows that are sparse or bulk.
    active: u32,
    sources: Hosts,
    destinations: Hosts,
}

impl Tin {
    pub(super) fn new(settings: TinSettings, seed: Seed) -> Self {
        let flow = Flow {
            core: CobaltCore::new(),
            deficit: 0,
            tag: 0,
            source: 0,
            destination: 0,
            before: NIL,
            after: NIL,
            set: Set::None,
            row: Row::New,
        };
        let flows = vec![flow; QUEUES];
        Self {
            settings,
            next: Time::ZERO,
            deficit: 0,
            packets: 0,
            flows,
            lines: [EMPTY; 3],
            active: 0,
            sources: Hosts::new(seed.named("sources")),
            destinations: Hosts::new(seed.named("destinations")),
        }
    }

    /// Whether some flow is sparse or bulk.
    pub(super) const fn is_active(&self) -> bool {
        self.active > 0
    }

    /// A packet comes to the tin: time that it did not use is lost.
    pub(super) fn wake(&mut self, now: Time) {
        if self.packets == 0 {
            self.next = self.next.max(now);
        }
        self.packets += 1;
    }

    /// The tin has sent `bytes` bytes. One that goes before its time has not to wait longer for that.
    pub(super) fn spend(&mut self, now: Time, bytes: u32) {
        let time = self.settings.pace.duration(bytes);
        self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
        self.deficit -= i64::from(bytes);
    }

    /// The COBALT of `queue`, and what it is told.
    pub(super) fn cobalt(&mut self, queue: usize) -> (&mut CobaltCore, &CobaltSettings) {
        (&mut self.flows[queue].core, &self.settings.cobalt)
    }

    /// The queue of the flow with `tag`: the one reserved for it, else an idle one of its set, else the one that its hash
    /// says, which it then shares.
    pub(super) fn find(&mut self, tag: u64, source: u64, destination: u64) -> usize {
        let home = tag as usize % QUEUES;
        if self.flows[home].tag == tag && self.flows[home].set != Set::None {
            return home;
        }
        let ways = || (0..WAYS).map(|way| home / WAYS * WAYS + (home + way) % WAYS);
        let reserved = ways().find(|&queue| self.flows[queue].tag == tag);
        let queue = match reserved.or_else(|| ways().find(|&queue| self.flows[queue].set == Set::None)) {
            Some(queue) => queue,
            None => home,
        };
        if reserved.is_none() || self.flows[queue].set == Set::None {
            let bulk = self.flows[queue].set == Set::Bulk;
            if bulk {
                self.leave_hosts(queue);
            }
            let flow = &mut self.flows[queue];
            (flow.tag, flow.source, flow.destination) = (tag, source, destination);
            if bulk {
                self.enter_hosts(queue);
            }
        }
        queue
    }

    /// Queues that something is known of, for tests.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.flows.iter().filter(|flow| flow.set != Set::None).count()
    }

    fn enter_hosts(&mut self, queue: usize) {
        let Flow { source, destination, .. } = self.flows[queue];
        if self.settings.isolation.source {
            self.sources.enter(source);
        }
        if self.settings.isolation.destination {
            self.destinations.enter(destination);
        }
    }

    fn leave_hosts(&mut self, queue: usize) {
        let Flow { source, destination, .. } = self.flows[queue];
        if self.settings.isolation.source {
            self.sources.leave(source);
        }
        if self.settings.isolation.destination {
            self.destinations.leave(destination);
        }
    }

    /// What `queue` may send in a turn: the busier of its hosts shares a quantum among its bulk flows.
    fn quantum(&self, queue: usize) -> i64 {
        let Flow { source, destination, .. } = self.flows[queue];
        let mut load = 1;
        if self.settings.isolation.source {
            load = load.max(self.sources.load(source));
        }
        if self.settings.isolation.destination {
            load = load.max(self.destinations.load(destination));
        }
        self.settings.flow_quantum as i64 * SHARES[(load as usize).min(QUEUES)]
    }

    /// A packet was put into `queue`.
    pub(super) fn arrived(&mut self, queue: usize) {
        match self.flows[queue].set {
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
        self.flows[queue].set = Set::Sparse;
        self.flows[queue].deficit = self.quantum(queue);
        self.active += 1;
        self.join(queue, Row::New);
    }

    fn become_bulk(&mut self, queue: usize) {
        self.flows[queue].set = Set::Bulk;
        self.enter_hosts(queue);
    }

    /// The queue whose turn it is. One that is decaying is asked before all others if `decaying_first`.
    pub(super) fn next(&mut self, decaying_first: bool, has_packets: impl Fn(usize) -> bool) -> Option<usize> {
        let mut rows = [Row::New, Row::Old, Row::Decaying];
        if decaying_first {
            rows = [Row::Decaying, Row::New, Row::Old];
        }
        let mut asked = 0;
        loop {
            let row = rows.into_iter().find(|row| self.lines[*row as usize].flows > 0)?;
            let queue = self.lines[row as usize].head as usize;
            if self.flows[queue].deficit > 0 {
                return Some(queue);
            }
            // Nobody stays among the sparse who has used up what it got.
            if self.flows[queue].set == Set::Sparse {
                if has_packets(queue) {
                    self.become_bulk(queue);
                } else {
                    self.flows[queue].set = Set::SparseWait;
                }
            }
            self.flows[queue].deficit += self.quantum(queue);
            self.take_out(queue);
            self.join(queue, Row::Old);
            rows = [Row::New, Row::Old, Row::Decaying];
            asked += 1;
            if asked > self.lines[Row::Old as usize].flows {
                self.skip_rounds();
                asked = 0;
            }
        }
    }

    /// Nobody may send for some rounds yet: they all pass at once.
    fn skip_rounds(&mut self) {
        let mut rounds = i64::MAX;
        let mut at = self.lines[Row::Old as usize].head as usize;
        while let Some(flow) = self.flows.get(at) {
            // A share is never 0: a quantum is 300 bytes or more, in 65536 parts each, among 1024 flows.
            rounds = rounds.min((-flow.deficit).max(0) / self.quantum(at));
            at = flow.after as usize;
        }
        let mut at = self.lines[Row::Old as usize].head as usize;
        while at < self.flows.len() {
            self.flows[at].deficit += rounds * self.quantum(at);
            at = self.flows[at].after as usize;
        }
    }

    /// `queue`, whose turn it is, has sent `bytes` bytes.
    pub(super) fn charge(&mut self, queue: usize, bytes: u32) {
        self.flows[queue].deficit -= i64::from(bytes) * PART;
    }

    /// `queue`, whose turn it is, is empty.
    pub(super) fn retire(&mut self, queue: usize, now: Time) {
        let Flow { core, set, .. } = &mut self.flows[queue];
        core.empty(&self.settings.cobalt, now);
        let (rest, set) = (core.is_at_rest(now), *set);
        if set == Set::Bulk {
            self.leave_hosts(queue);
        }
        if set != Set::Decaying {
            self.active -= 1;
        }
        self.take_out(queue);
        self.flows[queue].set = if rest { Set::None } else { Set::Decaying };
        if !rest {
            self.join(queue, Row::Decaying);
        }
    }

    /// Takes `queue` out of its line.
    fn take_out(&mut self, queue: usize) {
        let Flow { before, after, row, .. } = self.flows[queue];
        match self.flows.get_mut(before as usize) {
            Some(flow) => flow.after = after,
            None => self.lines[row as usize].head = after,
        }
        match self.flows.get_mut(after as usize) {
            Some(flow) => flow.before = before,
            None => self.lines[row as usize].tail = before,
        }
        self.lines[row as usize].flows -= 1;
    }

    /// Puts `queue`, which is in no line, at the tail of `row`.
    fn join(&mut self, queue: usize, row: Row) {
        let line = &mut self.lines[row as usize];
        let before = line.tail;
        line.tail = queue as u32;
        line.flows += 1;
        if before == NIL {
            line.head = queue as u32;
        } else {
            self.flows[before as usize].after = queue as u32;
        }
        let flow = &mut self.flows[queue];
        (flow.before, flow.after, flow.row) = (before, NIL, row);
    }
}

/// What one of n flows gets of a byte, in parts.
const SHARES: [i64; QUEUES + 1] = {
    let mut shares = [PART; QUEUES + 1];
    let mut n = 1;
    while n <= QUEUES {
        shares[n] = PART / n as i64;
        n += 1;
    }
    shares
};
