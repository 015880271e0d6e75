//! Frames that segmentation offload has joined, over a bridge: cut before the discipline or behind it, what comes to the receiver is the
//! same.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "TCP needs real time")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use common::bridged::{INSIDE, OUTSIDE, SENDER6, bridged, config, droptail, introduce, start};
use common::tags::{capture_with_tags, captured_with_tags, send_joined};
use common::{Lab, PORT, RECEIVER, drain, ip, listen, tool, undisturbed};
use fairlane_linux::{BridgeConfig, DataPath, Report, Router, RouterConfig};
use fairlane_qdisc::{Kind, QdiscConfig, Rate};
use nix::sys::socket::{setsockopt, sockopt};

const RECEIVER6: &str = "fd77:2::1";
const RATE: f64 = 200e6;

/// How long is measured, and how long the transfer goes before that.
const MEASURED: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_millis(500);

fn router(discipline: QdiscConfig, rate: f64, gso: bool) -> RouterConfig {
    let path = DataPath::Bridge(BridgeConfig { inside: INSIDE.to_owned(), outside: OUTSIDE.to_owned(), gso });
    RouterConfig { path, ..config(discipline, Rate::from_bits_per_second(rate as u64)) }
}

/// Both ends leave cutting to their cards.
fn leave_cutting(lab: &Lab) {
    lab.sender.run(|| drop(tool("ethtool", "-K s0 tso on gso on")));
    lab.receiver.run(|| drop(tool("ethtool", "-K d0 tso on gso on")));
}

/// Bytes that have left for the receiver, without Ethernet's headers, by the kernel's counts of what the interface sends, which is cut.
fn left() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(OUTSIDE)?.strip_prefix(':')).unwrap();
    let counts: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    counts[8] - 14 * counts[9]
}

/// Sends as fast as TCP does; the bits per second of IP that leave for the receiver while it is measured.
fn transfer(lab: &Lab) -> f64 {
    let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
    let received = lab.receiver.start(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    });
    let sent = lab.sender.start(|| {
        let (mut stream, start) = (TcpStream::connect((RECEIVER, PORT)).unwrap(), Instant::now());
        // Where it is the system's choice it may be another, and BBR keeps below the link's rate at times.
        setsockopt(&stream, sockopt::TcpCongestion, &"reno".into()).unwrap();
        while start.elapsed() < SETTLING + MEASURED {
            stream.write_all(&[7; 1 << 16]).unwrap();
        }
    });
    thread::sleep(SETTLING);
    let (before, start) = (left(), Instant::now());
    thread::sleep(MEASURED - SETTLING);
    let rate = (left() - before) as f64 * 8.0 / start.elapsed().as_secs_f64();
    sent.recv().unwrap();
    received.recv().unwrap();
    rate
}

/// A count of `/proc/net/FILE` of the receiver.
fn count(lab: &Lab, file: &'static str, of: &'static str, name: &'static str) -> u64 {
    lab.receiver.run(move || {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
        let mut lines = text.lines().filter(|line| line.starts_with(of));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let at = names.split_whitespace().position(|word| word == name).unwrap();
        values.split_whitespace().nth(at).unwrap().parse().unwrap()
    })
}

/// What came is where it can be told, and the books close.
fn books(report: &Report) {
    let (bridge, counters) = (report.bridge.unwrap(), &report.counters);
    let (forth, back) = (bridge.forth, bridge.back);
    assert_eq!(forth.received, counters.arrived.packets + forth.unfit + forth.no_memory, "{report:?}");
    let gone = counters.departed.packets + counters.dropped_total().packets + report.released;
    assert_eq!(counters.arrived.packets, gone, "{report:?}");
    assert_eq!(counters.departed.packets + report.released, forth.forwarded + forth.refused, "{report:?}");
    assert_eq!(back.received, back.forwarded + back.unfit + back.no_memory + back.refused, "{report:?}");
    let lost = [forth.unfit, forth.no_memory, forth.refused, back.unfit, back.no_memory, back.refused];
    assert_eq!(lost, [0; 6], "{report:?}");
}

/// Joined frames take on the link what their segments take, cut or whole: the rate is that of the link, within 2 %, and the bytes that are
/// counted are those that come to the receiver in segments, to the byte. Would catch joined frames that count without the headers of their
/// segments, ones that are lost on the way, and an offload that is not there, so that nothing is measured.
#[test]
fn joined_frames_take_what_their_segments_take() {
    bridged(false, |lab| {
        leave_cutting(lab);
        for gso in [false, true] {
            undisturbed(|| {
                let before = left();
                // 80 ms, of which a sender that halves its window leaves something, and which outlasts a short pause of the machine.
                let bridge = start(Router::new(&router(droptail("2mb"), RATE, gso)).unwrap());
                let share = transfer(lab) / RATE;
                thread::sleep(Duration::from_millis(100));
                let report = bridge.stop(2.0);
                books(&report);
                let counters = &report.counters;
                let mean = counters.arrived.bytes as f64 / counters.arrived.packets as f64;
                eprintln!("gso {gso}: {share:.4} of the link's rate, {mean:.0} bytes a packet");
                assert_eq!(gso, mean > 3000.0, "gso {gso}: {mean} bytes a packet: {report:?}");
                assert!(report.bridge.unwrap().forth.joined > 100, "gso {gso}: {report:?}");
                assert_eq!(counters.departed.bytes, left() - before, "gso {gso}: {report:?}");
                assert_eq!(count(lab, "snmp", "Tcp:", "InCsumErrors"), 0, "{report:?}");
                let right = (share - 1.0).abs() < 0.02;
                (report, if right { Ok(()) } else { Err(format!("gso {gso}: {share}")) })
            });
        }
    });
}

/// Sends 4 MB from `from` to `to` and back, and compares them.
fn there_and_back(lab: &Lab, from: &str, to: &str) {
    let bytes = || (0..4 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>();
    let (from, to): (IpAddr, IpAddr) = (from.parse().unwrap(), to.parse().unwrap());
    let listener = lab.receiver.run(move || TcpListener::bind(SocketAddr::new(to, PORT)).unwrap());
    let served = lab.receiver.start(move || {
        let (mut stream, peer) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut received = vec![0; 4 << 20];
        stream.read_exact(&mut received).unwrap();
        stream.write_all(&received).unwrap();
        (received, peer.ip())
    });
    let returned = lab.sender.run(move || {
        let mut stream = TcpStream::connect((to, PORT)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(&bytes()).unwrap();
        let mut returned = vec![0; 4 << 20];
        stream.read_exact(&mut returned).unwrap();
        returned
    });
    let (received, peer) = served.recv().unwrap();
    assert!(received == bytes() && returned == bytes() && peer == from, "the bytes are others");
}

/// The bytes of a transfer in both directions, through a link that drops: over IPv4 and IPv6, cut and whole. The receiver's
/// kernel checks each checksum. Would catch segments in a wrong order, and a back way that does not
/// carry what is joined.
#[test]
fn the_bytes_are_those_that_were_sent() {
    bridged(true, |lab| {
        leave_cutting(lab);
        for gso in [false, true] {
            let bridge = start(Router::new(&router(droptail("300kb"), 1e9, gso)).unwrap());
            there_and_back(lab, "10.77.2.9", RECEIVER);
            there_and_back(lab, SENDER6, RECEIVER6);
            let report = bridge.stop(2.0);
            books(&report);
            let bridge = report.bridge.unwrap();
            assert!(bridge.forth.joined > 100 && bridge.back.joined > 100, "{report:?}");
            assert_eq!(count(lab, "snmp", "Tcp:", "InCsumErrors"), 0, "{report:?}");
        }
    });
}

/// A joined frame with a VLAN tag: each segment has the tag, its own numbers and its own checksum. Would catch a tag that is lost or at a wrong
/// place, and a checksum that is written four bytes beside its place.
#[test]
fn a_tag_is_in_all_segments() {
    bridged(false, |lab| {
        leave_cutting(lab);
        for gso in [false, true] {
            let bridge = start(Router::new(&router(droptail("100p"), 1e9, gso)).unwrap());
            let capture = lab.receiver.run(capture_with_tags);
            lab.sender.run(|| {
                // TCP with 3000 bytes in segments of 1200; the sums of the header and of what is before TCP's are right.
                let mut ip = [0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 77, 2, 9, 10, 77, 2, 1];
                ip[2..4].copy_from_slice(&3040_u16.to_be_bytes());
                let header = !sum(&ip);
                ip[10..12].copy_from_slice(&header.to_be_bytes());
                let mut tcp = [9, 0, 0x1e, 0x61, 0, 0, 1, 0, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
                let pseudo = sum(&[&ip[12..20], &[0, 6], &3020_u16.to_be_bytes()].concat());
                tcp[16..18].copy_from_slice(&pseudo.to_be_bytes());
                let frame =
                    [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], &[0x81, 0, 0x60, 5, 8, 0], &ip, &tcp, &[7; 3000]].concat();
                send_joined("s0", &frame, [1, 1200], [38, 16]);
            });
            let mut received = lab.receiver.run(move || captured_with_tags(&capture));
            received.retain(|(frame, _)| frame[6..12] == [2, 0, 0, 0, 0, 9]);
            let report = bridge.stop(2.0);
            books(&report);
            assert_eq!((received.len(), report.bridge.unwrap().forth.joined), (3, 1), "{report:?}");
            for (n, (frame, tag)) in (0_u32..).zip(&received) {
                assert_eq!(*tag, Some((0x8100, 0x6005)), "{frame:?}");
                let (ip, tcp) = frame[14..].split_at(20);
                let length = [1220_u16, 1220, 620][n as usize];
                assert_eq!((sum(ip), tcp.len()), (0xffff, usize::from(length)), "{ip:?}");
                assert_eq!(ip[2..6], [20 + length, 7 + n as u16].map(u16::to_be_bytes).concat());
                assert_eq!(tcp[4..8], (256 + 1200 * n).to_be_bytes());
                assert_eq!(sum(&[&ip[12..20], &[0, 6], &length.to_be_bytes(), tcp].concat()), 0xffff, "{frame:?}");
            }
        }
    });
}

/// The sum of words in ones' complement (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let mut total: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// What the kernel has joined as it received it (GRO) is no obstacle: a sender that cuts by itself, and an interface that joins.
#[test]
fn what_an_interface_joins_is_parted_again() {
    bridged(false, |lab| {
        tool("ethtool", &format!("-K {INSIDE} gro on"));
        tool("ethtool", &format!("-K {OUTSIDE} gro on"));
        let bridge = start(Router::new(&router(droptail("300kb"), 1e9, false)).unwrap());
        there_and_back(lab, "10.77.2.9", RECEIVER);
        let report = bridge.stop(2.0);
        books(&report);
        assert!(report.bridge.unwrap().forth.joined > 10, "nothing was joined: {report:?}");
        let counters = &report.counters;
        assert!(counters.arrived.bytes <= 1500 * counters.arrived.packets, "{report:?}");
        assert_eq!(count(lab, "snmp", "Tcp:", "InCsumErrors"), 0, "{report:?}");
    });
}

/// A joined frame that is marked is so in all of its segments, with right checksums of headers; the sender takes notice, so nothing has to
/// be dropped.
#[test]
fn a_mark_is_in_all_segments() {
    bridged(false, |lab| {
        leave_cutting(lab);
        let ecn = || fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").unwrap();
        lab.sender.run(ecn);
        lab.receiver.run(ecn);
        for gso in [false, true] {
            let codel = QdiscConfig::new(Kind::Codel).with("ecn", "true").unwrap().with("limit", "2000p").unwrap();
            let bridge = start(Router::new(&router(codel, RATE, gso)).unwrap());
            let before = count(lab, "netstat", "IpExt:", "InCEPkts");
            let rate = transfer(lab);
            let came_marked = count(lab, "netstat", "IpExt:", "InCEPkts") - before;
            let report = bridge.stop(2.0);
            books(&report);
            let marked = report.counters.marked_total();
            assert!(marked.packets > 0 && rate > 0.5 * RATE, "{rate}: {report:?}");
            let segments = marked.bytes.div_ceil(1500);
            assert!((segments..=segments + marked.packets).contains(&came_marked), "{came_marked}: {report:?}");
            let errors = [("Ip:", "InHdrErrors"), ("Tcp:", "InCsumErrors")];
            assert_eq!(errors.map(|(of, name)| count(lab, "snmp", of, name)), [0, 0], "{report:?}");
        }
    });
}

/// Joined frames whose segments are longer than the other interface's MTU are no frames of it, cut or whole. They are counted, and others
/// pass.
#[test]
fn segments_that_are_too_long_are_unfit() {
    bridged(false, |lab| {
        leave_cutting(lab);
        introduce(lab);
        lab.sender.run(|| ip("link set s0 mtu 9000"));
        ip(&format!("link set {INSIDE} mtu 9000"));
        for gso in [false, true] {
            let bridge = start(Router::new(&router(droptail("10mb"), 1e9, gso)).unwrap());
            let received = lab.receiver.start(|| {
                let mut received = 0;
                drain(&listen(), |_| received += 1);
                received
            });
            thread::sleep(Duration::from_millis(200));
            lab.sender.run(|| {
                for bytes in [1477, 1472] {
                    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
                    setsockopt(&socket, sockopt::UdpGsoSegment, &bytes).unwrap();
                    assert!(socket.send_to(&[7; 20_000], (RECEIVER, PORT)).is_ok());
                }
            });
            // There is room for a tag of 4 bytes beside the MTU: 1476 bytes would fit. 20,000 bytes are 13 datagrams of 1472 and one of 864.
            assert_eq!(received.recv().unwrap(), 14);
            let forth = bridge.stop(2.0).bridge.unwrap().forth;
            assert_eq!((forth.joined, forth.unfit, forth.refused), (2, 1, 0), "{forth:?}");
        }
    });
}

/// Datagrams that the sender hands to its kernel 40 at a time (`UDP_SEGMENT`, udp(7)) arrive as that many.
#[test]
fn joined_datagrams_are_parted_too() {
    bridged(false, |lab| {
        leave_cutting(lab);
        introduce(lab);
        for gso in [false, true] {
            let bridge = start(Router::new(&router(droptail("10mb"), 1e9, gso)).unwrap());
            let received = lab.receiver.start(|| {
                let mut received = Vec::new();
                drain(&listen(), |datagram| received.push((datagram.len(), datagram[0])));
                received
            });
            thread::sleep(Duration::from_millis(200));
            lab.sender.run(|| {
                let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
                setsockopt(&socket, sockopt::UdpGsoSegment, &1000).unwrap();
                // 40 datagrams of 1000 bytes, and one of 500.
                let bytes: Vec<u8> = (0..40_500).map(|at| (at / 1000) as u8).collect();
                (0..5).for_each(|_| assert_eq!(socket.send_to(&bytes, (RECEIVER, PORT)).unwrap(), bytes.len()));
            });
            let received = received.recv().unwrap();
            let report = bridge.stop(2.0);
            books(&report);
            let of_one = (0..41_u8).map(|n| (if n < 40 { 1000 } else { 500 }, n));
            let expected: Vec<(usize, u8)> = (0..5).flat_map(|_| of_one.clone()).collect();
            assert_eq!(received, expected, "gso {gso}: {report:?}");
            assert_eq!(report.bridge.unwrap().forth.joined, 5, "gso {gso}: {report:?}");
            assert_eq!(count(lab, "snmp", "Udp:", "InCsumErrors"), 0, "{report:?}");
        }
    });
}
