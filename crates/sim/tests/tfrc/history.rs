//! Loss events, loss intervals and their weights.

use fairlane_qdisc::Duration;
use fairlane_sim::tfrc::LossHistory;

use crate::{at, close};

const RTT: Duration = Duration::from_millis(5);

/// Returns the history of one packet per millisecond from 0 to `end`, without the packets of `lost`; the interval
/// before the first loss is 80 packets.
fn history(lost: &[u32], end: u32) -> LossHistory {
    let mut history = LossHistory::default();
    for seq in (0..end).filter(|seq| !lost.contains(seq)) {
        history.on_packet(at(f64::from(seq) / 1000.0), seq, false, RTT, || 80.0);
    }
    history
}

/// Losses with eight intervals of 10, 20, … 80 packets, the latest first.
const LOSSES: [u32; 8] = [100, 170, 230, 280, 320, 350, 370, 380];

/// With weights 1, 1, 1, 1, 0.8, 0.6, 0.4 and 0.2, of sum 6, the closed intervals add up to 10 + 20 + 30 + 40 + 40 + 36
/// + 28 + 16 = 220. With the open one first, all but the oldest add up to 10 + 20 + 30 + 32 + 30 + 24 + 14 = 160.
#[test]
fn the_latest_intervals_have_the_largest_weights() {
    for (open, mean) in [(4, 220.0 / 6.0), (60, 220.0 / 6.0), (70, 230.0 / 6.0)] {
        let history = history(&LOSSES, 380 + open);
        let intervals: Vec<f64> = (1..=8).map(|n| 10.0 * f64::from(n)).collect();
        assert_eq!(history.intervals()[0], f64::from(open));
        assert_eq!(history.intervals()[1..], intervals);
        assert!(close(history.loss_event_rate(), 1.0 / mean, 1e-12), "{open}: {}", history.loss_event_rate());
    }
}

/// An open interval of 100 packets is longer than twice the mean of 36.67: the weights of the others are multiplied by
/// 73.33/100, so the mean is (100 + 0.7333 · 160)/(1 + 0.7333 · 5) = 46.571. The next loss does not change it.
#[test]
fn old_intervals_are_discounted_in_a_long_interval() {
    let expected = (1.0 + 220.0 / 300.0 * 5.0) / (100.0 + 220.0 / 300.0 * 160.0);
    assert!(close(1.0 / expected, 46.571, 1e-5));
    assert!(close(history(&LOSSES, 480).loss_event_rate(), expected, 1e-12));
    let lost = [&LOSSES[..], &[480]].concat();
    assert!(close(history(&lost, 484).loss_event_rate(), expected, 1e-12));
    // The discount is at least a half: (1000 + 80)/(1 + 2.5).
    assert!(close(history(&LOSSES, 1380).loss_event_rate(), 3.5 / 1080.0, 1e-12));
}

/// With few intervals the first weights are used: for one of 80 packets, then for 80 and 30.
#[test]
fn a_short_history_counts_what_there_is() {
    assert_eq!(history(&[], 50).loss_event_rate(), 0.0);
    assert!(history(&[], 50).intervals().is_empty());
    assert!(close(history(&[40], 50).loss_event_rate(), 1.0 / 80.0, 1e-12));
    assert!(close(history(&[40], 140).loss_event_rate(), 1.0 / 100.0, 1e-12));
    assert!(close(history(&[40, 70], 80).loss_event_rate(), 2.0 / 110.0, 1e-12));
}

/// Losses up to a round trip of 5 ms after the first one of an event belong to it; a loss 6 ms later begins another.
#[test]
fn losses_of_one_round_trip_are_one_event() {
    assert_eq!(history(&[100, 102, 105], 120).intervals(), [20.0, 80.0]);
    assert_eq!(history(&[100, 106], 120).intervals(), [14.0, 6.0, 80.0]);
    // A gap of 14 packets is three events: the interpolated times of the losses include 10, 16 and 22 ms.
    let gap: Vec<u32> = (10..24).collect();
    assert_eq!(history(&gap, 30).intervals(), [8.0, 6.0, 6.0, 80.0]);
}

/// A packet counts as lost after three packets with higher numbers, not after two. Would catch a lost packet that
/// arrives later and changes the history.
#[test]
fn a_packet_may_be_late_by_two() {
    let arrive = |order: &[u32]| {
        let mut history = LossHistory::default();
        for (moment, seq) in (0_u32..).zip(order) {
            history.on_packet(at(f64::from(moment) / 1000.0), *seq, false, RTT, || 80.0);
        }
        history.intervals()
    };
    assert!(arrive(&[0, 1, 2, 4, 5, 3, 6, 7, 8, 9]).is_empty());
    assert!(arrive(&[0, 1, 2, 5, 4]).is_empty());
    assert_eq!(arrive(&[0, 1, 2, 4, 5, 6]), [4.0, 80.0]);
    assert_eq!(arrive(&[0, 1, 2, 4, 5, 6, 3, 4, 4, 7]), [5.0, 80.0]);
    // Copies do not count.
    assert!(arrive(&[0, 1, 2, 4, 4, 4, 4]).is_empty());
}

/// Would catch a mark that does not begin a loss event, or begins one within a round trip of another.
#[test]
fn a_mark_is_a_loss() {
    let mut history = history(&[], 100);
    for (seq, marked) in [(100, true), (101, true), (102, false), (120, true)] {
        let seq_before = if seq == 120 { 103..120 } else { 0..0 };
        for seq in seq_before {
            history.on_packet(at(f64::from(seq) / 1000.0), seq, false, RTT, || 80.0);
        }
        history.on_packet(at(f64::from(seq) / 1000.0), seq, marked, RTT, || 80.0);
    }
    assert_eq!(history.intervals(), [1.0, 20.0, 80.0]);
}

/// Would catch a rate outside of 0 to 1, or unlimited memory, for any sequence of packets.
#[test]
fn survives_any_numbers() {
    let mut random = fairlane_qdisc::Seed::new(1).stream("numbers");
    let mut history = LossHistory::default();
    for step in 0..2000_u32 {
        let seq = if step % 100 == 99 { u32::MAX } else { random.below(3 * (step + 1)) };
        let now = at(f64::from(random.below(1000)));
        history.on_packet(now, seq, random.chance(0.1), Duration::from_millis(1), || f64::NAN);
        let rate = history.loss_event_rate();
        assert!((0.0..=1.0).contains(&rate), "{rate}");
        assert!(history.intervals().len() <= 9);
    }
}
