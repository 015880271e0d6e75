//! How many bulk flows each host has.

use alloc::vec;
use alloc::vec::Vec;

use super::tin::QUEUES;
use crate::flow_table::FlowTable;
use crate::{FlowKey, Seed};

/// Hosts on one side, those that send or those that receive, while they have bulk flows.
#[derive(Debug)]
pub(super) struct Hosts {
    table: FlowTable,
    bulk: Vec<u32>,
}

impl Hosts {
    /// No host yet, and room for as many as there can be: a tin's queues.
    pub(super) fn new(seed: Seed) -> Self {
        Self { table: FlowTable::with_room(seed, QUEUES), bulk: vec![0; QUEUES] }
    }

    /// Bulk flows of `host`.
    pub(super) fn load(&self, host: u64) -> u32 {
        self.table.get(FlowKey::new(host)).map_or(0, |number| self.bulk[number])
    }

    /// A flow of `host` is bulk now.
    pub(super) fn enter(&mut self, host: u64) {
        let (number, new) = self.table.insert(FlowKey::new(host));
        self.bulk[number] = if new { 1 } else { self.bulk[number] + 1 };
    }

    /// A flow of `host` is not bulk any more.
    pub(super) fn leave(&mut self, host: u64) {
        if let Some(number) = self.table.get(FlowKey::new(host)) {
            self.bulk[number] -= 1;
            if self.bulk[number] == 0 {
                self.table.remove(FlowKey::new(host));
            }
        }
    }
}
