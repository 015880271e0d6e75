//! What a discipline needs to know of a packet, and whom it tells of a packet's end.

use crate::{Reason, Time};

/// Identifies a flow: equal keys, same flow. Opaque to every discipline.
///
/// One of the 2^64 values is kept for the disciplines' own use: [`FlowKey::new`] maps `u64::MAX` to `u64::MAX - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey(u64);

impl FlowKey {
    /// Marks a slot that holds no live packet; equal to no packet's key.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The key of the flow that `key` names.
    #[must_use]
    pub const fn new(key: u64) -> Self {
        if key == u64::MAX { Self(u64::MAX - 1) } else { Self(key) }
    }

    /// The number behind the key.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A packet, or a handle of one: implemented by the host for its own type.
pub trait Packet {
    /// The flow that the packet belongs to.
    fn flow(&self) -> FlowKey;

    /// Size on the wire of the managed link, in bytes.
    fn bytes(&self) -> u32;

    /// Whether the packet may be marked instead of dropped (ECT or CE, RFC 3168).
    fn ecn_capable(&self) -> bool;

    /// Marks the packet: Congestion Experienced (RFC 3168).
    fn mark_ce(&mut self);
}

/// Hears of every packet that will not leave by [`dequeue`](crate::Qdisc::dequeue), and of every mark.
///
/// This is how a simulator counts, how NFQUEUE issues its verdicts and how a trace is written. `()` ignores everything.
pub trait Fate<P> {
    /// `packet` was dropped at `now`, for `reason`.
    fn dropped(&mut self, now: Time, packet: P, reason: Reason);

    /// `packet` was marked at `now`, for `reason`, and stays queued.
    fn marked(&mut self, now: Time, packet: &P, reason: Reason);
}

impl<P> Fate<P> for () {
    fn dropped(&mut self, _now: Time, _packet: P, _reason: Reason) {}
    fn marked(&mut self, _now: Time, _packet: &P, _reason: Reason) {}
}

/// The smallest useful packet, for examples, tests and conformance vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimplePacket {
    /// The flow's number.
    pub flow: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// Whether it may be marked.
    pub ecn_capable: bool,
    /// Whether it has been marked.
    pub marked: bool,
    /// Told apart by the host; no discipline looks at it.
    pub id: u64,
}

impl SimplePacket {
    /// A packet of `flow` of `bytes` bytes, not ECN-capable, with id 0.
    #[must_use]
    pub const fn new(flow: u64, bytes: u32) -> Self {
        Self { flow, bytes, ecn_capable: false, marked: false, id: 0 }
    }

    /// The same packet with another id.
    #[must_use]
    pub const fn with_id(mut self, id: u64) -> Self {
        self.id = id;
        self
    }

    /// The same packet, ECN-capable.
    #[must_use]
    pub const fn with_ecn(mut self) -> Self {
        self.ecn_capable = true;
        self
    }
}

impl Packet for SimplePacket {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.flow)
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }
    fn mark_ce(&mut self) {
        self.marked = true;
    }
}
