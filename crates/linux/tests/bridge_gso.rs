//! GSO frames over a bridge. The receiver gets the same packets whether they are segmented before the discipline or
//! behind it.
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
use common::{Lab, PORT, RECEIVER, RECOVERY, Wrong, drain, ip, listen, tool, undisturbed};
use fairlane_linux::{BridgeConfig, BridgeDirections, DataPath, Exempt, Report, Router, RouterConfig};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use nix::sys::socket::{setsockopt, sockopt};

const RECEIVER6: &str = "fd77:2::1";
const RATE: f64 = 200e6;

/// The duration of the measurement, and of the transfer before it.
const MEASURED: Duration = Duration::from_secs(2);
const SETTLING: Duration = Duration::from_millis(500);

fn router(discipline: &QdiscParameters, rate: f64, gso: bool) -> RouterConfig {
    let (inside, outside) = (INSIDE.to_owned(), OUTSIDE.to_owned());
    let path = DataPath::Bridge(BridgeConfig {
        inside,
        outside,
        gso,
        directions: BridgeDirections::Both,
        exempt: Exempt::default(),
    });
    RouterConfig { path, ..config(discipline, Rate::from_bits_per_second(rate as u64)) }
}

/// Both ends leave segmentation to their network cards.
fn leave_cutting(lab: &Lab) {
    lab.sender.run(|| drop(tool("ethtool", "-K s0 tso on gso on")));
    lab.receiver.run(|| drop(tool("ethtool", "-K d0 tso on gso on")));
}

/// Returns the bytes sent to the receiver without Ethernet headers, by the interface's own counts, which are taken
/// after segmentation.
fn left() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(OUTSIDE)?.strip_prefix(':')).unwrap();
    let counts: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    counts[8] - 14 * counts[9]
}

/// Sends as fast as TCP does, and returns the IP bits per second sent to the receiver during the measurement.
fn transfer(lab: &Lab) -> f64 {
    let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
    let received = lab.receiver.start(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    });
    let sent = lab.sender.start(|| {
        let (mut stream, start) = (TcpStream::connect((RECEIVER, PORT)).unwrap(), Instant::now());
        // The system's default may be another congestion control, and BBR sometimes stays below the link's rate.
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

/// Returns a count of the receiver from `/proc/net/FILE`.
fn count(lab: &Lab, file: &'static str, of: &'static str, name: &'static str) -> u64 {
    lab.receiver.run(move || {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
        let mut lines = text.lines().filter(|line| line.starts_with(of));
        let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
        let at = names.split_whitespace().position(|word| word == name).unwrap();
        values.split_whitespace().nth(at).unwrap().parse().unwrap()
    })
}

/// Checks that every frame is accounted for.
fn accounting(report: &Report) {
    let (bridge, counters) = (report.bridge.unwrap(), &report.counters);
    let (forward, back) = (bridge.forward, bridge.reverse);
    assert_eq!(forward.received, counters.arrived.packets + forward.unfit + forward.no_memory, "{report:?}");
    let gone = counters.departed.packets + counters.dropped_total().packets + report.released;
    assert_eq!(counters.arrived.packets, gone, "{report:?}");
    assert_eq!(counters.departed.packets + report.released, forward.forwarded + forward.refused, "{report:?}");
    assert_eq!(back.received, back.forwarded + back.unfit + back.no_memory + back.refused, "{report:?}");
    let lost = [forward.unfit, forward.no_memory, forward.refused, back.unfit, back.no_memory, back.refused];
    assert_eq!(lost, [0; 6], "{report:?}");
}

/// GSO frames take as much of the link as their segments, whole or segmented: the rate is the link's within 2 %, and
/// the bytes counted are exactly those that the receiver gets in segments. Would catch GSO frames that are counted
/// without the headers of their segments, frames that are lost, and an offload that is not active, so that nothing is
/// measured.
#[test]
fn gso_frames_have_the_size_of_their_segments() {
    bridged(false, |lab| {
        leave_cutting(lab);
        for gso in [false, true] {
            undisturbed(|| {
                let before = left();
                // A queue of 80 ms, which a sender that halves its window does not empty, and which outlasts a short
                // pause of the machine.
                let bridge = start(Router::new(&router(&droptail("2mb"), RATE, gso)).unwrap());
                let share = transfer(lab) / RATE;
                thread::sleep(Duration::from_millis(100));
                let report = bridge.stop(2.0);
                accounting(&report);
                let counters = &report.counters;
                let mean = counters.arrived.bytes as f64 / counters.arrived.packets as f64;
                eprintln!("gso {gso}: {share:.4} of the link's rate, {mean:.0} bytes a packet");
                assert_eq!(gso, mean > 3000.0, "gso {gso}: {mean} bytes a packet: {report:?}");
                assert!(report.bridge.unwrap().forward.gso_frames > 100, "gso {gso}: {report:?}");
                assert_eq!(counters.departed.bytes, left() - before, "gso {gso}: {report:?}");
                assert_eq!(count(lab, "snmp", "Tcp:", "InCsumErrors"), 0, "{report:?}");
                let right = (share - 1.0).abs() < 0.02;
                let off = (share - 1.0).abs() * (MEASURED - SETTLING).as_secs_f64() / RECOVERY;
                (report, if right { Ok(()) } else { Err(Wrong::new(format!("gso {gso}: {share}"), off)) })
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

/// A transfer in both directions through a link that drops, over IPv4 and IPv6, whole and segmented. The receiver's
/// kernel verifies each checksum. Would catch segments in a wrong order, and a reverse direction that does not forward
/// GSO frames.
#[test]
fn the_bytes_are_those_that_were_sent() {
    bridged(true, |lab| {
        leave_cutting(lab);
        for gso in [false, true] {
            let bridge = start(Router::new(&router(&droptail("300kb"), 1e9, gso)).unwrap());
            there_and_back(lab, "10.77.2.9", RECEIVER);
            there_and_back(lab, SENDER6, RECEIVER6);
            let report = bridge.stop(2.0);
            accounting(&report);
            let bridge = report.bridge.unwrap();
            assert!(bridge.forward.gso_frames > 100 && bridge.reverse.gso_frames > 100, "{report:?}");
            assert_eq!(count(lab, "snmp", "Tcp:", "InCsumErrors"), 0, "{report:?}");
        }
    });
}

/// A GSO frame with a VLAN tag. Each segment has the tag, its own numbers and its own checksum. Would catch a tag that
/// is lost or misplaced, and a checksum that is written four bytes off.
#[test]
fn a_tag_is_in_all_segments() {
    bridged(false, |lab| {
        leave_cutting(lab);
        for gso in [false, true] {
            let bridge = start(Router::new(&router(&droptail("100p"), 1e9, gso)).unwrap());
            let capture = lab.receiver.run(capture_with_tags);
            lab.sender.run(|| {
                let frame = joined_by_hand(&[0x81, 0, 0x60, 5], 3000);
                send_joined("s0", &frame, [1, 1200], [38, 16]);
            });
            let mut received = lab.receiver.run(move || captured_with_tags(&capture));
            received.retain(|(frame, _)| frame[6..12] == [2, 0, 0, 0, 0, 9]);
            let report = bridge.stop(2.0);
            accounting(&report);
            assert_eq!((received.len(), report.bridge.unwrap().forward.gso_frames), (3, 1), "{report:?}");
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

/// Returns an Ethernet header with these tags, and IPv4 and TCP headers with `bytes` bytes of data. The IP checksum and
/// the pseudo header sum in TCP's checksum field are right.
fn joined_by_hand(tags: &[u8], bytes: u16) -> Vec<u8> {
    let mut ip = [0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 77, 2, 9, 10, 77, 2, 1];
    ip[2..4].copy_from_slice(&(40 + bytes).to_be_bytes());
    let header = !sum(&ip);
    ip[10..12].copy_from_slice(&header.to_be_bytes());
    let mut tcp = [9, 0, 0x1e, 0x61, 0, 0, 1, 0, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
    let pseudo = sum(&[&ip[12..20], &[0, 6], &(20 + bytes).to_be_bytes()].concat());
    tcp[16..18].copy_from_slice(&pseudo.to_be_bytes());
    [&[0xff; 6][..], &[2, 0, 0, 0, 0, 9], tags, &[8, 0], &ip, &tcp, &vec![7; bytes.into()]].concat()
}

/// Calculates the ones' complement sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let mut total: u32 =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// Sends a datagram every 5 ms for two seconds to an echo, and returns the longest time between two answers.
fn longest_pause(lab: &Lab) -> Duration {
    let socket = lab.receiver.run(listen);
    let echo = lab.receiver.start(move || {
        socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let mut datagram = [0; 100];
        while let Ok((length, from)) = socket.recv_from(&mut datagram) {
            socket.send_to(&datagram[..length], from).unwrap();
        }
    });
    let longest = lab.sender.run(|| {
        let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let (start, mut last, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
        while start.elapsed() < MEASURED {
            socket.send_to(&[1], (RECEIVER, PORT)).unwrap();
            if socket.recv_from(&mut [0; 100]).is_ok() {
                longest = longest.max(last.elapsed());
                last = Instant::now();
                thread::sleep(Duration::from_millis(5));
            }
        }
        longest.max(last.elapsed())
    });
    echo.recv().unwrap();
    longest
}

/// 200 frames of 60 kB in either direction whose segments have 8 bytes, a million and a half of them. They are unfit,
/// and everybody else's packets go on in both directions. Would catch a bridge that is busy for seconds with a few
/// frames.
#[test]
fn frames_of_too_many_segments_stop_nobody() {
    bridged(false, |lab| {
        leave_cutting(lab);
        introduce(lab);
        for gso in [false, true] {
            undisturbed(|| {
                let bridge = start(Router::new(&router(&droptail("100p"), 20e6, gso)).unwrap());
                let flood = |interface: &'static str| {
                    move || {
                        let frame = joined_by_hand(&[], 60_000);
                        for _ in 0..100 {
                            send_joined(interface, &frame, [1, 8], [34, 16]);
                            thread::sleep(Duration::from_millis(5));
                        }
                    }
                };
                let floods = [lab.sender.start(flood("s0")), lab.receiver.start(flood("d0"))];
                let pause = longest_pause(lab);
                floods.into_iter().for_each(|flood| flood.recv().unwrap());
                let report = bridge.stop(2.0);
                let counts = report.bridge.unwrap();
                let unfit = [counts.forward, counts.reverse].map(|way| (way.gso_frames, way.unfit, way.no_memory));
                assert_eq!(unfit, [(100, 100, 0); 2], "{report:?}");
                let most = Duration::from_millis(500);
                let off = pause.saturating_sub(most).as_secs_f64();
                let result = if pause < most { Ok(()) } else { Err(Wrong::new(format!("{pause:?}"), off)) };
                (report, result)
            });
        }
    });
}

/// A sender that segments itself and an interface that joins frames on reception (GRO). Would catch GRO frames that are
/// not forwarded.
#[test]
fn gro_frames_are_segmented() {
    bridged(false, |lab| {
        tool("ethtool", &format!("-K {INSIDE} gro on"));
        tool("ethtool", &format!("-K {OUTSIDE} gro on"));
        let bridge = start(Router::new(&router(&droptail("300kb"), 1e9, false)).unwrap());
        there_and_back(lab, "10.77.2.9", RECEIVER);
        let report = bridge.stop(2.0);
        accounting(&report);
        assert!(report.bridge.unwrap().forward.gso_frames > 10, "nothing was joined: {report:?}");
        let counters = &report.counters;
        assert!(counters.arrived.bytes <= 1500 * counters.arrived.packets, "{report:?}");
        assert_eq!(count(lab, "snmp", "Tcp:", "InCsumErrors"), 0, "{report:?}");
    });
}

/// Marks are set in all segments of a GSO frame, with right header checksums. The sender responds, so nothing has to be
/// dropped. Would catch a segment without the mark.
#[test]
fn a_mark_is_in_all_segments() {
    bridged(false, |lab| {
        leave_cutting(lab);
        let ecn = || fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").unwrap();
        lab.sender.run(ecn);
        lab.receiver.run(ecn);
        for gso in [false, true] {
            let codel = QdiscParameters::new(Kind::Codel).with("ecn", "true").unwrap().with("limit", "2000p").unwrap();
            // A sender on a busy machine fills this link too, so a queue forms.
            let rate = RATE / 4.0;
            let bridge = start(Router::new(&router(&codel, rate, gso)).unwrap());
            let before = count(lab, "netstat", "IpExt:", "InCEPkts");
            let share = transfer(lab) / rate;
            let came_marked = count(lab, "netstat", "IpExt:", "InCEPkts") - before;
            let report = bridge.stop(2.0);
            accounting(&report);
            let marked = report.counters.marked_total();
            assert!(marked.packets > 0 && share > 0.5, "{share}: {report:?}");
            let segments = marked.bytes.div_ceil(1500);
            assert!((segments..=segments + marked.packets).contains(&came_marked), "{came_marked}: {report:?}");
            let errors = [("Ip:", "InHdrErrors"), ("Tcp:", "InCsumErrors")];
            assert_eq!(errors.map(|(of, name)| count(lab, "snmp", of, name)), [0, 0], "{report:?}");
        }
    });
}

/// GSO frames whose segments are longer than the other interface's MTU cannot be sent, whole or segmented. Would catch
/// one that is not counted, and others that are dropped with it.
#[test]
fn segments_that_are_too_long_are_unfit() {
    bridged(false, |lab| {
        leave_cutting(lab);
        introduce(lab);
        lab.sender.run(|| ip("link set s0 mtu 9000"));
        ip(&format!("link set {INSIDE} mtu 9000"));
        for gso in [false, true] {
            let bridge = start(Router::new(&router(&droptail("10mb"), 1e9, gso)).unwrap());
            let socket = lab.receiver.run(listen);
            let received = lab.receiver.start(move || {
                let mut received = 0;
                drain(&socket, |_| received += 1);
                received
            });
            lab.sender.run(|| {
                for bytes in [1477, 1472] {
                    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
                    setsockopt(&socket, sockopt::UdpGsoSegment, &bytes).unwrap();
                    assert!(socket.send_to(&[7; 20_000], (RECEIVER, PORT)).is_ok());
                }
            });
            // There is room for a tag of 4 bytes in addition to the MTU, so 1476 bytes fit. 20,000 bytes are 13
            // datagrams of 1472 bytes and one of 864.
            assert_eq!(received.recv().unwrap(), 14);
            let forward = bridge.stop(2.0).bridge.unwrap().forward;
            assert_eq!((forward.gso_frames, forward.unfit, forward.refused), (2, 1, 0), "{forward:?}");
        }
    });
}

/// Datagrams that the sender passes to its kernel 40 at a time (`UDP_SEGMENT`, udp(7)). Would catch one that is lost or
/// joined with another.
#[test]
fn gso_datagrams_are_segmented() {
    bridged(false, |lab| {
        leave_cutting(lab);
        introduce(lab);
        for gso in [false, true] {
            let bridge = start(Router::new(&router(&droptail("10mb"), 1e9, gso)).unwrap());
            let socket = lab.receiver.run(listen);
            let received = lab.receiver.start(move || {
                let mut received = Vec::new();
                drain(&socket, |datagram| received.push((datagram.len(), datagram[0])));
                received
            });
            lab.sender.run(|| {
                let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
                setsockopt(&socket, sockopt::UdpGsoSegment, &1000).unwrap();
                // 40 datagrams of 1000 bytes, and one of 500.
                let bytes: Vec<u8> = (0..40_500).map(|at| (at / 1000) as u8).collect();
                (0..5).for_each(|_| assert_eq!(socket.send_to(&bytes, (RECEIVER, PORT)).unwrap(), bytes.len()));
            });
            let received = received.recv().unwrap();
            let report = bridge.stop(2.0);
            accounting(&report);
            let of_one = (0..41_u8).map(|n| (if n < 40 { 1000 } else { 500 }, n));
            let expected: Vec<(usize, u8)> = (0..5).flat_map(|_| of_one.clone()).collect();
            assert_eq!(received, expected, "gso {gso}: {report:?}");
            assert_eq!(report.bridge.unwrap().forward.gso_frames, 5, "gso {gso}: {report:?}");
            assert_eq!(count(lab, "snmp", "Udp:", "InCsumErrors"), 0, "{report:?}");
        }
    });
}
