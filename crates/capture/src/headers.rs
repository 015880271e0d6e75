//! Headers of packets, read as far as they were captured.

use std::net::IpAddr;

use etherparse::{
    IpAuthHeaderSlice, Ipv6ExtensionsSlice, Ipv6FragmentHeaderSlice, Ipv6RawExtHeaderSlice, LaxIpSlice, ip_number,
};

use crate::flow::{FlowId, has_ports};
use crate::link::{Inside, LinkType, Outside};

/// The fields of a packet's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The flow according to this packet's headers. A later fragment has no ports here; [`Flows`](crate::Flows) finds
    /// its flow.
    pub flow: FlowId,
    /// The position of a fragment in its datagram; `None` for a whole datagram.
    pub fragment: Option<Fragment>,
    /// Length on the wire in bytes, even if only a part was captured: with the Ethernet header but without its check
    /// sequence, and without the headers that loopback and "cooked" captures make up.
    pub bytes: u32,
    /// The TOS or traffic class byte; 0 without IP.
    pub tos: u8,
    /// Offset of the IP header in the captured bytes; `None` without IP.
    pub ip_at: Option<usize>,
}

/// A fragment of an IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The datagram's identification.
    pub identification: u32,
    /// True for the first fragment, which alone has the ports.
    pub first: bool,
}

impl Headers {
    /// Reads the headers of `data`, captured on a link of type `link`, of a packet that had `original` bytes.
    #[must_use]
    pub fn read(link: LinkType, data: &[u8], original: u32) -> Self {
        let bytes = original.saturating_sub(link.made_up());
        let Outside { inside, hosts } = link.open(data);
        let ip = match inside {
            Inside::Ip(at) => data.get(at..).and_then(|rest| LaxIpSlice::from_slice(rest).ok()).map(|(ip, _)| (at, ip)),
            Inside::Other(_) => None,
        };
        let Some((at, ip)) = ip else {
            let ether_type = if let Inside::Other(ether_type) = inside { ether_type } else { 0 };
            let flow = FlowId::Frame { ether_type, source: hosts.0, destination: hosts.1 };
            return Self { flow, fragment: None, bytes, tos: 0, ip_at: None };
        };
        let fragment = fragment(&ip);
        let flow = FlowId::Ip {
            protocol: ip.payload_ip_number().0,
            source: ip.source_addr(),
            destination: ip.destination_addr(),
            ports: ports(&ip, fragment),
        };
        Self { flow, fragment, bytes, tos: tos(&ip), ip_at: Some(at) }
    }

    /// The ECN codepoint (RFC 3168): 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    #[must_use]
    pub const fn ecn(&self) -> u8 {
        self.tos & 0b11
    }

    /// The TOS or traffic class byte without the ECN codepoint.
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.tos & !0b11
    }

    /// The IP addresses of sender and receiver; `None` without IP.
    #[must_use]
    pub const fn hosts(&self) -> Option<(IpAddr, IpAddr)> {
        match self.flow {
            FlowId::Ip { source, destination, .. } => Some((source, destination)),
            FlowId::Frame { .. } => None,
        }
    }
}

fn tos(ip: &LaxIpSlice<'_>) -> u8 {
    match ip {
        LaxIpSlice::Ipv4(ip) => ip.header().dcp().value() << 2 | ip.header().ecn().value(),
        LaxIpSlice::Ipv6(ip) => ip.header().traffic_class(),
    }
}

fn fragment(ip: &LaxIpSlice<'_>) -> Option<Fragment> {
    match ip {
        LaxIpSlice::Ipv4(ip) => {
            let header = ip.header();
            let (first, identification) = (header.fragments_offset().value() == 0, header.identification());
            header.is_fragmenting_payload().then_some(Fragment { identification: u32::from(identification), first })
        }
        LaxIpSlice::Ipv6(ip) => ipv6_fragment(ip.extensions()),
    }
}

/// The library's own iterator takes for granted that the last header was captured whole (etherparse 0.21), and reads
/// beyond it.
fn ipv6_fragment(extensions: &Ipv6ExtensionsSlice<'_>) -> Option<Fragment> {
    let (mut next, mut rest) = (extensions.first_header()?, extensions.slice());
    loop {
        let length;
        (next, length) = match next {
            ip_number::IPV6_FRAG => {
                let header = Ipv6FragmentHeaderSlice::from_slice(rest).ok()?;
                if header.is_fragmenting_payload() {
                    let first = header.fragment_offset().value() == 0;
                    return Some(Fragment { identification: header.identification(), first });
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
fn ports(ip: &LaxIpSlice<'_>, fragment: Option<Fragment>) -> Option<(u16, u16)> {
    let payload = ip.payload();
    if !has_ports(payload.ip_number.0) || fragment.is_some_and(|fragment| !fragment.first) {
        return None;
    }
    let &[a, b, c, d] = payload.payload.first_chunk()?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

#[cfg(test)]
mod tests {
    use super::*;

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
