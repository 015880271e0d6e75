//! The shaper over ten seconds, by the clock of the receiver's kernel.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the shaper works in real time")]

mod common;

use std::fs;
use std::time::Duration;

use common::send::send_at;
use common::{Lab, Wrong, arrivals, config, install, lab, spawn_router, undisturbed_but_for};
use fairlane_linux::{Report, Router};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};

const RATE: f64 = 10e6;
/// The size of an IP packet in bytes.
const BYTES: usize = 1500;
/// The time that a packet takes on the link in seconds.
const PACKET: f64 = 8.0 * BYTES as f64 / RATE;
/// The maximum deviation of a packet's time: its transmission time and a millisecond.
const BOUND: f64 = PACKET + 1e-3;

/// The longest pause that the shaper makes up for; shorter ones are in what is compared.
const MADE_UP_FOR: Duration = Duration::from_millis(50);

/// Returns the 99th percentile.
fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() * 99 / 100]
}

/// Returns the time in seconds that this thread was ready to run without a processor, since its start.
fn without_processor() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|ns| ns.parse::<f64>().ok());
    waited.unwrap_or(0.0) / 1e9
}

/// Ten seconds of a busy link. The rate is exact within a percent. By the receiver's clock 99 % of packets are within a
/// packet's time and a millisecond of their place behind the packet before, and no later by the router's own count.
/// Would catch a shaper that sends in bursts, drifts or sleeps too long.
///
/// Packets may be late if they were due while the router's thread was ready to run and others had the processors, by
/// the kernel's count. The shaper does not make up for a pause beyond 50 ms, so that a rate after one is measured
/// again.
#[test]
fn packets_leave_evenly_for_ten_seconds() {
    lab(false, |lab| {
        undisturbed_but_for(MADE_UP_FOR, || {
            let (report, arrivals, waited) = ten_seconds(lab);
            let result = check(&report, &arrivals, waited);
            (report, result)
        });
    });
}

/// Sends at 1.3 times the link's rate. Returns the router's report, the arrival times in seconds, and the time in
/// seconds for which the router's thread had no processor.
fn ten_seconds(lab: &Lab) -> (Report, Vec<f64>, f64) {
    let droptail = QdiscParameters::new(Kind::DropTail).with("limit", "300p").unwrap();
    let router = Router::new(&config(&droptail, Rate::from_bits_per_second(RATE as u64))).unwrap();
    let (handle, firewall) = (router.handle(), install(0));
    let working = spawn_router(|| (router.run().unwrap(), without_processor()));
    let arrivals = lab.receiver.start(arrivals);
    lab.sender.run(|| send_at(1.3 * RATE, BYTES, 10.0));
    firewall.stop(0).unwrap();
    handle.stop(fairlane_qdisc::Duration::from_secs(2.0));
    let (report, waited) = working.join().unwrap();
    firewall.remove(0).unwrap();
    (report, arrivals.recv().unwrap(), waited)
}

/// Compares ten seconds with what [`packets_leave_evenly_for_ten_seconds`] asks.
fn check(report: &Report, arrivals: &[f64], waited: f64) -> Result<(), Wrong> {
    let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let rate = gaps.len() as f64 * PACKET / gaps.iter().sum::<f64>();
    let off: Vec<f64> = gaps.iter().map(|gap| (gap - PACKET).abs()).collect();
    let far = off.iter().filter(|off| **off > BOUND).count();
    let jitter = p99(off);
    // The deviation between the limit and the upper bound of the last bucket below it is tolerated.
    let buckets = report.lateness.buckets();
    let late: u64 = buckets.filter(|(bound, _)| *bound > BOUND).map(|(_, count)| count).sum();
    let said = format!(
        "{rate:.5} of the rate, jitter {jitter:.6} s (p99), {far} far off and {late} late of {}, {waited:.3} s without a processor",
        report.lateness.count()
    );
    eprintln!("{said}");
    assert_eq!((report.released, report.kernel.unwrap().dropped_unread), (0, 0), "{said}: {report:?}");
    let hundredth = gaps.len() as f64 / 100.0;
    let right = gaps.len() > 8000
        && (rate - 1.0).abs() < 0.01
        // A pause that delays a packet this much is as long as the limit, and delays everything that is due meanwhile.
        && (far as f64) < hundredth + waited / BOUND
        && (late as f64) < hundredth + waited / PACKET;
    let off = (rate - 1.0).abs() * gaps.iter().sum::<f64>();
    if right { Ok(()) } else { Err(Wrong::new(said, off)) }
}
