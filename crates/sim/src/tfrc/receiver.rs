//! The receiver (RFC 5348, section 6).

use fairlane_qdisc::{Duration, Time};

use super::{Feedback, LossHistory, loss_event_rate};

/// A data packet's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub seq: u32,
    /// When it was sent.
    pub sent: Time,
    /// The sender's round trip time when it sent it; `None` before it had one.
    pub rtt: Option<Duration>,
    /// It has been marked (ECN).
    pub marked: bool,
}

/// The receiving side: it measures losses and the rate at which data comes, and reports once a round trip, or at once when
/// the loss event rate has risen.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Bytes in a packet.
    bytes: f64,
    history: LossHistory,
    /// The last packet.
    last: Option<(Arrival, Time)>,
    /// What has come since the last report that stood for a whole round trip.
    now: Stretch,
    /// The stretch before.
    before: Stretch,
    /// Packets since the last report.
    unreported: u32,
    /// The next packet is answered at once: a report was due when there was nothing to report.
    owed: bool,
    deadline: Option<Time>,
}

/// What has come from a moment on.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    from: Time,
    packets: u64,
}

impl Receiver {
    /// A receiver of packets of `bytes` bytes.
    #[must_use]
    pub fn new(bytes: u32) -> Self {
        Self {
            bytes: f64::from(bytes.max(1)),
            history: LossHistory::default(),
            last: None,
            now: Stretch::default(),
            before: Stretch::default(),
            unreported: 0,
            owed: true,
            deadline: None,
        }
    }

    /// Takes a packet; the report to send now, if there is one.
    pub fn on_packet(&mut self, now: Time, arrival: Arrival) -> Option<Feedback> {
        let first = self.last.is_none();
        if first {
            self.now.from = now;
            self.before.from = now;
        } else {
            self.now.packets += 1;
        }
        self.last = Some((arrival, now));
        self.unreported += 1;
        let (bytes, rate) = (self.bytes, self.rate(now));
        let rtt = arrival.rtt.unwrap_or(Duration::ZERO);
        let before = self.history.loss_event_rate();
        self.history.on_packet(now, arrival.seq, arrival.marked, rtt, || interval_before_losses(bytes, rtt, rate));
        let risen = self.history.loss_event_rate() > before;
        if risen || self.owed { self.report(now) } else { None }
    }

    /// To be called at [`deadline`](Self::deadline) or later: the report to send now, if packets have come since the last.
    pub fn on_timer(&mut self, now: Time) -> Option<Feedback> {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return None;
        }
        self.deadline = None;
        if self.unreported > 0 {
            return self.report(now);
        }
        self.owed = true;
        None
    }

    /// When a report is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The losses so far.
    #[must_use]
    pub fn history(&self) -> &LossHistory {
        &self.history
    }

    fn report(&mut self, now: Time) -> Option<Feedback> {
        let (last, arrived) = self.last?;
        let rtt = last.rtt.unwrap_or(Duration::ZERO);
        let receive_rate = self.rate(now);
        if now.since(self.now.from) >= rtt {
            self.before = self.now;
            self.now = Stretch { from: now, packets: 0 };
        }
        self.unreported = 0;
        // Without a round trip there is no timer, so the next packet is answered, too.
        self.owed = last.rtt.is_none();
        let loss_event_rate = self.history.loss_event_rate();
        self.deadline = last.rtt.map(|rtt| now + rtt.max(Duration::from_nanos(1)));
        Some(Feedback { echo: last.sent, delay: now - arrived, receive_rate, loss_event_rate })
    }

    /// Bytes per second over the last round trip or somewhat longer: since the last report that stood for one, and since the
    /// one before where that was less than a round trip ago (RFC 5348, 6.2). 0 at the first packet.
    fn rate(&self, now: Time) -> f64 {
        let rtt = self.last.and_then(|(last, _)| last.rtt).unwrap_or(Duration::ZERO);
        let short = now.since(self.now.from) < rtt;
        let from = if short { self.before.from } else { self.now.from };
        let packets = if short { self.before.packets + self.now.packets } else { self.now.packets };
        let time = now.since(from).max(rtt).as_secs();
        if time > 0.0 { packets as f64 * self.bytes / time } else { 0.0 }
    }
}

/// The loss interval that stands for the time before the first loss event: the one that half of what was received has in
/// the throughput equation (RFC 5348, 6.3.1), since the rate had doubled each round trip.
fn interval_before_losses(bytes: f64, rtt: Duration, rate: f64) -> f64 {
    let rtt = rtt.as_secs();
    if rtt <= 0.0 {
        return 1.0;
    }
    // At least half a packet a round trip.
    let target = rate.max(bytes / rtt) / 2.0;
    1.0 / loss_event_rate(bytes, rtt, target)
}
