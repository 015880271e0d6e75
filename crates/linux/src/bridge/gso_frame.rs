//! GSO frames, and the frames of the link that they consist of.
//!
//! **Source.** The virtio header describes the segments (virtio 1.2, section 5.1.6). The differences between segments
//! are those of TCP (RFC 9293, with CWR by RFC 3168, section 6.1.2) and IP (RFC 791, RFC 8200). Checksums are updated
//! by RFC 1624.

use fairlane_qdisc::headers::{FlowId, Headers, LinkType};

use super::frame::{ADDRESSES, COPIED, IncomingFrame, NEEDS_CHECKSUM, TAG, VIRTIO};
use crate::packet::gso::{self, HeaderLengths};
use crate::packet::link_layer::LinkLayer;

/// `VIRTIO_NET_HDR_GSO_TCPV4`, `_TCPV6` and `_UDP_L4`, and the flag `_ECN`.
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
const ECN: u8 = 0x80;

/// The protocol numbers of TCP and UDP.
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// FIN and PSH belong to the last segment, CWR to the first.
const FIN_AND_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// The largest number of segments. A frame of 64 kB whose segments carry 500 bytes has 131; TCP in Linux chooses
/// none shorter (`min_pmtu`, ip-sysctl), and a UDP socket joins at most 128 datagrams. A frame with
/// more costs its sender one packet and everybody else the work for thousands.
const MOST_SEGMENTS: usize = 131;

/// Space for a virtio header, an Ethernet header with three tags, an IP header with some extensions and a TCP header.
const START: usize = 320;

/// A GSO frame whose description is consistent.
pub(crate) struct GsoFrame<'f> {
    /// The virtio header and all other headers, as in the first segment.
    start: [u8; START],
    /// The length of the headers, and the offsets of IP and of TCP or UDP.
    data_at: usize,
    ip_at: usize,
    transport_at: usize,
    four: bool,
    tcp: bool,
    /// The data of all segments, and the length of the data of each but the last.
    data: &'f [u8],
    each: usize,
}

impl<'f> GsoFrame<'f> {
    /// Parses a GSO frame as [`read`](Self::read) does, if an interface whose frames have at most `longest` bytes can
    /// send its segments. As for other frames, a tag that the kernel has removed does not count.
    pub(crate) fn that_fits(frame: &IncomingFrame<'f>, longest: usize) -> Option<Self> {
        let joined = Some(frame).filter(|frame| frame.is_whole()).and_then(Self::read)?;
        (joined.longest() <= longest + frame.tag_bytes()).then_some(joined)
    }

    /// Parses a GSO frame. Returns `None` if its headers contradict the virtio header, if it was joined inside a
    /// tunnel or a header such as PPPoE's, or if it has more than [`MOST_SEGMENTS`].
    fn read(frame: &IncomingFrame<'f>) -> Option<Self> {
        let number = |at: usize| usize::from(u16::from_ne_bytes([frame.virtio[at], frame.virtio[at + 1]]));
        let (each, checked_from, sum_at) = (number(4), number(6), number(8));
        let headers = Headers::read(LinkType::Ethernet, frame.frame, frame.frame.len() as u32);
        let (Some(ip), FlowId::Ip { protocol, .. }, None) = (headers.ip_at, headers.flow, headers.fragment) else {
            return None;
        };
        // Other headers than tags may have lengths, which would be wrong in segments.
        let tags = frame.frame.get(ADDRESSES..ip - 2)?;
        if tags.chunks(TAG).any(|tag| !matches!(tag, [0x81, 0, ..] | [0x88, 0xa8, ..] | [0x91, 0, ..])) {
            return None;
        }
        let packet = frame.frame.get(ip..)?;
        let HeaderLengths { network, transport, packet: whole } = gso::lengths(packet)?;
        let four = packet.first()? >> 4 == 4;
        let (tcp, expected) = match (frame.virtio[1] & !ECN, four, protocol) {
            (TCP4, true, PROTOCOL_TCP) | (TCP6, false, PROTOCOL_TCP) => (true, 16),
            (UDP, _, PROTOCOL_UDP) => (false, 6),
            _ => return None,
        };
        let as_said = frame.virtio[0] & NEEDS_CHECKSUM != 0
            && (checked_from, sum_at) == (ip + network, expected)
            && (each > 0 && transport > 0 && whole == packet.len());
        let headers = IncomingFrame { frame: frame.frame.get(..ip + network + transport)?, ..*frame };
        let data = packet.get(network + transport..)?;
        let mut start = [0; START];
        if !as_said || VIRTIO + headers.bytes() > START || data.len() > each * MOST_SEGMENTS {
            return None;
        }
        let data_at = headers.write(&mut start);
        // A segment is no GSO frame: only the checksum offsets of the virtio header remain.
        start[1..6].fill(0);
        let transport_at = data_at - transport;
        Some(Self { start, data_at, ip_at: transport_at - network, transport_at, four, tcp, data, each })
    }

    /// Returns the number of segments.
    pub(crate) const fn segments(&self) -> usize {
        if self.data.is_empty() { 1 } else { self.data.len().div_ceil(self.each) }
    }

    /// Returns the length of the longest segment's frame.
    pub(crate) fn longest(&self) -> usize {
        self.data_at - VIRTIO + self.data.len().min(self.each)
    }

    /// Returns the size of all segments together on the link.
    pub(crate) fn wire_bytes(&self, layer: LinkLayer) -> u32 {
        let headers = self.data_at - self.ip_at;
        gso::in_segments(layer, headers as u32, self.data.len() as u32, self.each as u32)
    }

    /// Writes a virtio header and the frame of the segment `number`, below [`segments`](Self::segments), to the start
    /// of `to`, and returns the number of bytes written.
    pub(crate) fn write(&self, number: usize, to: &mut [u8]) -> usize {
        let from = number * self.each;
        let data = &self.data[from..self.data.len().min(from + self.each)];
        let end = self.data_at + data.len();
        let (headers, rest) = to[..end].split_at_mut(self.data_at);
        headers.copy_from_slice(&self.start[..self.data_at]);
        rest.copy_from_slice(data);
        let copied = COPIED.min((end - VIRTIO) as u16);
        headers[2..4].copy_from_slice(&copied.to_ne_bytes());
        let (before, transport) = headers.split_at_mut(self.transport_at);
        self.network(&mut before[self.ip_at..], number as u16, end);
        if self.tcp {
            let sequence = long(transport, 4).wrapping_add(from as u32);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            let ends_here = from + data.len() == self.data.len();
            transport[13] &= !(if ends_here { 0 } else { FIN_AND_PSH } | if number == 0 { 0 } else { CWR });
        } else {
            transport[4..6].copy_from_slice(&((end - self.transport_at) as u16).to_be_bytes());
        }
        // The checksum field holds the sum of the addresses, the protocol and the length. The sender adds the rest.
        let [was, is] = [self.data.len(), data.len()].map(|data| (self.data_at - self.transport_at + data) as u16);
        let sum_at = if self.tcp { 16 } else { 6 };
        let sum = folded(u32::from(short(transport, sum_at)) + u32::from(!was) + u32::from(is));
        transport[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
        end
    }

    /// Updates the IP header of the segment `number`, whose frame ends at `end`.
    fn network(&self, header: &mut [u8], number: u16, end: usize) {
        if !self.four {
            header[4..6].copy_from_slice(&((end - self.ip_at - 40) as u16).to_be_bytes());
            return;
        }
        header[2..4].copy_from_slice(&((end - self.ip_at) as u16).to_be_bytes());
        let identification = short(header, 4).wrapping_add(number);
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        header[10..12].fill(0);
        let sum = folded(header.chunks_exact(2).map(|word| u32::from(short(word, 0))).sum());
        header[10..12].copy_from_slice(&(!sum).to_be_bytes());
    }
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Folds a sum into 16 bits of ones' complement.
const fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    /// Returns a frame of IPv4 or IPv6 and TCP or UDP with `data`, and the virtio header of a GSO frame whose segments
    /// have 1000 bytes of data.
    fn joined(four: bool, tcp: bool, data: &[u8]) -> (Vec<u8>, [u8; VIRTIO]) {
        let transport = if tcp {
            // Sequence number 0xffff_ff00; CWR, ACK, PSH and FIN; 12 bytes of options.
            let mut header = vec![0x30, 0x39, 0, 80, 0xff, 0xff, 0xff, 0, 0, 0, 0, 9, 0x80, 0x99, 1, 0, 0, 0, 0, 0];
            header.extend([1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
            header
        } else {
            [&[0x30, 0x39, 0, 80][..], &(8 + data.len() as u16).to_be_bytes(), &[0, 0]].concat()
        };
        let length = (transport.len() + data.len()) as u16;
        let protocol = if tcp { 6 } else { 17 };
        let (ether_type, mut ip) = if four {
            let mut ip = vec![0x45, 2, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            ip[2..4].copy_from_slice(&(20 + length).to_be_bytes());
            ([8, 0], ip)
        } else {
            let mut ip = vec![0x60, 0x20, 0, 0, 0, 0, protocol, 64];
            ip[4..6].copy_from_slice(&length.to_be_bytes());
            ip.extend([0x20; 32]);
            ([0x86, 0xdd], ip)
        };
        let network = ip.len();
        ip.extend(transport);
        let sum_at = network + if tcp { 16 } else { 6 };
        let pseudo = pseudo(&ip, four, protocol, length);
        ip[sum_at..sum_at + 2].copy_from_slice(&pseudo.to_be_bytes());
        let kind = if !tcp {
            5
        } else if four {
            0x81
        } else {
            4
        };
        let mut virtio = [1, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (at, number) in [(2, 14 + ip.len()), (4, 1000), (6, 14 + network), (8, sum_at - network)] {
            virtio[at..at + 2].copy_from_slice(&(number as u16).to_ne_bytes());
        }
        ([&[2; 12][..], &ether_type, &ip, data].concat(), virtio)
    }

    /// Calculates the sum of the pseudo header (RFC 9293, RFC 8200) bit by bit.
    fn pseudo(ip: &[u8], four: bool, protocol: u8, length: u16) -> u16 {
        let addresses = if four { &ip[12..20] } else { &ip[8..40] };
        sum(&[addresses, &[0, protocol], &length.to_be_bytes()].concat())
    }

    fn sum(bytes: &[u8]) -> u16 {
        let mut total = 0_u64;
        for pair in bytes.chunks(2) {
            total += u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |byte| u64::from(*byte));
        }
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        total as u16
    }

    fn segments(frame: &[u8], virtio: [u8; VIRTIO], tag: Option<[u8; TAG]>) -> Option<Vec<Vec<u8>>> {
        let joined = GsoFrame::read(&IncomingFrame { frame, whole: true, tag, virtio, received: 0 })?;
        let segment = |number| {
            let mut to = vec![0xee; VIRTIO + joined.longest()];
            let length = joined.write(number, &mut to);
            to.truncate(length);
            to
        };
        Some((0..joined.segments()).map(segment).collect())
    }

    /// Each segment equals the packet of a sender without segmentation offload: lengths, numbers, flags and checksums
    /// by the RFCs, and the data in order. Would catch a number that does not wrap, FIN in every segment, and a
    /// checksum over the wrong length.
    #[test]
    fn segments_are_packets_of_their_own() {
        let data: Vec<u8> = (0..2300_u32).map(|n| (n * 7) as u8).collect();
        for (four, tcp) in [(true, true), (false, true), (true, false), (false, false)] {
            let (frame, virtio) = joined(four, tcp, &data);
            let network = if four { 20 } else { 40 };
            let segments = segments(&frame, virtio, None).unwrap();
            assert_eq!(segments.len(), 3);
            let mut all: Vec<u8> = Vec::new();
            for (n, segment) in segments.iter().enumerate() {
                let (virtio, frame) = segment.split_at(VIRTIO);
                let sum_at = if tcp { 16 } else { 6 };
                let numbers = [frame.len(), 0, 14 + network, sum_at].map(|number| (number as u16).to_ne_bytes());
                let expected = [[1, 0], numbers[0], numbers[1], numbers[2], numbers[3]];
                assert_eq!(virtio, expected.concat());
                assert_eq!(frame[..14], joined(four, tcp, &[]).0[..14]);
                let (ip, transport) = frame[14..].split_at(network);
                let headers = if tcp { 32 } else { 8 };
                let length = transport.len() as u16;
                if four {
                    assert_eq!(sum(ip), 0xffff, "{ip:?}");
                    assert_eq!((short(ip, 2), short(ip, 4)), (20 + length, 0xffff_u16.wrapping_add(n as u16)));
                    assert_eq!((ip[..2].to_vec(), &ip[6..10]), (vec![0x45, 2], &frame[20..24]));
                } else {
                    assert_eq!((short(ip, 4), &ip[..4]), (length, &[0x60, 0x20, 0, 0][..]));
                }
                if tcp {
                    assert_eq!(long(transport, 4), 0xffff_ff00_u32.wrapping_add(1000 * n as u32));
                    // CWR in the first, PSH and FIN in the last, ACK in all.
                    assert_eq!(transport[13], [0x90, 0x10, 0x19][n]);
                    assert_eq!(transport[20..32], [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
                } else {
                    assert_eq!(short(transport, 4), length);
                }
                // The part of the checksum that the network card continues from.
                assert_eq!(short(transport, sum_at), pseudo(ip, four, if tcp { 6 } else { 17 }, length));
                all.extend(&transport[headers..]);
            }
            assert_eq!(all, data);
            let whole =
                GsoFrame::read(&IncomingFrame { frame: &frame, whole: true, tag: None, virtio, received: 0 }).unwrap();
            let headers = network + if tcp { 32 } else { 8 };
            assert_eq!(whole.longest(), 14 + headers + 1000);
            assert_eq!(whole.wire_bytes(LinkLayer::default()) as usize, 3 * headers + 2300);
        }
    }

    /// Would catch a segment without the tag, and offsets that do not count it.
    #[test]
    fn each_segment_has_the_tag() {
        let (frame, virtio) = joined(true, true, &[9; 1001]);
        let tag = [0x81, 0, 0, 5];
        let (plain, tagged) = (segments(&frame, virtio, None).unwrap(), segments(&frame, virtio, Some(tag)).unwrap());
        for (plain, tagged) in plain.iter().zip(&tagged) {
            let mut expected = plain.clone();
            expected.splice(VIRTIO + 12..VIRTIO + 12, tag);
            expected[2..4].copy_from_slice(&(tagged.len() as u16 - 10).to_ne_bytes());
            expected[6..8].copy_from_slice(&38_u16.to_ne_bytes());
            assert_eq!(*tagged, expected);
        }
        assert_eq!(tagged.len(), 2);
    }

    /// A segment has headers of 14, 20 and 32 bytes and 1000 of data. Would catch a tag that counts although the kernel
    /// has removed it, and a frame that was truncated.
    #[test]
    fn a_frame_fits_by_its_longest_segment() {
        let (frame, virtio) = joined(true, true, &[9; 1001]);
        for tag in [None, Some([0x81, 0, 0, 5])] {
            let incoming = IncomingFrame { frame: &frame, whole: true, tag, virtio, received: 0 };
            let fits = [1065, 1066].map(|longest| GsoFrame::that_fits(&incoming, longest).is_some());
            assert_eq!(fits, [false, true], "{tag:?}");
            assert!(GsoFrame::that_fits(&IncomingFrame { whole: false, ..incoming }, 1066).is_none());
        }
    }

    /// Would catch a tag that the kernel has left in the frame and that is taken for another header.
    #[test]
    fn tags_in_the_frame_are_passed() {
        let (mut frame, mut virtio) = joined(true, true, &[9; 1001]);
        frame.splice(12..12, [0x88, 0xa8, 0, 5, 0x81, 0, 0, 6]);
        virtio[6..8].copy_from_slice(&42_u16.to_ne_bytes());
        let segments = segments(&frame, virtio, None).unwrap();
        assert_eq!(segments.len(), 2);
        assert!(segments.iter().all(|segment| segment[VIRTIO..VIRTIO + 22] == frame[..22]));
    }

    /// Would catch a GSO frame with contradictory headers that is segmented, and a read or write beyond the frame.
    #[test]
    fn contradictory_headers_are_refused() {
        let (frame, virtio) = joined(true, true, &[9; 2300]);
        let refused = |change: &dyn Fn(&mut Vec<u8>, &mut [u8; VIRTIO])| {
            let (mut frame, mut virtio) = (frame.clone(), virtio);
            change(&mut frame, &mut virtio);
            assert_eq!(segments(&frame, virtio, None), None, "{virtio:?}");
        };
        refused(&|_, virtio| virtio[0] = 0);
        // IPv6, UDP fragmentation offload, UDP, and an undefined type.
        [4, 3, 5, 9].into_iter().for_each(|kind| refused(&|_, virtio| virtio[1] = kind));
        // Segments without data, and offsets of a header elsewhere, as in a tunnel.
        refused(&|_, virtio| virtio[4..6].fill(0));
        refused(&|_, virtio| virtio[6..8].copy_from_slice(&84_u16.to_ne_bytes()));
        refused(&|_, virtio| virtio[8..10].copy_from_slice(&6_u16.to_ne_bytes()));
        // A tunnel, a fragment, a length other than the packet's, and a TCP header that is longer than the packet.
        refused(&|frame, _| frame[14 + 9] = 47);
        refused(&|frame, _| frame[14 + 6] = 0x20);
        refused(&|frame, _| frame[14 + 3] ^= 1);
        refused(&|frame, _| frame.truncate(100));
        // PPPoE (RFC 2516) and SNAP (RFC 1042) have lengths.
        for before in [
            &[0x88, 0x64, 0x11, 0, 0, 7, 9, 54, 0, 0x21][..],
            &[5, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
            &[0x81, 0, 0, 5, 0x88, 0x64, 0x11, 0, 0, 7, 9, 54, 0, 0x21],
        ] {
            refused(&|frame, virtio| {
                frame.splice(12..14, before.iter().copied());
                virtio[6..8].copy_from_slice(&(34 + before.len() as u16 - 2).to_ne_bytes());
            });
        }
        // The shortest segments that 2300 bytes may have, 18 bytes, and those of one byte less.
        let each = |bytes: u16| {
            let mut virtio = virtio;
            virtio[4..6].copy_from_slice(&bytes.to_ne_bytes());
            segments(&frame, virtio, None).map(|segments| segments.len())
        };
        assert_eq!((each(18), each(17), each(1)), (Some(128), None, None));
        let mut random = Seed::new(1).stream("joined");
        let mut cut = 0;
        for _ in 0..20_000 {
            let (four, tcp) = (random.below(2) == 0, random.below(2) == 0);
            let (mut frame, mut virtio) = joined(four, tcp, &vec![1; random.below(3000) as usize]);
            for _ in 0..random.below(4) {
                frame[random.below(100).min(40) as usize] = random.bits() as u8;
                virtio[random.below(VIRTIO as u32) as usize] = random.bits() as u8;
            }
            if random.below(4) == 0 {
                frame.truncate(random.below(100) as usize);
            }
            let segments = segments(&frame, virtio, None).unwrap_or_default();
            assert!(segments.iter().all(|segment| segment.len() <= VIRTIO + frame.len()));
            cut += usize::from(segments.len() > 1);
        }
        assert!(cut > 1000, "{cut}");
    }
}
