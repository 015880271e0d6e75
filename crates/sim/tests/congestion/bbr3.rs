//! BBR, version 3 (draft-ietf-ccwg-bbr).

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// BBR paces 1 % below the bandwidth, and ProbeRTT costs 2 % (section 5.3.4.2), so 97 % of the link remain, with a
/// short queue, at each size of the buffer: ten, one and a fifth of the bandwidth-delay product. Would catch a
/// long-term bound that stays low after losses in the small buffer, and a flow that fills the large one.
#[test]
fn fills_a_link_alone() {
    for limit in [10 * BDP, BDP, BDP / 5] {
        let (run, _) = simulate(&["cc = \"bbr3\""], Queue::of(limit), (20, 60));
        let (used, queue) = (utilisation(&run), run.queues[0].mean_packets);
        assert!(used > 0.95 && queue < 0.2 * BDP as f64, "{limit}: {used} of the link, {queue} packets");
    }
}

/// Would catch flows that take each other's queue for the path, and one that starts late and does not get its share.
#[test]
fn several_flows_share_evenly() {
    let four = simulate(&["cc = \"bbr3\"\ncount = 4"], Queue::of(10 * BDP), (20, 60)).0;
    let late = simulate(&["cc = \"bbr3\"", "cc = \"bbr3\"\nstart = \"20s\""], Queue::of(2 * BDP), (60, 160)).0;
    for run in [four, late] {
        let (used, rates) = (utilisation(&run), rates(&run));
        let fair = 10e6 * used / rates.len() as f64;
        assert!(used > 0.95 && rates.iter().all(|rate| (0.7..1.3).contains(&(rate / fair))), "{used}, {rates:?}");
        assert!(run.queues[0].mean_packets < 1.6 * BDP as f64);
    }
}

/// Section 5.3.3.8.2: CUBIC is to reach a bandwidth at least as high as BBR's. With a buffer of one and two
/// bandwidth-delay products it does, and BBR has a quarter of the link and more. Version 1 leaves CUBIC less than a
/// third of it, at four times the losses.
#[test]
fn leaves_cubic_its_share() {
    let run = |cc: &str, limit| {
        let flow = format!("cc = \"{cc}\"");
        let (run, seen) = simulate(&[&flow, "cc = \"cubic\""], Queue::of(limit), (20, 120));
        (rates(&run), seen.drops.len())
    };
    for limit in [BDP, 2 * BDP] {
        let (rates, _) = run("bbr3", limit);
        assert!(rates[1] >= rates[0] && rates[0] > 2.5e6 && rates[0] + rates[1] > 9.7e6, "{rates:?}");
    }
    let ((_, drops), (first, first_drops)) = (run("bbr3", BDP), run("bbr", BDP));
    assert!(first[1] < 3.3e6 && first_drops > 3 * drops, "{first:?}, {first_drops} and {drops} drops");
}

/// Losses of 1 % are tolerated (section 5.3.3.8.3), and of 5 % are congestion, more than 2 % in each probe: it
/// retreats, unlike version 1. Reno has sqrt(1.5 / 0.01) = 12 packets of the 50.
#[test]
fn tolerates_one_percent_of_losses_and_not_five() {
    let used = |cc: &str, loss| {
        utilisation(&simulate(&[&format!("cc = \"{cc}\"")], Queue { loss, ..Queue::of(10 * BDP) }, (20, 80)).0)
    };
    assert!(used("bbr3", 0.01) > 2.0 * used("sack", 0.01));
    assert!(used("bbr3", 0.05) < 0.4 && used("bbr", 0.05) > 0.9);
}

/// Section 3.7: marks are congestion. From ten packets in the queue on, packets are marked. A probe at 1.25 times the
/// rate adds 12.5 packets in the round trip until the sender knows, and two for its window. The link is full. Would
/// catch a flow that ignores them.
#[test]
fn goes_by_marks() {
    let flow = "cc = \"bbr3\"\ntcp = { ecn = true }";
    let (run, seen) = simulate(&[flow], Queue { mark_at: 10, ..Queue::of(10 * BDP) }, (20, 60));
    let most = seen.arrivals.iter().filter(|(at, _)| at.as_secs() > 20.0).map(|(_, found)| *found).max();
    assert!(utilisation(&run) > 0.95 && most <= Some(10 + 13 + 2) && seen.drops.is_empty(), "{most:?}");
}
