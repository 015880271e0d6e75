//! The queues of disciplines that control delay under a flood, compared with those of Linux.

use fairlane_outcome::Outcome;

use crate::setup::{document, simulate};

/// Eight TCP flows and a flood of `rate` on 10 Mbit/s, with packets of 1000 bytes and a round-trip time of 20 ms.
fn mean_queue(kind: &str, rate: &str) -> f64 {
    let (run, _) = simulate(&document(&format!(
        r#"
        duration = "60s"
        warmup = "20s"
        [tcp]
        preset = "modern"
        [bottleneck]
        rate = "10mbit"
        delay = "10ms"
        queue = {{ kind = "{kind}", limit = "300p" }}
        [access]
        rate = "1gbit"
        delay = "0ms"
        [[flows]]
        name = "tcp"
        kind = "tcp"
        cc = "sack"
        count = 8
        window = 1000
        packet = "1000b"
        start = "0s..1s"
        [[flows]]
        name = "udp"
        kind = "udp"
        rate = "{rate}"
        packet = "1000b"
        start = "0s..1s"
        "#
    )));
    Outcome::from_runs([run]).expect("one run").queues[0].mean_packets.mean
}

/// Linux 6.1.192 in a virtual machine, behind tbf with the same rate, times and limit, eight Reno flows: the mean queue
/// of fq_pie was 23.1 packets at twice the rate and 24.9 at ten times the rate, that of fq_codel 240.9 at twice the
/// rate, and packets waited 15.1 ms under pie, or 18.9 packets, at ten times the rate. Would catch a controller that is
/// bounded by a probability of 1: fq-pie would have 178 and 198 packets, pie 194.
#[test]
fn queues_under_a_flood_are_those_of_linux() {
    for (kind, rate, linux) in [
        ("fq-pie", "20mbit", 23.1),
        ("fq-pie", "100mbit", 24.9),
        ("pie", "100mbit", 18.9),
        ("fq-codel", "20mbit", 240.9),
    ] {
        let queue = mean_queue(kind, rate);
        println!("{kind} at {rate}: {queue:.1} packets, Linux {linux}");
        assert!((queue / linux - 1.0).abs() < 0.25, "{kind} at {rate}: {queue} packets, Linux {linux}");
    }
}
