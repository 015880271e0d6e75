//! Flows by number, of which only the last used are known: the longest unused makes room for a new one.

use alloc::vec::Vec;

use crate::flow_table::FlowTable;
use crate::{FlowKey, Seed};

/// No flow.
const NIL: u32 = u32::MAX;

/// A flow in the order of use.
#[derive(Clone, Copy, Debug)]
struct Link {
    flow: FlowKey,
    /// The one used just after it.
    newer: u32,
    /// The one used just before it.
    older: u32,
}

/// The flows used last. It takes memory as flows come.
#[derive(Debug)]
pub(crate) struct RecentFlows {
    numbers: FlowTable,
    links: Vec<Link>,
    most: usize,
    newest: u32,
    oldest: u32,
}

impl RecentFlows {
    /// Knows no flow, and later at most `most`, but at least one.
    pub(crate) fn new(most: u32, seed: Seed) -> Self {
        Self { numbers: FlowTable::new(seed), links: Vec::new(), most: most.max(1) as usize, newest: NIL, oldest: NIL }
    }

    /// The number of `flow`, now the last used; and whether it is new. Numbers are below the most flows that were known.
    pub(crate) fn touch(&mut self, flow: FlowKey) -> (usize, bool) {
        if let Some(number) = self.numbers.get(flow) {
            if self.newest != number as u32 {
                self.unlink(number);
                self.link(number);
            }
            return (number, false);
        }
        if self.numbers.flows() == self.most {
            let oldest = self.oldest as usize;
            self.unlink(oldest);
            self.numbers.remove(self.links[oldest].flow);
        }
        let (number, _) = self.numbers.insert(flow);
        let link = Link { flow, newer: NIL, older: NIL };
        if number == self.links.len() {
            self.links.push(link);
        } else {
            self.links[number] = link;
        }
        self.link(number);
        (number, true)
    }

    /// Makes `number` the newest.
    fn link(&mut self, number: usize) {
        self.links[number].newer = NIL;
        self.links[number].older = self.newest;
        if self.newest == NIL {
            self.oldest = number as u32;
        } else {
            self.links[self.newest as usize].newer = number as u32;
        }
        self.newest = number as u32;
    }

    fn unlink(&mut self, number: usize) {
        let Link { newer, older, .. } = self.links[number];
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

    /// Would catch a flow that is forgotten too early or too late, or two flows of one number: a list of the flows from
    /// the longest unused does the same.
    #[test]
    fn behaves_as_a_list() {
        for most in [1_u32, 2, 5, 16] {
            let mut script = Seed::new(u64::from(most)).stream("script");
            let mut recent = RecentFlows::new(most, Seed::new(1));
            let mut list: Vec<(u64, usize)> = Vec::new();
            for _ in 0..20_000 {
                let flow = u64::from(script.below(script.clone().below(30) + 1));
                let known = list.iter().position(|&(other, _)| other == flow).map(|at| list.remove(at));
                let (number, new) = recent.touch(FlowKey::new(flow));
                assert_eq!(new, known.is_none());
                if let Some((_, before)) = known {
                    assert_eq!(number, before);
                } else if list.len() == most as usize {
                    list.remove(0);
                }
                assert!(list.iter().all(|&(_, other)| other != number));
                assert!(number < most as usize);
                list.push((flow, number));
            }
        }
    }
}
