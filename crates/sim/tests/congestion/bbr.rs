//! BBR (draft-cardwell-iccrg-bbr-congestion-control-00).

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// A buffer of ten bandwidth-delay products stays nearly empty, and the link full but for ProbeRTT's 200 ms and a round trip
/// in ten seconds. With several flows the windows of two products overlap; even so the queue is one product, not nine, as
/// with CUBIC. Would catch a model that takes its own queue for the path.
#[test]
fn leaves_a_large_buffer_empty() {
    for count in [1, 4] {
        let (run, seen) = simulate(&[&format!("cc = \"bbr\"\ncount = {count}")], Queue::of(10 * BDP), (20, 60));
        let (used, queue) = (utilisation(&run), run.queues[0].mean_packets);
        assert!(used > 0.96 && queue < 1.5 * BDP as f64, "{count} flows: {used} of the link, {queue} packets");
        assert!(seen.drops.is_empty());
        let fair = 10e6 * used / f64::from(count);
        assert!(rates(&run).iter().all(|rate| (0.7..1.3).contains(&(rate / fair))), "{:?}", rates(&run));
    }
    let (run, _) = simulate(&["cc = \"cubic\""], Queue::of(10 * BDP), (20, 60));
    assert!(run.queues[0].mean_packets > 5.0 * BDP as f64);
}

/// One loss in a hundred is no congestion to BBR. Reno's law leaves sqrt(1.5 / 0.01) = 12 packets of the 50. What arrives
/// beyond a hole counts when it arrives: if it counted all at once when the hole is filled, the path would look faster than
/// it is, and a queue would grow.
#[test]
fn does_not_mistake_random_losses_for_congestion() {
    let lossy = Queue { loss: 0.01, ..Queue::of(10 * BDP) };
    let run = |cc: &str| simulate(&[&format!("cc = \"{cc}\"")], lossy, (20, 60)).0;
    let (bbr, reno) = (run("bbr"), run("newreno"));
    let queue = bbr.queues[0].mean_packets;
    // What is lost is lost before the link.
    assert!(utilisation(&bbr) > 0.9 && queue < 0.2 * BDP as f64, "{}, {queue} packets", utilisation(&bbr));
    assert!(utilisation(&reno) < 0.3, "{}", utilisation(&reno));
}

/// Startup doubles the rate each round trip: the link, worth 50 packets a round trip, is full after log2(50 / 10) of them,
/// and three more find that nothing grows. Drain then empties the queue within about as many.
#[test]
fn starts_quickly_and_drains() {
    let (_, seen) = simulate(&["cc = \"bbr\""], Queue::of(10 * BDP), (0, 2));
    let in_second = |from: f64, to: f64| {
        let within = seen.arrivals.iter().filter(move |(at, _)| (from..to).contains(&at.as_secs()));
        within.map(|(_, found)| *found).collect::<Vec<_>>()
    };
    // 1250 packets a second.
    assert!(in_second(0.3, 0.8).len() > 500, "{}", in_second(0.3, 0.8).len());
    let late = in_second(1.0, 2.0);
    let mean = late.iter().sum::<usize>() as f64 / late.len() as f64;
    assert!(late.len() > 1_150 && mean < 15.0, "{} packets found {mean}", late.len());
}

/// On a path of 10 ms the 200 ms of ProbeRTT are more rounds than the estimate of the bandwidth remembers. It must not take
/// the four packets a round trip for the path's rate, and find that again step by step. Of 600 ms, which carry 750 packets,
/// 210 carry 0.4 a millisecond instead of 1.25, and the next round trip begins with four: 560 are left.
#[test]
fn forgets_no_bandwidth_while_it_looks_for_the_round_trip() {
    let (_, seen) = simulate(&["cc = \"bbr\""], Queue { delay_ms: 3, ..Queue::of(10 * BDP) }, (0, 40));
    let in_600_ms = |from: f64| {
        let first = seen.arrivals.partition_point(|(at, _)| at.as_secs() < from);
        seen.arrivals.partition_point(|(at, _)| at.as_secs() < from + 0.6) - first
    };
    let least = (100..3_900).map(|step| in_600_ms(f64::from(step) * 0.01)).min();
    assert!(least > Some(540), "{least:?}");
}

/// ProbeRTT: about every ten seconds at most four packets a round trip for 200 ms, and a round trip to get there.
#[test]
fn looks_for_the_shortest_round_trip_every_ten_seconds() {
    let (_, seen) = simulate(&["cc = \"bbr\""], Queue::of(10 * BDP), (0, 60));
    // 200 ms carry 250 packets otherwise, and in ProbeRTT 4 in each of 5 round trips.
    let quiet = |second: f64| {
        seen.arrivals.iter().filter(|(at, _)| (second..second + 0.2).contains(&at.as_secs())).count() <= 24
    };
    let mut probes: Vec<f64> = Vec::new();
    for step in 0..11_960_u32 {
        let second = f64::from(step) * 0.005;
        if quiet(second) && probes.last().is_none_or(|last| second > last + 1.0) {
            probes.push(second);
        }
    }
    assert!((5..=6).contains(&probes.len()), "{probes:?}");
    assert!(probes.windows(2).all(|pair| (10.0..11.0).contains(&(pair[1] - pair[0]))), "{probes:?}");
}
