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
/// while the link is busy an acknowledgement arrives each 0.8 ms. Slow start ends after 20.95 ms, half of 40.9 and 1
/// ms. Rounds of 10 and 20 segments are shorter. In the round of 40 the 28th acknowledgement arrives 21.6 ms after the
/// first, when the window has grown by 27 segments. The queue has grown by one packet with each of these, and never
/// reaches the 50 packets that fill the buffer, as it does within half a second in standard slow start.
#[test]
fn a_long_train_ends_slow_start() {
    let longest = |flow: &str| {
        let (_, seen) = simulate(&[flow], Queue::of(BDP), (0, 2));
        let early = seen.arrivals.iter().filter(|(at, _)| at.as_secs() < 0.5).map(|(_, queued)| *queued).max();
        let late = seen.arrivals.iter().filter(|(at, _)| (0.5..1.5).contains(&at.as_secs())).count();
        (early.unwrap_or(0), late, seen.drops.first().is_some_and(|at| at.as_secs() < 1.5))
    };
    let (queued, carried, drops) = longest("cc = \"cubic\"\ntcp = { slow_start = \"hystart\" }");
    assert!((26..=29).contains(&queued) && !drops, "{queued} packets, drops: {drops}");
    // The link carries 1250 packets in the second.
    assert!(carried >= 1_240, "{carried}");
    let (queued, _, drops) = longest("cc = \"cubic\"\ntcp = { slow_start = \"standard\" }");
    assert!(queued >= BDP - 1 && drops, "{queued} packets, drops: {drops}");
}
