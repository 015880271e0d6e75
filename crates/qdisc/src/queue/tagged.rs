//! A packet with a value attached to it, such as its time of arrival.

use crate::{Duration, FlowKey, Packet, TcpHeader, Time};

/// A packet with a value attached to it.
///
/// The pair is a [`Packet`] itself, with all properties of the packet inside, so any discipline can hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tagged<P, T> {
    /// The packet.
    pub packet: P,
    /// The attached value.
    pub tag: T,
}

impl<P, T> Tagged<P, T> {
    /// Attaches `tag` to `packet`.
    #[must_use]
    pub const fn new(packet: P, tag: T) -> Self {
        Self { packet, tag }
    }
}

/// A packet with its time of arrival, for disciplines that control delay.
pub(crate) type Stamped<P> = Tagged<P, Time>;

impl<P> Stamped<P> {
    /// Returns how long the packet has waited at `now`: zero if it arrived later.
    pub(crate) const fn sojourn(&self, now: Time) -> Duration {
        now.since(self.tag)
    }
}

impl<P: Packet, T> Packet for Tagged<P, T> {
    fn flow(&self) -> FlowKey {
        self.packet.flow()
    }
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }
    fn ecn_capable(&self) -> bool {
        self.packet.ecn_capable()
    }
    fn mark_ce(&mut self) {
        self.packet.mark_ce();
    }
    fn source_host(&self) -> u64 {
        self.packet.source_host()
    }
    fn destination_host(&self) -> u64 {
        self.packet.destination_host()
    }
    fn class(&self) -> u8 {
        self.packet.class()
    }
    fn clear_class(&mut self) {
        self.packet.clear_class();
    }
    fn l4s(&self) -> bool {
        self.packet.l4s()
    }
    fn label(&self) -> u64 {
        self.packet.label()
    }
    fn set_label(&mut self, bits_per_second: u64) {
        self.packet.set_label(bits_per_second);
    }
    fn responsive(&self) -> bool {
        self.packet.responsive()
    }
    fn tcp(&self) -> Option<TcpHeader> {
        self.packet.tcp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// An acknowledgement.
    struct Ack;

    impl Packet for Ack {
        fn flow(&self) -> FlowKey {
            FlowKey::new(1)
        }
        fn bytes(&self) -> u32 {
            40
        }
        fn ecn_capable(&self) -> bool {
            false
        }
        fn mark_ce(&mut self) {}
        fn tcp(&self) -> Option<TcpHeader> {
            Some(TcpHeader::ack(1, 2))
        }
    }

    /// Would catch a property that is not the packet's own, and a negative waiting time.
    #[test]
    fn a_tagged_packet_has_the_properties_of_the_packet() {
        let plain = SimplePacket::new(4, 99).with_hosts(1, 2).with_class(8).with_l4s().with_label(5).unresponsive();
        let mut stamped = Stamped::new(plain, Time::from_nanos(10));
        assert_eq!((stamped.flow(), stamped.bytes(), stamped.ecn_capable()), (FlowKey::new(4), 99, true));
        assert_eq!((stamped.source_host(), stamped.destination_host(), stamped.class()), (1, 2, 8));
        assert_eq!((stamped.l4s(), stamped.label(), stamped.responsive()), (true, 5, false));
        assert_eq!((Tagged::new(Ack, ()).tcp(), stamped.tcp()), (Ack.tcp(), None));
        stamped.mark_ce();
        stamped.set_label(6);
        stamped.clear_class();
        assert_eq!((stamped.packet.marked, stamped.packet.label, stamped.packet.class), (true, 6, 0));
        assert_eq!(stamped.sojourn(Time::from_nanos(25)), Duration::from_nanos(15));
        assert_eq!(stamped.sojourn(Time::from_nanos(5)), Duration::ZERO);
    }
}
