//! CUBIC's curve (RFC 9438), without a queue.

use fairlane_scenario::Congestion::Cubic;

use super::era;
use super::path::{Path, ms};

/// The window at each of `millis`, for a sender with a window of `initial` that loses its first segment.
fn windows(initial: u32, round_trip: u64, millis: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut path = Path::new(&era(Cubic, initial), ms(round_trip)).losing(&[(0, 0)]);
    path.start();
    let window = |millis| {
        path.run_to(millis);
        path.sender.cwnd()
    };
    millis.map(window).collect()
}

/// From 70 % of 100 segments on, W(t) = 0.4 (t - K)^3 + 100 with K = 4.2172 s (RFC 9438 4.2; SPEC's vector): concave up to
/// 100, flat there, convex beyond. The loss shows after one round trip of 200 ms and is repaired after the second, when the
/// clock of the curve starts. An acknowledgement takes the window to where the curve will be a round trip on, so it lies
/// between there and the curve itself. A growth without its memory of 100, or with another C or K, leaves that corridor.
/// Reno would have 70 + 0.529 · 40 at its end.
#[test]
fn the_window_follows_the_curve() {
    let curve = |t: f64| 0.4 * (t - 4.2172) * (t - 4.2172) * (t - 4.2172) + 100.0;
    let seconds = 1..=8;
    for (second, window) in seconds.clone().zip(windows(100, 200, seconds.map(|second| 400 + 1000 * second))) {
        let t = f64::from(second as u32);
        let corridor = curve(t) - 0.2..=curve(t + 0.2) + 0.2;
        assert!(corridor.contains(&window), "at {t} s: {window}, not in {corridor:?}");
    }
}

/// Where the round trip is short, Reno's window grows faster than the curve: 14 + 3 (1 - 0.7) / (1 + 0.7) a round trip
/// (RFC 9438 4.3), until it is at the former 20; from then on 1 a round trip. With 10 ms that is from 12 round trips on.
#[test]
fn is_no_slower_than_reno() {
    let rounds = [5_u32, 10, 22];
    let expected = [14.0 + 5.0 * 0.529, 14.0 + 10.0 * 0.529, 20.0 + 10.6];
    let windows = windows(20, 10, rounds.iter().map(|round| 20 + 10 * u64::from(*round)));
    for ((round, window), expected) in rounds.into_iter().zip(windows).zip(expected) {
        assert!((window - expected).abs() < 0.7, "after {round} round trips: {window}, not {expected}");
    }
}

/// RFC 9438 4.8: after a timeout the plateau is the window at which congestion avoidance begins: 7 after a window of 10.
/// Reno's estimate rules there, and the window neither rests at 10 nor jumps.
#[test]
fn forgets_the_plateau_after_a_timeout() {
    let mut path = Path::new(&era(Cubic, 10), ms(100)).deciding(|seq, copy| {
        use super::path::Fate::{Arrives, Lost};
        if seq < 10 && copy == 0 { Lost } else { Arrives }
    });
    path.start();
    path.run_to(6_000);
    assert_eq!((path.sender.timeouts(), path.sender.ssthresh()), (1, 7.0));
    let mut last = 0.0;
    for round in 0..40_u64 {
        path.run_to(6_350 + 100 * round);
        let window = path.sender.cwnd();
        assert!((last..8.0 + round as f64).contains(&window), "{round}: {window}");
        last = window;
    }
}
