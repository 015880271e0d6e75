//! A bounded table of flows in the order of their last use: when it is full, the flow that has been unused for longest
//! makes room for a new one.
//!
//! Each flow has an index under which the user of the table keeps the flow's data. Indices are dense: a new flow gets
//! the index that was freed last, or else the number of flows in the table.

use alloc::vec::Vec;

use crate::flow::table::FlowTable;
use crate::{FlowKey, Seed};

/// No flow.
const NIL: u32 = u32::MAX;

/// A flow and its neighbours in the order of use.
#[derive(Clone, Copy, Debug)]
struct LruLink {
    flow: FlowKey,
    /// The index of the flow used next after this one.
    newer: u32,
    /// The index of the flow used last before this one.
    older: u32,
}

/// The flows used last. It takes memory as flows come.
#[derive(Debug)]
pub(crate) struct LruFlows {
    indices: FlowTable,
    links: Vec<LruLink>,
    capacity: usize,
    newest: u32,
    oldest: u32,
}

impl LruFlows {
    /// Creates an empty table for at most `capacity` flows, but at least one.
    pub(crate) fn new(capacity: u32, seed: Seed) -> Self {
        let capacity = capacity.max(1) as usize;
        Self { indices: FlowTable::new(seed), links: Vec::new(), capacity, newest: NIL, oldest: NIL }
    }

    /// Returns the number of flows in the table.
    pub(crate) const fn flows(&self) -> usize {
        self.indices.flows()
    }

    /// Returns the index of `flow` if it is in the table. This is not a use of it.
    pub(crate) fn get(&self, flow: FlowKey) -> Option<usize> {
        self.indices.get(flow)
    }

    /// Returns the index of `flow` if it is in the table, and makes it the last used.
    pub(crate) fn touch(&mut self, flow: FlowKey) -> Option<usize> {
        let index = self.get(flow)?;
        if self.newest != index as u32 {
            self.unlink(index);
            self.link(index);
        }
        Some(index)
    }

    /// Adds `flow`, which must not be in the table, as the last used, and returns its index. If the table is full, the
    /// flow unused for longest is removed first, and `flow` gets its index.
    pub(crate) fn insert(&mut self, flow: FlowKey) -> usize {
        if self.flows() == self.capacity {
            self.remove(self.oldest as usize);
        }
        let (index, new) = self.indices.insert(flow);
        debug_assert!(new, "the flow is in the table");
        let link = LruLink { flow, newer: NIL, older: NIL };
        if index == self.links.len() {
            self.links.push(link);
        } else {
            self.links[index] = link;
        }
        self.link(index);
        index
    }

    /// Removes the flow at `index`, which must be in use. Another flow may get the index.
    pub(crate) fn remove(&mut self, index: usize) {
        self.unlink(index);
        self.indices.remove(self.links[index].flow);
    }

    /// Makes the flow at `index`, which is not in the list, the newest.
    fn link(&mut self, index: usize) {
        self.links[index].newer = NIL;
        self.links[index].older = self.newest;
        if self.newest == NIL {
            self.oldest = index as u32;
        } else {
            self.links[self.newest as usize].newer = index as u32;
        }
        self.newest = index as u32;
    }

    /// Takes the flow at `index` out of the list.
    fn unlink(&mut self, index: usize) {
        let LruLink { newer, older, .. } = self.links[index];
        if newer == NIL {
            self.newest = older;
        } else {
            self.links[newer as usize].older = older;
        }
        if older == NIL {
            self.oldest = newer;
        } else {
            self.links[older as usize].newer = newer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a flow that is evicted too early or too late, two flows with one index, and an index that is out of
    /// bounds or changes: a list of the flows from the longest unused to the last used does the same.
    #[test]
    fn behaves_as_a_list() {
        for capacity in [1_u32, 2, 5, 16] {
            let mut script = Seed::new(u64::from(capacity)).stream("script");
            let mut table = LruFlows::new(capacity, Seed::new(1));
            let mut list: Vec<(u64, usize)> = Vec::new();
            for _ in 0..20_000 {
                let flow = u64::from(script.below(script.clone().below(30) + 1));
                let at = list.iter().position(|&(other, _)| other == flow);
                assert_eq!(table.get(FlowKey::new(flow)), at.map(|at| list[at].1));
                if let Some(at) = at {
                    let (_, index) = list.remove(at);
                    if script.below(8) == 0 {
                        table.remove(index);
                    } else {
                        assert_eq!(table.touch(FlowKey::new(flow)), Some(index));
                        list.push((flow, index));
                    }
                } else {
                    assert_eq!(table.touch(FlowKey::new(flow)), None);
                    if list.len() == capacity as usize {
                        list.remove(0);
                    }
                    let index = table.insert(FlowKey::new(flow));
                    assert!(index < capacity as usize && list.iter().all(|&(_, other)| other != index));
                    list.push((flow, index));
                }
                assert_eq!(table.flows(), list.len());
            }
        }
    }
}
