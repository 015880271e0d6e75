//! A packet in the simulator.

use fairlane_qdisc::{FlowKey, Time};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Data of a TCP or UDP flow.
    Data,
    /// A TCP acknowledgement.
    Ack,
}

/// A packet: small and `Copy`, since every hop moves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    /// When its sender sent it; in an acknowledgement, when the segment that it answers was sent.
    pub(crate) sent: Time,
    /// On a link: when it reaches the other end. In a queue: when it came there.
    pub(crate) at: Time,
    /// The flow that it belongs to.
    pub(crate) flow: u32,
    /// Its number in the flow; in an acknowledgement, the next one expected.
    pub(crate) seq: u32,
    /// Size on the wire.
    pub(crate) bytes: u32,
    /// Where the next link that it enters stands in the table of routes; in a queue, that queue's link.
    pub(crate) route: u32,
    /// Its selective acknowledgements: a place in the table of blocks, or [`NO_SACK`].
    pub(crate) sack: u32,
    /// What it carries and what has been marked in it.
    pub(crate) flags: Flags,
}

/// No selective acknowledgements.
pub(crate) const NO_SACK: u32 = u32::MAX;

/// Bits of a packet's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u8);

impl Flags {
    /// It is an acknowledgement.
    pub(crate) const ACK: Self = Self(1);
    /// ECN-Capable Transport.
    pub(crate) const ECT: Self = Self(2);
    /// Congestion Experienced.
    pub(crate) const CE: Self = Self(4);
    /// ECN-Echo.
    pub(crate) const ECE: Self = Self(8);
    /// Congestion Window Reduced.
    pub(crate) const CWR: Self = Self(16);

    /// These bits and those of `other` when `on`.
    pub(crate) const fn with(self, other: Self, on: bool) -> Self {
        if on { Self(self.0 | other.0) } else { self }
    }

    /// Whether all bits of `other` are set.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Packet {
    /// What it carries.
    pub(crate) const fn kind(&self) -> PacketKind {
        if self.flags.has(Flags::ACK) { PacketKind::Ack } else { PacketKind::Data }
    }
}

impl fairlane_qdisc::Packet for Packet {
    /// As with real headers, the two directions of a connection are two flows.
    fn flow(&self) -> FlowKey {
        FlowKey::new(u64::from(self.flow) * 2 + u64::from(self.flags.has(Flags::ACK)))
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.flags.has(Flags::ECT)
    }
    fn mark_ce(&mut self) {
        self.flags = self.flags.with(Flags::CE, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_stays_small() {
        assert_eq!(size_of::<Packet>(), 40);
    }
}
