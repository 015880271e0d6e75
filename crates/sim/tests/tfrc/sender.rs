//! The allowed rate, step by step.

use fairlane_qdisc::{Duration, Rate};
use fairlane_sim::tfrc::{Feedback, Sender};

use crate::{at, close};

/// A report that comes a round trip of `rtt` seconds after the packet that it answers was sent.
fn report(sender: &mut Sender, now: f64, rtt: f64, receive_rate: f64, loss_event_rate: f64) {
    let delay = Duration::from_millis(3);
    let feedback = Feedback { echo: at(now - rtt - 0.003), delay, receive_rate, loss_event_rate };
    sender.on_feedback(at(now), &feedback);
}

/// Runs the sender until `until`; when it sends.
fn run(sender: &mut Sender, until: f64) -> Vec<f64> {
    let mut sent = Vec::new();
    while let Some(deadline) = sender.deadline().filter(|deadline| *deadline <= at(until)) {
        if sender.on_timer(deadline).is_some() {
            sent.push(deadline.as_secs());
        }
    }
    sent
}

/// A sender that began at 1 s, with reports of no loss at 1.1, 1.21 and 1.32 s.
fn slow_starting() -> Sender {
    let mut sender = Sender::new(1000, false, None);
    sender.start(at(1.0));
    run(&mut sender, 1.05);
    report(&mut sender, 1.1, 0.09, 0.0, 0.0);
    sender
}

/// A packet a second at first. No report within 2 s halves the rate: from 3 s on a packet in 2 s, and the timer, of two gaps
/// now, comes at 7 s.
#[test]
fn begins_with_a_packet_a_second_and_slows_down() {
    let mut sender = Sender::new(1000, false, None);
    assert_eq!(sender.deadline(), None);
    sender.start(at(1.0));
    assert_eq!(run(&mut sender, 30.0), [1.0, 2.0, 4.0, 6.0, 10.0, 14.0, 22.0, 30.0]);
    // At last a packet in 64 s.
    run(&mut sender, 2000.0);
    assert_eq!(sender.rate(), 1000.0 / 64.0);
}

/// The first report: W_init/R, with W_init = min(4 s, max(2 s, 4380)). For packets of 1000 bytes 4000, of 1460 4380, of 3000
/// 6000.
#[test]
fn the_first_report_allows_an_initial_window() {
    for (bytes, window) in [(1000, 4000.0), (1460, 4380.0), (3000, 6000.0)] {
        let mut sender = Sender::new(bytes, false, None);
        sender.start(at(0.0));
        run(&mut sender, 0.05);
        report(&mut sender, 0.3, 0.1, 0.0, 0.0);
        assert!(close(sender.rate(), window / 0.1, 1e-9), "{bytes}: {}", sender.rate());
        assert_eq!(sender.rtt(), Some(Duration::from_millis(100)));
    }
}

/// Slow start doubles once a round trip, up to twice what is received; an infinite rate stands for what was received before
/// the first report, for two round trips. The round trip is 0.9 of what it was and 0.1 of the sample.
#[test]
fn slow_start_doubles_each_round_trip() {
    let mut sender = slow_starting();
    assert!(close(sender.rate(), 4000.0 / 0.09, 1e-9));
    report(&mut sender, 1.15, 0.09, 30_000.0, 0.0);
    assert!(close(sender.rate(), 4000.0 / 0.09, 1e-9), "not twice in a round trip");
    report(&mut sender, 1.21, 0.09, 30_000.0, 0.0);
    assert!(close(sender.rate(), 8000.0 / 0.09, 1e-9));
    report(&mut sender, 1.32, 0.09, 50_000.0, 0.0);
    assert!(close(sender.rate(), 100_000.0, 1e-9), "{}", sender.rate());
    report(&mut sender, 1.43, 0.19, 60_000.0, 0.0);
    assert_eq!(sender.rtt(), Some(Duration::from_millis(100)));
    assert!(close(sender.rate(), 120_000.0, 1e-9), "{}", sender.rate());
}

/// A sender at 112,332 bytes a second: p = 0.01 and R = 0.1 s, with 80,000 received.
fn friendly() -> Sender {
    let mut sender = Sender::new(1000, false, None);
    sender.start(at(1.0));
    run(&mut sender, 1.05);
    report(&mut sender, 1.2, 0.1, 0.0, 0.0);
    report(&mut sender, 1.5, 0.1, 80_000.0, 0.01);
    sender
}

/// With losses the equation holds, or twice what is received in the last two round trips where that is less.
#[test]
fn with_losses_it_follows_the_equation() {
    let mut sender = friendly();
    assert!((sender.rate() - 112_332.0).abs() < 0.5, "{}", sender.rate());
    report(&mut sender, 1.6, 0.1, 20_000.0, 0.01);
    assert!((sender.rate() - 112_332.0).abs() < 0.5, "80,000 were received 0.1 s ago: {}", sender.rate());
    report(&mut sender, 1.75, 0.1, 20_000.0, 0.01);
    assert!(close(sender.rate(), 40_000.0, 1e-9), "{}", sender.rate());
    // Packets leave at that rate: one each 25 ms.
    let sent = run(&mut sender, 2.1);
    assert!(sent.windows(2).all(|pair| close(pair[1] - pair[0], 0.025, 1e-6)), "{sent:?}");
}

/// No report for 4R = 0.4 s: what limits the rate is halved, at first what the equation allows, then what was received.
#[test]
fn the_no_feedback_timer_halves() {
    let mut sender = friendly();
    run(&mut sender, 1.5 + 0.39);
    let before = sender.rate();
    assert!((before - 112_332.0).abs() < 0.5, "{before}");
    for halvings in 1..=3 {
        run(&mut sender, 1.5 + 0.4 * f64::from(halvings) + 0.01);
        let expected = before / f64::from(1 << halvings);
        assert!(close(sender.rate(), expected, 1e-6), "{halvings}: {}", sender.rate());
    }
    // With no loss event so far the rate itself is halved.
    let mut sender = slow_starting();
    report(&mut sender, 1.25, 0.09, 30_000.0, 0.0);
    let rate = sender.rate();
    run(&mut sender, 1.25 + 0.36 + 0.01);
    assert!(close(sender.rate(), rate / 2.0, 1e-9));
}

/// An idle sender falls to what a new one would begin with, 4000/0.09, or twice that without losses, and no further.
#[test]
fn an_idle_sender_keeps_an_initial_window() {
    let mut sender = slow_starting();
    let initial = 4000.0 / 0.09;
    for (now, rate) in [(1.21, 1e6), (1.32, 1e6), (1.43, 1e6)] {
        report(&mut sender, now, 0.09, rate, 0.0);
    }
    assert!(close(sender.rate(), 8.0 * initial, 1e-9));
    sender.stop(at(1.43));
    run(&mut sender, 1.43 + 0.361);
    assert!(close(sender.rate(), 4.0 * initial, 1e-9));
    assert!(run(&mut sender, 60.0).is_empty());
    assert!(close(sender.rate(), initial, 1e-9), "{}", sender.rate() / initial);
    // It goes on at once.
    sender.start(at(61.0));
    assert_eq!(run(&mut sender, 61.0), [61.0]);

    // With losses it is what was received that must not fall below: 80,000 once halved is what a new one would begin with.
    let mut sender = friendly();
    sender.stop(at(1.5));
    run(&mut sender, 60.0);
    assert!(close(sender.rate(), 112_332.0 / 2.0, 1e-5), "{}", sender.rate());
}

/// With damping the spacing follows the round trip of the moment: after samples of 0.1 s and 0.4 s the mean root is
/// 0.9 · 0.316228 + 0.1 · 0.632456 = 0.347851, so packets are spaced for 0.55 of the rate.
#[test]
fn damping_spaces_by_the_present_round_trip() {
    for (damping, part) in [(false, 1.0), (true, 0.347_851 / 0.632_456)] {
        let mut sender = Sender::new(1000, damping, None);
        sender.start(at(1.0));
        run(&mut sender, 1.05);
        report(&mut sender, 1.2, 0.1, 0.0, 0.0);
        report(&mut sender, 1.7, 0.4, 1e6, 0.01);
        let sent = run(&mut sender, 1.9);
        let gap = 1000.0 / (sender.rate() * part);
        assert!(
            sent.len() > 5 && sent.windows(2).all(|pair| close(pair[1] - pair[0], gap, 1e-4)),
            "{damping}: {sent:?}"
        );
    }
}

/// An application of 20,000 bytes a second, round trips of 0.1 s. What is received says little of the network while the
/// application is the limit, so the highest that was received is kept, be it long ago. A loss then halves it.
#[test]
fn a_slow_application_keeps_what_it_had() {
    let mut sender = Sender::new(1000, false, Some(Rate::from_bits_per_second(160_000)));
    sender.start(at(1.0));
    run(&mut sender, 1.05);
    report(&mut sender, 1.1, 0.09, 0.0, 0.0);
    // Packets leave each 50 ms though 4000/0.09 bytes a second are allowed.
    assert!(close(sender.rate(), 4000.0 / 0.09, 1e-9));
    let sent = run(&mut sender, 1.24);
    assert!(sent.windows(2).all(|pair| close(pair[1] - pair[0], 0.05, 1e-9)) && sent.len() > 2, "{sent:?}");
    // Some of this was sent before the application was the limit, and the infinite rate of the beginning still counts.
    report(&mut sender, 1.25, 0.09, 20_000.0, 0.0);
    assert!(close(sender.rate(), 8000.0 / 0.09, 1e-9), "{}", sender.rate());
    // Now 2 · 20,000 limits, or what a new flow might send.
    for (now, receive_rate) in [(1.5, 18_000.0), (1.7, 3000.0), (1.9, 1000.0)] {
        report(&mut sender, now, 0.09, receive_rate, 0.0);
        assert!(close(sender.rate(), 4000.0 / 0.09, 1e-9), "{now}: {}", sender.rate());
    }
    // A loss event: the greater of 20,000/2 and 0.85 · 18,000, where the equation would allow 124,813.
    report(&mut sender, 2.1, 0.09, 18_000.0, 0.01);
    assert!(close(sender.rate(), 15_300.0, 1e-9), "{}", sender.rate());
    // The rate is the limit again, and what is received counts as usual.
    report(&mut sender, 2.3, 0.09, 10_000.0, 0.01);
    report(&mut sender, 2.5, 0.09, 10_000.0, 0.01);
    assert!(close(sender.rate(), 20_000.0, 1e-9), "{}", sender.rate());
}

/// Reports that cannot be leave a rate that is one.
#[test]
fn survives_any_report() {
    let mut sender = Sender::new(1, true, None);
    sender.start(at(0.0));
    for (step, rate) in (1_u32..).zip([f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 1.0].repeat(20)) {
        let now = f64::from(step);
        let loss = [0.0, 1.0, 1e-300, f64::NAN, -1.0][step as usize % 5];
        let feedback = Feedback {
            echo: at(2.0 * now),
            delay: Duration::from_secs(now),
            receive_rate: rate,
            loss_event_rate: loss,
        };
        sender.on_feedback(at(now), &feedback);
        assert!(sender.rate() >= 1.0 / 64.0, "{} after {rate}, {loss}", sender.rate());
        for _ in 0..3 {
            if let Some(deadline) = sender.deadline() {
                sender.on_timer(deadline.max(at(now)));
            }
        }
    }
}
