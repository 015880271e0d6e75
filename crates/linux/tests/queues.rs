//! Two NFQUEUEs with one discipline and one link.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the kernel needs real time")]

mod common;

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use common::{
    PORT, RECEIVER, RouterConfig, config, drain, install, lab, listen, queue_config, sent_to_queue, spawn_router,
    start, tool, udp_count,
};
use fairlane_linux::{DataPath, Queues, Router, kernel_queues};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// The number of packets from each processor.
const PACKETS: u32 = 100_000;

/// Restricts this thread to `processor`.
fn stay_on(processor: usize) -> nix::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    sched_setaffinity(Pid::from_raw(0), &set)
}

/// Sends numbered datagrams from `processor`, on which the kernel also forwards and queues them.
fn send(processor: usize, packets: u32) {
    stay_on(processor).unwrap();
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    let mut datagram = [processor as u8; 36];
    for number in 0..packets {
        datagram[1..5].copy_from_slice(&number.to_be_bytes());
        // A datagram that the sender's own queue drops is not sent to the router's queue.
        let _ = socket.send_to(&datagram, (RECEIVER, PORT));
    }
}

/// Returns `true` if this process may use the processors 0 and 1; if not, prints a message.
fn has_two_processors() -> bool {
    let tried = thread::spawn(|| stay_on(0).and(stay_on(1))).join().unwrap();
    if let Err(error) = tried {
        skip::because("processors", format!("the processors 0 and 1 are not both ours: {error}"));
    }
    tried.is_ok()
}

/// Returns a router with the queues 0 and 1.
fn router(discipline: &QdiscParameters, rate: Rate) -> Router {
    let queues = Queues::new(0, 1).unwrap();
    let path = DataPath::Queue(queue_config(queues));
    Router::new(&RouterConfig { path, ..config(discipline, rate) }).unwrap()
}

/// Packets from two processors at several times the link's rate, with reloads. Each gets one verdict, on its own queue,
/// and packets of a flow stay in order. Would catch a verdict on the wrong queue, one given by two threads, and threads
/// that overtake each other with their verdicts.
#[test]
fn two_queues_share_a_link() {
    lab(false, |lab| {
        if !has_two_processors() {
            return;
        }
        let rate = Rate::from_bits_per_second(20_000_000);
        let choke = QdiscParameters::new(Kind::Choke).with("limit", "1000p").unwrap();
        let choke = choke.with("min", "100p").unwrap().with("max", "500p").unwrap();
        let router = router(&choke, rate);
        let bound: Vec<u16> = kernel_queues().unwrap().iter().map(|queue| queue.number).collect();
        assert_eq!(bound, [0, 1]);
        let working = start(router, Queues::new(0, 1).unwrap());
        let socket = lab.receiver.run(listen);
        let sending = lab.sender.start(|| {
            let other = thread::spawn(|| send(1, PACKETS));
            send(0, PACKETS);
            other.join().unwrap();
        });
        for kind in [Kind::FqCodel, Kind::DropTail, Kind::Choke, Kind::Drr] {
            thread::sleep(Duration::from_millis(60));
            working.handle.reload(&config(&QdiscParameters::new(kind), rate)).unwrap();
        }
        sending.recv().unwrap();
        let received = lab.receiver.run(move || {
            let (mut received, mut next) = (0_u64, [0; 2]);
            drain(&socket, |datagram| {
                let number = u32::from_be_bytes(datagram[1..5].try_into().unwrap());
                let next = &mut next[usize::from(datagram[0])];
                assert!(number >= *next, "{number} of processor {} after {next}", datagram[0]);
                *next = number + 1;
                received += 1;
            });
            received + udp_count("RcvbufErrors")
        });
        let queued = sent_to_queue(0);
        let each: Vec<u64> = kernel_queues().unwrap().iter().map(|queue| queue.numbered).collect();
        let report = working.stop();
        let (counters, kernel) = (&report.counters, report.kernel.unwrap());
        eprintln!(
            "{queued} queued, {each:?} by each queue, {received} received, {} dropped",
            counters.dropped_total().packets
        );
        assert!(each.iter().all(|each| *each > u64::from(PACKETS) / 2), "{each:?}");
        assert_eq!(queued, counters.arrived.packets + kernel.dropped_full + kernel.dropped_unread, "{report:?}");
        assert_eq!(
            counters.arrived.packets,
            counters.departed.packets + counters.dropped_total().packets,
            "{report:?}"
        );
        assert_eq!((received, report.released), (counters.departed.packets, 0), "{report:?}");
        assert_eq!((report.unknown, report.malformed, report.reloads), (0, 0, 4), "{report:?}");
        assert!(counters.dropped_total().packets > 1000, "no overload: {report:?}");
    });
}

/// At the end waiting packets of both queues are sent at once. Would catch a thread that does not end, and a queue
/// whose packets are lost with its socket.
#[test]
fn the_end_releases_the_packets_of_both_queues() {
    lab(false, |lab| {
        if !has_two_processors() {
            return;
        }
        let droptail = QdiscParameters::new(Kind::DropTail).with("limit", "1000p").unwrap();
        let router = router(&droptail, Rate::from_bits_per_second(100_000));
        let (handle, firewall) = (router.handle(), install(Queues::new(0, 1).unwrap()));
        let working = spawn_router(|| router.run().unwrap());
        let socket = lab.receiver.run(listen);
        lab.sender.run(|| {
            send(0, 50);
            send(1, 50);
        });
        // A packet takes 5 ms, so most of them wait.
        thread::sleep(Duration::from_millis(100));
        firewall.stop(0).unwrap();
        handle.stop(fairlane_qdisc::Duration::ZERO);
        let report = working.join().unwrap();
        firewall.remove(0).unwrap();
        let received = lab.receiver.run(move || {
            let mut received = 0_u64;
            drain(&socket, |_| received += 1);
            received
        });
        let departed = report.counters.departed.packets;
        assert!(report.released > 20, "{report:?}");
        assert_eq!((received, departed + report.released), (100, 100), "{report:?}");
        assert_eq!((report.packets, kernel_queues().unwrap()), (0, vec![]), "{report:?}");
    });
}

/// Would catch a rule for several queues that does not select by processor or has no bypass.
#[test]
fn the_rule_spreads_packets_by_processor() {
    lab(false, |_| {
        let queues = Queues::new(4, 7).unwrap();
        let firewall = install(queues);
        let rules = tool("iptables-save", "-t mangle");
        assert!(
            rules.contains("-A FAIRLANE-Q4 -j NFQUEUE --queue-balance 4:7 --queue-bypass --queue-cpu-fanout"),
            "{rules}"
        );
        let left = fairlane_linux::leftovers().unwrap();
        assert_eq!(left.iter().map(|left| (left.firewall, left.queue)).collect::<Vec<_>>(), [(firewall, 4)]);
        firewall.remove(4).unwrap();
        assert!(!tool("iptables-save", "-t mangle").contains("FAIRLANE"));
    });
}
