//! The throughput equation, and back.

use fairlane_sim::tfrc::{loss_event_rate, throughput};

use crate::close;

/// The first is the specification's (appendix D). The second by hand: √(0.08/3) = 0.163299 and 12 · √0.015 · 0.04 · 1.0512 =
/// 0.061798 make 0.225097, and 10,000/0.225097 = 44,425.
#[test]
fn the_rate_for_a_loss_event_rate() {
    assert!((throughput(1000.0, 0.1, 0.01) - 112_332.0).abs() < 0.5);
    assert!(close(throughput(1000.0, 0.1, 0.04), 44_425.0, 1e-5));
    assert_eq!(throughput(1000.0, 0.1, 0.0), f64::INFINITY);
}

#[test]
fn the_loss_event_rate_for_a_rate() {
    assert!(close(loss_event_rate(1000.0, 0.1, 112_332.0), 0.01, 1e-5));
    for loss in [1e-8, 1e-4, 0.003, 0.05, 0.4, 0.99] {
        assert!(close(loss_event_rate(1460.0, 0.02, throughput(1460.0, 0.02, loss)), loss, 1e-9), "{loss}");
    }
    // Slower than with nothing but losses, and nonsense.
    for rate in [1.0, 0.0, -1.0] {
        assert_eq!(loss_event_rate(1000.0, 0.1, rate), 1.0, "{rate}");
    }
}

/// Two formulations of one equation, written apart.
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
