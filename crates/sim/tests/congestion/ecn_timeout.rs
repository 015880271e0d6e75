//! Why there is a wait at a window of one (RFC 3168 6.1.2): where each of many flows already sends one packet a round trip,
//! marks alone cannot take the load away.

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// A hundred flows on a path that holds 50 packets and a queue of 25, with marks from 5 on. Without the switch 75 flows go on
/// with a packet a round trip: each departure brings the next packet of the same flow, so the queue stays full, and the 25
/// others find it so whenever their timers, ever longer, let them try. With it who is marked waits for the timer, twice as
/// long each time: the queue stands near the mark, and fewer starve.
#[test]
fn marks_alone_do_not_empty_a_queue_but_waits_do() {
    let run = |switch: bool| {
        let flow = format!("cc = \"reno\"\ncount = 100\ntcp = {{ ecn = true, ecn_timeout = {switch} }}");
        let (run, _) = simulate(&[&flow], Queue { mark_at: 5, ..Queue::of(BDP / 2) }, (20, 60));
        let starved = 100 - rates(&run).iter().filter(|rate| **rate > 1e4).count();
        (run.queues[0].mean_packets, starved, utilisation(&run))
    };
    let (queue, starved, used) = run(false);
    assert!(queue > 22.0 && (20..=30).contains(&starved) && used > 0.99, "{queue} packets, {starved} starved, {used}");
    let (queue, starved, used) = run(true);
    assert!(queue < 8.0 && starved < 20 && used > 0.7, "{queue} packets, {starved} starved, {used}");
}
