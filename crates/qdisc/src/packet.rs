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

    /// The host that sent the packet: equal numbers, same host. Opaque, as the flow is.
    ///
    /// CAKE shares a link among hosts first and then among each host's flows (tc-cake(8), `triple-isolate`). By default
    /// every flow has a pair of hosts of its own, so that sharing among hosts is sharing among flows.
    fn source_host(&self) -> u64 {
        self.flow().get()
    }

    /// The host that the packet is for; see [`source_host`](Self::source_host).
    fn destination_host(&self) -> u64 {
        self.flow().get()
    }

    /// The TOS or traffic class byte without its two ECN bits: the DSCP times 4 (RFC 2474), so a multiple of 4.
    ///
    /// By default 0, best effort.
    fn class(&self) -> u8 {
        0
    }

    /// Whether the packet belongs to the low-latency service: ECT(1), or CE (RFC 9331, section 5.1).
    ///
    /// By default `false`, classic traffic.
    fn l4s(&self) -> bool {
        false
    }

    /// The label that CSFQ's edge wrote: the flow's rate in bit/s (Stoica, Shenker, Zhang, SIGCOMM 1998).
    ///
    /// By default 0, no label.
    fn label(&self) -> u64 {
        0
    }

    /// Writes the label. By default it is not kept.
    fn set_label(&mut self, _bits_per_second: u64) {}

    /// Whether the transport slows down after a loss, as TCP does. SAC compares
    /// only the others (Jiang, Hamdi, Liu, ISCC 2003).
    ///
    /// By default `true`.
    fn responsive(&self) -> bool {
        true
    }
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
    /// The two hosts, sender first; `None` for a pair that is the flow's own.
    pub hosts: Option<(u32, u32)>,
    /// The traffic class byte; its two ECN bits are ignored.
    pub class: u8,
    /// Whether it came as ECT(1).
    pub l4s: bool,
    /// CSFQ's label in bit/s; 0 for none.
    pub label: u64,
    /// Whether the transport slows down after a loss.
    pub responsive: bool,
}

impl SimplePacket {
    /// A packet of `flow` of `bytes` bytes, with id 0: best effort, not ECN-capable, of a responsive transport, from and
    /// to hosts of its flow's own.
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

    /// The same packet from `source` to `destination`.
    #[must_use]
    pub const fn with_hosts(mut self, source: u32, destination: u32) -> Self {
        self.hosts = Some((source, destination));
        self
    }

    /// The same packet of another traffic class: see [`Packet::class`].
    #[must_use]
    pub const fn with_class(mut self, class: u8) -> Self {
        self.class = class;
        self
    }

    /// The same packet as ECT(1): ECN-capable, and of the low-latency service.
    #[must_use]
    pub const fn with_l4s(mut self) -> Self {
        self.l4s = true;
        self.with_ecn()
    }

    /// The same packet with a label of `bits_per_second`.
    #[must_use]
    pub const fn with_label(mut self, bits_per_second: u64) -> Self {
        self.label = bits_per_second;
        self
    }

    /// The same packet of a transport that does not slow down.
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

    /// A packet that says no more than it must.
    struct Bare;

    impl Packet for Bare {
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
        let mut bare = Bare;
        bare.set_label(5);
        assert_eq!((bare.source_host(), bare.destination_host(), bare.class(), bare.label()), (9, 9, 0, 0));
        assert_eq!((bare.l4s(), bare.responsive()), (false, true));
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
        assert_eq!((marked.l4s(), marked.label()), (true, 8));
    }
}
