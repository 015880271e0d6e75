//! Flows ordered by a key of the caller's choice, such as the virtual finish time of their first packets: an indexed
//! heap with the smallest key on top.

use alloc::vec::Vec;

/// Children of a node. Four share a cache line, and the heap is half as deep as with two.
const FAN: usize = 4;

/// The position of a flow that is not scheduled.
const ABSENT: u32 = u32::MAX;

/// Flows ordered by their keys. Finding the first costs O(1), a change O(log n).
#[derive(Debug)]
pub(crate) struct Schedule<K> {
    heap: Vec<(K, u32)>,
    /// The position of each flow in the heap.
    places: Vec<u32>,
}

impl<K: Copy + Ord> Schedule<K> {
    /// Creates an empty schedule.
    pub(crate) const fn new() -> Self {
        Self { heap: Vec::new(), places: Vec::new() }
    }

    /// Returns the number of scheduled flows.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Returns the smallest key and its flow.
    pub(crate) fn first(&self) -> Option<(K, usize)> {
        self.heap.first().map(|&(key, flow)| (key, flow as usize))
    }

    /// Tells whether `flow` is scheduled.
    pub(crate) fn contains(&self, flow: usize) -> bool {
        self.places.get(flow).is_some_and(|&place| place != ABSENT)
    }

    /// Schedules `flow` at `key`, which replaces its previous key; tells whether it had one.
    pub(crate) fn set(&mut self, flow: usize, key: K) -> bool {
        if self.places.len() <= flow {
            self.make_room(flow);
        }
        let place = self.places[flow];
        let entry = (key, flow as u32);
        if place == ABSENT {
            self.heap.push(entry);
            self.rise(self.heap.len() - 1, entry);
        } else if key < self.heap[place as usize].0 {
            self.rise(place as usize, entry);
        } else {
            self.sink(place as usize, entry);
        }
        place != ABSENT
    }

    /// Makes room for the flows up to `flow`.
    #[cold]
    fn make_room(&mut self, flow: usize) {
        self.places.resize(flow + 1, ABSENT);
        // Each may be scheduled.
        self.heap.reserve(flow + 1 - self.heap.len());
    }

    /// Removes `flow`, if it is scheduled.
    pub(crate) fn remove(&mut self, flow: usize) {
        let Some(place) = self.places.get_mut(flow) else { return };
        let hole = core::mem::replace(place, ABSENT) as usize;
        let Some(last) = (hole < self.heap.len()).then(|| self.heap.pop()).flatten() else { return };
        if hole == self.heap.len() {
            return;
        }
        // The last entry fills the hole and moves from there to where it belongs.
        if last.0 < self.heap[hole].0 {
            self.rise(hole, last);
        } else {
            self.sink(hole, last);
        }
    }

    /// Puts `entry` where it belongs: at `hole` or above.
    fn rise(&mut self, mut hole: usize, entry: (K, u32)) {
        while hole > 0 {
            let place = (hole - 1) / FAN;
            let parent = self.heap[place];
            if parent.0 <= entry.0 {
                break;
            }
            self.put(hole, parent);
            hole = place;
        }
        self.put(hole, entry);
    }

    /// Puts `entry` where it belongs: at `hole` or below.
    fn sink(&mut self, mut hole: usize, entry: (K, u32)) {
        while let Some((place, child)) = self.least_child(hole) {
            if child.0 >= entry.0 {
                break;
            }
            self.put(hole, child);
            hole = place;
        }
        self.put(hole, entry);
    }

    /// Returns the child of `node` with the least key, the first of several, and its position.
    #[inline]
    fn least_child(&self, node: usize) -> Option<(usize, (K, u32))> {
        let first = node * FAN + 1;
        let Some(children) = self.heap.get(first..first + FAN) else {
            let last = self.heap.get(first..)?.iter().enumerate();
            return last.min_by_key(|(_, child)| child.0).map(|(place, child)| (first + place, *child));
        };
        let lesser = |one: usize, other: usize| if children[other].0 < children[one].0 { other } else { one };
        let least = lesser(lesser(0, 1), lesser(2, 3));
        Some((first + least, children[least]))
    }

    fn put(&mut self, place: usize, entry: (K, u32)) {
        self.heap[place] = entry;
        self.places[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Would catch an entry that is lost, found twice, or out of place after a move.
        #[test]
        fn the_first_is_always_the_smallest(script in prop::collection::vec((0_usize..40, prop::option::of(0_u32..50)), 0..300)) {
            let mut schedule = Schedule::new();
            let mut model: Vec<(u32, usize)> = Vec::new();
            for (flow, key) in script {
                model.retain(|entry| entry.1 != flow);
                match key {
                    Some(key) => {
                        schedule.set(flow, key);
                        model.push((key, flow));
                    }
                    None => schedule.remove(flow),
                }
                prop_assert_eq!(schedule.len(), model.len());
                prop_assert_eq!(schedule.first().map(|(key, _)| key), model.iter().map(|entry| entry.0).min());
                for flow in 0..40 {
                    prop_assert_eq!(schedule.contains(flow), model.iter().any(|entry| entry.1 == flow));
                }
            }
            while let Some((key, flow)) = schedule.first() {
                prop_assert_eq!(Some(key), model.iter().map(|entry| entry.0).min());
                prop_assert!(model.contains(&(key, flow)));
                model.retain(|entry| entry.1 != flow);
                schedule.remove(flow);
            }
            prop_assert!(model.is_empty());
        }
    }
}
