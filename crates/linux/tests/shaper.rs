//! The shaper for ten seconds, by the clock of the receiver's kernel.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the shaper works in real time")]

mod common;

use std::fs;
use std::thread;

use common::send::send_at;
use common::{arrivals, config, install, lab};
use fairlane_linux::Router;
use fairlane_qdisc::{Kind, QdiscConfig, Rate};

const RATE: f64 = 10e6;
/// Bytes of an IP packet.
const BYTES: usize = 1500;
/// What a packet takes of the link, in seconds.
const PACKET: f64 = 8.0 * BYTES as f64 / RATE;
/// How far from its place a packet may be: its own time and a millisecond.
const BOUND: f64 = PACKET + 1e-3;

/// The value that all but a hundredth are below.
fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() * 99 / 100]
}

/// How long this thread was ready to run and got no processor, since its start, in seconds.
fn without_processor() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|ns| ns.parse::<f64>().ok());
    waited.unwrap_or(0.0) / 1e9
}

/// Ten seconds of a link that has always something to send: the rate within a percent, and packets, for all but a hundredth, within
/// a packet's time and a millisecond of their place behind the one before by the receiver's clock, and no later by the router's own
/// count. Would catch a shaper that sends in bursts, drifts or sleeps too long.
///
/// Packets that were due while the router's thread was ready and others had the processors, by the kernel's count, may be late.
#[test]
fn packets_leave_evenly_for_ten_seconds() {
    lab(false, |lab| {
        let droptail = QdiscConfig::new(Kind::DropTail).with("limit", "300p").unwrap();
        let router = Router::new(&config(droptail, Rate::from_bits_per_second(RATE as u64))).unwrap();
        let (remote, firewall) = (router.remote(), install(0));
        let working = thread::spawn(|| (router.run().unwrap(), without_processor()));
        let arrivals = lab.receiver.start(arrivals);
        lab.sender.run(|| send_at(1.3 * RATE, BYTES, 10.0));
        firewall.stop(0).unwrap();
        remote.stop(fairlane_qdisc::Duration::from_secs(2.0));
        let (report, waited) = working.join().unwrap();
        firewall.remove(0).unwrap();
        let arrivals = arrivals.recv().unwrap();
        let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let rate = gaps.len() as f64 * PACKET / gaps.iter().sum::<f64>();
        let off: Vec<f64> = gaps.iter().map(|gap| (gap - PACKET).abs()).collect();
        let far = off.iter().filter(|off| **off > BOUND).count();
        let jitter = p99(off);
        // What the bound is above the upper bound of the last class below it is given away.
        let classes = report.lateness.classes();
        let late: u64 = classes.filter(|(bound, _)| *bound > BOUND).map(|(_, count)| count).sum();
        let said = format!(
            "{rate:.5} of the rate, jitter {jitter:.6} s (p99), {far} far off and {late} late of {}, {waited:.3} s without a processor",
            report.lateness.count()
        );
        eprintln!("{said}");
        assert!(gaps.len() > 8000, "{said}: {report:?}");
        assert!((rate - 1.0).abs() < 0.01, "{said}: {report:?}");
        let hundredth = gaps.len() as f64 / 100.0;
        // A pause that puts a packet so far off is as long as the bound, and makes everything late that is due meanwhile.
        assert!((far as f64) < hundredth + waited / BOUND, "{said}: {report:?}");
        assert!((late as f64) < hundredth + waited / PACKET, "{said}: {report:?}");
        assert_eq!((report.released, report.kernel.unwrap().dropped_unread), (0, 0), "{said}: {report:?}");
    });
}
