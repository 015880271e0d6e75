//! IPv4 and IPv6 headers.

use etherparse::{
    IpAuthHeaderSlice, IpNumber, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, LaxIpSlice,
    ip_number,
};

use super::Fragment;
use super::flow::{FlowId, has_ports};

/// Returns the flow of a packet, and its position in a fragmented datagram.
pub(super) fn flow(ip: &LaxIpSlice<'_>) -> (FlowId, Option<Fragment>) {
    // All fragments have the protocol that is in front of the data: only the first one has headers behind it.
    let (protocol, fragment) = match fragment(ip) {
        Some((protocol, fragment)) => (protocol, Some(fragment)),
        None => (ip.payload_ip_number(), None),
    };
    let flow = FlowId::Ip {
        protocol: protocol.0,
        source: ip.source_addr(),
        destination: ip.destination_addr(),
        ports: ports(ip, protocol, fragment),
    };
    (flow, fragment)
}

/// Returns the TOS or traffic class byte.
pub(super) fn tos(ip: &LaxIpSlice<'_>) -> u8 {
    match ip {
        LaxIpSlice::Ipv4(ip) => ip.header().dcp().value() << 2 | ip.header().ecn().value(),
        LaxIpSlice::Ipv6(ip) => ip.header().traffic_class(),
    }
}

/// Returns the protocol of a fragmented datagram, and the packet's position in it; `None` for a whole datagram.
pub(super) fn fragment(ip: &LaxIpSlice<'_>) -> Option<(IpNumber, Fragment)> {
    match ip {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            let (first, identification) = (header.fragments_offset().value() == 0, header.identification());
            let fragment = Fragment { identification: u32::from(identification), first };
            header.is_fragmenting_payload().then_some((header.protocol(), fragment))
        }
        LaxIpSlice::Ipv6(ip) => ipv6_fragment(ip.extensions()),
    }
}

/// The library's own iterator takes for granted that the last header was captured whole (etherparse 0.21), and reads
/// beyond it.
fn ipv6_fragment(extensions: &Ipv6ExtensionsSlice<'_>) -> Option<(IpNumber, Fragment)> {
    let (mut next, mut rest) = (extensions.first_header()?, extensions.slice());
    loop {
        let length;
        (next, length) = match next {
            ip_number::IPV6_FRAG => {
                let header = Ipv6FragmentHeaderSlice::from_slice(rest).ok()?;
                if header.is_fragmenting_payload() {
                    let first = header.fragment_offset().value() == 0;
                    let fragment = Fragment { identification: header.identification(), first };
                    return Some((header.next_header(), fragment));
                }
                (header.next_header(), header.slice().len())
            }
            ip_number::AUTH => {
                let header = IpAuthHeaderSlice::from_slice(rest).ok()?;
                (header.next_header(), header.slice().len())
            }
            _ if Ipv6RawExtHeaderSlice::header_type_supported(next) => {
                let header = Ipv6RawExtHeaderSlice::from_slice(rest).ok()?;
                (header.next_header(), header.slice().len())
            }
            _ => return None,
        };
        rest = rest.get(length..)?;
    }
}

/// The first four bytes above IP, where they are ports and were captured.
fn ports(ip: &LaxIpSlice<'_>, protocol: IpNumber, fragment: Option<Fragment>) -> Option<(u16, u16)> {
    let payload = ip.payload();
    if !has_ports(protocol.0) || fragment.is_some_and(|fragment| !fragment.first) {
        return None;
    }
    let &[a, b, c, d] = payload.payload.first_chunk()?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::headers::{Headers, LinkType};

    /// IPv6 from ::1 to ::2 with `rest` after the fixed header, on Ethernet.
    fn ipv6(next_header: u8, rest: &[u8]) -> Vec<u8> {
        let mut data = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0];
        data.extend((rest.len() as u16).to_be_bytes());
        data.extend([next_header, 64]);
        for host in [1, 2] {
            data.extend([0; 15]);
            data.push(host);
        }
        data.extend(rest);
        data
    }

    /// RFC 8200: hop-by-hop and destination options and an authentication header may stand before the fragment header.
    /// A capture that ends before the fragment header has no fragment.
    #[test]
    fn an_ipv6_fragment_is_found_behind_other_extension_headers() {
        let options = |next: u8| [next, 0, 1, 4, 0, 0, 0, 0];
        let authentication = |next: u8| [next, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1];
        // Offset 0, more fragments, identification 7, UDP from port 5 to port 6.
        let fragment = [17, 0, 0, 1, 0, 0, 0, 7, 0, 5, 0, 6, 0, 8, 0, 0];
        let chain = [&options(60)[..], &options(51), &authentication(44), &fragment].concat();
        let whole = ipv6(0, &chain);
        let found = |data: &[u8]| Headers::read(LinkType::Ethernet, data, whole.len() as u32).fragment;
        assert_eq!(found(&whole), Some(Fragment { identification: 7, first: true }));
        let before = whole.len() - fragment.len();
        for length in 54..before + 8 {
            assert_eq!(found(&whole[..length]), None, "{length} bytes");
        }
        assert!(found(&whole[..before + 8]).is_some());
    }
}
