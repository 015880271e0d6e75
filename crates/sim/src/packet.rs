//! A packet in the simulator.

use fairlane_qdisc::{FlowKey, Time};

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Data.
    Data,
    /// An acknowledgement of TCP, or a report of a TFRC receiver.
    Ack,
}

/// A packet as the simulator's disciplines see it, through [`fairlane_qdisc::Packet`]. Small and `Copy`, since every hop
/// moves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// When its sender sent it; in an acknowledgement, when the segment that it answers was sent.
    pub(crate) sent: Time,
    /// On a link: when it reaches the other end. In a queue: when it came there.
    pub(crate) at: Time,
    /// The flow that it belongs to.
    pub(crate) flow: u32,
    /// Its number in the flow; in an acknowledgement, the next one expected; in a report, the report's own.
    pub(crate) seq: u32,
    /// Size on the wire.
    pub(crate) bytes: u32,
    /// Where the next link that it enters stands in the table of routes; in a queue, that queue's link.
    pub(crate) route: u32,
    /// Its selective acknowledgements: a place in the table of blocks, or [`NO_SACK`].
    pub(crate) sack: u32,
    /// What it carries and what has been marked in it.
    pub(crate) flags: Flags,
    /// Its TOS or traffic class byte without ECN's bits.
    pub(crate) class: u8,
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
    /// It is of UDP, which does not slow down after a loss.
    pub(crate) const DATAGRAM: Self = Self(32);

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
    /// Every flow has two hosts of its own.
    fn source_host(&self) -> u64 {
        u64::from(self.flow) * 2 + u64::from(self.flags.has(Flags::ACK))
    }
    fn destination_host(&self) -> u64 {
        u64::from(self.flow) * 2 + u64::from(!self.flags.has(Flags::ACK))
    }
    fn class(&self) -> u8 {
        self.class
    }
    /// No source sends ECT(1), so it is CE alone that says so (RFC 9331, section 5.1).
    fn l4s(&self) -> bool {
        self.flags.has(Flags::CE)
    }
    fn responsive(&self) -> bool {
        !self.flags.has(Flags::DATAGRAM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch an acknowledgement that seems to come from the sender of what it answers.
    #[test]
    fn an_acknowledgement_goes_from_the_receiver_to_the_sender() {
        use fairlane_qdisc::Packet as _;
        let packet = |flow, flags| Packet {
            sent: Time::ZERO,
            at: Time::ZERO,
            flow,
            seq: 0,
            bytes: 40,
            route: 0,
            sack: NO_SACK,
            flags,
            class: 0,
        };
        let (data, ack) = (packet(7, Flags::default()), packet(7, Flags::ACK));
        assert_eq!((data.source_host(), data.destination_host()), (ack.destination_host(), ack.source_host()));
        assert_ne!(data.source_host(), data.destination_host());
        let other = packet(8, Flags::DATAGRAM);
        assert!(![data.source_host(), data.destination_host()].contains(&other.source_host()));
        assert_eq!((data.responsive(), ack.responsive(), other.responsive()), (true, true, false));
    }

    #[test]
    fn a_packet_stays_small() {
        assert_eq!(size_of::<Packet>(), 40);
    }
}
