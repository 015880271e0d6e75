//! The longest of many queues, for disciplines that drop from it.
//!
//! A binary heap of the queues that are not empty, with the position of each: finding the longest queue costs O(1), a
//! change of length O(log n). Ties go to the queue with the lowest number.

use alloc::vec::Vec;

/// The position of a queue that is not in the heap because it is empty.
const NIL: u32 = u32::MAX;

/// Queues ordered by length, in any unit.
#[derive(Debug, Default)]
pub(crate) struct Longest {
    heap: Vec<u32>,
    /// The length of each queue and its position in the heap.
    queues: Vec<(u64, u32)>,
}

impl Longest {
    /// Creates the order of queues that are all empty.
    pub(crate) const fn new() -> Self {
        Self { heap: Vec::new(), queues: Vec::new() }
    }

    /// Returns the longest queue and its length, or `None` if all queues are empty.
    pub(crate) fn get(&self) -> Option<(usize, u64)> {
        let queue = *self.heap.first()? as usize;
        Some((queue, self.queues[queue].0))
    }

    /// Sets the length of `queue`.
    pub(crate) fn set(&mut self, queue: usize, length: u64) {
        if queue >= self.queues.len() {
            self.queues.resize(queue + 1, (0, NIL));
        }
        let place = self.queues[queue].1;
        self.queues[queue].0 = length;
        match (place, length) {
            (NIL, 0) => {}
            (NIL, _) => {
                let place = self.heap.len();
                self.heap.push(queue as u32);
                self.queues[queue].1 = place as u32;
                self.rise(place);
            }
            (place, 0) => self.remove(queue, place as usize),
            (place, _) => {
                self.rise(place as usize);
                self.sink(place as usize);
            }
        }
    }

    /// Removes an empty queue from its `place`, which the last queue of the heap fills.
    fn remove(&mut self, queue: usize, place: usize) {
        let last = self.heap.len() - 1;
        self.swap(place, last);
        self.heap.pop();
        self.queues[queue].1 = NIL;
        if place < last {
            self.rise(place);
            self.sink(place);
        }
    }

    /// Tells whether the queue at position `a` belongs above the one at `b`.
    fn above(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.heap[a], self.heap[b]);
        let (long, short) = (self.queues[a as usize].0, self.queues[b as usize].0);
        long > short || (long == short && a < b)
    }

    /// Moves the queue at `place` up to where it belongs.
    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.above(place, (place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// Moves the queue at `place` down to where it belongs.
    fn sink(&mut self, mut place: usize) {
        loop {
            let mut top = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < self.heap.len() && self.above(child, top) {
                    top = child;
                }
            }
            if top == place {
                return;
            }
            self.swap(place, top);
            place = top;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.queues[self.heap[a] as usize].1 = a as u32;
        self.queues[self.heap[b] as usize].1 = b as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Would catch a longest queue that is missed, and a tie that does not go to the lowest number.
        #[test]
        fn equals_a_search_of_all_queues(script in prop::collection::vec((0..40_usize, 0..12_u64), 0..500)) {
            let mut longest = Longest::new();
            let mut lengths: Vec<u64> = std::vec![0; 40];
            for (queue, length) in script {
                longest.set(queue, length);
                lengths[queue] = length;
                let most = lengths.iter().copied().max().filter(|&most| most > 0);
                let found = most.and_then(|most| Some((lengths.iter().position(|&length| length == most)?, most)));
                prop_assert_eq!(longest.get(), found);
            }
        }
    }
}
