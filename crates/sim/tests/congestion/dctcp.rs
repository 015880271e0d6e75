//! DCTCP (RFC 8257) with a marking threshold of 10 packets, more than a seventh of the path's 50 packets (Alizadeh et
//! al., SIGCOMM 2010, section 3.4).

use super::bottleneck::{BDP, Queue, simulate, utilisation};

const THRESHOLD: usize = 10;
const SHALLOW: Queue = Queue { mark_at: THRESHOLD, ..Queue::of(10 * BDP) };

/// Alizadeh et al., section 3.3: the window oscillates between W and W (1 - alpha / 2), with alpha = sqrt(2 / W) and W
/// the 60 packets of path and threshold, and the queue between 11 and 5.5 packets. Reno with the same marks oscillates
/// between 60 and 30 packets and leaves the link idle at times.
#[test]
fn holds_the_threshold_and_fills_the_link() {
    let (run, seen) = simulate(&["cc = \"dctcp\""], SHALLOW, (20, 60));
    let steady = seen.arrivals.iter().filter(|(at, _)| at.as_secs() > 20.0);
    let found: Vec<usize> = steady.map(|(_, found)| *found).collect();
    let (least, most) = (found.iter().min(), found.iter().max());
    assert!(utilisation(&run) > 0.995, "{}", utilisation(&run));
    assert!((7.0..=9.5).contains(&run.queues[0].mean_packets), "{}", run.queues[0].mean_packets);
    assert!(least >= Some(&2) && most <= Some(&(THRESHOLD + 3)), "from {least:?} to {most:?}");
    let (reno, _) = simulate(&["cc = \"sack\"\ntcp = { ecn = true }"], SHALLOW, (20, 60));
    assert!(utilisation(&reno) < 0.95, "{}", utilisation(&reno));
}

/// Section 3.3: with N flows the largest queue is K + N packets, and some more if they are not synchronised.
#[test]
fn several_flows_hold_it_too() {
    let (run, seen) = simulate(&["cc = \"dctcp\"\ncount = 4"], SHALLOW, (20, 60));
    let most = seen.arrivals.iter().filter(|(at, _)| at.as_secs() > 20.0).map(|(_, found)| *found).max();
    assert!(utilisation(&run) > 0.99, "{}", utilisation(&run));
    assert!(most <= Some(THRESHOLD + 2 * 4) && seen.drops.is_empty(), "{most:?}");
}

/// Would catch delayed acknowledgements that distort the echo (RFC 8257, section 3.2): the queue oscillates as without
/// them, plus the bursts of two packets. The counter of accurate ECN (RFC 9768) tells the same.
#[test]
fn delayed_acknowledgements_echo_as_accurately() {
    for accurate in [false, true] {
        let keys = format!("cc = \"dctcp\"\ntcp = {{ delayed_ack = \"40ms\", accurate_ecn = {accurate} }}");
        let (run, seen) = simulate(&[&keys], SHALLOW, (20, 60));
        let most = seen.arrivals.iter().filter(|(at, _)| at.as_secs() > 20.0).map(|(_, found)| *found).max();
        assert!(utilisation(&run) > 0.99 && most <= Some(THRESHOLD + 5), "{}, {most:?}", utilisation(&run));
        assert!((6.5..=10.0).contains(&run.queues[0].mean_packets), "{}", run.queues[0].mean_packets);
    }
}
