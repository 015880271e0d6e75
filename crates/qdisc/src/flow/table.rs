//! A table that numbers flows. A new flow takes the number of a removed one, so that numbers stay small and dense and
//! can index the state that a discipline keeps of each flow.
//!
//! The table is a hash table with open addressing, linear probing and no tombstones: a removal moves later entries
//! back. It is at most half full. Its memory follows the largest number of flows that it has held at once.

use alloc::vec::Vec;

use crate::flow::hash::SlotHash;
use crate::{FlowKey, Seed};

/// The number of slots of the first table.
const FIRST: usize = 16;

/// A flow and its number; [`FlowKey::NONE`] in a vacant slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    flow: FlowKey,
    number: u32,
}

const VACANT: Slot = Slot { flow: FlowKey::NONE, number: 0 };

/// A set of flows, each with its number.
#[derive(Debug)]
pub(crate) struct FlowTable {
    slots: Vec<Slot>,
    flows: usize,
    /// The numbers of removed flows; the last one is reused first.
    free: Vec<u32>,
    hash: SlotHash,
}

impl FlowTable {
    /// Creates an empty table, hashed with a key from `seed`.
    pub(crate) fn new(seed: Seed) -> Self {
        Self { slots: Vec::new(), flows: 0, free: Vec::new(), hash: SlotHash::new(seed.named("flow table")) }
    }

    /// Creates an empty table with room for `flows` flows.
    pub(crate) fn with_room(seed: Seed, flows: usize) -> Self {
        let mut table = Self::new(seed);
        while table.slots.len() < 2 * flows {
            table.grow();
        }
        table
    }

    /// Returns the number of flows.
    pub(crate) const fn flows(&self) -> usize {
        self.flows
    }

    /// Returns the number of `flow`, or `None` if it is not in the table.
    pub(crate) fn get(&self, flow: FlowKey) -> Option<usize> {
        let (_, slot) = self.find(flow)?;
        (slot.flow == flow).then_some(slot.number as usize)
    }

    /// Inserts `flow` unless it is in the table. Returns its number, and whether it is new: a new flow has the number
    /// of a removed one, or else the next higher number.
    pub(crate) fn insert(&mut self, flow: FlowKey) -> (usize, bool) {
        let mut at = 0;
        if let Some((found, slot)) = self.find(flow) {
            if slot.flow == flow {
                return (slot.number as usize, false);
            }
            at = found;
        }
        if 2 * (self.flows + 1) > self.slots.len() {
            self.grow();
            at = self.find(flow).map_or(0, |(vacant, _)| vacant);
        }
        // Without free numbers, the numbers in use are 0..flows.
        let number = self.free.pop().unwrap_or(self.flows as u32);
        self.slots[at] = Slot { flow, number };
        self.flows += 1;
        (number as usize, true)
    }

    /// Removes `flow`. Returns its number, which a later flow may get, or `None` if it is not in the table.
    pub(crate) fn remove(&mut self, flow: FlowKey) -> Option<usize> {
        let (mut hole, Slot { flow: found, number }) = self.find(flow)?;
        if found != flow {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut next = hole;
        loop {
            next = (next + 1) & mask;
            let slot = self.slots[next];
            if slot.flow == FlowKey::NONE {
                break;
            }
            // The entry may move to the hole unless the hole lies before its home slot, in the order of the probing.
            let home = self.home(slot.flow);
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = slot;
                hole = next;
            }
        }
        self.slots[hole] = VACANT;
        self.flows -= 1;
        self.free.push(number);
        Some(number as usize)
    }

    /// Returns the slot where the search for `flow` starts.
    fn home(&self, flow: FlowKey) -> usize {
        self.hash.bits(flow.get()) as usize & (self.slots.len() - 1)
    }

    /// Returns the slot of `flow` and its position, or the vacant slot where it would be inserted; `None` while there
    /// are no slots.
    #[inline(always)]
    fn find(&self, flow: FlowKey) -> Option<(usize, Slot)> {
        let slots = self.slots.as_slice();
        let mask = slots.len().checked_sub(1)?;
        let mut at = self.hash.bits(flow.get()) as usize & mask;
        loop {
            let slot = slots[at];
            if slot.flow == flow || slot.flow == FlowKey::NONE {
                return Some((at, slot));
            }
            at = (at + 1) & mask;
        }
    }

    /// Doubles the number of slots.
    fn grow(&mut self) {
        let capacity = (2 * self.slots.len()).max(FIRST);
        let mut before = Vec::with_capacity(capacity);
        before.resize(capacity, VACANT);
        core::mem::swap(&mut self.slots, &mut before);
        for slot in before.into_iter().filter(|slot| slot.flow != FlowKey::NONE) {
            if let Some((vacant, _)) = self.find(slot.flow) {
                self.slots[vacant] = slot;
            }
        }
        // As many numbers can become free as slots can be used: reserving now saves an allocation later.
        self.free.reserve(capacity / 2 - self.free.len());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Would catch a flow lost by the removal of another, two flows of one number, a number at or above the largest
        /// number of flows held at once, and a table that fills up.
        #[test]
        fn behaves_as_a_map(script in prop::collection::vec((0..60_u64, 0..5_u8), 0..800), seed: u64) {
            let mut table = FlowTable::new(Seed::new(seed));
            let mut map: BTreeMap<u64, usize> = BTreeMap::new();
            let mut most = 0;
            for (key, action) in script {
                let flow = FlowKey::new(key);
                match action {
                    0..=2 => {
                        let (number, new) = table.insert(flow);
                        prop_assert_eq!(new, !map.contains_key(&key));
                        if new {
                            prop_assert!(!map.values().any(|&other| other == number));
                        }
                        prop_assert_eq!(*map.entry(key).or_insert(number), number);
                    }
                    3 => prop_assert_eq!(table.remove(flow), map.remove(&key)),
                    _ => prop_assert_eq!(table.get(flow), map.get(&key).copied()),
                }
                most = most.max(map.len());
                prop_assert_eq!(table.flows(), map.len());
                prop_assert!(map.values().all(|&number| number < most));
                prop_assert!(table.slots.is_empty() || 2 * map.len() <= table.slots.len());
            }
            for (&key, &number) in &map {
                prop_assert_eq!(table.get(FlowKey::new(key)), Some(number));
            }
        }
    }
}
