//! Vegas (Brakmo, Peterson 1995).

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// Would catch a wrong base or wrong units: with any buffer, between alpha = 1 and beta = 3 packets are queued,
/// without loss.
#[test]
fn keeps_one_to_three_packets_queued() {
    for buffer in [BDP, 10 * BDP] {
        let (run, seen) = simulate(&["cc = \"vegas\""], Queue::of(buffer), (20, 60));
        let queue = run.queues[0].mean_packets;
        assert!((1.0..=3.0).contains(&queue) && utilisation(&run) > 0.99, "{queue} packets, {}", utilisation(&run));
        assert!(seen.drops.is_empty());
    }
}

/// With a flow that fills the buffer, Vegas sees the queue and reduces its window (Mo, La, Anantharam and Walrand,
/// INFOCOM 1999).
#[test]
fn gives_way_to_reno() {
    let (run, _) = simulate(&["cc = \"vegas\"", "cc = \"sack\""], Queue::of(2 * BDP), (20, 80));
    let rates = rates(&run);
    assert!(rates[1] > 3.0 * rates[0] && rates[0] > 0.0, "{rates:?}");
}
