//! The TCP options of the acknowledgements in the network.

use fairlane_qdisc::Duration;
use fairlane_qdisc::prefetch::prefetch;

use crate::packet::NO_SACK;
use crate::tcp::{Ack, SackBlocks};

/// Stores SACK blocks and one-way delays outside the packets: most packets carry none, so a packet only has an index
/// into this table.
#[derive(Debug, Default)]
pub(crate) struct SackTable {
    options: Vec<AckOptions>,
    free: Vec<u32>,
}

/// The options of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckOptions {
    /// The segments received beyond the next one expected.
    pub(crate) sack: SackBlocks,
    /// The one-way delay of the segment that caused it.
    pub(crate) delay: Option<Duration>,
}

impl SackTable {
    /// Stores the options of `ack` and returns their index, or [`NO_SACK`] if there are none.
    #[inline(always)]
    pub(crate) fn keep(&mut self, ack: &Ack) -> u32 {
        if ack.sack.is_empty() && ack.delay.is_none() {
            return NO_SACK;
        }
        self.store(AckOptions { sack: ack.sack, delay: ack.delay })
    }

    /// Stores `options` and returns their index.
    #[inline(never)]
    pub(crate) fn store(&mut self, options: AckOptions) -> u32 {
        if let Some(index) = self.free.pop() {
            self.options[index as usize] = options;
            return index;
        }
        self.options.push(options);
        self.options.len() as u32 - 1
    }

    /// [Asks for](crate::network::prefetch) the options at `index`, if there are any.
    pub(crate) fn prefetch(&self, index: u32) {
        prefetch(self.options.get(index as usize));
    }

    /// Returns the SACK blocks at `index`.
    pub(crate) fn get(&self, index: u32) -> SackBlocks {
        self.options.get(index as usize).map(|options| options.sack).unwrap_or_default()
    }

    /// Removes and returns the options at `index`, which is not [`NO_SACK`].
    pub(crate) fn take(&mut self, index: u32) -> AckOptions {
        self.free.push(index);
        self.options[index as usize]
    }

    /// Removes the options at `index`.
    pub(crate) fn forget(&mut self, index: u32) {
        if index != NO_SACK {
            self.free.push(index);
        }
    }
}
