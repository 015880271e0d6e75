//! The wait after a mark at a window of one segment (RFC 3168, section 6.1.2): if many flows send one packet per round
//! trip each, marks alone cannot reduce the load.

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// A hundred flows on a path of 50 packets and a queue of 25, with marks from 5 on. Without the setting 75 flows send
/// one packet per round trip: each departure causes the next packet of the same flow, so the queue stays full, and the
/// 25 others find it full whenever their timers, which double, allow a packet. With it marked flows wait for their
/// timers, twice as long each time: the queue is near the threshold, and fewer flows starve.
#[test]
fn marks_alone_do_not_empty_a_queue_but_waits_do() {
    let run = |ecn_timeout: bool| {
        let flow = format!("cc = \"reno\"\ncount = 100\ntcp = {{ ecn = true, ecn_timeout = {ecn_timeout} }}");
        let (run, _) = simulate(&[&flow], Queue { mark_at: 5, ..Queue::of(BDP / 2) }, (20, 60));
        let starved = 100 - rates(&run).iter().filter(|rate| **rate > 1e4).count();
        (run.queues[0].mean_packets, starved, utilisation(&run))
    };
    let (queue, starved, used) = run(false);
    assert!(queue > 22.0 && (20..=30).contains(&starved) && used > 0.99, "{queue} packets, {starved} starved, {used}");
    let (queue, starved, used) = run(true);
    assert!(queue < 8.0 && starved < 20 && used > 0.7, "{queue} packets, {starved} starved, {used}");
}
