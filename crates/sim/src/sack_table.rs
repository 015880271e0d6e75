//! The SACK blocks of the acknowledgements in the network.

use crate::packet::NO_SACK;
use crate::tcp::SackBlocks;

/// Stores SACK blocks outside the packets: most packets carry none, so a packet only has an index into this table.
#[derive(Debug, Default)]
pub(crate) struct SackTable {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackTable {
    /// Stores `blocks` and returns their index, or [`NO_SACK`] if there are none.
    pub(crate) fn keep(&mut self, blocks: SackBlocks) -> u32 {
        if blocks.is_empty() {
            return NO_SACK;
        }
        if let Some(index) = self.free.pop() {
            self.blocks[index as usize] = blocks;
            return index;
        }
        self.blocks.push(blocks);
        self.blocks.len() as u32 - 1
    }

    /// Returns the blocks at `index`.
    pub(crate) fn get(&self, index: u32) -> SackBlocks {
        self.blocks.get(index as usize).copied().unwrap_or_default()
    }

    /// Removes and returns the blocks at `index`.
    pub(crate) fn take(&mut self, index: u32) -> SackBlocks {
        if index == NO_SACK {
            return SackBlocks::default();
        }
        self.free.push(index);
        self.blocks[index as usize]
    }

    /// Removes the blocks at `index`.
    pub(crate) fn forget(&mut self, index: u32) {
        if index != NO_SACK {
            self.free.push(index);
        }
    }
}
