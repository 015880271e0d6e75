//! A bounded table of flows in the order of their last use: when it is full, the flow that has been unused for longest
//! makes room for a new one.
//!
//! Each flow has an index under which the user of the table keeps the flow's data. Indices are dense: a new flow gets
//! the index that was freed last, or else the number of flows in the table.

use alloc::vec;
use alloc::vec::Vec;

use crate::flow::table::FlowTable;
use crate::{FlowKey, Seed};

/// The link that closes the order of use to a ring: it is newer than the newest flow and older than the oldest. So no
/// link is without a neighbour, and a move takes no branch, which would often be mispredicted.
const ENDS: usize = 0;

/// A flow and its neighbours in the order of use.
#[derive(Clone, Copy, Debug)]
struct LruLink {
    flow: FlowKey,
    /// The link of the flow used next after this one.
    newer: u32,
    /// The link of the flow used last before this one.
    older: u32,
}

/// The flows used last. It takes memory as flows come.
#[derive(Debug)]
pub(crate) struct LruFlows {
    indices: FlowTable,
    /// [`ENDS`], then a link for each index.
    links: Vec<LruLink>,
    capacity: usize,
}

impl LruFlows {
    /// Creates an empty table for at most `capacity` flows, but at least one.
    pub(crate) fn new(capacity: u32, seed: Seed) -> Self {
        let capacity = capacity.max(1) as usize;
        let ends = LruLink { flow: FlowKey::NONE, newer: ENDS as u32, older: ENDS as u32 };
        Self { indices: FlowTable::new(seed), links: vec![ends], capacity }
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
    #[inline]
    pub(crate) fn touch(&mut self, flow: FlowKey) -> Option<usize> {
        let index = self.get(flow)?;
        self.unlink(index);
        self.link(index);
        Some(index)
    }

    /// Adds `flow`, which must not be in the table, as the last used, and returns its index. If the table is full, the
    /// flow unused for longest is removed first, and `flow` gets its index.
    pub(crate) fn insert(&mut self, flow: FlowKey) -> usize {
        if self.flows() == self.capacity {
            self.remove(self.links[ENDS].newer as usize - 1);
        }
        let (index, new) = self.indices.insert(flow);
        debug_assert!(new, "the flow is in the table");
        if index + 1 == self.links.len() {
            self.links.push(self.links[ENDS]);
        }
        self.links[index + 1].flow = flow;
        self.link(index);
        index
    }

    /// Removes the flow at `index`, which must be in use. Another flow may get the index.
    pub(crate) fn remove(&mut self, index: usize) {
        self.unlink(index);
        self.indices.remove(self.links[index + 1].flow);
    }

    /// Makes the flow at `index`, which is not in the order, the newest.
    fn link(&mut self, index: usize) {
        let place = index + 1;
        let newest = self.links[ENDS].older;
        self.links[place].newer = ENDS as u32;
        self.links[place].older = newest;
        self.links[newest as usize].newer = place as u32;
        self.links[ENDS].older = place as u32;
    }

    /// Takes the flow at `index` out of the order.
    fn unlink(&mut self, index: usize) {
        let LruLink { newer, older, .. } = self.links[index + 1];
        self.links[newer as usize].older = older;
        self.links[older as usize].newer = newer;
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
