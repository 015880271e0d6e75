//! The simulator's packet.

use std::num::NonZeroU16;

use fairlane_qdisc::{Bytes, FlowKey, Sack, TcpHeader, Time};

use crate::endpoint::Ecn;

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// A data packet.
    Data,
    /// A TCP acknowledgement, a TFRC report, or a datagram from the sink of a pair of
    /// [endpoints](crate::endpoint::Pair).
    Ack,
    /// A SYN of TCP, which opens a connection.
    Syn,
    /// The answer to a SYN.
    SynAck,
    /// The acknowledgement of a SYN-ACK, without data.
    OpeningAck,
}

impl PacketKind {
    /// Returns true for packets that go from the receiver of data to their sender.
    #[must_use]
    pub const fn goes_back(self) -> bool {
        matches!(self, Self::Ack | Self::SynAck)
    }
}

/// A packet. Disciplines see it through [`fairlane_qdisc::Packet`]. It is small and `Copy`, since every hop moves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    /// The time at which the sender sent it; for an acknowledgement, the time at which the segment it answers was sent.
    pub(crate) sent: Time,
    /// On a link, the time of arrival at the far end; in a queue, the time at which it arrived there.
    pub(crate) at: Time,
    /// The number of its flow.
    pub(crate) flow: u32,
    /// The sequence number in packets: for an acknowledgement, of the next packet expected; for a TFRC report, of the
    /// report.
    pub(crate) seq: u32,
    /// The size in bytes.
    pub(crate) bytes: u32,
    /// The index of its next link in the routing table; in a queue, of that queue's link.
    pub(crate) route: u32,
    /// The index of its SACK blocks, or of its payload, in the [`SackTable`](crate::sack_table::SackTable), or
    /// [`NO_SACK`].
    pub(crate) sack: u32,
    pub(crate) flags: Flags,
    /// The TOS or traffic class byte without the ECN bits.
    pub(crate) class: u8,
}

/// No SACK blocks.
pub(crate) const NO_SACK: u32 = u32::MAX;

/// The flags of a packet's header. They are never 0, so that an `Option<Packet>` takes no more than a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flags(NonZeroU16);

/// The bit that all flags have.
const ANY: NonZeroU16 = NonZeroU16::new(1 << 15).expect("it is not 0");

impl Default for Flags {
    fn default() -> Self {
        Self(ANY)
    }
}

impl Flags {
    /// The packet is an acknowledgement or a report.
    pub(crate) const ACK: Self = Self::of(1);
    /// ECN-Capable Transport.
    pub(crate) const ECT: Self = Self::of(2);
    /// Congestion Experienced.
    pub(crate) const CE: Self = Self::of(4);
    /// ECN-Echo.
    pub(crate) const ECE: Self = Self::of(8);
    /// Congestion Window Reduced.
    pub(crate) const CWR: Self = Self::of(16);
    /// The packet is a UDP datagram, whose sender does not react to losses.
    pub(crate) const DATAGRAM: Self = Self::of(32);
    /// The packet is a report of TFRC.
    pub(crate) const REPORT: Self = Self::of(64);
    /// ECT(1) in place of ECT(0): the packet is of the L4S service (RFC 9331).
    pub(crate) const ECT_1: Self = Self::of(128);
    /// The packet is a SYN or, with [`ACK`](Self::ACK), a SYN-ACK.
    pub(crate) const SYN: Self = Self::of(256);
    /// The packet is the sender's acknowledgement of a SYN-ACK.
    pub(crate) const OPENING_ACK: Self = Self::of(512);
    /// The third bit of accurate ECN (RFC 9768); the lower ones are [`CWR`](Self::CWR) and [`ECE`](Self::ECE).
    pub(crate) const AE: Self = Self::of(1024);

    /// The index in the packet is that of a payload, not of SACK blocks.
    pub(crate) const PAYLOAD: Self = Self::of(2048);

    /// Returns the flags of these bits.
    const fn of(bits: u16) -> Self {
        match NonZeroU16::new(bits | ANY.get()) {
            Some(flags) => Self(flags),
            None => Self(ANY),
        }
    }

    /// Returns the flags of this ECN field.
    pub(crate) const fn of_ecn(ecn: Ecn) -> Self {
        match ecn {
            Ecn::NotEct => Self(ANY),
            Ecn::Ect0 => Self::ECT,
            Ecn::Ect1 => Self::ECT.with(Self::ECT_1, true),
            Ecn::Ce => Self::ECT.with(Self::CE, true),
        }
    }

    /// Returns these flags, with those of `other` added if `on` is true.
    pub(crate) const fn with(self, other: Self, on: bool) -> Self {
        if on { Self::of(self.0.get() | other.0.get()) } else { self }
    }

    /// Returns true if all flags of `other` are set.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0.get() & other.bits() == other.bits()
    }

    /// Returns true if any of these flags is set.
    const fn has_any_of(self, others: Self) -> bool {
        self.0.get() & others.bits() != 0
    }

    /// Returns the bits without that which all flags have.
    const fn bits(self) -> u16 {
        self.0.get() & !ANY.get()
    }

    /// Returns these flags with the counter of accurate ECN, of which the lower three bits are in the packet (ACE of
    /// RFC 9768, section 3.2.2).
    pub(crate) const fn with_ace(self, ace: u8) -> Self {
        self.with(Self::ECE, ace & 1 != 0).with(Self::CWR, ace & 2 != 0).with(Self::AE, ace & 4 != 0)
    }

    /// Returns the counter of accurate ECN.
    pub(crate) const fn ace(self) -> u8 {
        self.has(Self::ECE) as u8 | (self.has(Self::CWR) as u8) << 1 | (self.has(Self::AE) as u8) << 2
    }

    /// Returns true if the packet carries data.
    pub(crate) const fn is_data(self) -> bool {
        !self.has_any_of(Self::ACK.with(Self::SYN, true).with(Self::OPENING_ACK, true))
    }

    /// Returns true if the packet goes from the sender of data to their receiver and carries none.
    pub(crate) const fn opens(self) -> bool {
        self.has_any_of(Self::SYN.with(Self::OPENING_ACK, true)) && !self.has(Self::ACK)
    }
}

impl Packet {
    /// Returns the flow, the sequence number and the time of sending, as in [`PacketEvent`](crate::PacketEvent): they
    /// tell the data packets of a run apart.
    #[must_use]
    pub const fn identity(&self) -> (u32, u32, Time) {
        (self.flow, self.seq, self.sent)
    }

    /// Returns the kind of the packet.
    pub(crate) const fn kind(&self) -> PacketKind {
        match (self.flags.has(Flags::ACK), self.flags.has(Flags::SYN)) {
            (true, false) => PacketKind::Ack,
            (true, true) => PacketKind::SynAck,
            (false, true) => PacketKind::Syn,
            (false, false) if self.flags.has(Flags::OPENING_ACK) => PacketKind::OpeningAck,
            (false, false) => PacketKind::Data,
        }
    }
}

impl fairlane_qdisc::Packet for Packet {
    /// Returns a key that differs between the two directions of a connection, as with real headers.
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
    /// Returns the sender's address: every flow has its own two hosts.
    fn source_host(&self) -> u64 {
        u64::from(self.flow) * 2 + u64::from(self.flags.has(Flags::ACK))
    }
    fn destination_host(&self) -> u64 {
        u64::from(self.flow) * 2 + u64::from(!self.flags.has(Flags::ACK))
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn clear_class(&mut self) {
        self.class = 0;
    }
    /// Returns true for ECT(1) and for CE, which may have been an L4S packet (RFC 9331, section 5.1).
    fn l4s(&self) -> bool {
        self.flags.has(Flags::ECT_1) || self.flags.has(Flags::CE)
    }
    fn responsive(&self) -> bool {
        !self.flags.has(Flags::DATAGRAM)
    }
    /// Returns the header of acknowledgements. Data go the other way, so they acknowledge nothing that a filter of
    /// acknowledgements could compare. SACK blocks are not in the packet; the one-way delays of LEDBAT count as such,
    /// since they are lost with it, too.
    fn tcp(&self) -> Option<TcpHeader> {
        let is_ack = self.kind() == PacketKind::Ack && !self.flags.has(Flags::REPORT);
        is_ack.then(|| TcpHeader {
            ece: self.flags.has(Flags::ECE),
            sack: if self.sack == NO_SACK { Sack::None } else { Sack::Hidden },
            ..TcpHeader::ack(u64::from(self.flow), self.seq)
        })
    }
}

/// Returns a scenario's packet size as packets store it.
pub(crate) fn packet_bytes(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch an acknowledgement whose source is the sender of the data.
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

    /// Would catch a SYN-ACK that counts as an acknowledgement, and a SYN that counts as data or travels under another
    /// key than data.
    #[test]
    fn packets_that_open_a_connection_are_neither_data_nor_acknowledgements() {
        use fairlane_qdisc::Packet as _;
        let packet = |flags| Packet {
            sent: Time::ZERO,
            at: Time::ZERO,
            flow: 7,
            seq: 0,
            bytes: 40,
            route: 0,
            sack: NO_SACK,
            flags,
            class: 0,
        };
        let (data, ack) = (packet(Flags::default()), packet(Flags::ACK));
        let (syn, last) = (packet(Flags::SYN), packet(Flags::OPENING_ACK));
        let answer = packet(Flags::SYN.with(Flags::ACK, true));
        assert_eq!(
            [syn, answer, last].map(|packet| packet.kind()),
            [PacketKind::Syn, PacketKind::SynAck, PacketKind::OpeningAck]
        );
        assert_eq!([syn, answer, last].map(|packet| packet.kind().goes_back()), [false, true, false]);
        assert_eq!(
            [syn, answer, last, data, ack].map(|packet| packet.flags.opens()),
            [true, false, true, false, false]
        );
        assert_eq!([syn.flow(), last.flow(), answer.flow()], [data.flow(), data.flow(), ack.flow()]);
        assert!([syn, answer, last].iter().all(|packet| packet.tcp().is_none() && !packet.ecn_capable()));
    }

    /// Would catch a report of TFRC or data that a filter takes for acknowledgements, and SACK blocks that it does not
    /// respect.
    #[test]
    fn acknowledgements_tell_their_headers() {
        use fairlane_qdisc::Packet as _;
        let packet = |sack, flags| Packet {
            sent: Time::ZERO,
            at: Time::ZERO,
            flow: 7,
            seq: 9,
            bytes: 40,
            route: 0,
            sack,
            flags,
            class: 0,
        };
        assert_eq!(packet(NO_SACK, Flags::ACK).tcp(), Some(TcpHeader::ack(7, 9)));
        let marked = packet(3, Flags::ACK.with(Flags::ECE, true)).tcp();
        assert_eq!(marked, Some(TcpHeader { ece: true, sack: Sack::Hidden, ..TcpHeader::ack(7, 9) }));
        for flags in [Flags::default(), Flags::DATAGRAM, Flags::ACK.with(Flags::REPORT, true)] {
            assert_eq!(packet(NO_SACK, flags).tcp(), None);
        }
    }

    /// Would catch a packet that outgrows two thirds of a cache line.
    #[test]
    fn a_packet_stays_small() {
        assert_eq!((size_of::<Packet>(), size_of::<Option<Packet>>()), (40, 40));
    }
}
