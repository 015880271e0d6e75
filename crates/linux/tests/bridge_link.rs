//! A bridge and the link behind it, measured by the receiver; and interfaces that cannot be bridged.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the receiver measures real time")]

mod common;

use std::net::{IpAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use common::bridged::{
    INSIDE, OUTSIDE, SENDER, SENDER6, bridged, capture, captured, config, droptail, introduce, path, start,
};
use common::send::{send_at, send_classes};
use common::tags::{capture_with_tags, captured_with_tags, send_unsummed};
use common::{
    Lab, PORT, RECEIVER, RECEIVER6, RouterConfig, assert_idle_link_is_quick, assert_rate, drain, ip, listen, tool,
    watch,
};
use fairlane_linux::{BridgeError, Framing, Link, LinkLayer, Router, StartError};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use nix::sys::socket::SockType;

const FAST: Rate = Rate::from_bits_per_second(1_000_000_000);

/// The rate is exact within a percent. The size of a packet is that of the IP packet plus the link's overhead.
#[test]
fn the_link_has_its_rate() {
    bridged(false, |lab| {
        let rate = Rate::from_bits_per_second(20_000_000);
        let ethernet = LinkLayer::new(38, 84, Framing::None).unwrap();
        for (layer, expected) in [(LinkLayer::default(), 20e6), (ethernet, 20e6 * 1000.0 / 1038.0)] {
            // The queue keeps the link busy even if the sender gets no processor time for a while.
            let router = RouterConfig { link: Link { rate, layer }, ..config(&droptail("500p"), rate) };
            assert_rate(lab, 1000, expected, move |lab| {
                let bridge = start(Router::new(&router).unwrap());
                lab.sender.run(|| send_at(40e6, 1000, 2.5));
                bridge.stop(2.0)
            });
        }
    });
}

/// Returns the datagrams of these sizes that `from` sends to `to` and that come back.
fn echoed(lab: &Lab, (from, to): (&'static str, &'static str), sizes: &'static [usize]) -> usize {
    let socket = lab.receiver.run(move || UdpSocket::bind((to.parse::<IpAddr>().unwrap(), PORT)).unwrap());
    // Longer than the sender waits for all of them.
    socket.set_read_timeout(Some(Duration::from_secs(3) * (sizes.len() as u32 + 1))).unwrap();
    let served = lab.receiver.start(move || {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if length == 0 {
                break;
            }
            socket.send_to(&buffer[..length], from).unwrap();
        }
    });
    let returned = lab.sender.run(move || {
        let socket = UdpSocket::bind((from.parse::<IpAddr>().unwrap(), 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let echoed = |size: &&usize| {
            let (datagram, mut buffer) = (vec![**size as u8; **size], [0; 2000]);
            socket.send_to(&datagram, (to.parse::<IpAddr>().unwrap(), PORT)).unwrap();
            socket.recv(&mut buffer).is_ok_and(|length| buffer[..length] == datagram)
        };
        let returned = sizes.iter().filter(echoed).count();
        // The last one, without a byte, ends the server.
        socket.send_to(&[], (to.parse::<IpAddr>().unwrap(), PORT)).unwrap();
        returned
    });
    served.recv().unwrap();
    returned
}

/// No neighbour entries are configured. Would catch ARP or IPv6 neighbour discovery that the bridge does not forward.
#[test]
fn neighbours_find_each_other() {
    bridged(true, |lab| {
        let bridge = start(Router::new(&config(&QdiscParameters::new(Kind::FqCodel), FAST)).unwrap());
        assert_eq!(echoed(lab, (SENDER, RECEIVER), &[1, 100, 1472]), 3);
        assert_eq!(echoed(lab, (SENDER6, RECEIVER6), &[1, 100, 1452]), 3);
        let report = bridge.stop(2.0);
        assert_eq!(report.counters.dropped_total().packets, 0, "{report:?}");
    });
}

/// Returns an Ethernet header with these tags, and IPv4 and UDP whose checksum field holds the sum of the pseudo
/// header, as a sender leaves it to its network card.
fn unsummed(tags: &[u8]) -> Vec<u8> {
    let mut frame = [&[2, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 9], tags, &[8, 0]].concat();
    let mut ip = [0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 77, 9, 1, 10, 77, 9, 2];
    let header = !sum(&ip) as u16;
    ip[10..12].copy_from_slice(&header.to_be_bytes());
    frame.extend(ip);
    let pseudo = sum(&[&ip[12..], &[0, 17, 0, 40]].concat()) as u16;
    frame.extend([&[0, 5, 0, 6, 0, 40], &pseudo.to_be_bytes()[..], &[0x5a; 32]].concat());
    frame
}

/// Tags of 802.1Q, of 802.1ad, and both. Would catch a tag that the kernel removes and nobody restores, and a checksum
/// that is then written at the wrong offset.
#[test]
fn vlan_tags_are_kept() {
    bridged(false, |lab| {
        let bridge = start(Router::new(&config(&QdiscParameters::new(Kind::FqCodel), FAST)).unwrap());
        let capture = lab.receiver.run(capture_with_tags);
        // VLAN 5 with priority 3 (PCP), and VLAN 7 of the provider.
        let (customer, provider): ([u8; 4], [u8; 4]) = ([0x81, 0, 0x60, 5], [0x88, 0xa8, 0, 7]);
        let both = [provider, customer].concat();
        let all: [(&[u8], _); 4] = [
            (&[], None),
            (&customer, Some((0x8100, 0x6005))),
            (&provider, Some((0x88a8, 7))),
            (&both, Some((0x88a8, 7))),
        ];
        let frames = all.map(|(tags, _)| unsummed(tags));
        lab.sender.run({
            let frames = frames.clone();
            // UDP begins 20 bytes behind the header, and its checksum is at offset 6.
            move || frames.iter().for_each(|frame| send_unsummed("s0", frame, frame.len() as u16 - 40, 6))
        });
        let received = lab.receiver.run(move || captured_with_tags(&capture));
        let report = bridge.stop(2.0);
        let ours: Vec<_> = received.iter().filter(|(frame, _)| frame[6..12] == frames[0][6..12]).collect();
        assert_eq!(ours.len(), frames.len(), "{report:?}");
        for (((_, tag), sent), (received, seen)) in all.iter().zip(&frames).zip(ours) {
            assert_eq!(seen, tag);
            let outer = if tag.is_some() { 16 } else { 12 };
            let checksum = received.len() - 34..received.len() - 32;
            let mut expected = [&sent[..12], &sent[outer..]].concat();
            expected[checksum.clone()].copy_from_slice(&received[checksum]);
            assert_eq!(*received, expected, "{tag:?}");
            let udp = &received[received.len() - 40..];
            assert_eq!(sum(&[&[10, 77, 9, 1, 10, 77, 9, 2, 0, 17, 0, 40], udp].concat()), 0xffff, "{tag:?}: {udp:?}");
        }
    });
}

/// Calculates the ones' complement sum, which is 0xffff if the bytes include a right checksum (RFC 1071).
fn sum(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// Every packet that CoDel marks arrives with Congestion Experienced and right checksums, over IPv4 and IPv6. Packets
/// that are not ECN-capable arrive unchanged. Those that CAKE washes have no DSCP any more.
#[test]
fn marks_arrive_in_headers_that_are_right() {
    let codel = QdiscParameters::new(Kind::Codel).with("ce_threshold", "1us").unwrap();
    let cake = QdiscParameters::new(Kind::Cake).with("wash", "true").unwrap();
    // The DSCP that arrives, and the fewest marks: the first packets may find the link idle.
    for (discipline, dscp, fewest) in [(codel, 5_u8, 70), (cake, 0, 0)] {
        bridged(true, move |lab| headers_are_right(lab, &discipline, dscp, fewest));
    }
}

/// Sends packets with a DSCP of 5 through `discipline`.
fn headers_are_right(lab: &Lab, discipline: &QdiscParameters, dscp: u8, fewest: u64) {
    let bridge = start(Router::new(&config(discipline, Rate::from_bits_per_second(2_000_000))).unwrap());
    let capture = lab.receiver.run(|| capture(SockType::Datagram));
    lab.sender.run(send_classes);
    let packets = lab.receiver.run(move || captured(&capture));
    let report = bridge.stop(2.0);
    // The packet from its IP header on: UDP to our port.
    let ours = |packet: &&Vec<u8>| {
        let (udp, protocol) = if packet[0] >> 4 == 4 { (20, packet[9]) } else { (40, packet[6]) };
        protocol == 17 && packet.get(udp + 2..udp + 4) == Some(&PORT.to_be_bytes())
    };
    let packets: Vec<&Vec<u8>> = packets.iter().filter(ours).collect();
    assert_eq!(packets.len(), 120, "{report:?}");
    let mut marked = 0;
    for packet in packets {
        let n = packet[packet.len() - 1];
        let (class, addresses, udp) = if packet[0] >> 4 == 4 {
            assert_eq!(sum(&packet[..20]), 0xffff, "{packet:?}");
            (packet[1], &packet[12..20], &packet[20..])
        } else {
            (packet[0] << 4 | packet[1] >> 4, &packet[8..40], &packet[40..])
        };
        let expected: &[u8] = if n % 3 == 0 { &[0] } else { &[2, 3] };
        assert!(class >> 2 == dscp && expected.contains(&(class & 3)), "{packet:?}");
        marked += u64::from(class & 3 == 3);
        assert!(udp[8..].iter().all(|byte| *byte == n), "{packet:?}");
        let length = (udp.len() as u16).to_be_bytes();
        assert_eq!(sum(&[addresses, &[0, 17], &length, udp].concat()), 0xffff, "{packet:?}");
    }
    assert!(marked >= fewest && marked == report.counters.marked_total().packets, "{marked}: {report:?}");
}

/// A reload during a transfer, and an end while packets wait. Would catch a rate that does not change, and waiting
/// packets that are lost or reordered.
#[test]
fn a_reload_and_the_end_keep_queued_frames() {
    bridged(false, |lab| {
        let slow = Rate::from_bits_per_second(1_000_000);
        let bridge = start(Router::new(&config(&droptail("200p"), slow)).unwrap());
        introduce(lab);
        let socket = lab.receiver.run(listen);
        let received = lab.receiver.start(move || {
            let mut received = Vec::new();
            drain(&socket, |datagram| received.push(datagram[0]));
            received
        });
        lab.sender.run(|| {
            let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
            (0..150_u8).for_each(|n| assert_eq!(socket.send_to(&[n; 972], (RECEIVER, PORT)).unwrap(), 972));
        });
        // 150 packets take 1.2 s at the old rate, and 12 ms at the new one. All of them have arrived when it changes.
        thread::sleep(Duration::from_millis(50));
        let fast = Rate::from_bits_per_second(100_000_000);
        bridge.handle.reload(&config(&droptail("1p"), fast)).unwrap();
        thread::sleep(Duration::from_millis(200));
        // The last of these wait when the end comes: 80 packets take 640 ms.
        bridge.handle.reload(&config(&droptail("200p"), slow)).unwrap();
        thread::sleep(Duration::from_millis(300));
        lab.sender.run(|| {
            let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
            (150..230_u8).for_each(|n| assert_eq!(socket.send_to(&[n; 972], (RECEIVER, PORT)).unwrap(), 972));
        });
        thread::sleep(Duration::from_millis(50));
        let begun = Instant::now();
        let report = bridge.stop(0.2);
        let took = begun.elapsed();
        assert_eq!(received.recv().unwrap(), (0..230).collect::<Vec<u8>>(), "{report:?}");
        assert_eq!((report.reloads, report.counters.dropped_total().packets), (2, 0), "{report:?}");
        let forward = report.bridge.unwrap().forward;
        assert_eq!(forward.forwarded, report.counters.departed.packets + report.released, "{report:?}");
        // 0.2 s are 25 packets; the others are sent at once.
        assert!(report.released > 20 && took < Duration::from_secs(5), "{took:?}: {report:?}");
    });
}

/// Would catch a bridge that sends every frame late: no rate tells that.
#[test]
fn an_idle_link_delays_nothing() {
    bridged(false, |lab| {
        introduce(lab);
        let bridge = start(Router::new(&config(&droptail("500p"), Rate::from_bits_per_second(100_000_000))).unwrap());
        assert_idle_link_is_quick(lab);
        assert!(bridge.stop(2.0).counters.departed.packets >= 100);
    });
}

/// The router ends when the waiting packets have left, 50 packets of 8 ms, although more would arrive for seconds.
/// Would catch a bridge that continues to receive.
#[test]
fn the_end_does_not_wait_for_new_frames() {
    bridged(false, |lab| {
        let bridge = start(Router::new(&config(&droptail("50p"), Rate::from_bits_per_second(1_000_000))).unwrap());
        let sent = lab.sender.start(|| send_at(4e6, 1000, 3.0));
        thread::sleep(Duration::from_millis(600));
        let (watch, begun) = (watch(), Instant::now());
        let report = bridge.stop(10.0);
        let took = begun.elapsed();
        // What the machine kept the bridge from running for comes on top.
        let most = Duration::from_millis(1500) + watch.end().longest;
        assert!(report.released == 0 && took < most, "{took:?}: {report:?}");
        assert!(report.counters.dropped_total().packets > 10, "{report:?}");
        sent.recv().unwrap();
    });
}

/// Waits until the kernel has detected that the interface `name` has a carrier again, which takes up to a second.
fn until_up(name: &str) {
    let begun = Instant::now();
    while !tool("ip", &format!("-br link show dev {name}")).contains(" UP ") {
        assert!(begun.elapsed() < Duration::from_secs(60), "{name} stays down");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Would catch a bridge that ends when an interface is down for a while, and one that goes on when an interface was
/// removed.
#[test]
fn an_interface_comes_back_or_the_bridge_ends() {
    bridged(false, |lab| {
        let bridge = start(Router::new(&config(&droptail("100p"), FAST)).unwrap());
        assert_eq!(echoed(lab, (SENDER, RECEIVER), &[10]), 1);
        for interface in [OUTSIDE, INSIDE] {
            ip(&format!("link set {interface} down"));
            lab.sender.run(|| send_at(1e6, 1000, 0.1));
            ip(&format!("link set {interface} up"));
            let (peer, name) = if interface == OUTSIDE { (&lab.receiver, "d0") } else { (&lab.sender, "s0") };
            until_up(interface);
            peer.run(move || until_up(name));
            // The kernel may have given up the neighbour while the link was down: it drops what waited for it.
            let begun = Instant::now();
            while echoed(lab, (SENDER, RECEIVER), &[10]) == 0 {
                assert!(begun.elapsed() < Duration::from_secs(60), "{interface}");
            }
            assert_eq!(echoed(lab, (SENDER, RECEIVER), &[10, 20]), 2, "{interface}");
        }
        ip(&format!("link delete {OUTSIDE}"));
        let error = bridge.end().unwrap_err().to_string();
        assert!(error.contains(&format!("the interface \"{OUTSIDE}\" is gone")), "{error}");
    });
}

/// Would catch a bridge that waits forever for an interface which is removed while it is down: the kernel reports that
/// it is down, and nothing when it is removed. The same happens when the report of a removal is read before the
/// interface is gone.
#[test]
fn an_interface_that_is_removed_while_it_is_down_ends_the_bridge() {
    for interface in [OUTSIDE, INSIDE] {
        bridged(false, move |lab| {
            let bridge = start(Router::new(&config(&droptail("100p"), FAST)).unwrap());
            assert_eq!(echoed(lab, (SENDER, RECEIVER), &[10]), 1);
            ip(&format!("link set {interface} down"));
            // Until the bridge has read the report.
            thread::sleep(Duration::from_millis(200));
            ip(&format!("link delete {interface}"));
            let error = bridge.end().unwrap_err().to_string();
            assert!(error.contains(&format!("the interface \"{interface}\" is gone")), "{error}");
        });
    }
}

/// Interfaces that cannot be bridged, each with the command that helps. Would catch a refused start that disturbs the
/// first bridge.
#[test]
fn unsuitable_interfaces_are_refused() {
    bridged(true, |lab| {
        ip("link add r9 type veth peer name r8");
        ip("link add r7 type bridge");
        let refused = |inside: &str, outside: &str| {
            let config = RouterConfig { path: path(inside, outside), ..config(&droptail("10p"), FAST) };
            match Router::new(&config).err().expect("it is refused") {
                StartError::Bridge(error) => error,
                other => panic!("{other}"),
            }
        };
        let with = |before: &str, after: &str| {
            let (program, arguments) = before.split_once(' ').unwrap();
            tool(program, arguments);
            let error = refused(INSIDE, "r9");
            let (program, arguments) = after.split_once(' ').unwrap();
            tool(program, arguments);
            error.to_string()
        };
        assert!(matches!(refused(INSIDE, INSIDE), BridgeError::Same(_)));
        assert!(matches!(refused(INSIDE, "nosuch0"), BridgeError::Unknown(name) if name == "nosuch0"));
        assert!(matches!(refused(INSIDE, "a-name-that-is-too-long"), BridgeError::Unknown(_)));
        assert!(matches!(refused("", OUTSIDE), BridgeError::Unknown(_)));
        assert!(matches!(refused("lo", OUTSIDE), BridgeError::NotEthernet(name) if name == "lo"));
        let down = refused(INSIDE, "r9").to_string();
        assert!(down.contains("ip link set dev r9 up"), "{down}");
        let enslaved = with("ip link set r9 master r7", "ip link set r9 nomaster");
        assert!(enslaved.contains("ip link set dev r9 nomaster"), "{enslaved}");
        ip("link set r9 up");
        let four = with("ip address add 192.0.2.1/24 dev r9", "ip address flush dev r9");
        assert!(four.contains("192.0.2.1") && four.contains("ip address flush dev r9"), "{four}");
        let on = |value: &str| drop(std::fs::write("/proc/sys/net/ipv6/conf/r9/disable_ipv6", value));
        on("0");
        let six = with("ip -6 address add 2001:db8::1/64 dev r9 nodad", "ip -6 address flush dev r9");
        on("1");
        assert!(six.contains("2001:db8::1") && six.contains("sysctl net.ipv6.conf.r9.disable_ipv6=1"), "{six}");
        let first = start(Router::new(&config(&droptail("10p"), FAST)).unwrap());
        assert!(matches!(refused(INSIDE, "r9"), BridgeError::Taken(name) if name == INSIDE));
        assert_eq!(echoed(lab, (SENDER, RECEIVER), &[10]), 1);
        first.stop(1.0);
        // A link-local address does not matter, and interfaces are accepted once the problem is solved.
        let mended = RouterConfig { path: path(INSIDE, "r9"), ..config(&droptail("10p"), FAST) };
        assert!(Router::new(&mended).is_ok());
    });
}
