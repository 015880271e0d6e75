//! INFOCOM 2000, Figure 7 and Table I: two congested links in a row.

use fairlane_outcome::Outcome;

use crate::setup::{measure, within};

/// Mean throughput of a flow of `group` at `queue`, in kbit/s.
fn each(outcome: &Outcome, queue: &str, group: &str) -> f64 {
    let flows = outcome.group(group).expect("a group").flows as f64;
    outcome.queue(queue).and_then(|queue| queue.group(group)).expect("it passes here").throughput_bps.mean / flows / 1e3
}

#[test]
fn table_1() {
    let outcome = measure("choke-table1", &[]);
    let queue = |name: &str| outcome.queue(name).expect("a queue of the scenario");
    // Both links are full: the table's columns add up to 1999.85 and 999.91 kbit/s.
    within("r2-r3 busy", queue("r2-r3").utilisation, 1.0, 0.99..=1.0);
    within("r3-r4 busy", queue("r3-r4").utilisation, 1.0, 0.99..=1.0);
    let udp = |name: &str| queue(name).group("cbr").expect("it passes everywhere");
    within("UDP dropped at r2-r3 in %", udp("r2-r3").drop_ratio, 100.0, 55.0..=76.0);
    within("UDP dropped at r3-r4 in %", udp("r3-r4").drop_ratio, 100.0, 45.0..=70.0);
    // ns-2 with a CHOKe added and Reno of 2000: 733 and 310 kbit/s; the paper: 740 and 333.
    within("UDP behind r2-r3, as in ns-2", udp("r2-r3").throughput_bps, 1e-3, 700.0..=766.0);
    within("UDP behind r3-r4, as in ns-2", udp("r3-r4").throughput_bps, 1e-3, 295.0..=325.0);
    // Flows alike get alike.
    for name in ["ftp-short", "ftp-middle", "ftp-long"] {
        let flows: Vec<f64> = outcome.flows_of(name).map(|flow| flow.throughput_bps.mean).collect();
        let mean = flows.iter().sum::<f64>() / flows.len() as f64;
        assert!(flows.iter().all(|flow| (flow / mean - 1.0).abs() <= 0.15), "{name}: {flows:?}");
    }
    let short = each(&outcome, "r2-r3", "ftp-short");
    let long = (each(&outcome, "r2-r3", "ftp-middle") + each(&outcome, "r2-r3", "ftp-long")) / 2.0;
    println!("  short flows {short:.1} kbit/s, long ones {long:.1}: {:.2} times", short / long);
    // The paper's one table has 3.24 times. ns-2 with a CHOKe added has 2.87 ± 0.03 (106.2 and 37.0 kbit/s), whatever max_p,
    // `wait` and the smallest timeout are; so have we. NewReno has 3.1, but takes UDP 100 kbit/s further from the paper.
    assert!((2.75..=3.0).contains(&(short / long)), "{short} kbit/s are {:.2} times {long}", short / long);
}
