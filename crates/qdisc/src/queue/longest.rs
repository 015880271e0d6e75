//! The longest of many queues, for disciplines that drop from it. Of equally long queues, a random one is the longest.
//!
//! A fixed order of equally long queues would make the first of them lose whenever queues are level, and flows that
//! send alike would get unequal shares. So each change of a queue's length draws a random number, and the lowest number
//! of the equally long queues decides.

use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::queue::schedule::Schedule;
use crate::{Seed, Stream};

/// The length of a queue, and the number drawn for it.
#[derive(Clone, Copy, Debug)]
struct DrawnLength {
    length: u64,
    draw: u64,
    /// The queue is among those whose change the order does not know yet.
    changed: bool,
}

const EMPTY: DrawnLength = DrawnLength { length: 0, draw: 0, changed: false };

/// Queues ordered by length, in any unit.
///
/// A change of length costs O(1). Only a search for the longest brings the order up to date, so a discipline that drops
/// nothing does not pay for it: the search costs O(log n) for each queue that has changed since the last one.
#[derive(Debug)]
pub(crate) struct Longest {
    lengths: Vec<DrawnLength>,
    /// The queues that have changed since the last search, each once.
    changed: Vec<u32>,
    /// The queues that were not empty in the last search, by length and the number drawn for it.
    order: Schedule<(Reverse<u64>, u64)>,
    /// The number of queues that are not empty.
    backlogged: usize,
    draws: Stream,
}

impl Longest {
    /// Creates the order of queues that are all empty. The numbers come from the stream `longest` of `seed`.
    pub(crate) fn new(seed: Seed) -> Self {
        let draws = seed.stream("longest");
        Self { lengths: Vec::new(), changed: Vec::new(), order: Schedule::new(), backlogged: 0, draws }
    }

    /// Does the same with room for `queues` queues.
    pub(crate) fn with_room(seed: Seed, queues: u32) -> Self {
        let mut longest = Self::new(seed);
        longest.lengths.reserve(queues as usize);
        longest.changed.reserve(queues as usize);
        longest
    }

    /// Returns the longest queue, or `None` if all queues are empty.
    pub(crate) fn get(&mut self) -> Option<usize> {
        while let Some(queue) = self.changed.pop() {
            let entry = &mut self.lengths[queue as usize];
            entry.changed = false;
            if entry.length == 0 {
                self.order.remove(queue as usize);
            } else {
                self.order.set(queue as usize, (Reverse(entry.length), entry.draw));
            }
        }
        self.order.first().map(|(_, queue)| queue)
    }

    /// Returns the number of queues that are not empty.
    pub(crate) const fn len(&self) -> usize {
        self.backlogged
    }

    /// Sets the length of `queue` after a change. A queue that holds packets of no bytes must be given a length
    /// above 0.
    pub(crate) fn set(&mut self, queue: usize, length: u64) {
        if self.lengths.len() <= queue {
            self.add(queue);
        }
        let entry = &mut self.lengths[queue];
        if length > 0 {
            self.backlogged += usize::from(entry.length == 0);
            entry.draw = self.draws.bits();
        } else if entry.length > 0 {
            self.backlogged -= 1;
        } else {
            return;
        }
        entry.length = length;
        if !entry.changed {
            entry.changed = true;
            self.changed.push(queue as u32);
        }
    }

    /// Makes room for the queues up to `queue`.
    #[cold]
    fn add(&mut self, queue: usize) {
        self.lengths.resize(queue + 1, EMPTY);
        // Any number of the queues may change before the next search.
        self.changed.reserve(queue + 1 - self.changed.len());
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Would catch a longest queue that is missed, also after many changes without a search, and a queue that is
        /// found although it is empty.
        #[test]
        fn equals_a_search_of_all_queues(
            script in prop::collection::vec((0..40_usize, 0..12_u64, 0..4_u8), 0..500),
            seed: u64,
            often: bool,
        ) {
            let mut longest = Longest::new(Seed::new(seed));
            let mut lengths: Vec<u64> = std::vec![0; 40];
            for (queue, length, search) in script {
                longest.set(queue, length);
                lengths[queue] = length;
                if often || search == 0 {
                    let most = lengths.iter().copied().max().filter(|&most| most > 0);
                    prop_assert_eq!(longest.get().map(|queue| lengths[queue]), most);
                }
                prop_assert_eq!(longest.len(), lengths.iter().filter(|&&length| length > 0).count());
            }
        }
    }

    /// Would catch a tie that goes to some queues more often than to others.
    #[test]
    fn ties_are_broken_evenly() {
        let mut longest = Longest::new(Seed::new(1));
        let mut found = [0_u32; 10];
        for _ in 0..10_000 {
            for queue in 0..10 {
                longest.set(queue, 7);
            }
            if let Some(queue) = longest.get() {
                found[queue] += 1;
            }
        }
        let square = |count: u32| (f64::from(count) - 1000.0) * (f64::from(count) - 1000.0);
        let chi_square: f64 = found.into_iter().map(|count| square(count) / 1000.0).sum();
        // The 99.99 % point of chi-square with 9 degrees of freedom.
        assert!(chi_square < 33.7, "{found:?}");
    }
}
