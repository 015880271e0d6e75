//! A bridge in network namespaces: every frame is accounted for, and the receiver gets it unchanged.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the kernel needs real time")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use common::bridged::{
    INSIDE, OUTSIDE, bridged, capture, captured, config, droptail, hardware, interface, introduce, start,
};
use common::{Lab, PORT, RECEIVER, drain, ip, listen, udp_count};
use fairlane_linux::{Report, Router};
use fairlane_qdisc::{Kind, QdiscParameters, Rate, Reason, Seed, Stream};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, sendto, socket};

const FAST: Rate = Rate::from_bits_per_second(10_000_000_000);

fn choke() -> QdiscParameters {
    let choke = QdiscParameters::new(Kind::Choke).with("limit", "1000p").unwrap();
    choke.with("min", "100p").unwrap().with("max", "500p").unwrap()
}

/// Sends `packets` datagrams of `bytes` bytes from four ports, as fast as it can.
fn flood(packets: u64, bytes: usize) {
    let sockets: Vec<UdpSocket> = (0..4).map(|_| UdpSocket::bind(("0.0.0.0", 0)).unwrap()).collect();
    let datagram = vec![7; bytes];
    for n in 0..packets {
        let socket = if n % 2 == 0 { &sockets[0] } else { &sockets[1 + (n / 2 % 3) as usize] };
        // A datagram that the sender's own queue drops does not reach the bridge.
        let _ = socket.send_to(&datagram, (RECEIVER, PORT));
    }
}

/// Counts datagrams until none arrives any more, including those dropped for lack of buffer space.
fn count() -> u64 {
    let mut received = 0;
    drain(&listen(), |_| received += 1);
    received + udp_count("RcvbufErrors")
}

/// Checks that every frame of the interfaces' own counts is in exactly one count of the report.
fn accounting(lab: &Lab, report: &Report) {
    let bridge = report.bridge.unwrap();
    let (forward, back, counters) = (bridge.forward, bridge.reverse, &report.counters);
    let ([_, sent, _], [received, ..]) = (lab.sender.run(|| interface("s0")), lab.receiver.run(|| interface("d0")));
    let ([_, returned, _], [home, ..]) = (lab.receiver.run(|| interface("d0")), lab.sender.run(|| interface("s0")));
    let ([_, left, lost], [_, left_back, lost_back]) = (interface(OUTSIDE), interface(INSIDE));
    assert_eq!(sent, forward.received + forward.kernel_dropped, "{report:?}");
    assert_eq!(forward.received, counters.arrived.packets + forward.unfit + forward.no_memory, "{report:?}");
    let (departed, dropped) = (counters.departed.packets, counters.dropped_total().packets);
    assert_eq!(counters.arrived.packets, departed + dropped + report.released, "{report:?}");
    assert_eq!(departed + report.released, forward.forwarded + forward.refused, "{report:?}");
    assert_eq!((forward.forwarded, received), (left + lost, left), "{report:?}");
    assert_eq!(returned, back.received + back.kernel_dropped, "{report:?}");
    assert_eq!(back.received, back.forwarded + back.unfit + back.refused, "{report:?}");
    assert_eq!((back.forwarded, home), (left_back + lost_back, left_back), "{report:?}");
}

/// Would catch a frame that is lost or duplicated anywhere: frames that left the sender are those received, those
/// dropped by the bridge and those dropped by the kernel.
#[test]
fn every_frame_of_a_flood_is_accounted_for() {
    bridged(false, |lab| {
        let bridge = start(Router::new(&config(&choke(), Rate::from_bits_per_second(50_000_000))).unwrap());
        let received = lab.receiver.start(count);
        thread::sleep(Duration::from_millis(200));
        lab.sender.run(|| flood(250_000, 64));
        let received = received.recv().unwrap();
        let report = bridge.stop(2.0);
        accounting(lab, &report);
        let forward = report.bridge.unwrap().forward;
        let sent = forward.received + forward.kernel_dropped;
        assert!(sent > 200_000 && received > 10_000, "{received} of {sent}: {report:?}");
        let matched = report.counters.dropped(Reason::MatchVictim).packets;
        assert!(matched > forward.received / 20, "no overload: {report:?}");
    });
}

/// A TCP transfer in both directions, through a link that drops. The receiver's kernel verifies each checksum. Would
/// catch changed bytes and a connection that stalls.
#[test]
fn tcp_works_through_it() {
    bridged(false, |lab| {
        let rate = Rate::from_bits_per_second(200_000_000);
        let bridge = start(Router::new(&config(&droptail("50p"), rate)).unwrap());
        let bytes = || (0..8 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<u8>>();
        let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
        let served = lab.receiver.start(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut received = vec![0; 8 << 20];
            stream.read_exact(&mut received).unwrap();
            stream.write_all(&received).unwrap();
            received
        });
        let returned = lab.sender.run(move || {
            let mut stream = TcpStream::connect((RECEIVER, PORT)).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream.write_all(&bytes()).unwrap();
            let mut returned = vec![0; 8 << 20];
            stream.read_exact(&mut returned).unwrap();
            returned
        });
        assert!(served.recv().unwrap() == bytes() && returned == bytes(), "the bytes are others");
        let report = bridge.stop(2.0);
        let bridge = report.bridge.unwrap();
        assert!(report.counters.dropped_total().packets > 0, "{report:?}");
        // 8 MB in full segments of 1448 bytes (RFC 9293 with timestamps, RFC 7323): at least 5794 frames in each
        // direction.
        assert!(bridge.forward.forwarded >= 5794 && bridge.reverse.forwarded >= 5794, "{report:?}");
        assert_eq!((bridge.forward.unfit, bridge.reverse.unfit), (0, 0), "{report:?}");
        let errors = ["InCsumErrors"].map(|name| lab.receiver.run(move || tcp_count(name)));
        assert_eq!(errors, [0], "{report:?}");
    });
}

/// A bridge that is suspended. Would catch drops of the kernel, for lack of room in the ring, that are counted as the
/// discipline's.
#[test]
fn drops_of_the_kernel_are_counted_separately() {
    bridged(false, |lab| {
        let router = Router::new(&config(&droptail("100p"), FAST)).unwrap();
        introduce(lab);
        lab.sender.run(|| flood(20_000, 64));
        let bridge = start(router);
        thread::sleep(Duration::from_millis(500));
        let report = bridge.stop(2.0);
        accounting(lab, &report);
        let forward = report.bridge.unwrap().forward;
        // 8 MB of slots with 2048 bytes, and the sender's answers to ICMP messages of the receiver, on which nobody
        // listens.
        assert!((4096..4100).contains(&forward.received), "{report:?}");
        assert!(forward.kernel_dropped > 10_000, "{report:?}");
    });
}

/// An interface with its own queue that is slower than the bridge's rate: a short queue, where the kernel reports
/// drops, and one that is longer than the ring. Would catch a frame that is lost or duplicated when it is sent again,
/// and one that waits forever.
#[test]
fn an_interface_that_is_slow_loses_nothing_uncounted() {
    bridged(false, |lab| {
        introduce(lab);
        for limit in ["3000b", "100mb"] {
            let tbf = format!("qdisc replace dev {OUTSIDE} root tbf rate 4mbit burst 3000b limit {limit}");
            if !Command::new("tc").args(tbf.split_whitespace()).status().is_ok_and(|status| status.success()) {
                return skip::because("tbf", "there is no tc, or this kernel has no tbf");
            }
            let bridge = start(Router::new(&config(&droptail("100p"), FAST)).unwrap());
            let before = lab.receiver.run(|| interface("d0")[0]);
            lab.sender.run(|| flood(5000, 64));
            // 2048 slots of the ring, of 106 bytes each, take 0.43 s at that rate. The frame added last leaves last.
            thread::sleep(Duration::from_millis(1000));
            let report = bridge.stop(2.0);
            let forward = report.bridge.unwrap().forward;
            assert!(forward.refused > 500 && forward.forwarded > 2048, "{limit}: {report:?}");
            assert_eq!(forward.received, forward.forwarded + forward.refused, "{limit}: {report:?}");
            let received = lab.receiver.run(|| interface("d0")[0]) - before;
            assert_eq!(received, forward.forwarded, "{limit}: {report:?}");
        }
    });
}

/// Random bytes behind random types, of any length up to jumbo frames. Would catch a frame that the other interface can
/// send and that arrives changed, out of order or not at all, and one that is too long and not counted.
#[test]
fn random_frames_are_forwarded_unchanged() {
    bridged(false, |lab| {
        lab.sender.run(|| ip("link set s0 mtu 9000"));
        ip(&format!("link set {INSIDE} mtu 9000"));
        let bridge = start(Router::new(&config(&droptail("100000p"), FAST)).unwrap());
        let capture = lab.receiver.run(|| capture(SockType::Raw));
        let mut random = Seed::new(1).stream("odd");
        let frames: Vec<Vec<u8>> = (0..4000).map(|_| odd(&mut random)).collect();
        // A header of 14 bytes, a VLAN tag of 4 bytes and an MTU of 1500.
        let expected: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).filter(|frame| frame.len() <= 1518).collect();
        let mut passed = lab.receiver.run(|| interface("d0")[0]);
        // The ring has 512 slots for frames of 9000 bytes, so no more may be in flight.
        for some in frames.chunks(256) {
            passed += some.iter().filter(|frame| frame.len() <= 1518).count() as u64;
            let (some, start) = (some.to_vec(), Instant::now());
            lab.sender.run(move || {
                let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).unwrap();
                for frame in &some {
                    sendto(socket.as_raw_fd(), frame, &hardware("s0"), MsgFlags::empty()).unwrap();
                }
            });
            while lab.receiver.run(|| interface("d0")[0]) < passed && start.elapsed() < Duration::from_secs(5) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        let mut received = lab.receiver.run(move || captured(&capture));
        let report = bridge.stop(2.0);
        let forward = report.bridge.unwrap().forward;
        let unfit = (frames.len() - expected.len()) as u64;
        assert!(unfit > 1000 && expected.len() > 1000);
        assert_eq!((forward.unfit, forward.received), (unfit, frames.len() as u64), "{report:?}");
        // Frames sent by the receiver's own kernel in response.
        received.retain(|frame| frame[6..12] == ODD_SENDER);
        assert_eq!(received.len(), expected.len(), "{report:?}");
        for (received, expected) in received.iter().zip(expected) {
            assert!(received[..] == untagged(expected)[..], "{received:?} instead of {expected:?}");
        }
    });
}

/// Frames that this machine itself sends on one of the interfaces. Would catch one that is forwarded to the other
/// interface.
#[test]
fn frames_of_the_machine_are_not_forwarded() {
    bridged(false, |lab| {
        let bridge = start(Router::new(&config(&droptail("100p"), FAST)).unwrap());
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).unwrap();
        for place in [INSIDE, OUTSIDE] {
            let frame = [&[0xff; 6][..], &ODD_SENDER, &[0x88, 0xcc], &[1; 50]].concat();
            let send = || sendto(socket.as_raw_fd(), &frame, &hardware(place), MsgFlags::empty());
            (0..5).for_each(|_| assert_eq!(send().unwrap(), frame.len()));
        }
        thread::sleep(Duration::from_millis(100));
        let report = bridge.stop(2.0);
        let ([_, sent, _], [_, returned, _]) =
            (lab.sender.run(|| interface("s0")), lab.receiver.run(|| interface("d0")));
        let bridge = report.bridge.unwrap();
        assert_eq!((bridge.forward.received, bridge.reverse.received), (sent, returned), "{report:?}");
        assert_eq!((interface(INSIDE)[1], interface(OUTSIDE)[1]), (5 + returned, 5 + sent), "{report:?}");
    });
}

/// The source address of random frames.
const ODD_SENDER: [u8; 6] = [2, 0, 0, 0, 0, 9];

/// Returns a frame of random type and length with random bytes, half of them to a multicast, a bridge's or a unicast
/// address. Data follow a tag, since the kernel drops a frame that ends with one.
fn odd(random: &mut Stream) -> Vec<u8> {
    let types = [0x0800, 0x86dd, 0x0806, 0x88cc, 0x8100, 0x88a8, 0x8847, 0x0026, 0x9999];
    let destinations = [[0xff; 6], [1, 0x80, 0xc2, 0, 0, 0], [0x33, 0x33, 0, 0, 0, 1], [2, 0, 0, 0, 0, 7]];
    let kind: u16 = types[random.below(types.len() as u32) as usize];
    let bytes = if random.below(2) == 0 { random.below(1520) } else { random.below(9000) };
    let mut frame = destinations[random.below(4) as usize].to_vec();
    frame.extend(ODD_SENDER);
    frame.extend(kind.to_be_bytes());
    frame.extend((0..bytes.max(50)).map(|_| random.bits() as u8));
    match (kind, random.below(2)) {
        (0x0800, 0) => frame[14] = 0x45,
        (0x86dd, 0) => frame[14] = 0x60,
        // Only the header.
        (0x9999, 0) => frame.truncate(14),
        _ => {}
    }
    frame
}

/// Returns a frame as a packet socket shows it: without its outer tag.
fn untagged(frame: &[u8]) -> Vec<u8> {
    let tagged = [[0x81, 0], [0x88, 0xa8]].iter().any(|kind| frame[12..14] == *kind);
    if tagged { [&frame[..12], &frame[16..]].concat() } else { frame.to_vec() }
}

/// Returns TCP's count `name` in this thread's namespace.
fn tcp_count(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split_whitespace().position(|word| word == name).unwrap();
    values.split_whitespace().nth(at).unwrap().parse().unwrap()
}
