//! The longest of many queues, for disciplines that drop from it. Of equally long queues, a random one is the longest.
//!
//! A fixed order of equally long queues would make the first of them lose whenever queues are level, and flows that send
//! alike would get unequal shares. So each change of a queue's length draws a random number, and the lowest number of the
//! equally long queues decides.

use core::cmp::Reverse;

use crate::queue::schedule::Schedule;
use crate::{Seed, Stream};

/// Queues ordered by length, in any unit. Finding the longest costs O(1), a change of length O(log n).
#[derive(Debug)]
pub(crate) struct Longest {
    /// The queues that are not empty, by length and the number drawn for it.
    order: Schedule<(Reverse<u64>, u64)>,
    draws: Stream,
}

impl Longest {
    /// Creates the order of queues that are all empty. The numbers come from the stream `longest` of `seed`.
    pub(crate) fn new(seed: Seed) -> Self {
        Self { order: Schedule::new(), draws: seed.stream("longest") }
    }

    /// Returns the longest queue, or `None` if all queues are empty.
    pub(crate) fn get(&self) -> Option<usize> {
        self.order.first().map(|(_, queue)| queue)
    }

    /// Returns the number of queues that are not empty.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Sets the length of `queue` after a change. A queue that holds packets of no bytes must be given a length above 0.
    pub(crate) fn set(&mut self, queue: usize, length: u64) {
        if length == 0 {
            self.order.remove(queue);
        } else {
            self.order.set(queue, (Reverse(length), self.draws.bits()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Would catch a longest queue that is missed, and a queue that is found although it is empty.
        #[test]
        fn equals_a_search_of_all_queues(script in prop::collection::vec((0..40_usize, 0..12_u64), 0..500), seed: u64) {
            let mut longest = Longest::new(Seed::new(seed));
            let mut lengths: Vec<u64> = std::vec![0; 40];
            for (queue, length) in script {
                longest.set(queue, length);
                lengths[queue] = length;
                let most = lengths.iter().copied().max().filter(|&most| most > 0);
                prop_assert_eq!(longest.get().map(|queue| lengths[queue]), most);
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
