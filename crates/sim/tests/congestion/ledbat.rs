//! LEDBAT (RFC 6817).

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// Alone, it fills the link and keeps the queueing delay at its target: 30 ms are 37.5 packets of 0.8 ms. The window
/// moves around that by less than a packet each way, as the measured delay comes a round trip late.
#[test]
fn fills_an_idle_link_with_the_target_in_the_queue() {
    let flow = "cc = \"ledbat\"\ntcp = { ledbat_target = \"30ms\" }";
    let (run, seen) = simulate(&[flow], Queue::of(10 * BDP), (60, 120));
    let queue = run.queues[0].mean_packets;
    assert!((queue - 37.5).abs() < 2.0 && utilisation(&run) > 0.99, "{queue} packets, {}", utilisation(&run));
    assert!(seen.drops.is_empty());
}

/// With the target and the gain of RFC 7928, section 5.4, the round trip's steps are larger than the target, and the
/// link is still nearly full.
#[test]
fn fills_an_idle_link_with_the_parameters_of_rfc_7928() {
    let flow = "cc = \"ledbat\"\ntcp = { ledbat_target = \"5ms\", ledbat_gain = 10 }";
    let (run, _) = simulate(&[flow], Queue::of(2 * BDP), (20, 80));
    assert!(utilisation(&run) > 0.9, "{}", utilisation(&run));
}

/// LEDBAT yields to NewReno, which fills the buffer beyond the target: 80 ms, and 400 ms for the default of 100 ms.
#[test]
fn yields_to_newreno() {
    for (tcp, limit) in [
        ("{ ledbat_target = \"5ms\", ledbat_gain = 10 }", 2 * BDP),
        ("{ ledbat_target = \"25ms\" }", 2 * BDP),
        ("{ ledbat_target = \"100ms\" }", 10 * BDP),
    ] {
        let ledbat = format!("cc = \"ledbat\"\ntcp = {tcp}");
        let (run, _) = simulate(&["cc = \"newreno\"", &ledbat], Queue::of(limit), (20, 120));
        let rates = rates(&run);
        assert!(rates[1] <= 0.1 * 10e6 && rates[0] >= 0.8 * 10e6, "{tcp}: {rates:?}");
    }
}
