//! The size on the link of packets that are several ones there: GSO packets, which segmentation offload has joined, and
//! packets that are fragmented.

use etherparse::{LaxIpSlice, TcpHeaderSlice, ip_number};

use crate::packet::link_layer::LinkLayer;

/// The length of a UDP header (RFC 768).
const UDP_HEADER: usize = 8;

/// Returns the size on the link of a GSO packet of `bytes` bytes that begins with `start`. Each segment has the
/// headers, all but the last have `mtu` bytes, and the link adds its overhead to each.
///
/// An NFQUEUE does not report the length of the segments. TCP makes them as long as the path allows, normally the MTU
/// of the link. If they are shorter, as on a path with a smaller MTU behind the link, there are more segments than are
/// counted here. Only the outermost headers are counted, so packets of a tunnel take more than this.
pub(crate) fn wire_bytes(layer: LinkLayer, start: &[u8], bytes: u32, mtu: u32) -> u32 {
    let headers = lengths(start).map_or(0, |lengths| (lengths.network + lengths.transport) as u32);
    in_segments(layer, headers, bytes.saturating_sub(headers), mtu.saturating_sub(headers))
}

/// Returns the size on the link of a packet of `bytes` bytes that begins with `start` and is longer than `mtu`: the
/// kernel fragments it when it is sent (RFC 791, RFC 8200), or has reassembled it for connection tracking. Each
/// fragment has the IP header, in IPv6 with 8 bytes more, and all but the last carry as many times 8 bytes as fit.
///
/// An NFQUEUE does not report the length of the fragments as they came; they are taken to be as long as the MTU allows.
pub(crate) fn in_fragments(layer: LinkLayer, start: &[u8], bytes: u32, mtu: u32) -> u32 {
    let Some(HeaderLengths { network, .. }) = lengths(start).filter(|_| bytes > mtu) else {
        return layer.wire_bytes(bytes);
    };
    let network = network as u32;
    let more = if start.first().is_some_and(|first| first >> 4 == 6) { 8 } else { 0 };
    let headers = network.saturating_add(more);
    in_segments(layer, headers, bytes.saturating_sub(network), mtu.saturating_sub(headers) & !7)
}

/// Returns the size on the link of segments that carry `data` bytes in all and at most `most` each, behind `headers`
/// bytes each.
pub(crate) fn in_segments(layer: LinkLayer, headers: u32, data: u32, most: u32) -> u32 {
    if data <= most || most == 0 {
        return layer.wire_bytes(headers.saturating_add(data));
    }
    let before = (data - 1) / most;
    let last = layer.wire_bytes(headers + data - before * most);
    layer.wire_bytes(headers.saturating_add(most)).saturating_mul(before).saturating_add(last)
}

/// The lengths of the parts of an IP packet in bytes.
pub(crate) struct HeaderLengths {
    /// The IP header with its options or extension headers.
    pub(crate) network: usize,
    /// The TCP or UDP header; 0 for other protocols.
    pub(crate) transport: usize,
    /// The whole packet, as its header says.
    pub(crate) packet: usize,
}

/// Parses the packet that begins with `start`; returns `None` if it is not IP.
pub(crate) fn lengths(start: &[u8]) -> Option<HeaderLengths> {
    let (ip, _) = LaxIpSlice::from_slice(start).ok()?;
    let (network, packet) = match &ip {
        LaxIpSlice::Ipv4(ip) => (ip.header().slice().len(), ip.header().total_len().into()),
        LaxIpSlice::Ipv6(ip) => {
            let header = ip.header();
            (
                header.slice().len() + ip.extensions().slice().len(),
                header.slice().len() + usize::from(header.payload_length()),
            )
        }
    };
    let payload = ip.payload();
    let transport = match payload.ip_number {
        ip_number::TCP => TcpHeaderSlice::from_slice(payload.payload).map_or(0, |tcp| tcp.slice().len()),
        ip_number::UDP => UDP_HEADER,
        _ => 0,
    };
    Some(HeaderLengths { network, transport, packet })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::link_layer::Framing;

    /// Returns the headers of an IPv4 packet of `bytes` bytes without options, with TCP and 12 bytes of TCP options
    /// (timestamps) or with UDP.
    fn start(protocol: u8, bytes: u16) -> Vec<u8> {
        let mut start = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        start[2..4].copy_from_slice(&bytes.to_be_bytes());
        start.extend([0; 32]);
        start[20 + 12] = 0x80;
        start
    }

    /// Values by hand. With an MTU of 1500 a TCP segment carries 1448 bytes behind 52 of headers, and a UDP datagram
    /// 1472 behind 28. Ethernet adds 38 bytes to each, to at least 84.
    #[test]
    fn each_segment_has_its_headers() {
        let ethernet = LinkLayer::new(38, 84, Framing::None).unwrap();
        let tcp = |layer, data: u32| wire_bytes(layer, &start(6, (52 + data) as u16), 52 + data, 1500);
        let plain = LinkLayer::default();
        assert_eq!([1448, 1449, 2 * 1448].map(|data| tcp(plain, data)), [1500, 1500 + 53, 3000]);
        assert_eq!([1448, 1449, 2 * 1448].map(|data| tcp(ethernet, data)), [1538, 1538 + 91, 2 * 1538]);
        // The largest IP packet: 45 segments, the last with 1771 - 1448 = 323 bytes.
        assert_eq!(tcp(plain, 44 * 1448 + 323), 44 * 1500 + 52 + 323);
        let udp = |data: u32| wire_bytes(plain, &start(17, (28 + data) as u16), 28 + data, 1500);
        assert_eq!([1472, 10 * 1472, 10 * 1472 + 1].map(udp), [1500, 15_000, 15_029]);
    }

    /// The IPv6 header has 40 bytes, and a destination option 8 more (RFC 8200).
    #[test]
    fn headers_of_ipv6_are_counted_with_extensions() {
        let mut start = vec![0x60, 0, 0, 0, 0x20, 0, 60, 64];
        start.extend([0; 32]);
        start.extend([6, 0, 1, 4, 0, 0, 0, 0]);
        start.extend([0; 20]);
        start[48 + 12] = 0x50;
        let headers = 40 + 8 + 20;
        let data = 3 * (1500 - headers);
        assert_eq!(wire_bytes(LinkLayer::default(), &start, headers + data, 1500), 3 * 1500);
    }

    /// By RFC 791 with an MTU of 1500, each fragment carries 1480 bytes behind 20 of header; by RFC 8200 1448 bytes,
    /// the multiple of 8 below 1452, behind 48. Ethernet adds 38 to each.
    #[test]
    fn each_fragment_has_its_header() {
        let ethernet = LinkLayer::new(38, 84, Framing::None).unwrap();
        let four = |layer, data: u32| in_fragments(layer, &start(17, (20 + data) as u16), 20 + data, 1500);
        let plain = LinkLayer::default();
        assert_eq!([1480, 1481, 2960, 4008].map(|data| four(plain, data)), [1500, 1521, 3000, 4068]);
        assert_eq!([1480, 1481, 2960, 4008].map(|data| four(ethernet, data)), [1538, 1538 + 84, 3076, 4182]);
        let mut six = vec![0x60, 0, 0, 0, 0x0f, 0xa8, 17, 64];
        six.extend([0; 48]);
        assert_eq!(in_fragments(plain, &six, 40 + 4008, 1500), 2 * 1496 + 48 + 4008 - 2 * 1448);
        for mtu in [0, 1, 20, 27, 28] {
            assert!(in_fragments(plain, &start(17, 40_000), 40_000, mtu) >= 40_000, "{mtu}");
            assert!(in_fragments(plain, &six, 40_000, mtu) >= 40_000, "{mtu}");
        }
    }

    /// Bytes that are no headers, or truncated ones, count as data. Would catch a division by zero and an overflow.
    #[test]
    fn any_bytes_have_a_size() {
        let plain = LinkLayer::default();
        assert_eq!(wire_bytes(plain, &[], 4000, 1500), 4000);
        assert_eq!(wire_bytes(plain, &[0xff; 128], 4000, 1500), 4000);
        let tcp = start(6, 4000);
        for length in 0..tcp.len() {
            assert!(wire_bytes(plain, &tcp[..length], 4000, 1500) >= 4000);
        }
        for mtu in [0, 1, 52, 53] {
            assert!(wire_bytes(LinkLayer::new(256, 0, Framing::Atm).unwrap(), &tcp, u32::MAX, mtu) >= 4000, "{mtu}");
        }
    }
}
