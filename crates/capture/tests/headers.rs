//! Headers of every kind lead to the right flow, size and codepoint.

mod common;

use common::{UDP, ethernet, flows, ipv4, ipv6, packet, pcap, read, whole};

const FLOW: &str = "udp/10.0.0.1:1000>10.0.0.2:53";
const FLOW6: &str = "udp/[fd00::1]:1000>[fd00::2]:53";

/// Would catch a link type whose header is taken to be longer or shorter, and made-up headers that count as bytes on
/// the wire.
#[test]
fn every_link_type_leads_to_ip() {
    let ip = ipv4(17, 0b1011_1001, 0, 0, &UDP);
    let sll = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0], &ip[..]].concat();
    let sll2 = [&[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], &ip[..]].concat();
    let null = [&[2, 0, 0, 0], &ip[..]].concat();
    // A data frame of IEEE 802.11 with SNAP.
    let wifi = [&[8, 0, 0, 0][..], &[2; 20], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat();
    let frames = [
        (1, ethernet(0x0800, &ip), 14),
        (101, ip.clone(), 0),
        (12, ip.clone(), 0),
        (228, ip.clone(), 0),
        (113, sll, 0),
        (276, sll2, 0),
        (0, null.clone(), 0),
        (108, null, 0),
        (9, [&[0, 0x21], &ip[..]].concat(), 2),
        (50, [&[0xff, 3, 0, 0x21], &ip[..]].concat(), 4),
        (104, [&[0x0f, 0, 8, 0], &ip[..]].concat(), 4),
        (51, [&[0x11, 0, 0, 7, 0, 34, 0, 0x21], &ip[..]].concat(), 8),
        (204, [&[1, 0, 0x21], &ip[..]].concat(), 2),
        (105, [&wifi, &ip[..]].concat(), 32),
        (127, [&[0, 0, 8, 0, 0, 0, 0, 0], &wifi[..], &ip].concat(), 32),
    ];
    for (link, frame, header) in frames {
        let seen = read(&whole(link, &[&frame])).unwrap();
        assert_eq!(seen, [(0, FLOW.to_owned(), 32 + header, 0b1011_1001)], "{link}");
    }
}

#[test]
fn vlan_tags_are_passed_and_are_no_part_of_the_flow() {
    let ip = ipv4(17, 0, 0, 0, &UDP);
    let tagged = ethernet(0x8100, &[&[0, 5, 8, 0], &ip[..]].concat());
    let twice = ethernet(0x88a8, &[&[0, 5, 0x81, 0, 0, 6, 8, 0], &ip[..]].concat());
    let five = ethernet(0x9100, &[&[0, 5, 0x81, 0].repeat(4)[..], &[0, 6, 0x86, 0xdd], &ipv6(17, 0, &UDP)].concat());
    let seen = read(&whole(1, &[&tagged, &twice, &five])).unwrap();
    let expected = [(FLOW, 50), (FLOW, 54), (FLOW6, 14 + 20 + 52)];
    for ((_, flow, bytes, _), (name, length)) in seen.iter().zip(expected) {
        assert_eq!((flow.as_str(), *bytes), (name, length));
    }
    assert_eq!(seen.len(), 3);
}

/// RFC 8200: a hop-by-hop header of 8 bytes, a routing header of 24, destination options of 16, then UDP.
#[test]
fn extension_headers_are_passed() {
    let mut chain = vec![43, 0, 1, 4, 0, 0, 0, 0];
    chain.extend([60, 2, 0, 0].iter().chain(&[0; 20]));
    chain.extend([17, 1, 1, 12].iter().chain(&[0; 12]));
    chain.extend(UDP);
    let seen = read(&whole(101, &[&ipv6(0, 0b10, &chain), &ipv6(17, 3, &UDP)])).unwrap();
    assert_eq!(seen[0], (0, FLOW6.to_owned(), 40 + 48 + 12, 0b10));
    assert_eq!(seen[1], (1_000_000_000, FLOW6.to_owned(), 52, 3));
}

/// Would catch ports that are read from the middle of a datagram, and fragments of another datagram or of no known one
/// that join in.
#[test]
fn fragments_follow_their_first_one() {
    let more = 0x2000;
    let (first, middle, last) = (ipv4(17, 0, 7, more, &UDP), ipv4(17, 0, 7, more | 2, &UDP), ipv4(17, 0, 7, 4, &UDP));
    let other = ipv4(17, 0, 8, 4, &UDP);
    let protocol = ipv4(6, 0, 7, 4, &UDP);
    let found = flows(&whole(101, &[&first, &middle, &last, &other, &protocol]));
    assert_eq!(found, [FLOW, FLOW, FLOW, "udp/10.0.0.1>10.0.0.2", "tcp/10.0.0.1>10.0.0.2"]);
}

/// RFC 8200, section 4.5: the fragment header has the offset in its upper 13 bits and M in the lowest.
#[test]
fn fragments_of_ipv6_do_too() {
    let fragment = |offset: u8, more: u8| {
        let header = [17, 0, 0, offset << 3 | more, 0, 0, 0, 9];
        ipv6(44, 0, &[&header, &UDP[..]].concat())
    };
    let found = flows(&whole(101, &[&fragment(0, 1), &fragment(1, 1), &fragment(3, 0), &fragment(0, 0)]));
    // The last one is whole: an atomic fragment (RFC 6946).
    assert_eq!(found, [FLOW6; 4]);
    let alone = flows(&whole(101, &[&fragment(3, 0)]));
    assert_eq!(alone, ["udp/fd00::1>fd00::2"]);
}

#[test]
fn other_protocols_have_flows_of_their_own() {
    let ports = [0, 9, 0, 10, 0, 0, 0, 0];
    let cases = [
        (132, "sctp/10.0.0.1:9>10.0.0.2:10"),
        (33, "dccp/10.0.0.1:9>10.0.0.2:10"),
        (136, "udplite/10.0.0.1:9>10.0.0.2:10"),
        (1, "icmp/10.0.0.1>10.0.0.2"),
        (50, "esp/10.0.0.1>10.0.0.2"),
        (47, "gre/10.0.0.1>10.0.0.2"),
        (89, "ip-89/10.0.0.1>10.0.0.2"),
    ];
    for (protocol, name) in cases {
        assert_eq!(flows(&whole(101, &[&ipv4(protocol, 0, 0, 0, &ports)])), [name]);
    }
    let macs = "02:00:00:00:00:01>02:00:00:00:00:02";
    let (arp, mpls, llc) = (ethernet(0x0806, &[0; 28]), ethernet(0x8847, &[0; 50]), ethernet(38, &[0; 38]));
    let other_llc = ethernet(39, &[0; 39]);
    let found = flows(&whole(1, &[&arp, &mpls, &llc, &other_llc]));
    let expected = ["arp/", "other-8847/", "other-0000/", "other-0000/"].map(|kind| format!("{kind}{macs}"));
    assert_eq!(found, expected);
    // ICMPv6 over IPv6, and a frame that says IPv4 and is not.
    assert_eq!(flows(&whole(101, &[&ipv6(58, 0, &[128, 0, 0, 0])])), ["icmp6/fd00::1>fd00::2"]);
    assert_eq!(flows(&whole(1, &[&ethernet(0x0800, &[0xff; 40])])), [format!("other-0000/{macs}")]);
}

/// However little was captured, the size is the original one, and the flow is as exact as can be.
#[test]
fn a_short_snapshot_tells_what_it_can() {
    let frame = ethernet(0x0800, &ipv4(6, 0b10, 0, 0, &[&[3, 232, 0, 80], &[0; 1456][..]].concat()));
    let expect = |captured: usize, name: &str, tos| {
        let mut file = pcap(1);
        packet(&mut file, 5, frame.len(), &frame[..captured]);
        assert_eq!(read(&file).unwrap(), [(0, name.to_owned(), frame.len() as u32, tos)], "{captured}");
    };
    let macs = "02:00:00:00:00:01>02:00:00:00:00:02";
    expect(96, "tcp/10.0.0.1:1000>10.0.0.2:80", 2);
    expect(38, "tcp/10.0.0.1:1000>10.0.0.2:80", 2);
    expect(37, "tcp/10.0.0.1>10.0.0.2", 2);
    expect(34, "tcp/10.0.0.1>10.0.0.2", 2);
    expect(33, &format!("other-0000/{macs}"), 0);
    expect(14, &format!("other-0000/{macs}"), 0);
    expect(13, "other-0000/00:00:00:00:00:00>00:00:00:00:00:00", 0);
    expect(0, "other-0000/00:00:00:00:00:00>00:00:00:00:00:00", 0);
}
