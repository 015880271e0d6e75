//! HyStart++ (RFC 9406).

use super::bottleneck::{BDP, Queue, simulate};

/// With a buffer of ten bandwidth-delay products slow start overflows the buffer within a second. With HyStart++ a rise
/// of the round-trip time by an eighth ends slow start: five rounds of growth by a quarter take the window to about
/// three times its size, which fits the buffer, and congestion avoidance continues from there. The link is full in both
/// cases.
#[test]
fn leaves_slow_start_before_a_loss() {
    for cc in ["cubic", "sack"] {
        let start = |hystart: bool| {
            let flow = format!("cc = \"{cc}\"\ntcp = {{ hystart = {hystart} }}");
            let (_, seen) = simulate(&[&flow], Queue::of(10 * BDP), (0, 4));
            let carried = seen.arrivals.iter().filter(|(at, _)| (1.0..2.0).contains(&at.as_secs())).count();
            (seen.drops.first().map(|at| at.as_secs()), carried)
        };
        let (without, with) = (start(false), start(true));
        assert!(without.0.is_some_and(|at| at < 1.0), "{cc}: {without:?}");
        // The link carries 1250 packets a second.
        assert!(with.0.is_none() && with.1 >= 1_240, "{cc}: {with:?}");
    }
}
