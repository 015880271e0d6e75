//! The choice among equally long queues: each change of a queue's length draws a number for it unless it is empty then,
//! and the lowest number of the equally long queues decides.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use fairlane_qdisc::{Seed, Stream};

pub(crate) struct Ties {
    draws: Stream,
    drawn: BTreeMap<u64, u64>,
}

impl Ties {
    pub(crate) fn new(seed: Seed) -> Self {
        Self { draws: seed.stream("longest"), drawn: BTreeMap::new() }
    }

    /// Notes that the length of `queue` has changed.
    pub(crate) fn changed(&mut self, queue: u64, is_empty: bool) {
        if !is_empty {
            self.drawn.insert(queue, self.draws.bits());
        }
    }

    /// Returns the longest of queues that are not empty, given by their names and lengths.
    pub(crate) fn longest(&self, queues: impl Iterator<Item = (u64, u64)>) -> Option<u64> {
        queues.max_by_key(|&(queue, length)| (length, Reverse(self.drawn.get(&queue)))).map(|(queue, _)| queue)
    }
}
