//! Floods through a router in network namespaces: every packet is accounted for.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the kernel needs real time")]

mod common;

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use common::{OUT, PORT, RECEIVER, config, drain, install, lab, listen, nft, sent_to_queue, start, tool, udp_count};
use fairlane_linux::{Firewall, Report, Router, Rules, remove_rules};
use fairlane_qdisc::{Kind, QdiscParameters, Rate, Seed};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, sendto, socket};

/// Sends `packets` datagrams of `bytes` bytes as fast as it can from four ports, the first of which sends as many as
/// the others together.
fn flood(packets: u64, bytes: usize) {
    let sockets: Vec<UdpSocket> = (0..4).map(|_| UdpSocket::bind(("0.0.0.0", 0)).unwrap()).collect();
    let datagram = vec![7; bytes];
    for n in 0..packets {
        let socket = if n % 2 == 0 { &sockets[0] } else { &sockets[1 + (n / 2 % 3) as usize] };
        // A datagram that the sender's own queue drops is not sent to the router's queue.
        let _ = socket.send_to(&datagram, (RECEIVER, PORT));
    }
}

/// Counts datagrams until none arrives any more, including those dropped for lack of buffer space.
fn count() -> u64 {
    let mut received = 0;
    drain(&listen(), |_| received += 1);
    received + udp_count("RcvbufErrors")
}

/// CHOKe, which drops packets from the middle of the queue.
fn choke() -> QdiscParameters {
    let choke = QdiscParameters::new(Kind::Choke).with("limit", "1000p").unwrap();
    choke.with("min", "100p").unwrap().with("max", "500p").unwrap()
}

/// Would catch a packet with no verdict or two, and a drop that is not counted: packets sent to the queue are those
/// received, those dropped by the discipline and those dropped by the kernel.
#[test]
fn every_packet_of_a_flood_gets_one_verdict() {
    lab(false, |lab| {
        let router = Router::new(&config(&choke(), Rate::from_bits_per_second(50_000_000))).unwrap();
        let working = start(router, 0);
        let received = lab.receiver.start(count);
        thread::sleep(Duration::from_millis(200));
        lab.sender.run(|| flood(250_000, 64));
        let received = received.recv().unwrap();
        let queued = sent_to_queue(0);
        let report = working.stop();
        accounting(&report, queued, received);
        assert!(queued > 200_000, "only {queued} packets came through");
        let matched = report.counters.dropped(fairlane_qdisc::Reason::MatchVictim).packets;
        assert!(matched > queued / 20, "no overload: {report:?}");
    });
}

/// A router that is suspended. Would catch drops of the kernel, for lack of room in its buffer, that are counted as the
/// discipline's.
#[test]
fn drops_of_the_kernel_are_counted_separately() {
    lab(false, |lab| {
        let router = Router::new(&config(&choke(), Rate::from_bits_per_second(50_000_000))).unwrap();
        let firewall = install(0);
        lab.sender.run(|| flood(150_000, 64));
        let queued = sent_to_queue(0);
        firewall.stop(0).unwrap();
        let received = lab.receiver.start(count);
        thread::sleep(Duration::from_millis(200));
        let working = start(router, 0);
        let received = received.recv().unwrap();
        let report = working.stop();
        let kernel = report.kernel.unwrap();
        // Which of the two limits is reached depends on the kernel and on the size of its buffers.
        let dropped = kernel.dropped_full + kernel.dropped_unread;
        assert!(dropped > 10_000, "the kernel had room for all: {report:?}");
        accounting(&report, queued, received);
        assert!(report.counters.dropped_total().packets > 1000, "{report:?}");
    });
}

/// Any protocol, any options and fragments, any bytes above IP. Would catch a packet that is treated differently for
/// them.
#[test]
fn any_packet_is_accounted_for() {
    lab(false, |lab| {
        let router = Router::new(&config(&choke(), Rate::from_bits_per_second(1_000_000_000))).unwrap();
        let working = start(router, 0);
        lab.sender.run(|| {
            let socket =
                socket(AddressFamily::Inet, SockType::Raw, SockFlag::empty(), Some(SockProtocol::Raw)).unwrap();
            let receiver = SockaddrIn::from(std::net::SocketAddrV4::new(RECEIVER.parse::<Ipv4Addr>().unwrap(), 0));
            let mut random = Seed::new(1).stream("hostile");
            for n in 0..20_000_u32 {
                let mut packet: Vec<u8> = (0..20 + random.below(200)).map(|_| random.bits() as u8).collect();
                packet[0] = 0x45;
                packet[6] &= 0x3f;
                packet[8] = 64;
                packet[9] = n as u8;
                packet[12..16].copy_from_slice(&[10, 77, 1, 1]);
                packet[16..20].copy_from_slice(&[10, 77, 2, 1]);
                // The sender's own kernel refuses some fragments and options.
                let _ = sendto(socket.as_raw_fd(), &packet, &receiver, MsgFlags::empty());
            }
        });
        thread::sleep(Duration::from_millis(500));
        let queued = sent_to_queue(0);
        let report = working.stop();
        assert!(queued > 15_000, "only {queued} packets came through");
        let (counters, kernel) = (&report.counters, report.kernel.unwrap());
        assert_eq!((counters.arrived.packets, kernel.waiting), (queued, 0), "{report:?}");
        let decided = counters.departed.packets + counters.dropped_total().packets;
        assert_eq!((decided, report.unknown, report.malformed), (queued, 0, 0), "{report:?}");
    });
}

/// Would catch rules that change or reorder those of others, and a removal that leaves something or removes too much.
#[test]
fn rules_come_and_go_and_nothing_else_changes() {
    lab(true, |_| {
        for tool_name in ["iptables", "ip6tables"] {
            tool(tool_name, "-t mangle -A FORWARD -p udp -j MARK --set-mark 5");
            tool(tool_name, "-t mangle -N FAIRLANE-MINE");
            tool(tool_name, "-t mangle -A POSTROUTING -o r1 -j FAIRLANE-MINE");
            tool(tool_name, "-t filter -A FORWARD -s ::/0 -j ACCEPT".replace("::/0", any(tool_name)).as_str());
        }
        let saved = || {
            let all = [tool("iptables-save", ""), tool("ip6tables-save", "")].concat();
            // Without the counts of a chain: the kernel itself sends packets of IPv6.
            let plain = |line: &str| format!("{}\n", line.split(" [").next().unwrap());
            all.lines().filter(|line| !line.starts_with('#')).map(plain).collect::<String>()
        };
        let before = saved();
        let firewall = install(3);
        let during = saved();
        assert!(before.lines().all(|line| during.contains(line)), "{during}");
        assert_eq!(during.matches("--queue-num 3 --queue-bypass").count(), 2, "{during}");
        // Installing again replaces them.
        install(3);
        assert_eq!(saved(), during);
        let left = fairlane_linux::leftovers().unwrap();
        assert_eq!(left.iter().map(|left| (left.firewall, left.queue)).collect::<Vec<_>>(), [(firewall, 3)]);
        left[0].firewall.remove(left[0].queue).unwrap();
        assert_eq!((saved(), fairlane_linux::leftovers().unwrap()), (before, vec![]));
    });
}

/// The table of nftables. Would catch a table that the kernel does not accept, apart from the statement that queues
/// where it lacks it, and a removal that is incomplete.
#[test]
fn a_table_of_nftables_comes_and_goes() {
    lab(false, |_| {
        if Command::new("nft").arg("-v").output().is_err() {
            return skip::because("nft", "there is no nft");
        }
        let rules = Rules::new(3, &[OUT.to_owned()], common::bits()).unwrap();
        let script = Firewall::Nft.script(&rules);
        assert!(script.contains("queue num 3 bypass\n"), "{script}");
        tool("nft", "add table ip mine");
        let before = tool("nft", "list ruleset");
        let said = nft(&script);
        let only_queueing = said.contains("Could not process rule") && said.contains("queue num 3 bypass");
        assert!(said.is_empty() || only_queueing && !said.contains("syntax"), "more than queueing is refused: {said}");
        // Installing again replaces the table.
        (0..2).for_each(|_| assert_eq!(nft(&script.replace("queue num 3 bypass", "accept")), ""));
        let during = tool("nft", "list ruleset");
        assert!(during.matches("ip ecn set ce").count() == 1 && during.contains("table inet fairlane_q3"), "{during}");
        let left = fairlane_linux::leftovers().unwrap();
        assert_eq!(left.iter().map(|left| (left.firewall, left.queue)).collect::<Vec<_>>(), [(Firewall::Nft, 3)]);
        remove_rules(3).unwrap();
        assert_eq!(tool("nft", "list ruleset"), before);
    });
}

fn any(tool: &str) -> &'static str {
    if tool == "iptables" { "0.0.0.0/0" } else { "::/0" }
}

/// A queue has one owner. Would catch an error that does not name it.
#[test]
fn a_queue_that_is_taken_is_refused() {
    lab(false, |_| {
        let config = config(&choke(), Rate::from_bits_per_second(1_000_000));
        let first = Router::new(&config).unwrap();
        let port = fairlane_linux::kernel_queues().unwrap()[0].port;
        let second = Router::new(&config).err().unwrap().to_string();
        assert!(second.starts_with(&format!("queue 0 is bound by another program (netlink port {port}")), "{second}");
        drop(first);
        assert!(Router::new(&config).is_ok());
    });
}

/// The report's counts are those of the rule and of the receiver.
fn accounting(report: &Report, queued: u64, received: u64) {
    let kernel = report.kernel.unwrap();
    let counters = &report.counters;
    let (departed, dropped) = (counters.departed.packets, counters.dropped_total().packets);
    assert_eq!(queued, counters.arrived.packets + kernel.dropped_full + kernel.dropped_unread, "{report:?}");
    assert_eq!(counters.arrived.packets, departed + dropped + report.released, "{report:?}");
    assert_eq!(received, departed + report.released, "{report:?}");
    assert_eq!((report.unknown, report.malformed, report.unsent), (0, 0, 0), "{report:?}");
    assert_eq!(kernel.waiting, 0, "{report:?}");
}
