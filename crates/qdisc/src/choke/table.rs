//! A bounded table of flows in order of use: the longest unused makes room for a new one.

use alloc::vec;
use alloc::vec::Vec;

use crate::{Duration, FlowKey, Time};

/// No entry.
const NIL: u32 = u32::MAX;

/// One flow.
#[derive(Clone, Copy, Debug)]
struct Entry {
    flow: FlowKey,
    hits: u32,
    /// From when the next halving is counted.
    since: Time,
    /// The next entry of the same bucket.
    next: u32,
    /// The entry used just after this one.
    newer: u32,
    /// The entry used just before this one.
    older: u32,
}

/// Flows with their hits: a hash table with chains, and a list from the newest to the oldest. All memory is taken
/// at the start.
#[derive(Debug)]
pub(super) struct FlowTable {
    entries: Vec<Entry>,
    size: usize,
    buckets: Vec<u32>,
    /// Entries that aged away, linked by `next`.
    free: u32,
    newest: u32,
    oldest: u32,
    age: Option<Duration>,
}

impl FlowTable {
    /// A table for `size` flows, whose hits are halved every `age`.
    pub(super) fn new(size: u32, age: Option<Duration>) -> Self {
        let size = size.max(1) as usize;
        let buckets = vec![NIL; (2 * size).next_power_of_two()];
        Self { entries: Vec::with_capacity(size), size, buckets, free: NIL, newest: NIL, oldest: NIL, age }
    }

    /// Whether `flow` is in the table.
    pub(super) fn contains(&self, flow: FlowKey) -> bool {
        self.find(flow) != NIL
    }

    /// The hits of `flow` after ageing, if it is in the table; it becomes the newest.
    pub(super) fn touch(&mut self, now: Time, flow: FlowKey) -> Option<u32> {
        let at = self.find(flow);
        if at == NIL {
            return None;
        }
        self.unlist(at);
        let hits = self.aged(at, now);
        if hits == 0 {
            self.unchain(at);
            self.entries[at as usize].next = self.free;
            self.free = at;
            return None;
        }
        self.list(at);
        Some(hits)
    }

    /// Counts a hit of `flow`, up to `cap`. A flow that is not in the table comes in with one.
    pub(super) fn count(&mut self, now: Time, flow: FlowKey, cap: u32) {
        if self.touch(now, flow).is_some() {
            let newest = self.newest as usize;
            let entry = &mut self.entries[newest];
            entry.hits = (entry.hits + 1).min(cap);
        } else {
            self.insert(now, flow);
        }
    }

    /// Brings in `flow`, which is not in the table, with one hit. The oldest goes if the table is full.
    pub(super) fn insert(&mut self, now: Time, flow: FlowKey) {
        let at = self.vacancy();
        let bucket = self.bucket(flow);
        let entry = Entry { flow, hits: 1, since: now, next: self.buckets[bucket], newer: NIL, older: NIL };
        if at as usize == self.entries.len() {
            self.entries.push(entry);
        } else {
            self.entries[at as usize] = entry;
        }
        self.buckets[bucket] = at;
        self.list(at);
    }

    /// A place for a new entry.
    fn vacancy(&mut self) -> u32 {
        if self.free != NIL {
            let at = self.free;
            self.free = self.entries[at as usize].next;
            at
        } else if self.entries.len() < self.size {
            self.entries.len() as u32
        } else {
            let at = self.oldest;
            self.unlist(at);
            self.unchain(at);
            at
        }
    }

    /// Halves the hits of the entry `at` for the time that has passed; what is left.
    fn aged(&mut self, at: u32, now: Time) -> u32 {
        let entry = &mut self.entries[at as usize];
        if let Some(age) = self.age {
            let passed = now.since(entry.since);
            if passed >= age {
                let halvings = passed.as_nanos() / age.as_nanos().max(1);
                entry.hits = if halvings < 32 { entry.hits >> halvings } else { 0 };
                entry.since += Duration::from_nanos(halvings * age.as_nanos());
            }
        }
        entry.hits
    }

    fn bucket(&self, flow: FlowKey) -> usize {
        // Fibonacci hashing: the high bits of the product are well mixed, also for keys in a row.
        (flow.get().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.buckets.len() - 1)
    }

    fn find(&self, flow: FlowKey) -> u32 {
        let mut at = self.buckets[self.bucket(flow)];
        while at != NIL && self.entries[at as usize].flow != flow {
            at = self.entries[at as usize].next;
        }
        at
    }

    /// Takes the entry `at` out of its bucket.
    fn unchain(&mut self, at: u32) {
        let Entry { flow, next, .. } = self.entries[at as usize];
        let bucket = self.bucket(flow);
        if self.buckets[bucket] == at {
            self.buckets[bucket] = next;
            return;
        }
        let mut before = self.buckets[bucket];
        while self.entries[before as usize].next != at {
            before = self.entries[before as usize].next;
        }
        self.entries[before as usize].next = next;
    }

    /// Makes the entry `at` the newest.
    fn list(&mut self, at: u32) {
        self.entries[at as usize].newer = NIL;
        self.entries[at as usize].older = self.newest;
        if self.newest == NIL {
            self.oldest = at;
        } else {
            self.entries[self.newest as usize].newer = at;
        }
        self.newest = at;
    }

    /// Takes the entry `at` out of the list.
    fn unlist(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        if newer == NIL {
            self.newest = older;
        } else {
            self.entries[newer as usize].older = older;
        }
        if older == NIL {
            self.oldest = newer;
        } else {
            self.entries[older as usize].newer = newer;
        }
    }
}
