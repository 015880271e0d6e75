//! A million packets through `fairlane router`, between network namespaces: each gets exactly one verdict, also under
//! reloads and overload.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "signals and sockets need real time")]

mod common;
#[path = "../../linux/tests/common/mod.rs"]
mod lab;
#[path = "common/namespace.rs"]
#[allow(dead_code, reason = "the namespaces are those of the lab")]
mod namespace;
#[path = "common/running.rs"]
mod running;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::Place;
use fairlane_linux::{KernelQueue, kernel_queues};
use lab::send::send_while;
use lab::{drain, install, lab, listen, sent_to_queue, udp_count};
use nix::sys::signal::Signal;
use running::{Running, scrape};
use serde_json::Value;

fn kernel() -> KernelQueue {
    kernel_queues().unwrap()[0]
}

/// Stops the router's process until the kernel has dropped packets for lack of room, or no more packets come.
fn stop_until_the_kernel_drops(router: &Running, over: &AtomicBool) {
    let dropped = || kernel().dropped_full + kernel().dropped_unread;
    let (before, start) = (dropped(), Instant::now());
    router.stop();
    while dropped() < before + 100 && !over.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(3) {
        thread::sleep(Duration::from_millis(5));
    }
    router.signal(Signal::SIGCONT);
}

/// The router's metrics, each as its name with labels and its value.
fn metrics() -> Vec<(String, f64)> {
    let text = scrape();
    let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
    lines.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

/// The sum of the metrics whose names begin with this prefix.
fn sum(metrics: &[(String, f64)], prefix: &str) -> u64 {
    metrics.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, value)| value).sum::<f64>() as u64
}

/// A million packets at several times the link's rate, with repeated reloads, and pauses of the router's process until
/// the kernel has no room. Would catch a packet without a verdict or with two, a drop that is counted twice or not at
/// all, and a reload that loses queued packets: packets sent to the queue = received + dropped by the router, by
/// reason + dropped by the kernel.
#[test]
fn a_million_packets_get_one_verdict_each() {
    const PACKETS: u64 = 1_050_000;
    lab(false, move |lab| {
        let place = Place::new();
        let write = |round: usize| {
            let (rate, queue) = [
                ("50mbit", "kind = \"choke\", limit = \"1000p\", min = \"100p\", max = \"500p\""),
                ("20mbit", "kind = \"fq-codel\", limit = \"500p\""),
                ("80mbit", "kind = \"droptail\", limit = \"2000p\""),
                ("50mbit", "kind = \"xchoke\", limit = \"1000p\", min = \"100p\", max = \"500p\""),
            ][round % 4];
            let text = format!("queue-num = 0\nrate = \"{rate}\"\nmetrics = 9277\nqueue = {{ {queue} }}\n");
            place.write("router.toml", &text)
        };
        let mut router = Running::start(&["--log=json", "--config", &write(0)]);
        // After the start, which removes rules that another router left for this queue.
        let firewall = install(0);
        let socket = lab.receiver.run(listen);
        let over = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&over);
        let sender = lab.sender.start(move || {
            send_while(64, |sent| sent < PACKETS);
            tell.store(true, Ordering::Relaxed);
        });
        let (mut reloads, mut stops) = (0, 0);
        while !over.load(Ordering::Relaxed) {
            reloads += 1;
            write(reloads);
            router.signal(Signal::SIGHUP);
            thread::sleep(Duration::from_millis(60));
            if reloads % 10 == 5 {
                stop_until_the_kernel_drops(&router, &over);
                stops += 1;
            }
        }
        sender.recv().unwrap();
        let received = lab.receiver.run(move || {
            let mut received = 0;
            drain(&socket, |_| received += 1);
            received + udp_count("RcvbufErrors")
        });
        let (queued, at_rest) = (sent_to_queue(0), metrics());
        firewall.stop(0).unwrap();
        router.signal(Signal::SIGTERM);
        let ended: Value = serde_json::from_str(&router.wait_for("\"ended\"")).unwrap();
        firewall.remove(0).unwrap();
        let count = |key: &str| ended[key].as_u64().unwrap();
        let [arrived, departed, dropped, released, kernel_dropped] =
            ["arrived", "departed", "dropped", "released", "kernel_dropped"].map(count);
        eprintln!("{queued} queued, {reloads} reloads, {stops} stops: {ended}");
        assert_eq!(queued, received + dropped + kernel_dropped, "{ended}");
        assert_eq!((queued - kernel_dropped, received), (arrived, departed), "{ended}");
        assert_eq!((arrived, released), (departed + dropped, 0), "{ended}");
        // The final drop counts, by reason.
        let of = |prefix| sum(&at_rest, prefix);
        assert_eq!((of("fairlane_dropped_packets_total"), of("fairlane_kernel_dropped_")), (dropped, kernel_dropped));
        let matched = "fairlane_dropped_packets_total{queue=\"0\",reason=\"match_victim\"}";
        assert!(of(matched) > 1000, "no overload: {ended}");
        let faults = ["fairlane_unknown_verdicts", "fairlane_malformed_messages", "fairlane_backlog_packets"].map(of);
        assert_eq!(faults, [0; 3], "{ended}");
        assert!(queued >= PACKETS - 50_000 && reloads >= 20 && stops >= 2, "{queued} packets, {reloads} reloads");
        assert!(kernel_dropped >= 100, "the kernel had room for all: {ended}");
        assert!(of("fairlane_reloads_total") >= 20, "{ended}");
    });
}
