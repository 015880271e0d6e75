//! The contents of the packets in the network: the TCP options of acknowledgements, and the payloads of datagrams.

use std::mem;

use fairlane_qdisc::Duration;
use fairlane_qdisc::prefetch::prefetch;

use crate::packet::NO_SACK;
use crate::tcp::{Ack, SackBlocks};

/// Stores SACK blocks, one-way delays and payloads outside the packets: most packets carry none, so a packet only has
/// an index into this table.
#[derive(Debug, Default)]
pub(crate) struct SackTable {
    options: Vec<AckOptions>,
    free: Vec<u32>,
    /// The payloads of [endpoints](crate::endpoint), at the indices of their packets. Those at other indices are spare.
    datagrams: Vec<Vec<u8>>,
    /// The payload that an endpoint is writing or reading.
    pub(crate) datagram: Vec<u8>,
}

/// The options of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AckOptions {
    /// The segments received beyond the next one expected.
    pub(crate) sack: SackBlocks,
    /// The one-way delay of the segment that caused it.
    pub(crate) delay: Option<Duration>,
    /// The number of the last request of an [application](crate::application) that it brings; 0 for none.
    pub(crate) request: u32,
}

impl SackTable {
    /// Stores the options of `ack`, which brings the requests up to this number, and returns their index, or
    /// [`NO_SACK`] if there are none.
    #[inline(always)]
    pub(crate) fn keep(&mut self, ack: &Ack, request: u32) -> u32 {
        if ack.sack.is_empty() && ack.delay.is_none() && request == 0 {
            return NO_SACK;
        }
        self.store(AckOptions { sack: ack.sack, delay: ack.delay, request })
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

    /// Stores the [`datagram`](Self::datagram) and returns its index.
    pub(crate) fn keep_datagram(&mut self) -> u32 {
        let index = self.store(AckOptions::default());
        if self.datagrams.len() <= index as usize {
            self.datagrams.resize_with(index as usize + 1, Vec::new);
        }
        mem::swap(&mut self.datagrams[index as usize], &mut self.datagram);
        index
    }

    /// Returns the payload at `index`, which is not [`NO_SACK`].
    pub(crate) fn payload(&self, index: u32) -> &[u8] {
        &self.datagrams[index as usize]
    }

    /// Removes the payload at `index`, which is not [`NO_SACK`], and makes it the [`datagram`](Self::datagram).
    pub(crate) fn take_datagram(&mut self, index: u32) {
        self.free.push(index);
        mem::swap(&mut self.datagrams[index as usize], &mut self.datagram);
    }

    /// Removes the options at `index`.
    pub(crate) fn forget(&mut self, index: u32) {
        if index != NO_SACK {
            self.free.push(index);
        }
    }
}
