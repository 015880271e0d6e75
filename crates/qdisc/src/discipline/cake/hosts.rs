//! Counts of the bulk flows of each host.

use alloc::vec;
use alloc::vec::Vec;

use super::tin::QUEUES;
use crate::flow::table::FlowTable;
use crate::{FlowKey, Seed};

/// The number of no host.
pub(super) const NOBODY: u32 = u32::MAX;

/// What a host has in the tin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct HostLoad {
    /// The queues whose latest flow is the host's.
    queues: u32,
    /// The bulk flows among them.
    bulk: u32,
}

/// The hosts on one side, senders or receivers, of the queues' latest flows. Each has a number, by which it is found without a
/// look-up.
#[derive(Debug)]
pub(super) struct Hosts {
    table: FlowTable,
    hosts: Vec<HostLoad>,
}

impl Hosts {
    /// Creates an empty table with room for as many hosts as a tin has queues.
    pub(super) fn new(seed: Seed) -> Self {
        Self { table: FlowTable::with_room(seed, QUEUES), hosts: vec![HostLoad::default(); QUEUES] }
    }

    /// Gives a queue to `host` and returns its number. It was that of `before`, whose number is `number`, or of nobody if that is
    /// [`NOBODY`].
    pub(super) fn give(&mut self, number: u32, before: u64, host: u64) -> u32 {
        if number != NOBODY {
            if before == host {
                return number;
            }
            let queues = &mut self.hosts[number as usize].queues;
            *queues -= 1;
            if *queues == 0 {
                self.table.remove(FlowKey::new(before));
            }
        }
        let (number, _) = self.table.insert(FlowKey::new(host));
        self.hosts[number].queues += 1;
        number as u32
    }

    /// Returns the number of bulk flows of the host with `number`.
    pub(super) fn load(&self, number: u32) -> u32 {
        self.hosts[number as usize].bulk
    }

    /// Notes that a flow of the host with `number` has become bulk.
    pub(super) fn enter(&mut self, number: u32) {
        self.hosts[number as usize].bulk += 1;
    }

    /// Notes that a flow of the host with `number` is no longer bulk.
    pub(super) fn leave(&mut self, number: u32) {
        self.hosts[number as usize].bulk -= 1;
    }
}
