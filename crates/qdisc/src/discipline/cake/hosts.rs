//! Counts of the bulk flows of each host.

use alloc::vec;
use alloc::vec::Vec;

use super::QUEUES;
use crate::flow::table::FlowTable;
use crate::{FlowKey, Seed};

/// The hosts on one side, senders or receivers, that have bulk flows. A host whose flows are sparse costs one look-up.
#[derive(Debug)]
pub(super) struct Hosts {
    table: FlowTable,
    /// The bulk flows of each host, by its number in the table.
    bulk: Vec<u32>,
}

impl Hosts {
    /// Creates an empty table with room for as many hosts as a tin has queues.
    pub(super) fn new(seed: Seed) -> Self {
        Self { table: FlowTable::with_room(seed, QUEUES), bulk: vec![0; QUEUES] }
    }

    /// Returns the number of bulk flows of `host`.
    pub(super) fn load(&self, host: u64) -> u32 {
        self.table.get(FlowKey::new(host)).map_or(0, |number| self.bulk[number])
    }

    /// Notes that a flow of `host` has become bulk.
    pub(super) fn enter(&mut self, host: u64) {
        let (number, _) = self.table.insert(FlowKey::new(host));
        self.bulk[number] += 1;
    }

    /// Notes that a flow of `host` is no longer bulk.
    pub(super) fn leave(&mut self, host: u64) {
        let Some(number) = self.table.get(FlowKey::new(host)) else { return };
        self.bulk[number] -= 1;
        if self.bulk[number] == 0 {
            self.table.remove(FlowKey::new(host));
        }
    }
}
