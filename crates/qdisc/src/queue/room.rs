//! The hard limit of a queue: in packets, in bytes, or both.

use crate::Size;
use crate::error::MAX_PACKETS;

/// The most that a queue, or several queues together, may hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Room {
    packets: usize,
    bytes: u64,
}

impl Room {
    /// Returns the room that `limit` gives.
    pub(crate) fn of(limit: Size) -> Self {
        Self::new(limit, u64::MAX)
    }

    /// Returns the room that `limit` gives, but no more than `memory` bytes.
    pub(crate) fn new(limit: Size, memory: u64) -> Self {
        match limit {
            Size::Packets(packets) => Self { packets: packets.get().min(MAX_PACKETS) as usize, bytes: memory },
            Size::Bytes(bytes) => Self { packets: MAX_PACKETS as usize, bytes: bytes.get().min(memory) },
        }
    }

    /// Returns the largest number of packets.
    pub(crate) const fn packets(self) -> usize {
        self.packets
    }

    /// Tells whether `packets` packets of `bytes` bytes in all are too many.
    pub(crate) const fn is_exceeded(self, packets: usize, bytes: u64) -> bool {
        packets > self.packets || bytes > self.bytes
    }

    /// Tells whether a packet of `bytes` bytes is too large even for an empty queue.
    pub(crate) const fn never_fits(self, bytes: u32) -> bool {
        self.is_exceeded(1, bytes as u64)
    }
}
