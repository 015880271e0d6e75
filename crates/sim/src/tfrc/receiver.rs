//! The TFRC receiver (RFC 5348, section 6).

use fairlane_qdisc::{Duration, Time};

use super::{Feedback, LossHistory, loss_event_rate};

/// A data packet as it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The sequence number.
    pub seq: u32,
    /// The time at which it was sent.
    pub sent: Time,
    /// The sender's round-trip time when it sent the packet; `None` before the first report.
    pub rtt: Option<Duration>,
    /// True if the packet has been marked (ECN).
    pub marked: bool,
}

/// The receiving side. It measures losses and the receive rate, and reports them once per round trip, or at once if the
/// loss event rate has risen.
#[derive(Clone, Debug)]
pub struct TfrcReceiver {
    /// The packet size in bytes.
    bytes: f64,
    history: LossHistory,
    /// The last packet and its arrival.
    last: Option<(Arrival, Time)>,
    /// The interval since the last report that covered a whole round trip.
    current: ReceiveInterval,
    /// The interval before it.
    previous: ReceiveInterval,
    /// The number of packets since the last report.
    unreported: u32,
    /// A report is sent at the next packet: one was due when there was nothing to report.
    overdue: bool,
    deadline: Option<Time>,
}

/// The packets received since a time.
#[derive(Clone, Copy, Debug, Default)]
struct ReceiveInterval {
    from: Time,
    packets: u64,
}

impl TfrcReceiver {
    /// Returns a receiver of packets of `bytes` bytes.
    #[must_use]
    pub fn new(bytes: u32) -> Self {
        Self {
            bytes: f64::from(bytes.max(1)),
            history: LossHistory::default(),
            last: None,
            current: ReceiveInterval::default(),
            previous: ReceiveInterval::default(),
            unreported: 0,
            overdue: true,
            deadline: None,
        }
    }

    /// Handles a packet. Returns the report to send now, if there is one.
    pub fn on_packet(&mut self, now: Time, arrival: Arrival) -> Option<Feedback> {
        let first = self.last.is_none();
        if first {
            self.current.from = now;
            self.previous.from = now;
        } else {
            self.current.packets += 1;
        }
        self.last = Some((arrival, now));
        self.unreported += 1;
        let (bytes, rate) = (self.bytes, self.rate(now));
        let rtt = arrival.rtt.unwrap_or(Duration::ZERO);
        let before = self.history.loss_event_rate();
        self.history.on_packet(now, arrival.seq, arrival.marked, rtt, || interval_before_losses(bytes, rtt, rate));
        let risen = self.history.loss_event_rate() > before;
        if risen || self.overdue { self.report(now) } else { None }
    }

    /// Returns the report if one is due and packets have arrived since the last. To be called at or after
    /// [`deadline`](Self::deadline).
    pub fn on_timer(&mut self, now: Time) -> Option<Feedback> {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return None;
        }
        self.deadline = None;
        if self.unreported > 0 {
            return self.report(now);
        }
        self.overdue = true;
        None
    }

    /// Returns the time at which the next report is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Returns the loss history.
    #[must_use]
    pub fn history(&self) -> &LossHistory {
        &self.history
    }

    fn report(&mut self, now: Time) -> Option<Feedback> {
        let (last, arrived) = self.last?;
        let rtt = last.rtt.unwrap_or(Duration::ZERO);
        let receive_rate = self.rate(now);
        if now.since(self.current.from) >= rtt {
            self.previous = self.current;
            self.current = ReceiveInterval { from: now, packets: 0 };
        }
        self.unreported = 0;
        // Without a round-trip time there is no timer, so the next packet causes a report, too.
        self.overdue = last.rtt.is_none();
        let loss_event_rate = self.history.loss_event_rate();
        self.deadline = last.rtt.map(|rtt| now + rtt.max(Duration::from_nanos(1)));
        Some(Feedback { echo: last.sent, delay: now - arrived, receive_rate, loss_event_rate })
    }

    /// Returns the receive rate in bytes per second over at least the last round trip: since the last report that
    /// covered one, or since the one before if the last is less than a round trip ago (RFC 5348, section 6.2). It is 0
    /// at the first packet.
    fn rate(&self, now: Time) -> f64 {
        let rtt = self.last.and_then(|(last, _)| last.rtt).unwrap_or(Duration::ZERO);
        let short = now.since(self.current.from) < rtt;
        let from = if short { self.previous.from } else { self.current.from };
        let packets = if short { self.previous.packets + self.current.packets } else { self.current.packets };
        let time = now.since(from).max(rtt).as_secs();
        if time > 0.0 { packets as f64 * self.bytes / time } else { 0.0 }
    }
}

/// Returns the loss interval for the time before the first loss event: the one at which the throughput equation gives
/// half of the receive rate, since the rate doubled each round trip (RFC 5348, section 6.3.1).
fn interval_before_losses(bytes: f64, rtt: Duration, rate: f64) -> f64 {
    let rtt = rtt.as_secs();
    if rtt <= 0.0 {
        return 1.0;
    }
    // At least half a packet per round trip.
    let target = rate.max(bytes / rtt) / 2.0;
    1.0 / loss_event_rate(bytes, rtt, target)
}
