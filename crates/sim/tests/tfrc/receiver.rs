//! The times and contents of the receiver's reports.

use fairlane_qdisc::Duration;
use fairlane_sim::tfrc::{Arrival, Feedback, TfrcReceiver, throughput};

use crate::{at, close};

/// A receiver of packets of 1000 bytes, one every 10 ms, 50 ms after they were sent.
struct Bench {
    receiver: TfrcReceiver,
    rtt: Duration,
    reports: Vec<(f64, Feedback)>,
}

impl Bench {
    fn new(rtt: Duration) -> Self {
        Self { receiver: TfrcReceiver::new(1000), rtt, reports: Vec::new() }
    }

    fn packet(&mut self, seq: u32, marked: bool) {
        let now = f64::from(seq) / 100.0;
        self.wait(now);
        let arrival = Arrival { seq, sent: at((now - 0.05).max(0.0)), rtt: Some(self.rtt), marked };
        let report = self.receiver.on_packet(at(now), arrival);
        self.reports.extend(report.map(|report| (now, report)));
    }

    /// Handles the timer up to `until`.
    fn wait(&mut self, until: f64) {
        while let Some(deadline) = self.receiver.deadline().filter(|deadline| *deadline <= at(until)) {
            let report = self.receiver.on_timer(deadline);
            self.reports.extend(report.map(|report| (deadline.as_secs(), report)));
        }
    }

    fn moments(&self) -> Vec<f64> {
        self.reports.iter().map(|(moment, _)| *moment).collect()
    }
}

const TENTH: Duration = Duration::from_millis(100);

/// A report at the first packet, then one per round trip of 100 ms, with 10 packets of 1000 bytes in 0.1 s.
#[test]
fn reports_once_a_round_trip() {
    let mut bench = Bench::new(TENTH);
    for seq in 0..45 {
        bench.packet(seq, false);
    }
    assert_eq!(bench.moments(), [0.0, 0.1, 0.2, 0.3, 0.4]);
    assert_eq!((bench.reports[0].1.receive_rate, bench.reports[0].1.loss_event_rate), (0.0, 0.0));
    for (moment, report) in &bench.reports[1..] {
        assert!(close(report.receive_rate, 100_000.0, 0.1001), "{moment}: {}", report.receive_rate);
        // The last packet arrived now or 10 ms ago.
        assert!(report.delay <= Duration::from_millis(10));
        assert_eq!((at(*moment) - report.echo).as_nanos(), report.delay.as_nanos() + 50_000_000);
    }
}

/// Each packet causes a report before the sender has a round-trip time, and so does the first packet with one, which
/// starts the timer. Would catch a receiver that stops reporting.
#[test]
fn reports_each_packet_of_a_sender_without_a_round_trip_time() {
    let mut receiver = TfrcReceiver::new(1000);
    for seq in 0..4 {
        let arrival = Arrival { seq, sent: at(f64::from(seq)), rtt: None, marked: false };
        assert!(receiver.on_packet(at(f64::from(seq) + 0.1), arrival).is_some());
        assert_eq!(receiver.deadline(), None);
    }
    let arrival = Arrival { seq: 4, sent: at(4.0), rtt: Some(TENTH), marked: false };
    assert!(receiver.on_packet(at(4.1), arrival).is_some());
    assert_eq!(receiver.deadline(), Some(at(4.2)));
}

/// A loss event is reported when it is detected, three packets after the hole, and the timer restarts then. Would catch
/// a report of another loss of the same event.
#[test]
fn reports_a_loss_event_at_once() {
    let mut bench = Bench::new(TENTH);
    for seq in (0..60).filter(|seq| ![33, 37].contains(seq)) {
        bench.packet(seq, false);
    }
    assert_eq!(bench.moments(), [0.0, 0.1, 0.2, 0.3, 0.36, 0.46, 0.56]);
    let rates: Vec<f64> = bench.reports.iter().map(|(_, report)| report.loss_event_rate).collect();
    assert!(rates[..4].iter().all(|rate| *rate == 0.0) && rates[4] > 0.0);
    // A report after less than a round trip covers the time since the one before last.
    assert!(close(bench.reports[4].1.receive_rate, 15.0 * 1000.0 / 0.16, 0.07), "{}", bench.reports[4].1.receive_rate);
}

/// Would catch a mark that is reported late.
#[test]
fn reports_a_mark_at_once() {
    let mut bench = Bench::new(TENTH);
    for seq in 0..40 {
        bench.packet(seq, seq == 33);
    }
    assert_eq!(bench.moments(), [0.0, 0.1, 0.2, 0.3, 0.33]);
}

/// Without packets there is no report; the next packet causes one at once. The missing packets are a loss event, which
/// is detected two packets later.
#[test]
fn sends_no_report_without_packets() {
    let mut bench = Bench::new(TENTH);
    for seq in (0..15).chain(80..84) {
        bench.packet(seq, false);
    }
    assert_eq!(bench.moments(), [0.0, 0.1, 0.2, 0.8, 0.82]);
    assert_eq!(bench.receiver.deadline(), Some(at(0.92)));
    // One packet in 0.6 s.
    assert!(close(bench.reports[3].1.receive_rate, 1000.0 / 0.6, 1e-9), "{}", bench.reports[3].1.receive_rate);
}

/// Before the first loss event the rate doubled each round trip, so the first interval is that of half the receive rate
/// (RFC 5348, section 6.3.1). With 100 packets per round trip of 1 s that is 50,000 bytes per second, at which the
/// equation gives p = 0.00059364, an interval of 1684.5 packets, although 150 have arrived.
#[test]
fn the_first_interval_follows_from_the_rate() {
    let mut bench = Bench::new(Duration::from_millis(1000));
    for seq in (0..160).filter(|seq| *seq != 150) {
        bench.packet(seq, false);
    }
    let interval = bench.receiver.history().intervals()[1];
    assert!(close(throughput(1000.0, 1.0, 1.0 / 1684.5), 50_000.0, 1e-4));
    assert!(close(interval, 1684.5, 0.03), "{interval}");
}
