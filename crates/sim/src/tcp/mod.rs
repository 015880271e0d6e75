//! TCP as two state machines without a clock and without I/O, written from the RFCs.
//!
//! Sequence numbers count segments, as in ns-2: segment 0 is the first, and an acknowledgement has the number of the
//! next segment expected.

mod accurate_ecn;
pub(crate) mod congestion;
mod ranges;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod state;
mod validation;
mod window;

pub use congestion::{
    AckSample, CongestionControl, CongestionEvent, CongestionFault, CongestionSignal, DeliveryRate, FlightSample,
    LossState, OwnConnection, RateSample, WindowSize,
};
pub use receiver::{Received, TcpReceiver};
pub use sender::{Opening, TcpSender};

use fairlane_qdisc::{Duration, Time};

/// A data segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The sequence number.
    pub seq: u32,
    /// True if the segment has been sent before.
    pub retransmission: bool,
    /// The Congestion Window Reduced flag (RFC 3168).
    pub cwr: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next segment that the receiver expects.
    pub next: u32,
    /// The segments received beyond that (RFC 2018), and first, if one arrived once more, that segment (RFC 2883);
    /// empty unless the flow uses SACK.
    pub sack: SackBlocks,
    /// The ECN-Echo flag (RFC 3168).
    pub ece: bool,
    /// The counter of marked segments of accurate ECN, 0 to 7 (ACE of RFC 9768); without it 0.
    pub ace: u8,
    /// The time at which the segment that caused the acknowledgement was sent (RFC 7323); with delayed
    /// acknowledgements, the first of those acknowledged.
    pub echo: Time,
    /// The one-way delay of the segment that caused the acknowledgement, for congestion control that asks for it
    /// (LEDBAT, RFC 6817).
    pub delay: Option<Duration>,
}

/// Up to three ranges `[start, end)` of received segments, the most recently changed first (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 3],
    len: usize,
}

impl SackBlocks {
    /// Adds a block; a fourth one is ignored.
    pub fn push(&mut self, start: u32, end: u32) {
        if let Some(slot) = self.blocks.get_mut(self.len) {
            *slot = (start, end);
            self.len += 1;
        }
    }

    /// Returns the blocks.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.len]
    }

    /// Returns the block that reports a segment once more (RFC 2883), in an acknowledgement of all segments before
    /// `next`: the first, if it is below `next` or in the second one.
    pub(crate) fn duplicate(&self, next: u32) -> Option<(u32, u32)> {
        let [first, second] = [self.blocks[0], self.blocks[1]];
        let inside = self.len > 1 && second.0 <= first.0 && first.1 <= second.1;
        (self.len > 0 && first.0 < first.1 && (first.1 <= next || inside)).then_some(first)
    }

    /// Returns true if there are no blocks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Takes the segments that a sender sends.
pub trait SegmentSink {
    /// Sends a segment.
    fn send(&mut self, segment: Segment);
    /// Sends a packet without data that opens the connection.
    fn open(&mut self, packet: Opening);
}
