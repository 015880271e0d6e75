//! The throughput equation and its inverse.

use fairlane_sim::tfrc::{loss_event_rate, throughput};

use crate::close;

/// RFC 5348, section 3.1, by hand. For p = 0.01: √(0.02/3) = 0.081650 and 12 · √0.00375 · 0.01 · 1.0032 = 0.007372 make
/// 0.089022, and 10,000/0.089022 = 112,332. For p = 0.04: √(0.08/3) = 0.163299 and 12 · √0.015 · 0.04 · 1.0512 =
/// 0.061798 make 0.225097, and 10,000/0.225097 = 44,425.
#[test]
fn the_rate_for_a_loss_event_rate() {
    assert!((throughput(1000.0, 0.1, 0.01) - 112_332.0).abs() < 0.5);
    assert!(close(throughput(1000.0, 0.1, 0.04), 44_425.0, 1e-5));
    assert_eq!(throughput(1000.0, 0.1, 0.0), f64::INFINITY);
}

/// Would catch an inverse that is inexact, or invalid for rates that no loss event rate gives.
#[test]
fn the_loss_event_rate_for_a_rate() {
    assert!(close(loss_event_rate(1000.0, 0.1, 112_332.0), 0.01, 1e-5));
    for loss in [1e-8, 1e-4, 0.003, 0.05, 0.4, 0.99] {
        assert!(close(loss_event_rate(1460.0, 0.02, throughput(1460.0, 0.02, loss)), loss, 1e-9), "{loss}");
    }
    // Below the rate at p = 1, and invalid.
    for rate in [1.0, 0.0, -1.0] {
        assert_eq!(loss_event_rate(1000.0, 0.1, rate), 1.0, "{rate}");
    }
}

/// Compares with the independent implementation of the equation in `fairlane-theory`.
#[test]
fn the_senders_equation_is_that_of_the_theory() {
    for rtt in [0.001, 0.1, 3.0] {
        let path = fairlane_theory::TcpPath::tfrc(rtt).unwrap();
        for loss in [1e-6, 0.001, 0.01, 0.05, 0.3, 1.0] {
            let theory = 1000.0 * path.equation(loss).unwrap();
            assert!(close(throughput(1000.0, rtt, loss), theory, 1e-12), "{rtt} s, {loss}");
        }
    }
}
