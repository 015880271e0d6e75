//! Each format, written by hand as its document has it.

use std::string::ToString;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

const FLOW: &str = "udp/10.0.0.1:1000>10.0.0.2:53";
const OUTER: &str = "192.0.2.1>192.0.2.2";

/// EF with ECT(1) outside, best effort with ECT(0) inside.
const OUTER_TOS: u8 = 0xb9;
const TOS: u8 = 2;

const LINKS: [LinkType; 12] = [
    LinkType::Ethernet,
    LinkType::Raw,
    LinkType::LinuxSll,
    LinkType::LinuxSll2,
    LinkType::Null,
    LinkType::Loop,
    LinkType::Ppp,
    LinkType::PppHdlc,
    LinkType::PppEther,
    LinkType::PppWithDirection,
    LinkType::Ieee80211,
    LinkType::Radiotap,
];

fn ipv4_between(hosts: [[u8; 4]; 2], protocol: u8, tos: u8, fragment: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let [high, low] = (20 + payload.len() as u16).to_be_bytes();
    let start = [0x45, tos, high, low, 0, 7, fragment[0], fragment[1], 64, protocol, 0, 0];
    let mut header = [&start[..], &hosts[0], &hosts[1]].concat();
    // RFC 791: the complement of the ones' complement sum of all words.
    let sum: u32 = header.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    [&header, payload].concat()
}

fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (payload.len() as u16).to_be_bytes();
    let hosts = [1, 2].map(|last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    [&[0x60, 0, 0, 0, high, low, next, 64][..], &hosts[0], &hosts[1], payload].concat()
}

/// The packet of which the flow is [`FLOW`], 32 bytes long.
fn udp() -> Vec<u8> {
    let datagram = [3, 232, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4];
    ipv4_between([[10, 0, 0, 1], [10, 0, 0, 2]], 17, TOS, [0, 0], &datagram)
}

/// A tunnel's packet between other hosts.
fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_between([[192, 0, 2, 1], [192, 0, 2, 2]], protocol, OUTER_TOS, [0x40, 0], payload)
}

fn ethernet(rest: &[&[u8]]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &rest.concat()].concat()
}

fn read(link: LinkType, data: &[u8]) -> Headers {
    Headers::read(link, data, data.len() as u32)
}

fn inner(link: LinkType, data: &[u8]) -> Headers {
    read(link, data).by(FlowsBy::Inner, data)
}

/// Checks that `before` leads to an IP header, which is not found where `before` is cut off.
#[track_caller]
fn leads(link: LinkType, before: &[u8], uncounted: u32) {
    let whole = [before, &udp()].concat();
    let headers = read(link, &whole);
    assert_eq!((headers.flow.to_string().as_str(), headers.tos, headers.ip_at), (FLOW, TOS, Some(before.len())));
    assert_eq!(headers.bytes, whole.len() as u32 - uncounted);
    assert_eq!(inner(link, &whole), headers, "there is no tunnel");
    for length in 0..before.len() + 20 {
        assert_eq!(read(link, &whole[..length]).ip_at, None, "{length} bytes");
    }
}

/// Checks that a packet counts as a frame of `ether_type`.
#[track_caller]
fn stays(link: LinkType, ether_type: u16, data: &[u8]) {
    let headers = read(link, data);
    let found = if let FlowId::Frame { ether_type, .. } = headers.flow { Some(ether_type) } else { None };
    assert_eq!((found, headers.ip_at, headers.tos), (Some(ether_type), None, 0), "{}", headers.flow);
}

/// RFC 1661, section 2, with its section 6.5 for the short protocol; RFC 1662, section 3.1, for the address and the
/// control byte.
#[test]
fn ppp_leads_to_ip() {
    for before in [&[0, 0x21][..], &[0x21], &[0xff, 3, 0, 0x21], &[0xff, 3, 0x21]] {
        leads(LinkType::Ppp, before, 0);
        leads(LinkType::PppHdlc, before, 0);
        leads(LinkType::PppWithDirection, &[&[1], before].concat(), 1);
        leads(LinkType::PppEther, &[&[0x11, 0, 0, 7, 0, 34], before].concat(), 0);
    }
    let six = read(LinkType::Ppp, &[&[0, 0x57][..], &ipv6(17, &[3, 232, 0, 53, 0, 8, 0, 0])].concat());
    assert_eq!(six.flow.to_string(), "udp/[fd00::1]:1000>[fd00::2]:53");
    // MPLS in PPP (RFC 3032, section 4.1); LCP.
    leads(LinkType::Ppp, &[0x02, 0x81, 0, 1, 1, 64], 0);
    stays(LinkType::Ppp, 0, &[&[0xc0, 0x21][..], &udp()].concat());
}

/// RFC 1547, section 4.3.1: address, control, Ethernet type.
#[test]
fn hdlc_of_cisco_leads_to_ip() {
    leads(LinkType::PppHdlc, &[0x0f, 0, 8, 0], 0);
    leads(LinkType::PppHdlc, &[0x8f, 0, 0x88, 0x47, 0, 1, 1, 64], 0);
    stays(LinkType::PppHdlc, 0x8035, &[&[0x0f, 0, 0x80, 0x35][..], &udp()].concat());
    assert_eq!([50, 104].map(LinkType::from_number), [Some(LinkType::PppHdlc); 2]);
}

/// RFC 2516, section 4: version and type 1, code 0 in a session, its number, the length; then PPP's protocol. Discovery
/// has the type 0x8863.
#[test]
fn pppoe_leads_to_ip() {
    let session = [0x88, 0x64, 0x11, 0, 0, 7, 0, 34, 0, 0x21];
    leads(LinkType::Ethernet, &ethernet(&[&session]), 0);
    leads(LinkType::Ethernet, &ethernet(&[&[0x81, 0, 0, 7], &session]), 0);
    leads(LinkType::Ethernet, &ethernet(&[&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 7], &session]), 0);
    leads(LinkType::LinuxSll, &[&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0][..], &session].concat(), 16);
    for (at, byte, ether_type) in [(0, 0x12, 0x8864), (1, 0xa7, 0x8864), (6, 0xc0, 0x8864)] {
        let mut changed = session;
        changed[2 + at] = byte;
        stays(LinkType::Ethernet, ether_type, &ethernet(&[&changed, &udp()]));
    }
    let discovery = ethernet(&[&[0x88, 0x63], &session[2..], &udp()]);
    stays(LinkType::Ethernet, 0x8863, &discovery);
    let FlowId::Frame { source, destination, .. } = read(LinkType::Ethernet, &discovery).flow else { panic!("IP") };
    assert_eq!((source[5], destination[5]), (1, 2));
}

/// RFC 3032, section 2.1: 20 bits of label, 3 of class, the bottom of the stack, the time to live. Would catch a stack
/// whose payload is another, such as a pseudowire's Ethernet frame or control word (RFC 4385).
#[test]
fn mpls_leads_to_ip_if_ip_is_inside() {
    let [last, before] = [[0, 1, 1, 64], [0, 2, 0, 64]];
    for ether_type in [[0x88, 0x47], [0x88, 0x48]] {
        leads(LinkType::Ethernet, &ethernet(&[&ether_type, &last]), 0);
        leads(LinkType::Ethernet, &ethernet(&[&[0x81, 0, 0, 7], &ether_type, &before, &before, &last]), 0);
    }
    stays(LinkType::Ethernet, 0x8847, &ethernet(&[&[0x88, 0x47], &last, &[0; 4], &udp()]));
    stays(LinkType::Ethernet, 0x8847, &ethernet(&[&[0x88, 0x47], &before, &last]));
    stays(LinkType::Ethernet, 0x8847, &ethernet(&[&[0x88, 0x47], &before.repeat(300), &last, &udp()]));
}

/// Would catch addresses of a pseudowire's frame that are taken for IP and overwritten, since they begin as it does.
#[test]
fn a_pseudowire_in_mpls_is_no_ip() {
    for first in [0x45, 0x4f, 0x60, 0x64, 0x6e] {
        let inside = [&[first, 0x6e, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 8, 0][..], &udp(), &udp()].concat();
        stays(LinkType::Ethernet, 0x8847, &ethernet(&[&[0x88, 0x47, 0, 1, 1, 64], &inside]));
    }
    // IPv6 is told by its length, also where a frame is padded to 60 bytes.
    let six = ipv6(59, &[]);
    for (padding, is_ip) in [(0, true), (2, true), (3, false)] {
        let frame = ethernet(&[&[0x88, 0x47, 0, 1, 1, 64], &six, &[0; 3][..padding]]);
        assert_eq!(read(LinkType::Ethernet, &frame).ip_at.is_some(), is_ip, "{padding}");
    }
}

/// RFC 791 and RFC 8200: behind the header of fragmentation only the first fragment has headers, here destination
/// options and an authentication header. Would catch a protocol that is read from the data of later ones.
#[test]
fn fragments_have_the_protocol_in_front_of_them() {
    let six = |offset: u8, data: &[u8]| ipv6(44, &[&[60, 0, 0, offset | 1, 0, 0, 0, 7][..], data].concat());
    let hosts = [[10, 0, 0, 1], [10, 0, 0, 2]];
    let four = |offset: u8, data: &[u8]| ipv4_between(hosts, 51, 0, [0x20, offset], data);
    let options = [17, 0, 1, 4, 0, 0, 0, 0, 3, 232, 0, 53, 0, 9, 0, 0];
    let authentication = [17, 1, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 3, 232, 0, 53];
    for (first, later, protocol) in
        [(six(0, &options), six(8, &[6; 16]), 60), (four(0, &authentication), four(2, &[6; 16]), 51)]
    {
        let flows = [first, later].map(|packet| read(LinkType::Raw, &packet).flow);
        assert_eq!(flows[0], flows[1]);
        assert!(matches!(flows[0], FlowId::Ip { protocol: found, ports: None, .. } if found == protocol));
    }
}

/// RFC 1042: the length of IEEE 802.3, then AA AA 03, the organization 00 00 00 and the Ethernet type.
#[test]
fn snap_leads_to_ip() {
    let snap = [0xaa, 0xaa, 3, 0, 0, 0];
    leads(LinkType::Ethernet, &ethernet(&[&[0, 40], &snap, &[8, 0]]), 0);
    leads(LinkType::Ethernet, &ethernet(&[&[0x81, 0, 0, 7, 0, 40], &snap, &[8, 0]]), 0);
    stays(LinkType::Ethernet, 0x0806, &ethernet(&[&[0, 40], &snap, &[8, 6], &[0; 28]]));
    // Another organization, the spanning tree's LLC, and a frame of the old raw kind.
    for llc in [[0xaa, 0xaa, 3, 0, 0, 12], [0x42, 0x42, 3, 0, 0, 0], [0xff; 6]] {
        stays(LinkType::Ethernet, 0, &ethernet(&[&[0, 40], &llc, &[8, 0], &udp()]));
    }
}

/// IEEE 802.11-2020, section 9.2.4: frame control, duration, three or four addresses, sequence control; then quality of
/// service and HT control as bits tell.
#[test]
fn wifi_leads_to_ip() {
    let hosts = |n: u8| [2, 0, 0, 0, 0, n];
    let frame = |control: [u8; 2], more: &[u8]| {
        let three = [hosts(1), hosts(2), hosts(3)].concat();
        [&control[..], &[0, 0], &three, &[0, 0], more, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()
    };
    let (quality, ht) = ([0, 0], [0; 4]);
    let all = [&hosts(4)[..], &quality, &ht].concat();
    leads(LinkType::Ieee80211, &frame([0x08, 0], &[]), 0);
    leads(LinkType::Ieee80211, &frame([0x08, 1], &[]), 0);
    leads(LinkType::Ieee80211, &frame([0x88, 2], &quality), 0);
    leads(LinkType::Ieee80211, &frame([0x88, 0x82], &all[6..]), 0);
    leads(LinkType::Ieee80211, &frame([0x08, 3], &hosts(4)), 0);
    leads(LinkType::Ieee80211, &frame([0x88, 0x83], &all), 0);
    // A beacon, an encrypted frame, one without data, aggregated ones, and another version.
    for (control, more) in
        [([0x80, 0], &[][..]), ([0x08, 0x41], &[]), ([0x48, 0], &[]), ([0x88, 0], &[0x80, 0]), ([0x09, 0], &[])]
    {
        stays(LinkType::Ieee80211, 0, &[frame(control, more), udp()].concat());
    }
    // Sender and receiver are beyond the access points (table 9-30).
    for (control, more, ends) in [(0, &[][..], [2, 1]), (1, &[], [2, 3]), (2, &[], [3, 1]), (3, &hosts(4)[..], [4, 3])]
    {
        let mut data = frame([0x48, control], more);
        data.truncate(40);
        let expected = FlowId::Frame { ether_type: 0, source: hosts(ends[0]), destination: hosts(ends[1]) };
        assert_eq!(read(LinkType::Ieee80211, &data).flow, expected);
    }
}

/// <https://www.radiotap.org>: version, padding, length, presence words in little endian; the time is aligned to 8
/// bytes, and the flags follow it. Bit 4 of these tells of a check sequence, bit 5 of padding to four bytes.
#[test]
fn radiotap_is_no_part_of_the_packet() {
    let frame = [&[0x88, 2, 0, 0][..], &[2; 18], &[0, 0], &[0, 0]].concat();
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let before = |radiotap: &[u8], padding: usize| [radiotap, &frame, &[0, 0][..padding], &snap].concat();
    leads(LinkType::Radiotap, &before(&[0, 0, 8, 0, 0, 0, 0, 0], 0), 8);
    leads(LinkType::Radiotap, &before(&[0, 0, 9, 0, 2, 0, 0, 0, 0x10], 0), 9 + 4);
    leads(LinkType::Radiotap, &before(&[0, 0, 9, 0, 2, 0, 0, 0, 0x20], 2), 9);
    let time = [0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 0x10];
    leads(LinkType::Radiotap, &before(&time, 0), 25 + 4);
    // A field that is not within the length, and another version.
    leads(LinkType::Radiotap, &before(&[0, 0, 8, 0, 2, 0, 0, 0], 0), 8);
    stays(LinkType::Radiotap, 0, &[before(&[1, 0, 8, 0, 0, 0, 0, 0], 0), udp()].concat());
}

/// RFC 2003 (IPv4 in IP), RFC 4213 (IPv6 in IPv4), RFC 2473 (in IPv6), RFC 2784 and RFC 2890 (GRE). Would catch a
/// tunnel that is looked into without being asked, a class of the wrong header, and an optional field of GRE that is
/// not passed.
#[test]
fn the_flow_inside_a_tunnel_is_found_if_it_is_asked_for() {
    let gre = |flags: u8, kind: [u8; 2], fields: usize, payload: &[u8]| {
        outer(47, &[&[flags, 0, kind[0], kind[1]][..], &vec![9; 4 * fields], payload].concat())
    };
    let bridged = ethernet(&[&[0x81, 0, 0, 7, 8, 0], &udp()]);
    for (packet, name) in [
        (outer(4, &udp()), "ip-4"),
        (gre(0, [8, 0], 0, &udp()), "gre"),
        (gre(0x80, [8, 0], 1, &udp()), "gre"),
        (gre(0x20, [8, 0], 1, &udp()), "gre"),
        (gre(0x10, [8, 0], 1, &udp()), "gre"),
        (gre(0xb0, [8, 0], 3, &udp()), "gre"),
        (gre(0x20, [0x65, 0x58], 1, &bridged), "gre"),
        (gre(0, [0x88, 0x47], 0, &[&[0, 1, 1, 64], &udp()[..]].concat()), "gre"),
        (outer(41, &ipv6(4, &udp())), "ip-41"),
        (outer(4, &gre(0, [8, 0], 0, &outer(4, &udp()))), "ip-4"),
    ] {
        let frame = ethernet(&[&[8, 0], &packet]);
        for (link, data, at) in [(LinkType::Raw, packet, 0), (LinkType::Ethernet, frame, 14)] {
            let (plain, inside) = (read(link, &data), inner(link, &data));
            assert_eq!(plain.flow.to_string(), [name, "/", OUTER].concat());
            assert_eq!(inside.flow.to_string(), FLOW, "{name}");
            assert_eq!(Headers { flow: plain.flow, ..inside }, plain);
            assert_eq!((plain.tos, plain.ip_at), (OUTER_TOS, Some(at)));
            for by in FlowsBy::ALL {
                let expected = if by == FlowsBy::Inner { inside } else { plain };
                assert_eq!(plain.by(by, &data), expected, "{by:?}");
            }
        }
    }
    // IPv6 in IPv4, and in IPv6.
    let six = ipv6(17, &[3, 232, 0, 53, 0, 8, 0, 0]);
    for packet in [outer(41, &six), ipv6(41, &six), ipv6(47, &[&[0, 0, 0x86, 0xdd], &six[..]].concat())] {
        assert_eq!(inner(LinkType::Raw, &packet).flow.to_string(), "udp/[fd00::1]:1000>[fd00::2]:53");
    }
    // Routing and recursion control of RFC 1701, PPTP's version, ARP, and a tunnel with something else.
    let arp = ethernet(&[&[8, 6], &[0; 28]]);
    let mut pptp = gre(0x20, [8, 0], 1, &udp());
    pptp[21] = 1;
    for packet in [
        gre(0x40, [8, 0], 1, &udp()),
        gre(0x08, [8, 0], 0, &udp()),
        gre(0x04, [8, 0], 0, &udp()),
        gre(0, [0x65, 0x58], 0, &arp),
        gre(0, [0x88, 0x0b], 0, &udp()),
        gre(0, [0, 0], 0, &[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &udp()[..]].concat()),
        pptp,
        outer(4, &[0; 40]),
        outer(50, &udp()),
    ] {
        assert_eq!(inner(LinkType::Raw, &packet), read(LinkType::Raw, &packet));
    }
}

/// Would catch ports of a fragment inside a tunnel in the key of its flow, and a fragment of a tunnel's packet that is
/// looked into although the later ones cannot be.
#[test]
fn fragments_in_tunnels_are_as_elsewhere() {
    let hosts = [[10, 0, 0, 1], [10, 0, 0, 2]];
    let fragment = |offset: u8, data: &[u8]| outer(4, &ipv4_between(hosts, 17, 0, [0x20, offset], data));
    let (first, later) = (fragment(0, &[3, 232, 0, 53, 0, 99, 0, 0]), fragment(1, &[1; 8]));
    let [first, later] = [&first, &later].map(|packet| inner(LinkType::Raw, packet));
    assert_eq!(first.flow.to_string(), FLOW);
    assert_eq!(first.fragment, Some(Fragment { identification: 7, first: true }));
    assert_eq!(later.fragment, Some(Fragment { identification: 7, first: false }));
    assert_eq!([first, later].map(|headers| headers.common_flow().to_string()), ["udp/10.0.0.1>10.0.0.2"; 2]);
    for place in [[0x20, 0], [0x20, 4], [0, 4]] {
        let mut packet = outer(4, &udp());
        packet[6..8].copy_from_slice(&place);
        assert_eq!(inner(LinkType::Raw, &packet).flow.to_string(), ["ip-4/", OUTER].concat());
    }
}

/// Would catch work that grows with the number of headers that a sender puts into each other.
#[test]
fn headers_in_headers_have_a_limit() {
    let tagged = |tags: usize| ethernet(&[&[0x81, 0, 0, 7].repeat(tags), &[8, 0], &udp()]);
    assert_eq!(read(LinkType::Ethernet, &tagged(14)).flow.to_string(), FLOW);
    stays(LinkType::Ethernet, 0x8100, &tagged(15));
    let tunnels = |depth: usize| (0..depth).fold(udp(), |packet, _| outer(4, &packet));
    assert_eq!(inner(LinkType::Raw, &tunnels(8)).flow.to_string(), FLOW);
    assert_eq!(inner(LinkType::Raw, &tunnels(9)).flow.to_string(), ["ip-4/", OUTER].concat());
}

/// Returns packets with all formats in each other, and noise.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<Vec<u8>> = vec![
        ethernet(&[&[8, 0]]),
        ethernet(&[&[0x88, 0x64]]),
        vec![0x11, 0, 0, 7, 0, 34],
        vec![0, 0x21],
        vec![0xff, 3, 0x57],
        vec![0x81, 0, 0, 7],
        vec![0x88, 0x47],
        vec![0, 1, 1, 64],
        vec![0, 40, 0xaa, 0xaa, 3, 0, 0, 0],
        vec![0x0f, 0],
        vec![0x20, 0, 0x65, 0x58, 0, 0, 0, 1],
        vec![0, 0, 9, 0, 2, 0, 0, 0, 0x30],
        vec![0, 0, 12, 0, 3, 0, 0, 0x80],
        [&[0x88, 0x83, 0, 0][..], &[2; 26]].concat(),
        outer(47, &[0; 60]),
        outer(4, &udp()),
        ipv6(41, &[0; 60]),
        udp(),
    ];
    let piece = prop_oneof![4 => prop::sample::select(pieces), 1 => prop::collection::vec(any::<u8>(), 0..12)];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Any bytes have headers, at each length and as packets of each link, and they name a place within the bytes.
    #[test]
    fn any_bytes_have_headers(data in packets(), original in 0_u32..3000) {
        for link in LINKS {
            for length in 0..=data.len() {
                let data = &data[..length];
                let headers = Headers::read(link, data, original);
                prop_assert!(headers.bytes <= original);
                prop_assert!(headers.ip_at.is_none_or(|at| at + 20 <= length), "{headers:?}");
                prop_assert_eq!(headers.ip_at.is_some(), headers.hosts().is_some());
                let inside = headers.by(FlowsBy::Inner, data);
                prop_assert_eq!((inside.tos, inside.ip_at), (headers.tos, headers.ip_at));
            }
        }
    }
}

/// Would catch a link type that a file cannot be written with.
#[test]
fn each_link_type_has_its_number() {
    for link in LINKS {
        assert_eq!(LinkType::from_number(link.number()), Some(link));
        // The upper bits tell of check sequences.
        assert_eq!(LinkType::from_number(0x2400_0000 | link.number()), Some(link));
    }
    assert_eq!([2, 143, 277].map(LinkType::from_number), [None; 3]);
}
