//! TCP, written from the RFCs, as two state machines that own no clock and no packets.
//!
//! Sequence numbers count segments, as in ns-2: segment 0 is the first, an acknowledgement names the next one expected.

mod law;
mod ranges;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod state;
mod window;

pub use receiver::{Received, Receiver};
pub use sender::Sender;

use fairlane_qdisc::Time;

/// A data segment on its way into the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number.
    pub seq: u32,
    /// It has been sent before.
    pub retransmission: bool,
    /// Congestion Window Reduced (RFC 3168).
    pub cwr: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment that the receiver expects.
    pub next: u32,
    /// What it holds beyond that (RFC 2018); empty unless the flow uses SACK.
    pub sack: SackBlocks,
    /// ECN-Echo (RFC 3168).
    pub ece: bool,
    /// When the segment that caused this was sent (RFC 7323); with delayed acknowledgements, the first of those acknowledged.
    pub echo: Time,
}

/// Up to three ranges `[start, end)` of segments that the receiver holds, the most recently changed first (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 3],
    len: u8,
}

impl SackBlocks {
    /// Adds a block; a fourth is left out.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = (start, end);
            self.len += 1;
        }
    }

    /// The blocks.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Where a sender puts its segments.
pub trait Network {
    /// Takes a segment at once.
    fn send(&mut self, segment: Segment);
}
