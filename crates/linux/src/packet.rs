//! A packet in our queue: its number, and what a discipline may know of it.

use fairlane_capture::{FlowId, Headers, LinkType, mark_ce};
use fairlane_qdisc::{FlowKey, Packet};

use crate::driver::Reading;
use crate::flow::{FlowKeys, HostNumbers, id_of_flow};
use crate::link_layer::LinkLayer;
use crate::nfqueue::{Copied, Decision, Queued};

/// The header of an Ethernet frame.
const ETHERNET: usize = 14;

/// The two ECN bits of a traffic class (RFC 3168); both set are Congestion Experienced.
const ECN: u8 = 0b11;

/// How Congestion Experienced comes into a packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking {
    /// The packet gets this bit in its firewall mark, and a rule of ours behind the queue writes the header. The packet stays in
    /// the kernel.
    ByRule(u32),
    /// We write the header, with its checksum. Every packet is copied to us whole, and marked ones back.
    ByUs,
}

impl Marking {
    /// How much of each packet it needs.
    #[must_use]
    pub const fn copied(self) -> Copied {
        match self {
            Self::ByRule(_) => Copied::Headers,
            Self::ByUs => Copied::Whole,
        }
    }
}

/// A packet that waits in our queue. Its bytes are in the kernel, unless they may have to be written anew.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) id: u32,
    bytes: u32,
    key: FlowKey,
    /// For people: by the time that it is dropped, its headers are not here any more.
    flow: FlowId,
    /// Few disciplines ask who the hosts are, and two hashes take as long as a decision.
    hosts: HostNumbers,
    firewall_mark: u32,
    tos: u8,
    came_marked: bool,
    can_be_marked: bool,
    responsive: bool,
    label: u64,
    whole: Option<Box<[u8]>>,
}

impl Held {
    /// The packet that the kernel has handed over.
    pub(crate) fn new(queued: &Queued<'_>, keys: &FlowKeys, link: LinkLayer, marking: Marking) -> Self {
        let headers = Headers::read(LinkType::Raw, queued.payload, queued.bytes);
        let flow = id_of_flow(&headers);
        let capable = headers.ecn() != 0;
        let came_marked = headers.ecn() == ECN;
        let all_here = queued.payload.len() as u64 == u64::from(queued.bytes);
        // What is copied back must be all of the packet, and one that is marked already stays as it is.
        let keep = marking == Marking::ByUs && capable && all_here && !came_marked;
        Self {
            id: queued.id,
            bytes: link.wire_bytes(queued.bytes),
            key: keys.of_id(flow),
            flow,
            hosts: keys.hosts(),
            firewall_mark: queued.mark,
            tos: headers.tos,
            came_marked,
            can_be_marked: capable && (keep || came_marked || marking != Marking::ByUs),
            responsive: headers.flow.responsive(),
            label: 0,
            whole: keep.then(|| queued.payload.into()),
        }
    }

    /// The same, but it takes `bytes` on the link.
    pub(crate) fn taking(self, bytes: u32) -> Self {
        Self { bytes, ..self }
    }

    /// The Ethernet frame `number`, which waits with us.
    pub(crate) fn of_frame(number: u32, frame: &[u8], reading: &Reading) -> Self {
        let length = frame.len() as u32;
        let headers = Headers::read(LinkType::Ethernet, frame, length);
        let flow = id_of_flow(&headers);
        // On the link a packet takes what follows the header of Ethernet and its tags, as on an NFQUEUE.
        let before = headers.ip_at.unwrap_or(ETHERNET) as u32;
        Self {
            id: number,
            bytes: reading.layer.wire_bytes(length.saturating_sub(before)),
            key: reading.keys.of_id(flow),
            flow,
            hosts: reading.keys.hosts(),
            firewall_mark: 0,
            tos: headers.tos,
            came_marked: headers.ecn() == ECN,
            can_be_marked: headers.ecn() != 0,
            responsive: headers.flow.responsive(),
            label: 0,
            whole: None,
        }
    }

    /// What the headers of its flow's packets have in common.
    pub(crate) const fn id_of_flow(&self) -> FlowId {
        self.flow
    }

    /// How it goes on.
    pub(crate) fn decision(self, marking: Marking) -> Decision {
        if self.came_marked || self.tos & ECN != ECN {
            return Decision::Accept;
        }
        match (marking, self.whole) {
            (Marking::ByRule(bit), _) => Decision::Mark(self.firewall_mark | bit),
            (Marking::ByUs, Some(mut packet)) => {
                mark_ce(&mut packet, 0);
                Decision::Rewrite(packet)
            }
            (Marking::ByUs, None) => Decision::Accept,
        }
    }
}

impl Packet for Held {
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
        self.hosts.sender(self.flow)
    }
    fn destination_host(&self) -> u64 {
        self.hosts.receiver(self.flow)
    }
    fn class(&self) -> u8 {
        self.tos & !ECN
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowsBy;

    const BIT: u32 = 0x4000_0000;

    /// The header of the example in Wikipedia's article on the IPv4 header checksum (sum 0xb861), with this ECN codepoint; the
    /// sum goes down by as much (RFC 1624).
    fn header(ecn: u8) -> [u8; 20] {
        let mut header = *b"\x45\x00\x00\x73\x00\x00\x40\x00\x40\x11\xb8\x61\xc0\xa8\x00\x01\xc0\xa8\x00\xc7";
        header[1] = ecn;
        header[11] -= ecn;
        header
    }

    fn held(payload: &[u8], bytes: u32, marking: Marking) -> Held {
        let queued = Queued { queue: 0, id: 7, mark: 5, payload, bytes, joined: false };
        Held::new(&queued, &FlowKeys::new(FlowsBy::FiveTuple), LinkLayer::default(), marking)
    }

    fn marked(mut held: Held, marking: Marking) -> Decision {
        held.mark_ce();
        held.decision(marking)
    }

    /// Would catch a mark that takes away the firewall mark that was there, and one on a packet that was not marked or came so.
    #[test]
    fn a_rule_marks_what_has_the_bit() {
        let rule = Marking::ByRule(BIT);
        let capable = [0, 1, 2, 3].map(|ecn| held(&header(ecn), 115, rule).ecn_capable());
        assert_eq!(capable, [false, true, true, true]);
        assert_eq!(marked(held(&header(2), 115, rule), rule), Decision::Mark(BIT | 5));
        assert_eq!(held(&header(2), 115, rule).decision(rule), Decision::Accept);
        assert_eq!(marked(held(&header(3), 115, rule), rule), Decision::Accept);
    }

    /// RFC 3168: Congestion Experienced is 11. The whole packet goes back, with the right sum.
    #[test]
    fn we_mark_in_the_header_itself() {
        let whole = [&header(2)[..], &[9; 95]].concat();
        let expected = [&header(3)[..], &[9; 95]].concat();
        assert_eq!(marked(held(&whole, 115, Marking::ByUs), Marking::ByUs), Decision::Rewrite(expected.into()));
        assert_eq!(held(&whole, 115, Marking::ByUs).decision(Marking::ByUs), Decision::Accept);
        // A part of a packet must not be written back as if it were all, so such a packet is one that cannot be marked.
        assert!(!held(&header(2), 115, Marking::ByUs).ecn_capable());
        assert!(held(&header(3), 115, Marking::ByUs).ecn_capable());
        assert_eq!(marked(held(&header(3), 115, Marking::ByUs), Marking::ByUs), Decision::Accept);
    }

    /// A frame's size is what follows the Ethernet header and its tags (14 bytes, 18 and 22), with the padding that Ethernet sends
    /// (60 bytes are its least). What is not IP has what follows the header.
    #[test]
    fn a_frame_takes_what_its_packet_takes() {
        let reading = Reading { keys: FlowKeys::new(FlowsBy::FiveTuple), layer: LinkLayer::default() };
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
            (vec![0x08, 0x06], 60, 46),
            (vec![0x88, 0xcc], 14, 1),
        ] {
            let held = Held::of_frame(7, &frame(&before, &header(2), length), &reading);
            let is_ip = before.ends_with(&[8, 0]);
            assert_eq!((held.id, held.bytes(), held.ecn_capable()), (7, bytes, is_ip), "{before:?} {length}");
        }
        let flow = |before: &[u8]| Held::of_frame(0, &frame(before, &header(2), 60), &reading).flow();
        assert_eq!(flow(&[8, 0]), flow(&[0x81, 0, 0, 5, 8, 0]));
        assert_ne!(flow(&[0x08, 0x06]), flow(&[0x88, 0xcc]));
        let mut marked = Held::of_frame(0, &frame(&[8, 0], &header(2), 60), &reading);
        marked.mark_ce();
        assert_eq!(marked.decision(Marking::ByRule(1)), Decision::Mark(1));
    }

    /// What is not IP cannot be marked, and has the size that the kernel says.
    #[test]
    fn any_bytes_are_a_packet() {
        for payload in [&[][..], &[0x45], &[0; 64], &[0xff; 64]] {
            let held = held(payload, 64, Marking::ByRule(BIT));
            assert_eq!((held.ecn_capable(), held.bytes()), (false, 64), "{payload:?}");
        }
    }

    /// DSCP EF is 46 (RFC 3246); ECT(1) and CE are of the low-latency service (RFC 9331); UDP does not slow down.
    #[test]
    fn a_discipline_is_told_what_the_header_says() {
        let mut bytes = header(1);
        bytes[1] |= 46 << 2;
        let held = held(&bytes, 115, Marking::ByRule(BIT));
        assert_eq!((held.class(), held.l4s(), held.responsive(), held.bytes()), (184, true, false, 115));
    }
}
