//! Small numbers for those of many queues that are in use.
//!
//! A discipline that hashes flows may have 65,536 queues, few of which hold packets at a time. Its state is indexed by
//! these numbers and not by the queues' own, so that it is dense and stays in the processor's cache.
//!
//! **Source.** A sparse set: Briggs, Torczon, "An efficient representation for sparse sets", ACM Letters on Programming
//! Languages and Systems 2, 1993.

use alloc::vec;
use alloc::vec::Vec;

/// The queue of a number that is not in use.
const NOBODY: u32 = u32::MAX;

/// The queues that are in use, each with its number.
#[derive(Debug)]
pub(crate) struct QueueNumbers {
    /// The number of each queue. It counts only if `queues` has the queue under that number.
    numbers: Vec<u16>,
    /// The queue of each number, or [`NOBODY`].
    queues: Vec<u32>,
    /// The numbers that were freed; the last one is reused first.
    free: Vec<u16>,
}

impl QueueNumbers {
    /// Creates the numbers of `queues` queues, at most 65,536, of which none is in use.
    pub(crate) fn new(queues: u32) -> Self {
        let queues = queues as usize;
        Self { numbers: vec![0; queues], queues: Vec::with_capacity(queues), free: Vec::with_capacity(queues) }
    }

    /// Returns the number of `queue` if it is in use.
    pub(crate) fn get(&self, queue: u32) -> Option<usize> {
        let number = self.numbers[queue as usize] as usize;
        (self.queues.get(number) == Some(&queue)).then_some(number)
    }

    /// Returns the number of `queue`, which is in use from now on, and whether it was not before. Then it has the
    /// number that was freed last, or the next higher one.
    #[inline]
    pub(crate) fn insert(&mut self, queue: u32) -> (usize, bool) {
        if let Some(number) = self.get(queue) {
            return (number, false);
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.queues[number as usize] = queue;
                number as usize
            }
            None => {
                self.queues.push(queue);
                self.queues.len() - 1
            }
        };
        self.numbers[queue as usize] = number as u16;
        (number, true)
    }

    /// Frees `number`, which must be in use.
    pub(crate) fn remove(&mut self, number: usize) {
        self.queues[number] = NOBODY;
        self.free.push(number as u16);
    }
}

/// Puts `state` under `number`, which is new: at most the number of `states`.
#[inline]
pub(crate) fn put<T>(states: &mut Vec<T>, number: usize, state: T) {
    match states.get_mut(number) {
        Some(known) => *known = state,
        None => states.push(state),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Would catch two queues of one number, a number that is forgotten or outlives its removal, and numbers that
        /// are not dense.
        #[test]
        fn behaves_as_a_map(script in prop::collection::vec((0..40_u32, 0..3_u8), 0..600)) {
            let mut numbers = QueueNumbers::new(40);
            let mut map: BTreeMap<u32, usize> = BTreeMap::new();
            let mut most = 0;
            for (queue, action) in script {
                prop_assert_eq!(numbers.get(queue), map.get(&queue).copied());
                if action > 0 {
                    let (number, new) = numbers.insert(queue);
                    prop_assert_eq!(new, !map.contains_key(&queue));
                    prop_assert!(map.iter().all(|(&other, &taken)| (taken == number) == (other == queue) || new && taken != number));
                    map.insert(queue, number);
                } else if let Some(number) = map.remove(&queue) {
                    numbers.remove(number);
                }
                most = most.max(map.len());
                prop_assert!(map.values().all(|&number| number < most));
            }
        }
    }

    /// Would catch a number that does not fit: all of the most queues are in use at once.
    #[test]
    fn all_queues_may_be_in_use() {
        let mut numbers = QueueNumbers::new(65_536);
        for queue in (0..65_536).rev() {
            assert_eq!(numbers.insert(queue), (65_535 - queue as usize, true));
        }
        for queue in 0..65_536 {
            assert_eq!(numbers.insert(queue), (65_535 - queue as usize, false));
        }
    }
}
