//! The allowed rate, step by step.

use fairlane_qdisc::{Duration, Rate};
use fairlane_sim::tfrc::{Feedback, TfrcSender};

use crate::{at, close};

/// Delivers a report `rtt` seconds after the packet that caused it was sent.
fn report(sender: &mut TfrcSender, now: f64, rtt: f64, receive_rate: f64, loss_event_rate: f64) {
    let delay = Duration::from_millis(3);
    let feedback = Feedback { echo: at(now - rtt - 0.003), delay, receive_rate, loss_event_rate };
    sender.on_feedback(at(now), &feedback);
}

/// Runs the sender until `until` and returns the times of the packets.
fn run(sender: &mut TfrcSender, until: f64) -> Vec<f64> {
    let mut sent = Vec::new();
    while let Some(deadline) = sender.deadline().filter(|deadline| *deadline <= at(until)) {
        if sender.on_timer(deadline).is_some() {
            sent.push(deadline.as_secs());
        }
    }
    sent
}

/// Returns a sender that started at 1 s, after a first report without loss at 1.1 s.
fn slow_starting() -> TfrcSender {
    let mut sender = TfrcSender::new(1000, false, None);
    sender.start(at(1.0));
    run(&mut sender, 1.05);
    report(&mut sender, 1.1, 0.09, 0.0, 0.0);
    sender
}

/// One packet per second at first. Without a report within 2 s the rate is halved: from 3 s on one packet in 2 s, and
/// the timer, now of two gaps, fires at 7 s.
#[test]
fn begins_with_one_packet_per_second_and_slows_down() {
    let mut sender = TfrcSender::new(1000, false, None);
    assert_eq!(sender.deadline(), None);
    sender.start(at(1.0));
    assert_eq!(run(&mut sender, 30.0), [1.0, 2.0, 4.0, 6.0, 10.0, 14.0, 22.0, 30.0]);
    // Finally one packet in 64 s.
    run(&mut sender, 2000.0);
    assert_eq!(sender.rate(), 1000.0 / 64.0);
}

/// The first report sets the rate to W_init/R, with W_init = min(4 s, max(2 s, 4380)): 4000 bytes for packets of 1000,
/// 4380 for packets of 1460, and 6000 for packets of 3000.
#[test]
fn the_first_report_allows_an_initial_window() {
    for (bytes, window) in [(1000, 4000.0), (1460, 4380.0), (3000, 6000.0)] {
        let mut sender = TfrcSender::new(bytes, false, None);
        sender.start(at(0.0));
        run(&mut sender, 0.05);
        report(&mut sender, 0.3, 0.1, 0.0, 0.0);
        assert!(close(sender.rate(), window / 0.1, 1e-9), "{bytes}: {}", sender.rate());
        assert_eq!(sender.rtt(), Some(Duration::from_millis(100)));
    }
}

/// Slow start doubles the rate once per round trip, up to twice the receive rate, which counts as infinite for two
/// round trips after the first report. The round-trip time is 0.9 of the old average plus 0.1 of the sample.
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

/// Returns a sender at 112,332 bytes per second: p = 0.01 and R = 0.1 s, with a receive rate of 80,000.
fn friendly() -> TfrcSender {
    let mut sender = TfrcSender::new(1000, false, None);
    sender.start(at(1.0));
    run(&mut sender, 1.05);
    report(&mut sender, 1.2, 0.1, 0.0, 0.0);
    report(&mut sender, 1.5, 0.1, 80_000.0, 0.01);
    sender
}

/// With losses the rate is that of the equation, or twice the maximum receive rate of the last two round trips if that
/// is less.
#[test]
fn with_losses_it_follows_the_equation() {
    let mut sender = friendly();
    assert!((sender.rate() - 112_332.0).abs() < 0.5, "{}", sender.rate());
    report(&mut sender, 1.6, 0.1, 20_000.0, 0.01);
    assert!((sender.rate() - 112_332.0).abs() < 0.5, "80,000 were received 0.1 s ago: {}", sender.rate());
    report(&mut sender, 1.75, 0.1, 20_000.0, 0.01);
    assert!(close(sender.rate(), 40_000.0, 1e-9), "{}", sender.rate());
    // Packets are sent at that rate: one every 25 ms.
    let sent = run(&mut sender, 2.1);
    assert!(sent.windows(2).all(|pair| close(pair[1] - pair[0], 0.025, 1e-6)), "{sent:?}");
}

/// Without a report for 4R = 0.4 s the limit of the rate is halved, at first that of the equation, then the receive
/// rate.
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
    // Before the first loss event the rate itself is halved.
    let mut sender = slow_starting();
    report(&mut sender, 1.25, 0.09, 30_000.0, 0.0);
    let rate = sender.rate();
    run(&mut sender, 1.25 + 0.36 + 0.01);
    assert!(close(sender.rate(), rate / 2.0, 1e-9));
}

/// The rate of an idle sender falls to the initial rate, 4000/0.09, and no further.
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
    // It resumes at once.
    sender.start(at(61.0));
    assert_eq!(run(&mut sender, 61.0), [61.0]);

    // With losses the limit applies to the receive rate: 80,000 halved once is the initial rate.
    let mut sender = friendly();
    sender.stop(at(1.5));
    run(&mut sender, 60.0);
    assert!(close(sender.rate(), 112_332.0 / 2.0, 1e-5), "{}", sender.rate());
}

/// With damping the spacing follows the latest round-trip time: after samples of 0.1 s and 0.4 s the mean square root
/// is 0.9 · 0.316228 + 0.1 · 0.632456 = 0.347851, so packets are spaced for 0.55 of the rate.
#[test]
fn damping_spaces_by_the_latest_round_trip_time() {
    for (damping, part) in [(false, 1.0), (true, 0.347_851 / 0.632_456)] {
        let mut sender = TfrcSender::new(1000, damping, None);
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

/// An application of 20,000 bytes per second, with round trips of 0.1 s. While the application limits the rate, the
/// receive rate does not show what the network can carry, so the maximum receive rate is kept, however old it is. A
/// loss then halves it.
#[test]
fn a_slow_application_keeps_its_maximum_receive_rate() {
    let mut sender = TfrcSender::new(1000, false, Some(Rate::from_bits_per_second(160_000)));
    sender.start(at(1.0));
    run(&mut sender, 1.05);
    report(&mut sender, 1.1, 0.09, 0.0, 0.0);
    // Packets are sent every 50 ms although 4000/0.09 bytes per second are allowed.
    assert!(close(sender.rate(), 4000.0 / 0.09, 1e-9));
    let sent = run(&mut sender, 1.24);
    assert!(sent.windows(2).all(|pair| close(pair[1] - pair[0], 0.05, 1e-9)) && sent.len() > 2, "{sent:?}");
    // Part of this was sent before the application limited the rate, and the infinite first receive rate still counts.
    report(&mut sender, 1.25, 0.09, 20_000.0, 0.0);
    assert!(close(sender.rate(), 8000.0 / 0.09, 1e-9), "{}", sender.rate());
    // Now the limit is 2 · 20,000, or the initial rate.
    for (now, receive_rate) in [(1.5, 18_000.0), (1.7, 3000.0), (1.9, 1000.0)] {
        report(&mut sender, now, 0.09, receive_rate, 0.0);
        assert!(close(sender.rate(), 4000.0 / 0.09, 1e-9), "{now}: {}", sender.rate());
    }
    // A loss event: the larger of 20,000/2 and 0.85 · 18,000; the equation would allow 124,813.
    report(&mut sender, 2.1, 0.09, 18_000.0, 0.01);
    assert!(close(sender.rate(), 15_300.0, 1e-9), "{}", sender.rate());
    // The allowed rate is the limit again, and the receive rate counts as usual.
    report(&mut sender, 2.3, 0.09, 10_000.0, 0.01);
    report(&mut sender, 2.5, 0.09, 10_000.0, 0.01);
    assert!(close(sender.rate(), 20_000.0, 1e-9), "{}", sender.rate());
}

/// Would catch a rate below the minimum, or not a number, after invalid reports.
#[test]
fn survives_any_report() {
    let mut sender = TfrcSender::new(1, true, None);
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
