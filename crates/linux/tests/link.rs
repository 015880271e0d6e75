//! The link behind the queue, measured by the receiver: its rate and its marks.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the receiver measures real time")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::send::{send_at, send_classes};
use common::{
    OUT, PORT, RECEIVER, assert_idle_link_is_quick, assert_rate, config, drain, lab, listen, nft, start, watch,
};
use fairlane_linux::{DataPath, Firewall, Framing, Link, LinkLayer, Marking, QueueConfig, Router, Rules, remove_rules};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, setsockopt, socket};
use nix::sys::time::{TimeVal, TimeValLike};

/// The rate is exact within a percent. With 18 bytes of overhead a packet of 1000 bytes takes 22 ATM cells of 53 bytes.
#[test]
fn the_link_has_its_rate() {
    lab(false, |lab| {
        let rate = Rate::from_bits_per_second(20_000_000);
        let atm = LinkLayer::new(18, 0, Framing::Atm).unwrap();
        for (layer, expected) in [(LinkLayer::default(), 20e6), (atm, 20e6 * 1000.0 / (22.0 * 53.0))] {
            // The queue keeps the link busy even if the sender gets no processor time for a while.
            let droptail = QdiscParameters::new(Kind::DropTail).with("limit", "500p").unwrap();
            let router = common::RouterConfig { link: Link { rate, layer }, ..config(&droptail, rate) };
            assert_rate(lab, 1000, expected, move |lab| {
                let working = start(Router::new(&router).unwrap(), 0);
                lab.sender.run(|| send_at(40e6, 1000, 2.5));
                let report = working.stop();
                assert_eq!((report.released, report.kernel.unwrap().dropped_unread), (0, 0), "{report:?}");
                report
            });
        }
    });
}

/// Would catch a router that sends every packet late: no rate tells that.
#[test]
fn an_idle_link_delays_nothing() {
    lab(false, |lab| {
        let droptail = QdiscParameters::new(Kind::DropTail).with("limit", "500p").unwrap();
        let rate = Rate::from_bits_per_second(100_000_000);
        let working = start(Router::new(&config(&droptail, rate)).unwrap(), 0);
        assert_idle_link_is_quick(lab);
        assert_eq!(working.stop().counters.departed.packets, 100);
    });
}

/// A reload while packets wait. Would catch a rate that does not change, and a waiting packet that is dropped.
#[test]
fn a_reload_keeps_queued_packets() {
    lab(false, |lab| {
        let slow = Rate::from_bits_per_second(1_000_000);
        let droptail = |limit: &str| QdiscParameters::new(Kind::DropTail).with("limit", limit).unwrap();
        let watch = watch();
        let working = start(Router::new(&config(&droptail("200p"), slow)).unwrap(), 0);
        let socket = lab.receiver.run(listen);
        let received = lab.receiver.start(move || {
            let mut received = 0_u64;
            drain(&socket, |_| received += 1);
            received
        });
        lab.sender.run(|| send_at(10e6, 1000, 0.1));
        let fast = Rate::from_bits_per_second(100_000_000);
        working.handle.reload(&config(&droptail("1p"), fast)).unwrap();
        let none = QdiscParameters::new(Kind::Red).with("min", "9p").unwrap().with("max", "3p").unwrap();
        assert!(none.resolve(fast).is_err());
        let received = received.recv().unwrap();
        let report = working.stop();
        // At most 125 packets were sent, and the old limit has room for all.
        assert_eq!((report.reloads, report.counters.dropped_total().packets), (1, 0), "{report:?}");
        assert!(received > 60 && received == report.counters.departed.packets, "{received}: {report:?}");
        // What the machine kept the router from running for comes on top.
        let most = Duration::from_millis(500) + watch.end().longest;
        assert!(u128::from(report.sojourn.max().as_nanos()) < most.as_nanos(), "{most:?}: {report:?}");
    });
}

/// A TCP transfer of two seconds with segmentation offload. Would catch a link that is not filled, and GSO packets that
/// are not segmented before the queue. A full segment of 1500 bytes carries 1448 (RFC 9293 with timestamps, RFC 7323).
#[test]
fn a_tcp_transfer_fills_the_link_with_packets_of_the_link() {
    lab(false, |lab| {
        let rate = Rate::from_bits_per_second(20_000_000);
        let working = start(Router::new(&config(&QdiscParameters::new(Kind::FqCodel), rate)).unwrap(), 0);
        let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
        let received = lab.receiver.start(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut buffer, mut received, start) = (vec![0; 1 << 16], 0, Instant::now());
            loop {
                match stream.read(&mut buffer).unwrap() {
                    0 => return received as f64 * 8.0 / start.elapsed().as_secs_f64(),
                    bytes => received += bytes,
                }
            }
        });
        lab.sender.run(|| {
            let (mut stream, start) = (TcpStream::connect((RECEIVER, PORT)).unwrap(), Instant::now());
            while start.elapsed() < Duration::from_secs(2) {
                stream.write_all(&[7; 1 << 16]).unwrap();
            }
        });
        let goodput = received.recv().unwrap();
        let report = working.stop();
        let share = goodput / (20e6 * 1448.0 / 1500.0);
        let arrived = report.counters.arrived;
        let mean = arrived.bytes as f64 / arrived.packets as f64;
        eprintln!("{share:.3} of what the link can carry, {mean:.0} bytes a packet");
        assert!((0.85..1.01).contains(&share), "{share}: {report:?}");
        assert!((1400.0..=1500.0).contains(&mean), "{mean}: {report:?}");
    });
}

/// Returns the packets to [`PORT`] until none arrives for a second, from their IP headers on.
fn captured(capture: &OwnedFd) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut buffer = [0; 2048];
    while let Ok(length) = recv(capture.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
        let packet = &buffer[..length];
        let udp = if packet[0] >> 4 == 4 { 20 } else { 40 };
        let protocol = if udp == 20 { packet[9] } else { packet[6] };
        if protocol == 17 && packet[udp + 2..udp + 4] == PORT.to_be_bytes() {
            packets.push(packet.to_vec());
        }
    }
    packets
}

fn capture() -> OwnedFd {
    let kind = (AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_CLOEXEC);
    let capture = socket(kind.0, kind.1, kind.2, SockProtocol::EthAll).unwrap();
    setsockopt(&capture.as_fd(), ReceiveTimeout, &TimeVal::seconds(1)).unwrap();
    capture
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

/// Calculates the ones' complement sum over UDP and its pseudo header.
fn udp_sum(packet: &[u8]) -> u32 {
    let (addresses, udp) =
        if packet[0] >> 4 == 4 { (&packet[12..20], &packet[20..]) } else { (&packet[8..40], &packet[40..]) };
    let length = (udp.len() as u16).to_be_bytes();
    sum(&[addresses, &[0, 17], &length, udp].concat())
}

/// Returns the ECN codepoint in a header.
fn ecn(packet: &[u8]) -> u8 {
    if packet[0] >> 4 == 4 { packet[1] & 3 } else { packet[1] >> 4 & 3 }
}

/// Installs nft's table, behind the chains of iptables, without the statement that queues, which not every kernel has.
fn marks_by_nft() {
    let rules = Rules::new(9, &[OUT.to_owned()], common::bits()).unwrap();
    let script = Firewall::Nft.script(&rules).replace("queue num 9 bypass", "accept");
    assert_eq!(nft(&script), "");
}

/// Every packet that CoDel marks arrives with Congestion Experienced and right checksums, over IPv4 and IPv6, marked by
/// a rule or by the router. Packets that are not ECN-capable arrive unchanged. Those that CAKE washes have no DSCP any
/// more.
#[test]
fn marks_arrive_in_headers_that_are_right() {
    lab(true, |lab| {
        let by_rule = Marking::ByRule(common::bits().ce());
        let by_us = Marking::ByUs;
        for (marking, by_nft, wash) in
            [(by_rule, false, false), (by_rule, true, false), (by_us, false, false), (by_us, false, true)]
        {
            if by_nft && Command::new("nft").arg("-v").output().is_err() {
                skip::because("nft", "there is no nft");
                continue;
            }
            // It drops nothing, even where a busy machine keeps packets for longer than its usual interval.
            let codel = QdiscParameters::new(Kind::Codel).with("ce_threshold", "1us");
            let codel =
                codel.and_then(|codel| codel.with("target", "1s")).and_then(|codel| codel.with("interval", "2s"));
            let codel = codel.unwrap();
            let rate = Rate::from_bits_per_second(2_000_000);
            let cake = QdiscParameters::new(Kind::Cake).with("wash", "true").unwrap();
            let discipline = if wash { &cake } else { &codel };
            let queue = common::queue_config(0);
            let repeat = queue.repeat.filter(|_| !by_nft);
            let path = DataPath::Queue(QueueConfig { marking, repeat, ..queue });
            let router = Router::new(&common::RouterConfig { path, ..config(discipline, rate) }).unwrap();
            let working = start(router, 0);
            if by_nft {
                marks_by_nft();
            }
            let capture = lab.receiver.run(capture);
            lab.sender.run(send_classes);
            // Most of them still wait: the end must not lose a mark.
            thread::sleep(Duration::from_millis(10));
            let report = working.stop();
            let packets = lab.receiver.run(move || captured(&capture));
            assert_eq!(packets.len(), 120, "{marking:?}: {report:?}");
            for packet in &packets {
                let n = packet[packet.len() - 1];
                let expected: &[u8] = if n % 3 == 0 { &[0] } else { &[2, 3] };
                assert!(expected.contains(&ecn(packet)), "{marking:?}: {packet:?}");
                assert!(packet[packet.len() - 101..].iter().all(|byte| *byte == n), "{marking:?}: {packet:?}");
                let class = packet[0] << 4 | packet[1] >> 4;
                let dscp = if packet[0] >> 4 == 4 { packet[1] } else { class } >> 2;
                assert_eq!(dscp, if wash { 0 } else { 5 }, "{marking:?}: {packet:?}");
                assert_eq!(udp_sum(packet), 0xffff, "{marking:?}: {packet:?}");
                assert!(packet[0] >> 4 == 6 || sum(&packet[..20]) == 0xffff, "{marking:?}: {packet:?}");
            }
            let marked = packets.iter().filter(|packet| ecn(packet) == 3).count() as u64;
            if by_nft {
                remove_rules(9).unwrap();
            }
            // The first packets may find the link idle.
            assert!(
                (marked > 70 || wash) && marked == report.counters.marked_total().packets,
                "{marking:?}: {marked}, {report:?}"
            );
        }
    });
}
