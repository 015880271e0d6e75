//! HyStart, as in Linux's CUBIC, and HyStart++ (RFC 9406).

use super::bottleneck::{BDP, Queue, simulate};

/// With a buffer of ten bandwidth-delay products slow start overflows the buffer within a second. With HyStart++ a rise
/// of the round-trip time by an eighth ends slow start: five rounds of growth by a quarter take the window to about
/// three times its size, which fits the buffer, and congestion avoidance continues from there. The link is full in both
/// cases.
#[test]
fn leaves_slow_start_before_a_loss() {
    for cc in ["cubic", "sack"] {
        let start = |slow_start: &str| {
            let flow = format!("cc = \"{cc}\"\ntcp = {{ slow_start = \"{slow_start}\" }}");
            let (_, seen) = simulate(&[&flow], Queue::of(10 * BDP), (0, 4));
            let carried = seen.arrivals.iter().filter(|(at, _)| (1.0..2.0).contains(&at.as_secs())).count();
            (seen.drops.first().map(|at| at.as_secs()), carried)
        };
        let (without, with) = (start("standard"), start("hystart++"));
        assert!(without.0.is_some_and(|at| at < 1.0), "{cc}: {without:?}");
        // The link carries 1250 packets a second.
        assert!(with.0.is_none() && with.1 >= 1_240, "{cc}: {with:?}");
    }
}

/// CUBIC as in Linux with a buffer of one bandwidth-delay product. The round trip is 40.9 ms without a queue, and
/// while the link is busy an acknowledgement arrives each 0.8 ms. HyStart's first round begins with the 7th, which
/// finds a window of 16 and 22 segments sent, the next ones with the 23rd and the 55th. The 55th segment to the 63rd
/// were sent when 12 packets and more waited, so that their round trips are more than an eighth longer, and slow start
/// ends. The queue has grown by one packet with each acknowledgement from the 31st on, to about 32, and never reaches
/// the 50 packets that fill the buffer, as it does within half a second in standard slow start.
#[test]
fn a_longer_round_trip_ends_slow_start() {
    let longest = |flow: &str| {
        let (_, seen) = simulate(&[flow], Queue::of(BDP), (0, 2));
        let early = seen.arrivals.iter().filter(|(at, _)| at.as_secs() < 0.5).map(|(_, queued)| *queued).max();
        let late = seen.arrivals.iter().filter(|(at, _)| (0.5..1.5).contains(&at.as_secs())).count();
        (early.unwrap_or(0), late, seen.drops.first().is_some_and(|at| at.as_secs() < 1.5))
    };
    let (queued, carried, drops) = longest("cc = \"cubic\"\ntcp = { slow_start = \"hystart\" }");
    assert!((30..=33).contains(&queued) && !drops, "{queued} packets, drops: {drops}");
    // The link carries 1250 packets in the second.
    assert!(carried >= 1_240, "{carried}");
    let (queued, _, drops) = longest("cc = \"cubic\"\ntcp = { slow_start = \"standard\" }");
    assert!(queued >= BDP - 1 && drops, "{queued} packets, drops: {drops}");
}
