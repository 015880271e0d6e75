//! CUBIC's window function (RFC 9438), without a queue.

use fairlane_scenario::Congestion::Cubic;

use super::era;
use super::path::{Path, ms};

/// Returns the window at each of `millis`, for a sender with an initial window of `initial` whose first segment is
/// lost.
fn windows(initial: u32, round_trip: u64, millis: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut path = Path::new(&era(Cubic, initial), ms(round_trip)).losing(&[(0, 0)]);
    path.start();
    let window = |millis| {
        path.run_to(millis);
        path.sender.cwnd()
    };
    millis.map(window).collect()
}

/// From 70 % of 100 segments on, W(t) = 0.4 (t - K)^3 + 100 with K = cbrt(30 / 0.4) = 4.2172 s (RFC 9438, section 4.2):
/// concave up to 100, flat there, convex beyond. The loss is detected after one round trip of 200 ms and repaired after
/// the second, when t starts. An acknowledgement takes the window towards W one round trip later, so it lies between
/// that and W(t). Would catch growth that does not depend on w_max, and another C or K. Reno would have 70 + 0.529 · 40
/// at the end.
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

/// RFC 9438, section 5.2, tables 1 and 2: the mean window at a loss of each n-th segment where CUBIC is as Reno, 1.22
/// sqrt(n). The window is the segments sent in a round trip, so a repair that takes one counts too. Would catch an α
/// that does not make up for a β of 0.7: with an increase of one segment the window would be larger by a third, and
/// with a β of a half smaller by a quarter.
#[test]
fn the_mean_window_is_that_of_the_rfc() {
    for (round_trip, n, expected) in [(100, 1_000, 38.0), (10, 1_000, 38.0), (10, 10_000, 120.0)] {
        let mut tcp = era(Cubic, 10);
        // So slow start does not go far beyond the window where it ends.
        tcp.window = (1.5 * expected) as u32;
        let mut path = Path::new(&tcp, ms(round_trip)).deciding(move |seq, copy| {
            use super::path::Passage::{Arrives, Lost};
            if copy == 0 && seq > 0 && seq % n == 0 { Lost } else { Arrives }
        });
        path.start();
        let mut sent = Vec::new();
        while path.sender.sent() < 16 * n {
            path.step();
            if path.sender.sent() / n > sent.len() as u32 {
                sent.push(path.now.as_secs());
            }
        }
        // From the eighth loss to the fifteenth: slow start comes first.
        let window = f64::from(7 * n) / (sent[14] - sent[7]) * round_trip as f64 / 1e3;
        assert!((window / expected - 1.0).abs() < 0.06, "{round_trip} ms, {n}: {window}, not {expected}");
    }
}

/// With a short round-trip time Reno's window grows faster than the cubic function: from 14 by 3 (1 - 0.7) / (1 + 0.7)
/// per round trip up to the former 20 segments, and then by 1 per round trip (RFC 9438, section 4.3). With 10 ms that
/// is after 12 round trips.
#[test]
fn is_no_slower_than_reno() {
    let rounds = [5_u32, 10, 22];
    let expected = [14.0 + 5.0 * 0.529, 14.0 + 10.0 * 0.529, 20.0 + 10.6];
    let windows = windows(20, 10, rounds.iter().map(|round| 20 + 10 * u64::from(*round)));
    for ((round, window), expected) in rounds.into_iter().zip(windows).zip(expected) {
        assert!((window - expected).abs() < 0.7, "after {round} round trips: {window}, not {expected}");
    }
}

/// RFC 9438, section 4.8: after a timeout the plateau is the window at which congestion avoidance begins, 7 after a
/// window of 10. There the Reno-friendly estimate determines the window. Would catch a window that stays at 10 or
/// jumps.
#[test]
fn forgets_the_plateau_after_a_timeout() {
    let mut path = Path::new(&era(Cubic, 10), ms(100)).deciding(|seq, copy| {
        use super::path::Passage::{Arrives, Lost};
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
