//! A bounded table of flows with their hits, in order of use: the longest unused flow makes room for a new one.

use alloc::vec::Vec;

use crate::flow::lru::LruFlows;
use crate::{Duration, FlowKey, Seed, Time};

/// The most hits that a cap may allow: 2^63 is the largest power of two in 64 bits.
pub(crate) const MAX_HITS: u32 = 63;

/// The most flows in a table.
pub(crate) const MAX_TABLE: u32 = 1 << 20;

/// Returns 2^`hits`, which is exact up to [`MAX_HITS`].
pub(crate) const fn two_to_the(hits: u32) -> f64 {
    (1_u64 << if hits < MAX_HITS { hits } else { MAX_HITS }) as f64
}

/// The hits of a flow.
#[derive(Clone, Copy, Debug)]
struct FlowHits {
    hits: u32,
    /// The time from which the next halving is counted.
    since: Time,
}

impl FlowHits {
    /// Tells whether an `age` has passed.
    #[inline(always)]
    const fn is_due(&self, now: Time, age: Duration) -> bool {
        now.since(self.since).as_nanos() >= age.as_nanos()
    }

    /// Halves the hits once for each `age` that has passed, and returns the rest.
    fn halve(&mut self, now: Time, age: Duration) -> u32 {
        let halvings = now.since(self.since).as_nanos() / age.as_nanos().max(1);
        self.hits = if halvings < 32 { self.hits >> halvings } else { 0 };
        self.since += Duration::from_nanos(halvings * age.as_nanos());
        self.hits
    }
}

/// Flows with their hits, which are halved over time. A flow without hits leaves the table when it is next looked up.
#[derive(Debug)]
pub(crate) struct HitTable {
    flows: LruFlows,
    hits: Vec<FlowHits>,
    age: Option<Duration>,
}

impl HitTable {
    /// Creates a table for `size` flows, whose hits are never halved.
    pub(crate) fn new(size: u32, seed: Seed) -> Self {
        Self { flows: LruFlows::new(size, seed), hits: Vec::new(), age: None }
    }

    /// Halves the hits of each flow every `age` from now on, or never.
    pub(crate) const fn halve_every(&mut self, age: Option<Duration>) {
        self.age = age;
    }

    /// Returns the number of flows in the table.
    pub(crate) const fn flows(&self) -> usize {
        self.flows.flows()
    }

    /// Returns the hits of `flow` after halving, if it is in the table, and makes it the newest.
    #[inline]
    pub(crate) fn touch(&mut self, now: Time, flow: FlowKey) -> Option<u32> {
        let index = self.flows.touch(flow)?;
        let hits = self.hits[index];
        if self.age.is_some_and(|age| hits.is_due(now, age)) {
            return self.touch_late(now, index);
        }
        Some(hits.hits)
    }

    /// Does the rest of [`touch`](Self::touch) where hits are halved. Apart, so that nothing is kept across a call
    /// where none are.
    #[cold]
    #[inline(never)]
    fn touch_late(&mut self, now: Time, index: usize) -> Option<u32> {
        let index = self.halve(now, index)?;
        Some(self.hits[index].hits)
    }

    /// Counts a hit of `flow`, up to `cap`. A flow that is not in the table is inserted with one.
    pub(crate) fn count(&mut self, now: Time, flow: FlowKey, cap: u32) {
        if let Some(index) = self.look_up(now, flow) {
            let hits = &mut self.hits[index].hits;
            *hits = (*hits + 1).min(cap);
            return;
        }
        let index = self.flows.insert(flow);
        let first = FlowHits { hits: 1, since: now };
        if index == self.hits.len() {
            self.hits.push(first);
        } else {
            self.hits[index] = first;
        }
    }

    /// Returns the index of `flow` if it still has hits, and makes it the newest; removes it if it has none left.
    fn look_up(&mut self, now: Time, flow: FlowKey) -> Option<usize> {
        let index = self.flows.touch(flow)?;
        self.halve(now, index)
    }

    /// Halves the hits of the flow at `index` if it is time. Returns the index, or removes the flow if it has no hits
    /// left.
    fn halve(&mut self, now: Time, index: usize) -> Option<usize> {
        let hits = &mut self.hits[index];
        if self.age.is_some_and(|age| hits.is_due(now, age) && hits.halve(now, age) == 0) {
            self.flows.remove(index);
            return None;
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(number: u64) -> FlowKey {
        FlowKey::new(number)
    }

    fn second(number: u64) -> Time {
        Time::from_nanos(number * 1_000_000_000)
    }

    /// Halving counts from the first hit, and the rest of an interval is not lost.
    #[test]
    fn hits_are_halved_every_age() {
        let mut table = HitTable::new(4, Seed::new(1));
        table.halve_every(Some(Duration::from_secs(10.0)));
        for _ in 0..40 {
            table.count(second(1), flow(7), 30);
        }
        assert_eq!(table.touch(second(10), flow(7)), Some(30));
        assert_eq!(table.touch(second(18), flow(7)), Some(15));
        assert_eq!(table.touch(second(20), flow(7)), Some(15));
        assert_eq!(table.touch(second(21), flow(7)), Some(7));
        assert_eq!(table.touch(second(49), flow(7)), Some(1));
        assert_eq!(table.touch(second(51), flow(7)), None);
        assert_eq!(table.flows(), 0);
        table.count(second(51), flow(7), 30);
        assert_eq!(table.touch(Time::MAX, flow(7)), None);
    }

    #[test]
    fn the_longest_unused_makes_room() {
        let mut table = HitTable::new(3, Seed::new(1));
        for number in 0..3 {
            table.count(Time::ZERO, flow(number), 30);
        }
        assert_eq!(table.touch(Time::ZERO, flow(0)), Some(1));
        table.count(Time::ZERO, flow(9), 30);
        assert_eq!(
            [0, 1, 2, 9].map(|number| table.touch(Time::ZERO, flow(number)).is_some()),
            [true, false, true, true]
        );
    }

    /// A list of the flows from the longest unused would do the same, slowly.
    #[test]
    fn behaves_as_a_list_with_colliding_flows() {
        let mut script = Seed::new(8).stream("script");
        let mut table = HitTable::new(16, Seed::new(1));
        table.halve_every(Some(Duration::from_nanos(50)));
        let mut list: Vec<(u64, u32, u64)> = Vec::new();
        for now in 0..100_000 {
            // Keys whose product ends alike fall into the same buckets.
            let number = u64::from(script.below(40)) << (32 * script.below(2));
            let at = list.iter().position(|&(known, ..)| known == number);
            let mut known = at.map(|at| list.remove(at));
            if let Some((_, hits, since)) = &mut known {
                while *hits > 0 && now - *since >= 50 {
                    *hits /= 2;
                    *since += 50;
                }
            }
            let known = known.filter(|&(_, hits, _)| hits > 0);
            let hit = script.below(3) == 0;
            if hit {
                table.count(Time::from_nanos(now), flow(number), 5);
                let (_, hits, since) = known.unwrap_or((number, 0, now));
                if known.is_none() && list.len() == 16 {
                    list.remove(0);
                }
                list.push((number, (hits + 1).min(5), since));
            } else {
                let hits = table.touch(Time::from_nanos(now), flow(number));
                assert_eq!(hits, known.map(|(_, hits, _)| hits));
                list.extend(known);
            }
        }
        assert_eq!(table.flows(), list.len());
        assert!(table.flows() <= 16);
    }
}
