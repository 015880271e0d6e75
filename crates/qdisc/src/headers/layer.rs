//! The layers between the beginning of a packet and IP.
//!
//! **Source.** VLAN tags: IEEE 802.1Q and 802.1ad. LLC and SNAP: IEEE 802.2, RFC 1042. PPP: RFC 1661, in frames as of
//! HDLC RFC 1662. Cisco's HDLC: RFC 1547, section 4.3.1. PPPoE: RFC 2516. MPLS: RFC 3032, in PPP too.

use etherparse::Ipv4HeaderSlice;

/// A header, as the one before it names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Two hardware addresses, and an Ethernet type or a length.
    Ethernet,
    /// The header of an Ethernet type; LLC's if that is a length.
    EtherType(u16),
    /// Logical link control, of which SNAP leads on.
    Llc,
    /// PPP, also with HDLC's address and control bytes.
    Ppp,
    /// PPP or Cisco's HDLC, by the first byte.
    Hdlc,
    /// A PPPoE session.
    PppoeSession,
    /// An entry of an MPLS label stack.
    Mpls,
    /// The payload of MPLS, which tells no protocol.
    Untold,
    /// IPv4 or IPv6.
    Ip,
}

/// Offset of the IP header, or the protocol that is there instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    /// IP begins at this byte.
    Ip(usize),
    /// Something else, of this Ethernet type; 0 where there is none.
    Other(u16),
}

/// The most headers on the way to IP, which bounds the work for a packet.
const MOST_LAYERS: usize = 16;

/// The shortest Ethernet frame without its check sequence. Shorter packets are padded.
const SHORTEST_FRAME: usize = 60;

/// Length of an Ethernet header.
pub(super) const ETHERNET: usize = 14;

/// Below this an Ethernet type is the length of an IEEE 802.3 frame.
pub(super) const FIRST_ETHER_TYPE: u16 = 0x600;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const PROVIDER_VLAN: u16 = 0x88a8;
const OLD_DOUBLE_VLAN: u16 = 0x9100;
const MPLS: u16 = 0x8847;
const MPLS_UPSTREAM: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;

/// Finds IP behind the headers that begin with `layer` at `at`. `data` are the first bytes of `length`.
pub(super) fn find_ip(mut layer: Layer, data: &[u8], mut at: usize, length: usize) -> Inside {
    let mut ether_type = 0;
    for _ in 0..MOST_LAYERS {
        match layer {
            Layer::Ip | Layer::EtherType(IPV4 | IPV6) => return Inside::Ip(at),
            Layer::Untold if is_ip(data.get(at..).unwrap_or_default(), at, length) => return Inside::Ip(at),
            Layer::EtherType(number) => ether_type = if number < FIRST_ETHER_TYPE { 0 } else { number },
            _ => {}
        }
        let Some((next, header)) = layer.next(data.get(at..).unwrap_or_default()) else { break };
        (layer, at) = (next, at + header);
    }
    Inside::Other(ether_type)
}

/// Returns true if IP begins with `data`, at `at` of a packet of `length` bytes, by more than its first four bits (RFC
/// 4928): a pseudowire's payload may begin with an Ethernet address. IPv4 has the right checksum, IPv6 the right
/// length.
fn is_ip(data: &[u8], at: usize, length: usize) -> bool {
    match data.first().map(|first| first >> 4) {
        Some(4) => Ipv4HeaderSlice::from_slice(data)
            .is_ok_and(|header| header.header_checksum() == header.to_header().calc_header_checksum()),
        Some(6) => word(data, 4).is_some_and(|payload| {
            let end = at + 40 + usize::from(payload);
            end == length || (end < length && length <= SHORTEST_FRAME)
        }),
        _ => false,
    }
}

impl Layer {
    /// Returns the layer inside, and the length of this one's header, with which `data` begins.
    fn next(self, data: &[u8]) -> Option<(Self, usize)> {
        match self {
            Self::Ethernet => Some((Self::EtherType(word(data, 12)?), ETHERNET)),
            Self::EtherType(VLAN | PROVIDER_VLAN | OLD_DOUBLE_VLAN) => Some((Self::EtherType(word(data, 2)?), 4)),
            Self::EtherType(PPPOE_SESSION) => Some((Self::PppoeSession, 0)),
            Self::EtherType(MPLS | MPLS_UPSTREAM) => Some((Self::Mpls, 0)),
            Self::EtherType(length) if length < FIRST_ETHER_TYPE => Some((Self::Llc, 0)),
            Self::EtherType(_) | Self::Untold | Self::Ip => None,
            // SNAP with the organization code of Ethernet types.
            Self::Llc => match data {
                [0xaa, 0xaa, 3, 0, 0, 0, ..] => Some((Self::EtherType(word(data, 6)?), 8)),
                _ => None,
            },
            Self::Ppp => ppp(data),
            Self::Hdlc => match data.first()? {
                // To one, to all.
                0x0f | 0x8f => Some((Self::EtherType(word(data, 2)?), 4)),
                _ => Some((Self::Ppp, 0)),
            },
            // Version and type 1, and the code of data.
            Self::PppoeSession => matches!(data, [0x11, 0, ..]).then_some((Self::Ppp, 6)),
            Self::Mpls => match data {
                [_, _, entry, _, ..] if entry & 1 == 0 => Some((Self::Mpls, 4)),
                [_, _, _, _, ..] => Some((Self::Untold, 4)),
                _ => None,
            },
        }
    }
}

fn ppp(data: &[u8]) -> Option<(Layer, usize)> {
    let before = if data.starts_with(&[0xff, 3]) { 2 } else { 0 };
    let rest = data.get(before..)?;
    // A number's last byte alone is odd, so one of one byte is odd.
    let first = *rest.first()?;
    let (protocol, length) = if first % 2 == 1 { (u16::from(first), 1) } else { (word(rest, 0)?, 2) };
    let next = match protocol {
        0x0021 | 0x0057 => Layer::Ip,
        0x0281 | 0x0283 => Layer::Mpls,
        _ => return None,
    };
    Some((next, before + length))
}

/// Returns the number of two bytes at `at`, in network order.
pub(super) fn word(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}
