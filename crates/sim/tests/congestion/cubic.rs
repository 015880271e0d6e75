//! CUBIC (RFC 9438).

use super::bottleneck::{BDP, Queue, rates, simulate, utilisation};

/// With a buffer of 3/7 of the bandwidth-delay product a reduction to 70 % keeps the link just full (0.7 (1 + 3/7) =
/// 1), and Reno's to a half does not. Would catch a wrong β.
#[test]
fn needs_less_buffer_than_reno() {
    let used = |cc: &str| utilisation(&simulate(&[&format!("cc = \"{cc}\"")], Queue::of(BDP * 3 / 7), (20, 80)).0);
    let (cubic, reno) = (used("cubic"), used("sack"));
    assert!(cubic > 0.98, "{cubic}");
    assert!(reno < cubic - 0.01, "{reno}, cubic {cubic}");
}

/// Would catch a flow that starts late and does not get its share: with fast convergence the other one releases
/// bandwidth.
#[test]
fn a_late_flow_gets_its_share() {
    let (run, _) = simulate(&["cc = \"cubic\"", "cc = \"cubic\"\nstart = \"20s\""], Queue::of(BDP), (60, 160));
    let rates = rates(&run);
    assert!(rates.iter().all(|rate| (0.4..0.6).contains(&(rate / 10e6))), "{rates:?}");
    assert!(utilisation(&run) > 0.99);
}
