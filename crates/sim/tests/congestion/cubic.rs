//! CUBIC (RFC 9438).

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// With a buffer of 3/7 of the product, cutting to 70 % leaves the link just full (0.7 (1 + 3/7) = 1); Reno's half does not.
#[test]
fn needs_less_buffer_than_reno() {
    let used = |cc: &str| utilisation(&simulate(&[&format!("cc = \"{cc}\"")], Queue::of(BDP * 3 / 7), (20, 80)).0);
    let (cubic, reno) = (used("cubic"), used("sack"));
    assert!(cubic > 0.98, "{cubic}");
    assert!(reno < cubic - 0.01, "{reno}, cubic {cubic}");
}

/// A flow that comes late gets its share: who has lost ground since the last congestion gives way (fast convergence).
#[test]
fn a_late_flow_gets_its_share() {
    let (run, _) = simulate(&["cc = \"cubic\"", "cc = \"cubic\"\nstart = \"20s\""], Queue::of(BDP), (60, 160));
    let rates = rates(&run);
    assert!(rates.iter().all(|rate| (0.4..0.6).contains(&(rate / 10e6))), "{rates:?}");
    assert!(utilisation(&run) > 0.99);
}
