//! The traits by which a discipline reads packets and reports drops and marks.

use crate::{Reason, TcpHeader, Time};

/// Identifies a flow: packets with equal keys belong to the same flow. Opaque to every discipline.
///
/// One of the 2^64 values is reserved for the disciplines: [`FlowKey::new`] maps `u64::MAX` to `u64::MAX - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowKey(u64);

impl FlowKey {
    /// Marks a slot that holds no live packet; equal to no packet's key.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// Returns the key of the flow with this number.
    #[must_use]
    pub const fn new(key: u64) -> Self {
        if key == u64::MAX { Self(u64::MAX - 1) } else { Self(key) }
    }

    /// Returns the number of the key.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A packet, or a handle of one. Implement it for your own type.
///
/// The first four methods are all that most disciplines ask. The others have a default and matter only to the
/// disciplines that they name.
pub trait Packet {
    /// Returns the flow that the packet belongs to.
    fn flow(&self) -> FlowKey;

    /// Returns the packet's size on the wire of the link, in bytes.
    fn bytes(&self) -> u32;

    /// Tells whether the packet may be marked instead of dropped (ECT or CE, RFC 3168).
    fn ecn_capable(&self) -> bool;

    /// Marks the packet as Congestion Experienced (RFC 3168).
    fn mark_ce(&mut self);

    /// Returns the number of the host that sent the packet. Only `cake` asks: it shares a link among hosts first and
    /// then among each host's flows (tc-cake(8), `triple-isolate`).
    ///
    /// By default each flow has its own pair of hosts, so that sharing among hosts is sharing among flows.
    fn source_host(&self) -> u64 {
        self.flow().get()
    }

    /// Returns the number of the host that receives the packet; see [`source_host`](Self::source_host).
    fn destination_host(&self) -> u64 {
        self.flow().get()
    }

    /// Returns the TOS or traffic class byte without its two ECN bits: the DSCP times 4 (RFC 2474), so a multiple of 4.
    /// Disciplines with classes or weights ask: `cake`, `cbq`, `chokew`, `choker`, and those with the parameter
    /// `weighted`.
    ///
    /// By default 0, best effort.
    fn class(&self) -> u8 {
        0
    }

    /// Clears the DSCP: [`class`](Self::class) is 0 from then on (RFC 2474). Only `cake` with `wash` calls it, for
    /// packets that leave.
    ///
    /// By default the packet stays as it is.
    fn clear_class(&mut self) {}

    /// Tells whether the packet belongs to the low-latency service: ECT(1) or CE (RFC 9331, section 5.1). Only `pi2`
    /// and `dualpi2` ask.
    ///
    /// By default `false`, classic traffic.
    fn l4s(&self) -> bool {
        false
    }

    /// Returns the label that an edge router wrote: the flow's rate in bit/s (Stoica, Shenker, Zhang, SIGCOMM 1998).
    /// Only `csfq` asks.
    ///
    /// By default 0, no label.
    fn label(&self) -> u64 {
        0
    }

    /// Writes the label. By default it is not kept. Only `csfq` calls it.
    fn set_label(&mut self, _bits_per_second: u64) {}

    /// Tells whether the transport slows down after a loss, as TCP does. Only `sac` asks: it compares only the others
    /// (Jiang, Hamdi, Liu, ISCC 2003).
    ///
    /// By default `true`.
    fn responsive(&self) -> bool {
        true
    }

    /// Returns the packet's TCP header for a filter of acknowledgements. Only `cake` with `ack_filter` asks, of each
    /// packet of a queue to which a TCP packet comes.
    ///
    /// By default `None`: the packet is not TCP, or does not tell, and is neither dropped as an acknowledgement nor the
    /// reason for another to be.
    fn tcp(&self) -> Option<TcpHeader> {
        None
    }
}

/// Receives every packet that a discipline drops, and a notice of every mark.
///
/// A simulator uses it for counts and traces, a router for its verdicts. `()` ignores everything.
pub trait DropSink<P> {
    /// Receives `packet`, which was dropped at `now` for `reason`.
    fn dropped(&mut self, now: Time, packet: P, reason: Reason);

    /// Called when `packet` is marked at `now` for `reason`; it stays in the queue.
    fn marked(&mut self, now: Time, packet: &P, reason: Reason);
}

impl<P> DropSink<P> for () {
    fn dropped(&mut self, _now: Time, _packet: P, _reason: Reason) {}
    fn marked(&mut self, _now: Time, _packet: &P, _reason: Reason) {}
}

/// A packet of plain fields, for examples, tests and conformance vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimplePacket {
    /// The flow's number.
    pub flow: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// The packet is ECN-capable: it may be marked.
    pub ecn_capable: bool,
    /// The packet has been marked.
    pub marked: bool,
    /// A number for the host's own use; no discipline looks at it.
    pub id: u64,
    /// The two hosts, sender first; `None` for a pair of the flow's own.
    pub hosts: Option<(u32, u32)>,
    /// The traffic class byte; its two ECN bits are ignored.
    pub class: u8,
    /// The packet arrived as ECT(1).
    pub l4s: bool,
    /// CSFQ's label in bit/s; 0 for none.
    pub label: u64,
    /// The transport slows down after a loss.
    pub responsive: bool,
}

impl SimplePacket {
    /// Creates a packet of `flow` of `bytes` bytes, with id 0: best effort, not ECN-capable, of a responsive transport,
    /// from and to hosts of its flow's own.
    #[must_use]
    pub const fn new(flow: u64, bytes: u32) -> Self {
        Self {
            flow,
            bytes,
            ecn_capable: false,
            marked: false,
            id: 0,
            hosts: None,
            class: 0,
            l4s: false,
            label: 0,
            responsive: true,
        }
    }

    /// Sets the id.
    #[must_use]
    pub const fn with_id(mut self, id: u64) -> Self {
        self.id = id;
        self
    }

    /// Makes the packet ECN-capable.
    #[must_use]
    pub const fn with_ecn(mut self) -> Self {
        self.ecn_capable = true;
        self
    }

    /// Sets the hosts.
    #[must_use]
    pub const fn with_hosts(mut self, source: u32, destination: u32) -> Self {
        self.hosts = Some((source, destination));
        self
    }

    /// Sets the traffic class; see [`Packet::class`].
    #[must_use]
    pub const fn with_class(mut self, class: u8) -> Self {
        self.class = class;
        self
    }

    /// Makes the packet ECT(1): ECN-capable, and of the low-latency service.
    #[must_use]
    pub const fn with_l4s(mut self) -> Self {
        self.l4s = true;
        self.with_ecn()
    }

    /// Sets the label.
    #[must_use]
    pub const fn with_label(mut self, bits_per_second: u64) -> Self {
        self.label = bits_per_second;
        self
    }

    /// Makes the packet's transport one that does not slow down.
    #[must_use]
    pub const fn unresponsive(mut self) -> Self {
        self.responsive = false;
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
    fn source_host(&self) -> u64 {
        self.hosts.map_or(self.flow, |(source, _)| u64::from(source))
    }
    fn destination_host(&self) -> u64 {
        self.hosts.map_or(self.flow, |(_, destination)| u64::from(destination))
    }
    fn class(&self) -> u8 {
        self.class & !0b11
    }
    fn clear_class(&mut self) {
        self.class &= 0b11;
    }
    fn l4s(&self) -> bool {
        self.l4s || self.marked
    }
    fn label(&self) -> u64 {
        self.label
    }
    fn set_label(&mut self, bits_per_second: u64) {
        self.label = bits_per_second;
    }
    fn responsive(&self) -> bool {
        self.responsive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet that implements no more than it must.
    struct Minimal;

    impl Packet for Minimal {
        fn flow(&self) -> FlowKey {
            FlowKey::new(9)
        }
        fn bytes(&self) -> u32 {
            1
        }
        fn ecn_capable(&self) -> bool {
            true
        }
        fn mark_ce(&mut self) {}
    }

    /// Would catch a default that puts plain packets in a class, a service or a host of others.
    #[test]
    fn defaults_are_best_effort_between_hosts_of_the_flows_own() {
        let mut bare = Minimal;
        bare.set_label(5);
        assert_eq!((bare.source_host(), bare.destination_host(), bare.class(), bare.label()), (9, 9, 0, 0));
        bare.clear_class();
        assert_eq!((bare.l4s(), bare.responsive(), bare.tcp()), (false, true, None));
        let simple = SimplePacket::new(9, 1);
        assert_eq!((simple.source_host(), simple.destination_host(), simple.class(), simple.label()), (9, 9, 0, 0));
        assert_eq!((simple.l4s(), simple.responsive(), simple.ecn_capable()), (false, true, false));
    }

    /// RFC 9331: ECT(1) and CE are of the low-latency service, and both are ECN-capable. DSCP EF is 46 (RFC 3246).
    #[test]
    fn a_simple_packet_says_what_it_was_given() {
        let packet = SimplePacket::new(9, 1).with_hosts(1, 2).with_class(46 << 2 | 0b11).with_label(7).unresponsive();
        assert_eq!((packet.source_host(), packet.destination_host()), (1, 2));
        assert_eq!((packet.class(), packet.label(), packet.responsive()), (184, 7, false));
        assert!(packet.with_l4s().l4s() && packet.with_l4s().ecn_capable());
        let mut marked = packet.with_ecn();
        marked.mark_ce();
        marked.set_label(8);
        marked.clear_class();
        assert_eq!((marked.l4s(), marked.label(), marked.class()), (true, 8, 0));
    }
}
