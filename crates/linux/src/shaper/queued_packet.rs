//! A queued packet: its number, and the properties that a discipline uses.

use fairlane_qdisc::headers::{FlowId, FlowKeys, Headers, LinkType, tcp_header};
use fairlane_qdisc::{FlowKey, Packet, TcpHeader};

use crate::nfqueue::{ClassChange, Copied, Decision, PacketMessage};
use crate::packet::classifier::Classifier;

/// The length of an Ethernet header.
const ETHERNET: usize = 14;

/// The two ECN bits of a traffic class (RFC 3168). Both set mean Congestion Experienced.
const ECN: u8 = 0b11;

/// The way in which Congestion Experienced is written into a packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// The packet gets this bit in its firewall mark, and a rule behind the queue writes the header. The packet stays
    /// in the kernel.
    ByRule(u32),
    /// The router writes the header and its checksum. Every packet is copied to the router whole, and marked packets
    /// are copied back.
    ByUs,
}

impl Marking {
    /// Returns the part of each packet that the kernel has to copy.
    #[must_use]
    pub const fn copied(self) -> Copied {
        match self {
            Self::ByRule(_) => Copied::Headers,
            Self::ByUs => Copied::Whole,
        }
    }
}

/// A packet in the queue. Its bytes are in the kernel, except those of a packet that the router may have to rewrite.
#[derive(Debug)]
pub struct QueuedPacket {
    /// The number in its verdict.
    pub id: u32,
    bytes: u32,
    key: FlowKey,
    /// Needed for the flow's name, since the headers are gone when the packet is dropped.
    flow: FlowId,
    hosts: Hosts,
    firewall_mark: u32,
    /// The TOS or traffic class byte, as it arrived and as it is now.
    came_with: u8,
    tos: u8,
    can_be_marked: bool,
    responsive: bool,
    label: u64,
    /// Read only if the discipline asks.
    tcp: Option<Box<TcpHeader>>,
    held: Held,
}

/// The hosts of a packet.
#[derive(Debug)]
enum Hosts {
    /// The hosts of the packet's addresses. The addresses are hashed only when a discipline asks: few do, and two
    /// hashes take as long as a decision.
    OfFlow(FlowKeys),
    /// The hashes of the hosts behind address translation.
    Known { sender: u64, receiver: u64 },
}

/// The place of a packet's bytes.
#[derive(Debug)]
enum Held {
    /// In the kernel.
    InKernel,
    /// Here, from the network header on, to be copied back if they are changed.
    Here(Box<[u8]>),
    /// At the driver of a bridge.
    AtBridge,
}

impl QueuedPacket {
    /// Describes a packet that the kernel has handed over.
    #[must_use]
    pub fn new(queued: &PacketMessage<'_>, classifier: &Classifier, marking: Marking) -> Self {
        let Classifier { keys, layer, needs, .. } = classifier;
        let headers = Headers::read(LinkType::Raw, queued.payload, queued.bytes).by(keys.by(), queued.payload);
        let flow = headers.common_flow();
        let capable = headers.ecn() != 0;
        let came_marked = headers.ecn() == ECN;
        let all_here = queued.payload.len() as u64 == u64::from(queued.bytes);
        // One that arrived marked stays as it is.
        let may_change = capable && !came_marked || needs.wash && headers.class() != 0;
        // A packet can be copied back only if all of it is here.
        let keep = marking == Marking::ByUs && all_here && may_change;
        Self {
            id: queued.id,
            bytes: layer.wire_bytes(queued.bytes),
            key: keys.key(flow),
            flow,
            hosts: match queued.hosts.filter(|_| needs.nat) {
                Some((sender, receiver)) => Hosts::Known { sender: keys.host(sender), receiver: keys.host(receiver) },
                None => Hosts::OfFlow(*keys),
            },
            firewall_mark: queued.mark,
            came_with: headers.tos,
            tos: headers.tos,
            can_be_marked: capable && (keep || came_marked || marking != Marking::ByUs),
            responsive: headers.flow.responsive(),
            label: 0,
            tcp: tcp(&headers, queued.payload, classifier),
            held: if keep { Held::Here(queued.payload.into()) } else { Held::InKernel },
        }
    }

    /// Takes the flow as `keys` define it, by the header that was read: a packet that came before a change to or from
    /// `inner` keeps its header.
    pub(crate) fn set_flow(&mut self, keys: &FlowKeys) {
        self.key = keys.key(self.flow);
    }

    /// Returns the packet with a size of `bytes` on the link.
    #[must_use]
    pub fn with_size(self, bytes: u32) -> Self {
        Self { bytes, ..self }
    }

    /// Describes the Ethernet frame stored under `number`.
    pub(crate) fn from_frame(number: u32, frame: &[u8], classifier: &Classifier) -> Self {
        let length = frame.len() as u32;
        let headers = Headers::read(LinkType::Ethernet, frame, length).by(classifier.keys.by(), frame);
        let flow = headers.common_flow();
        // The size counts from the IP header, as on an NFQUEUE.
        let before = headers.ip_at.unwrap_or(ETHERNET) as u32;
        Self {
            id: number,
            bytes: classifier.layer.wire_bytes(length.saturating_sub(before)),
            key: classifier.keys.key(flow),
            flow,
            hosts: Hosts::OfFlow(classifier.keys),
            firewall_mark: 0,
            came_with: headers.tos,
            tos: headers.tos,
            can_be_marked: headers.ecn() != 0,
            responsive: headers.flow.responsive(),
            label: 0,
            tcp: tcp(&headers, frame, classifier),
            held: Held::AtBridge,
        }
    }

    /// Returns the header fields that all packets of its flow have in common.
    #[must_use]
    pub const fn flow_id(&self) -> FlowId {
        self.flow
    }

    /// Returns the firewall mark with which the packet arrived.
    pub(crate) const fn firewall_mark(&self) -> u32 {
        self.firewall_mark
    }

    /// Returns `true` if these bytes of the packet carry Congestion Experienced, and it arrived without.
    #[must_use]
    pub fn was_marked_since(&self, bytes: &[u8]) -> bool {
        self.came_with & ECN != ECN && Headers::read(LinkType::Raw, bytes, bytes.len() as u32).ecn() == ECN
    }

    /// Returns the change of the packet since it arrived.
    const fn change(&self) -> ClassChange {
        ClassChange {
            mark: self.came_with & ECN != ECN && self.tos & ECN == ECN,
            wash: self.came_with & !ECN != 0 && self.tos & !ECN == 0,
        }
    }

    /// Returns the decision with which the packet is sent.
    #[must_use]
    pub fn decision(self, marking: Marking) -> Decision {
        let change = self.change();
        if change == ClassChange::default() {
            return Decision::Accept;
        }
        match (self.held, marking) {
            (Held::AtBridge, _) => Decision::Change(change),
            (Held::Here(mut packet), _) => {
                change.apply(&mut packet, 0);
                Decision::Rewrite(packet)
            }
            (Held::InKernel, Marking::ByRule(bit)) if change.mark => Decision::Mark(self.firewall_mark | bit),
            (Held::InKernel, _) => Decision::Accept,
        }
    }
}

impl Packet for QueuedPacket {
    fn flow(&self) -> FlowKey {
        self.key
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.can_be_marked
    }
    fn mark_ce(&mut self) {
        self.tos |= ECN;
    }
    fn source_host(&self) -> u64 {
        match &self.hosts {
            Hosts::OfFlow(keys) => keys.source(self.flow),
            Hosts::Known { sender, .. } => *sender,
        }
    }
    fn destination_host(&self) -> u64 {
        match &self.hosts {
            Hosts::OfFlow(keys) => keys.destination(self.flow),
            Hosts::Known { receiver, .. } => *receiver,
        }
    }
    fn class(&self) -> u8 {
        self.tos & !ECN
    }
    fn clear_class(&mut self) {
        self.tos &= ECN;
    }
    /// ECT(1) or CE.
    fn l4s(&self) -> bool {
        self.tos & 1 == 1
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
    fn tcp(&self) -> Option<TcpHeader> {
        self.tcp.as_deref().copied()
    }
}

/// Returns the TCP header of the packet that begins with `start`, if the discipline needs it.
fn tcp(headers: &Headers, start: &[u8], classifier: &Classifier) -> Option<Box<TcpHeader>> {
    let at = headers.ip_at.filter(|_| classifier.needs.tcp)?;
    let connection = classifier.keys.connection(headers.common_flow());
    tcp_header(start.get(at..)?, connection).map(Box::new)
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::headers::FlowsBy;

    use super::*;
    use crate::packet::classifier::PacketNeeds;
    use crate::packet::link_layer::LinkLayer;

    const BIT: u32 = 0x4000_0000;

    /// Returns the header of the example in Wikipedia's article on the IPv4 header checksum (checksum 0xb861), with
    /// this ECN codepoint. The checksum decreases by the same amount (RFC 1624).
    fn header(ecn: u8) -> [u8; 20] {
        let mut header = *b"\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\xb8\x61\xc0\xa8\x00\x01\xc0\xa8\x00\xc7";
        header[1] = ecn;
        header[11] -= ecn;
        header
    }

    fn held(payload: &[u8], bytes: u32, marking: Marking) -> QueuedPacket {
        let queued = PacketMessage { queue: 0, id: 7, mark: 5, payload, bytes, gso: false, hosts: None };
        QueuedPacket::new(&queued, &classifier(), marking)
    }

    fn classifier() -> Classifier {
        Classifier::new(FlowsBy::FiveTuple, LinkLayer::default())
    }

    fn marked(mut held: QueuedPacket, marking: Marking) -> Decision {
        held.mark_ce();
        held.decision(marking)
    }

    /// Would catch a mark that clears an existing firewall mark, and a mark on a packet that was not marked here or
    /// arrived marked.
    #[test]
    fn a_rule_marks_packets_with_the_bit() {
        let rule = Marking::ByRule(BIT);
        let capable = [0, 1, 2, 3].map(|ecn| held(&header(ecn), 115, rule).ecn_capable());
        assert_eq!(capable, [false, true, true, true]);
        assert_eq!(marked(held(&header(2), 115, rule), rule), Decision::Mark(BIT | 5));
        assert_eq!(held(&header(2), 115, rule).decision(rule), Decision::Accept);
        assert_eq!(marked(held(&header(3), 115, rule), rule), Decision::Accept);
    }

    /// RFC 3168: Congestion Experienced is 11. A packet that arrived with it was not marked since, nor was one that
    /// carries another codepoint.
    #[test]
    fn a_mark_on_the_way_is_seen() {
        let since =
            |before: u8, after: u8| held(&header(before), 115, Marking::ByRule(BIT)).was_marked_since(&header(after));
        assert_eq!(
            [since(2, 3), since(1, 3), since(3, 3), since(2, 2), since(0, 0)],
            [true, true, false, false, false]
        );
    }

    /// RFC 3168: Congestion Experienced is 11. The whole packet is returned, with the right checksum.
    #[test]
    fn the_router_marks_in_the_header() {
        let whole = [&header(2)[..], &[9; 95]].concat();
        let expected = [&header(3)[..], &[9; 95]].concat();
        assert_eq!(marked(held(&whole, 115, Marking::ByUs), Marking::ByUs), Decision::Rewrite(expected.into()));
        assert_eq!(held(&whole, 115, Marking::ByUs).decision(Marking::ByUs), Decision::Accept);
        // Writing back a part would truncate the packet, so a packet that was copied in part cannot be marked.
        assert!(!held(&header(2), 115, Marking::ByUs).ecn_capable());
        assert!(held(&header(3), 115, Marking::ByUs).ecn_capable());
        assert_eq!(marked(held(&header(3), 115, Marking::ByUs), Marking::ByUs), Decision::Accept);
    }

    /// The size of a frame counts from the IP header, behind tags (18 and 22 bytes) and PPPoE's headers (22), with
    /// Ethernet's padding to 60 bytes. For frames other than IP it counts from behind the Ethernet header.
    #[test]
    fn a_frame_has_the_size_of_its_packet() {
        let classifier = classifier();
        let frame = |before: &[u8], packet: &[u8], length: usize| {
            let mut frame = [&[2; 12], before, packet].concat();
            frame.resize(length, 0);
            frame
        };
        let (tag, provider) = ([0x81, 0, 0, 5], [0x88, 0xa8, 0, 7]);
        for (before, length, bytes) in [
            (vec![8, 0], 1514, 1500),
            (vec![8, 0], 60, 46),
            ([&tag[..], &[8, 0]].concat(), 1518, 1500),
            ([&provider[..], &tag, &[8, 0]].concat(), 1000, 978),
            (vec![0x88, 0x64, 0x11, 0, 0, 7, 0x05, 0xd6, 0, 0x21], 1514, 1492),
            (vec![0x08, 0x06], 60, 46),
            (vec![0x88, 0xcc], 14, 1),
        ] {
            let held = QueuedPacket::from_frame(7, &frame(&before, &header(2), length), &classifier);
            let is_ip = before.ends_with(&[8, 0]) || before.ends_with(&[0, 0x21]);
            assert_eq!((held.id, held.bytes(), held.ecn_capable()), (7, bytes, is_ip), "{before:?} {length}");
        }
        let flow = |before: &[u8]| QueuedPacket::from_frame(0, &frame(before, &header(2), 60), &classifier).flow();
        assert_eq!(flow(&[8, 0]), flow(&[0x81, 0, 0, 5, 8, 0]));
        assert_ne!(flow(&[0x08, 0x06]), flow(&[0x88, 0xcc]));
        let mut marked = QueuedPacket::from_frame(0, &frame(&[8, 0], &header(2), 60), &classifier);
        marked.mark_ce();
        let change = ClassChange { mark: true, wash: false };
        assert_eq!(marked.decision(Marking::ByRule(1)), Decision::Change(change));
    }

    /// RFC 2784: GRE without options. RFC 6040: marks belong to the outer header. Would catch a flow of the outer
    /// header where the inner one is asked for, at a bridge or an NFQUEUE, and the other way round.
    #[test]
    fn a_tunnel_is_one_flow_unless_the_inner_one_is_asked_for() {
        let outer = |port: u8| {
            let inner = [0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, port, 0, 9];
            let mut packet = [&header(2)[..], &[0, 0, 8, 0], &inner].concat();
            packet[9] = 47;
            packet
        };
        for by in [FlowsBy::FiveTuple, FlowsBy::Inner] {
            let classifier = Classifier::new(by, LinkLayer::default());
            let queued = |payload: &[u8]| {
                let queued = PacketMessage { queue: 0, id: 7, mark: 5, payload, bytes: 48, gso: false, hosts: None };
                QueuedPacket::new(&queued, &classifier, Marking::ByRule(BIT))
            };
            let [one, other] = [5, 6].map(|port| queued(&outer(port)));
            assert_eq!(one.flow() == other.flow(), by == FlowsBy::FiveTuple);
            assert_eq!((one.ecn_capable(), one.l4s(), one.bytes()), (true, false, 48));
            let frame = [&[2; 12][..], &[8, 0], &outer(5)].concat();
            assert_eq!(QueuedPacket::from_frame(0, &frame, &classifier).flow(), one.flow());
            assert_eq!(one.flow_id().protocol_name(), if by == FlowsBy::Inner { "udp" } else { "gre" });
        }
    }

    /// Would catch hosts of the visible addresses where others are known, and others where they were not asked for.
    #[test]
    fn hosts_are_those_behind_translation_if_that_is_needed() {
        let nat = Classifier { needs: PacketNeeds { nat: true, ..PacketNeeds::default() }, ..classifier() };
        let hosts = |classifier: &Classifier, hosts| {
            let payload = &header(0);
            let queued = PacketMessage { queue: 0, id: 7, mark: 0, payload, bytes: 20, gso: false, hosts };
            let packet = QueuedPacket::new(&queued, classifier, Marking::ByRule(BIT));
            (packet.source_host(), packet.destination_host())
        };
        let hash = |address: [u8; 4]| nat.keys.host(address.into());
        let visible = (hash([192, 168, 0, 1]), hash([192, 168, 0, 199]));
        let behind = Some(([10, 0, 0, 7].into(), [9, 9, 9, 9].into()));
        assert_eq!(hosts(&nat, behind), (hash([10, 0, 0, 7]), hash([9, 9, 9, 9])));
        assert_eq!(hosts(&nat, None), visible);
        let plain = Classifier { needs: PacketNeeds::default(), ..nat.clone() };
        assert_eq!(hosts(&plain, behind), visible);
    }

    /// RFC 9293: an acknowledgement of 9 without data. Would catch a header that is read without need, and one of an
    /// NFQUEUE that is not that of a bridge.
    #[test]
    fn a_packet_tells_its_tcp_header_if_that_is_needed() {
        let tcp = PacketNeeds { tcp: true, ..PacketNeeds::default() };
        let needed = Classifier { needs: tcp, ..Classifier::new(FlowsBy::AddressPair, LinkLayer::default()) };
        let mut ack = [&header(0)[..], &[0, 5, 0, 6, 0, 0, 0, 1, 0, 0, 0, 9, 0x50, 0x10, 0, 0, 0, 0, 0, 0]].concat();
        (ack[3], ack[9]) = (40, 6);
        let queued = PacketMessage { queue: 0, id: 7, mark: 0, payload: &ack, bytes: 40, gso: false, hosts: None };
        let read = |classifier: &Classifier| QueuedPacket::new(&queued, classifier, Marking::ByRule(BIT)).tcp();
        let connection = read(&needed).map(|tcp| tcp.connection).unwrap();
        assert_eq!((read(&needed), read(&classifier())), (Some(TcpHeader::ack(connection, 9)), None));
        let frame = [&[2; 12][..], &[8, 0], &ack, &[0; 6]].concat();
        assert_eq!(QueuedPacket::from_frame(7, &frame, &needed).tcp(), read(&needed));
        ack[21] = 8;
        let other = PacketMessage { queue: 0, id: 7, mark: 0, payload: &ack, bytes: 40, gso: false, hosts: None };
        let other = QueuedPacket::new(&other, &needed, Marking::ByRule(BIT)).tcp().unwrap();
        assert_ne!(other.connection, connection, "the port belongs to it, though not to the flow");
    }

    /// EF (46) with ECT(0). Would catch a DSCP that is cleared without being asked for, a mark that gets lost by it,
    /// and a packet that is copied here although nothing can change it. The checksum changes as the byte does (RFC
    /// 1624).
    #[test]
    fn a_washed_packet_has_no_dscp() {
        let wash = Classifier { needs: PacketNeeds { wash: true, ..PacketNeeds::default() }, ..classifier() };
        let with = |class: u8, bytes: &mut [u8; 20]| {
            bytes[1] = class;
            // 0xb861 - class.
            bytes[10..12].copy_from_slice(&(0xb861 - u16::from(class)).to_be_bytes());
        };
        let (mut ef, mut plain, mut ce) = (header(0), header(0), header(0));
        for (class, bytes) in [(46 << 2 | 2, &mut ef), (2, &mut plain), (3, &mut ce)] {
            with(class, bytes);
        }
        let of = |bytes: &[u8; 20], classifier: &Classifier, mark: bool| {
            let queued = PacketMessage { queue: 0, id: 7, mark: 5, payload: bytes, bytes: 20, gso: false, hosts: None };
            let mut packet = QueuedPacket::new(&queued, classifier, Marking::ByUs);
            if classifier.needs.wash {
                packet.clear_class();
            }
            if mark {
                packet.mark_ce();
            }
            packet.decision(Marking::ByUs)
        };
        assert_eq!(of(&ef, &wash, false), Decision::Rewrite(plain.into()));
        assert_eq!(of(&ef, &wash, true), Decision::Rewrite(ce.into()));
        assert_eq!(of(&plain, &wash, true), Decision::Rewrite(ce.into()));
        assert_eq!([of(&plain, &wash, false), of(&ef, &classifier(), false)], [Decision::Accept, Decision::Accept]);
        let mut not_capable = header(0);
        with(46 << 2, &mut not_capable);
        assert_eq!(of(&not_capable, &wash, false), Decision::Rewrite(header(0).into()));
        let frame = [&[2; 12][..], &[8, 0], &ef, &[0; 26]].concat();
        let mut frame = QueuedPacket::from_frame(0, &frame, &wash);
        frame.clear_class();
        assert_eq!(frame.class(), 0);
        assert_eq!(frame.decision(Marking::ByRule(1)), Decision::Change(ClassChange { mark: false, wash: true }));
    }

    /// Packets other than IP cannot be marked. Their size is the one that the kernel reports.
    #[test]
    fn any_bytes_are_a_packet() {
        for payload in [&[][..], &[0x45], &[0; 64], &[0xff; 64]] {
            let held = held(payload, 64, Marking::ByRule(BIT));
            assert_eq!((held.ecn_capable(), held.bytes()), (false, 64), "{payload:?}");
        }
    }

    /// DSCP EF is 46 (RFC 3246). ECT(1) and CE select the low-latency service (RFC 9331). UDP does not slow down.
    #[test]
    fn a_packet_has_the_properties_of_its_header() {
        let mut bytes = header(1);
        bytes[1] |= 46 << 2;
        let held = held(&bytes, 115, Marking::ByRule(BIT));
        assert_eq!((held.class(), held.l4s(), held.responsive(), held.bytes()), (184, true, false, 115));
    }
}
