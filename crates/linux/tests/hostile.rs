//! Hostile senders, through a router in network namespaces: memory stays bounded, nothing panics, and other flows get
//! through.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the kernel needs real time")]

mod common;

use std::fs;
use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use common::{
    Lab, OUT, PORT, RECEIVER, RouterConfig, bits, config, drain, install, ip, lab, listen, queue, queue_config,
    sent_to_queue, start, udp_count, unless_busy,
};
use fairlane_linux::{DataPath, Marking, QueueConfig, Report, Router};
use fairlane_qdisc::{Kind, QdiscParameters, Rate, Seed};
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, SockFlag, SockProtocol, SockType, SockaddrIn, connect, sendmmsg, socket,
};

/// The rate of the link: 25,000 packets of [`BYTES`] per second.
const RATE: Rate = Rate::from_bits_per_second(20_000_000);
/// The size of an IP packet in bytes.
const BYTES: usize = 100;
/// The packets of a flood per second: four times the link's rate.
const FLOOD: u64 = 100_000;
/// The packets of a flood.
const PACKETS: u64 = 120_000;
/// The packets of each honest flow per second: less than 1/1024 of the link.
const HONEST: u64 = 20;
/// The number of honest flows.
const HONEST_FLOWS: u64 = 20;

/// The first byte of a datagram, which identifies the sender.
const IS_FLOOD: u8 = 7;
const IS_HONEST: u8 = 1;

/// Returns a UDP packet over IPv4 to the receiver. The kernel writes the header checksum.
fn packet(source: [u8; 4], port: u16) -> [u8; BYTES] {
    let mut packet = [0; BYTES];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(BYTES as u16).to_be_bytes());
    (packet[8], packet[9]) = (64, 17);
    packet[12..16].copy_from_slice(&source);
    packet[16..20].copy_from_slice(&RECEIVER.parse::<Ipv4Addr>().unwrap().octets());
    packet[20..22].copy_from_slice(&port.to_be_bytes());
    packet[22..24].copy_from_slice(&PORT.to_be_bytes());
    packet[24..26].copy_from_slice(&(BYTES as u16 - 20).to_be_bytes());
    packet[28] = IS_FLOOD;
    packet
}

/// Returns packets of 100,000 flows with forged source addresses.
fn spoofed() -> Vec<[u8; BYTES]> {
    let mut random = Seed::new(1).stream("spoofed");
    let source = |bits: u32| [20 + (bits >> 24) as u8 % 40, (bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
    (0..100_000).map(|_| packet(source(random.bits() as u32), random.bits() as u16)).collect()
}

/// Sends these packets in turn, [`PACKETS`] in all, at [`FLOOD`] per second, and returns the rate that was reached.
fn flood(packets: &[[u8; BYTES]]) -> f64 {
    let raw = socket(AddressFamily::Inet, SockType::Raw, SockFlag::empty(), Some(SockProtocol::Raw)).unwrap();
    let receiver = SockaddrIn::from(SocketAddrV4::new(RECEIVER.parse().unwrap(), 0));
    connect(raw.as_raw_fd(), &receiver).unwrap();
    let slices: Vec<[IoSlice<'_>; 1]> = packets.iter().map(|packet| [IoSlice::new(packet)]).collect();
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(50, None);
    let (mut sent, start) = (0, Instant::now());
    for batch in slices.chunks_exact(50).cycle().take(PACKETS as usize / 50) {
        let sending = sendmmsg(raw.as_raw_fd(), &mut headers, batch, [None; 50], [], MsgFlags::empty());
        sent += sending.map_or(0, Iterator::count) as u64;
        let ahead = Duration::from_nanos(sent * 1_000_000_000 / FLOOD).saturating_sub(start.elapsed());
        if ahead > Duration::from_millis(2) {
            thread::sleep(ahead);
        }
    }
    sent as f64 / start.elapsed().as_secs_f64()
}

/// Sends from [`HONEST_FLOWS`] ports while a flood lasts, and returns the number of packets.
fn honest() -> u64 {
    let sockets: Vec<UdpSocket> = (0..HONEST_FLOWS).map(|_| UdpSocket::bind(("0.0.0.0", 0)).unwrap()).collect();
    let packets = HONEST_FLOWS * HONEST * PACKETS / FLOOD;
    for socket in sockets.iter().cycle().take(packets as usize) {
        socket.send_to(&[IS_HONEST; BYTES - 28], (RECEIVER, PORT)).unwrap();
        // Evenly spaced: packets that arrive together are lost together.
        thread::sleep(Duration::from_micros(1_000_000 / HONEST / HONEST_FLOWS));
    }
    packets
}

/// Returns the memory of this process in kilobytes.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The results of a flood with concurrent honest flows.
struct Outcome {
    /// The fraction of the flood that was delivered.
    flood: f64,
    /// The fraction of the honest flows that was delivered.
    honest: f64,
    /// The growth of this process in kilobytes.
    grown: u64,
    /// The machine was too busy to send twice the link's rate.
    slow: bool,
    report: Report,
}

/// Counts the datagrams of the flood and of the honest flows that arrive.
fn arrived(socket: &UdpSocket) -> (u32, u32) {
    let (mut flood, mut honest, mut buffer) = (0, 0, [0; 2048]);
    socket.set_nonblocking(true).unwrap();
    while socket.recv(&mut buffer).is_ok() {
        match buffer[0] {
            IS_FLOOD => flood += 1,
            _ => honest += 1,
        }
    }
    (flood, honest)
}

fn through(lab: &Lab, discipline: &QdiscParameters, packets: Vec<[u8; BYTES]>) -> Outcome {
    let before = memory();
    let working = start(Router::new(&config(discipline, RATE)).unwrap(), 0);
    let socket = lab.receiver.run(listen);
    let (packets, rate, honest_sent) = lab.sender.run(|| {
        let beside = thread::spawn(honest);
        let rate = flood(&packets);
        (packets, rate, beside.join().unwrap())
    });
    let grown = memory().saturating_sub(before);
    drop(packets);
    // The packets that the sender's kernel still has to send.
    thread::sleep(Duration::from_millis(100));
    let queued = sent_to_queue(0);
    let report = working.stop();
    let (flood, honest) = lab.receiver.run(move || arrived(&socket));
    let kernel = report.kernel.unwrap();
    let arrived = report.counters.arrived.packets;
    assert_eq!(queued, arrived + kernel.dropped_full + kernel.dropped_unread, "{report:?}");
    assert_eq!((report.unknown, report.malformed), (0, 0), "{report:?}");
    let flood_sent = queued - honest_sent;
    Outcome {
        flood: f64::from(flood) / flood_sent as f64,
        honest: f64::from(honest) / honest_sent as f64,
        grown,
        slow: rate < FLOOD as f64 / 2.0,
        report,
    }
}

fn disciplines() -> [QdiscParameters; 5] {
    [Kind::Choke, Kind::FqCodel, Kind::Sfb, Kind::Xchoke, Kind::Drr].map(|kind| {
        let config = QdiscParameters::new(kind);
        match kind {
            Kind::Choke | Kind::Xchoke => {
                config.with("limit", "300p").unwrap().with("min", "60p").unwrap().with("max", "180p").unwrap()
            }
            _ => config,
        }
    })
}

/// The memory that a router uses for its tables, its queued packets and its buffers. Drops from 100,000 flows must not
/// add to it.
const MAX_MEMORY: u64 = 32 << 10;

/// Forged sources: no discipline can distinguish them from many users who each send a little, so the honest flows fare
/// like the others, or somewhat worse right behind a burst, but none is shut out. Would catch tables that grow with
/// every flow ever seen, and an index that panics when they are full.
#[test]
fn a_hundred_thousand_spoofed_flows_use_no_memory_and_starve_nobody() {
    lab(false, |lab| {
        for interfaces in ["all", "r0"] {
            fs::write(format!("/proc/sys/net/ipv4/conf/{interfaces}/rp_filter"), "0").unwrap();
        }
        for discipline in disciplines() {
            let kind = discipline.kind();
            let measured = unless_busy(|| {
                let Outcome { flood, honest, grown, slow, report } = through(lab, &discipline, spoofed());
                eprintln!(
                    "{kind}: {:.1} % of the flood, {:.1} % of the honest, {grown} kB",
                    100.0 * flood,
                    100.0 * honest
                );
                assert!(grown < MAX_MEMORY, "{kind}: {grown} kB more");
                // Of 480 packets a quarter is expected, with a tolerance of 10.
                let right = flood < 0.8 && honest > flood / 3.0 && report.counters.arrived.packets > 100_000;
                let wrong = || format!("{kind}: {honest} of the honest, {flood} of the flood: {report:?}");
                (slow, right.then_some(()).ok_or_else(wrong))
            });
            if !measured {
                return;
            }
        }
    });
}

/// One flow of four times the link's rate. Would catch losses of flows that send less than their share.
#[test]
fn a_flood_of_one_flow_does_not_hurt_others() {
    lab(false, |lab| {
        for discipline in disciplines() {
            let kind = discipline.kind();
            let measured = unless_busy(|| {
                let packets = vec![packet([10, 77, 1, 1], 5); 50];
                let Outcome { flood, honest, grown, slow, .. } = through(lab, &discipline, packets);
                eprintln!("{kind}: {:.1} % of the flood, {:.1} % of the honest", 100.0 * flood, 100.0 * honest);
                assert!(grown < MAX_MEMORY, "{kind}: {grown} kB more");
                let right = flood < 0.8 && honest > 0.9;
                (
                    slow,
                    right.then_some(()).ok_or_else(|| format!("{kind}: {honest} of the honest, {flood} of the flood")),
                )
            });
            if !measured {
                return;
            }
        }
    });
}

/// Packets from no data to the maximum of IP, copied in part or whole. Would catch one that arrives changed, and bytes
/// that are not counted.
#[test]
fn datagrams_of_any_size_are_counted_by_their_bytes() {
    lab(false, |lab| {
        for interface in ["r0", OUT] {
            ip(&format!("link set {interface} mtu 65535"));
        }
        lab.sender.run(|| ip("link set s0 mtu 65535"));
        lab.receiver.run(|| ip("link set d0 mtu 65535"));
        for marking in [Marking::ByRule(bits().ce()), Marking::ByUs] {
            let rate = Rate::from_bits_per_second(1_000_000_000);
            let droptail = QdiscParameters::new(Kind::DropTail).with("limit", "1000p").unwrap();
            let working =
                start(Router::new(&RouterConfig { path: queue(marking), ..config(&droptail, rate) }).unwrap(), 0);
            let sizes = [0_usize, 1, 99, 100, 101, 1472, 8972, 65_503, 65_507];
            let socket = lab.receiver.run(listen);
            let received = lab.receiver.start(move || {
                let (mut sizes, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
                socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                while let Ok(length) = socket.recv(&mut buffer) {
                    assert!(buffer[..length].iter().all(|byte| *byte == length as u8));
                    sizes.push(length);
                }
                sizes
            });
            lab.sender.run(move || {
                let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
                for size in sizes {
                    socket.send_to(&vec![size as u8; size], (RECEIVER, PORT)).unwrap();
                }
            });
            assert_eq!(received.recv().unwrap(), sizes, "{marking:?}");
            let report = working.stop();
            let bytes: usize = sizes.iter().map(|size| size + 28).sum();
            let arrived = report.counters.arrived;
            assert_eq!((arrived.packets, arrived.bytes), (sizes.len() as u64, bytes as u64), "{marking:?}: {report:?}");
            assert_eq!(report.malformed, 0, "{marking:?}: {report:?}");
        }
    });
}

/// A router that does not read, with `fail_open`. Packets beyond the kernel's limit pass at once, and are those that
/// the rule has counted and the router has not. Would catch a drop in the kernel.
#[test]
fn packets_that_fail_open_pass_and_are_the_difference() {
    lab(false, |lab| {
        let path = DataPath::Queue(QueueConfig { fail_open: true, ..queue_config(0) });
        let droptail = QdiscParameters::new(Kind::DropTail).with("limit", "200000p").unwrap();
        let rate = Rate::from_bits_per_second(1_000_000_000);
        let router = Router::new(&RouterConfig { path, ..config(&droptail, rate) }).unwrap();
        let firewall = install(0);
        let socket = lab.receiver.run(listen);
        lab.sender.run(|| common::send::send_while(64, |sent| sent < 150_000));
        let queued = sent_to_queue(0);
        // No packet has a verdict yet.
        let (passed, socket) = lab.receiver.run(move || {
            let mut passed = 0_u64;
            drain(&socket, |_| passed += 1);
            (passed + udp_count("RcvbufErrors"), socket)
        });
        firewall.stop(0).unwrap();
        let working = start(router, 0);
        let received = lab.receiver.run(move || {
            let mut received = 0;
            drain(&socket, |_| received += 1);
            received + udp_count("RcvbufErrors")
        });
        let report = working.stop();
        let (kernel, arrived) = (report.kernel.unwrap(), report.counters.arrived.packets);
        eprintln!("{queued} queued, {passed} passed, {arrived} arrived");
        assert_eq!((kernel.dropped_full, kernel.dropped_unread), (0, 0), "{report:?}");
        assert!(passed > 10_000, "the kernel had room for all but {passed}: {report:?}");
        assert_eq!(passed, queued - arrived, "{report:?}");
        assert_eq!(received, report.counters.departed.packets, "{report:?}");
        assert_eq!(report.counters.dropped_total().packets, 0, "{report:?}");
    });
}
