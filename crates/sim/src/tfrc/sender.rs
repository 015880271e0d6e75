//! The TFRC sender (RFC 5348, section 4).

use fairlane_qdisc::{Duration, Rate, Time};

use super::{Feedback, throughput};

/// The weight q of the old average of the round-trip time, and that of its square root (RFC 5348, sections 4.3 and
/// 4.5).
const OLD_WEIGHT: f64 = 0.9;
/// The longest time between packets t_mbi, in seconds.
const LONGEST_GAP: f64 = 64.0;
/// The no-feedback timer before the first report, in seconds.
const FIRST_TIMER: f64 = 2.0;

/// The sending side.
///
/// The sender sends packets of one size at the allowed rate, or at the application's rate if that is lower. The
/// application has data from [`start`](Self::start) to [`stop`](Self::stop). Packets that could not be sent in time are
/// not sent later. A sender can send 2^32 − 1 packets.
#[derive(Clone, Debug)]
pub struct TfrcSender {
    /// The packet size s in bytes.
    bytes: f64,
    /// Oscillation damping is in use (section 4.5).
    damping: bool,
    /// The application's rate in bytes per second; infinite if unlimited.
    application_rate: f64,
    /// The time since which the sender has been limited by the application.
    limited: Option<Time>,
    /// The sending time of the packet that caused the last report.
    echo: Time,
    /// The allowed rate X in bytes per second.
    rate: f64,
    /// The rate of the throughput equation.
    friendly: f64,
    /// The loss event rate p in the last report.
    loss: f64,
    /// The round-trip time R in seconds.
    rtt: Option<f64>,
    /// The average of its square root, and the square root of the last sample.
    roots: (f64, f64),
    /// The recent receive rates with their times (X_recv_set); infinite before the first report.
    received: Vec<(Time, f64)>,
    /// The time at which slow start last doubled the rate.
    doubled: Time,
    next: u32,
    /// The time at which the last packet was sent.
    sent: Option<Time>,
    /// The time since which the application has had data.
    open: Option<Time>,
    /// The no-feedback timer.
    timer: Option<Time>,
    /// Nothing has been sent since the timer was set.
    idle: bool,
}

impl TfrcSender {
    /// Returns a sender of packets of `bytes` bytes, with or without the oscillation `damping` of section 4.5. `limit`
    /// is the application's rate; `None` means unlimited.
    #[must_use]
    pub fn new(bytes: u32, damping: bool, limit: Option<Rate>) -> Self {
        let bytes = f64::from(bytes.max(1));
        Self {
            bytes,
            damping,
            application_rate: bytes_per_second(limit),
            limited: Some(Time::ZERO),
            echo: Time::ZERO,
            // One packet per second until the first report.
            rate: bytes,
            friendly: f64::INFINITY,
            loss: 0.0,
            rtt: None,
            roots: (0.0, 0.0),
            received: Vec::new(),
            doubled: Time::ZERO,
            next: 0,
            sent: None,
            open: None,
            timer: None,
            idle: true,
        }
    }

    /// Sets the application's rate; `None` means unlimited. The packet for which the timer is set keeps its time.
    pub fn set_limit(&mut self, limit: Option<Rate>) {
        self.application_rate = bytes_per_second(limit);
    }

    /// Starts or resumes sending.
    pub fn start(&mut self, now: Time) {
        self.open = self.open.or(Some(now));
        if self.timer.is_none() {
            self.set_timer(now);
        }
        self.update_limited(now);
    }

    /// Stops sending.
    pub fn stop(&mut self, now: Time) {
        self.open = None;
        self.update_limited(now);
    }

    /// Handles a report.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        // The timer depends on the rate before this report and on the round-trip time with it.
        let first = self.rtt.is_none();
        let rtt = self.measure(now, feedback);
        let timer = self.timeout();
        let worse = feedback.loss_event_rate > self.loss;
        self.loss = feedback.loss_event_rate;
        self.friendly = throughput(self.bytes, rtt, self.loss);
        if first {
            self.received.push((now, f64::INFINITY));
            self.rate = self.initial_rate(rtt);
            self.doubled = now;
        } else {
            let limit = self.limit(now, rtt, feedback.receive_rate, worse);
            self.adapt(now, rtt, limit);
        }
        self.echo = feedback.echo;
        self.timer = Some(now + Duration::from_secs(timer));
        self.idle = true;
        self.update_limited(now);
    }

    /// Handles the timers. Returns the sequence number of the packet to send now, if one is due. To be called at or
    /// after [`deadline`](Self::deadline).
    pub fn on_timer(&mut self, now: Time) -> Option<u32> {
        if self.timer.is_some_and(|timer| timer <= now) {
            self.expire(now);
        }
        if self.send_at().is_none_or(|due| now < due) {
            return None;
        }
        self.sent = Some(now);
        self.idle = false;
        self.next += 1;
        Some(self.next - 1)
    }

    /// Returns the time at which [`on_timer`](Self::on_timer) is to be called; a time in the past means at once.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        match (self.send_at(), self.timer) {
            (Some(send), Some(timer)) => Some(send.min(timer)),
            (send, timer) => send.or(timer),
        }
    }

    /// Returns the allowed rate X in bytes per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns the round-trip time R; `None` before the first report.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(Duration::from_secs)
    }

    /// Returns the time at which the next packet may be sent; `None` if there is none to send.
    fn send_at(&self) -> Option<Time> {
        let open = self.open.filter(|_| self.next < u32::MAX)?;
        // Never two packets at the same time, however high the rate.
        let gap = Duration::from_secs(self.bytes / self.instantaneous_rate().min(self.application_rate))
            .max(Duration::from_nanos(1));
        Some(self.sent.map_or(open, |sent| open.max(sent + gap)))
    }

    /// Returns the rate by which packets are spaced. With damping it is lower while the round-trip time is longer than
    /// usual.
    fn instantaneous_rate(&self) -> f64 {
        let (mean, root) = self.roots;
        if self.damping && root > 0.0 { (self.rate * mean / root).max(self.min_rate()) } else { self.rate }
    }

    /// Adds the round-trip time of a report to the average and returns it (section 4.3, steps 1 and 2).
    fn measure(&mut self, now: Time, feedback: &Feedback) -> f64 {
        let sample = now.since(feedback.echo).as_nanos().saturating_sub(feedback.delay.as_nanos()).max(1) as f64 / 1e9;
        let root = libm::sqrt(sample);
        let averaged = |mean: f64, sample: f64| OLD_WEIGHT * mean + (1.0 - OLD_WEIGHT) * sample;
        let (rtt, mean) = self.rtt.map_or((sample, root), |rtt| (averaged(rtt, sample), averaged(self.roots.0, root)));
        self.rtt = Some(rtt);
        self.roots = (mean, root);
        rtt
    }

    /// Returns the limit that the receive rate sets (section 4.3, step 4). `worse` is true if the loss event rate has
    /// risen.
    fn limit(&mut self, now: Time, rtt: f64, receive_rate: f64, worse: bool) -> f64 {
        // Part of the reported interval was not limited by the application.
        if self.limited.is_none_or(|since| since > self.echo) {
            2.0 * self.update_received(now, rtt, receive_rate)
        } else if worse {
            // Losses although the application limited the rate: even this rate was too high.
            self.maximize_received(now, 0.5, 0.85 * receive_rate)
        } else {
            2.0 * self.maximize_received(now, 1.0, receive_rate)
        }
    }

    /// Updates the time since which the application has limited the rate.
    fn update_limited(&mut self, now: Time) {
        let limited = self.open.is_none() || self.application_rate < self.rate;
        self.limited = if limited { self.limited.or(Some(now)) } else { None };
    }

    /// Adds the rate of a report, removes those older than two round trips, and returns the maximum (Update
    /// X_recv_set).
    fn update_received(&mut self, now: Time, rtt: f64, receive_rate: f64) -> f64 {
        self.received.retain(|(at, _)| now.since(*at).as_secs() <= 2.0 * rtt);
        self.received.push((now, receive_rate));
        self.max_received()
    }

    /// Replaces the rates by their maximum, after multiplying the old ones by `part` and adding a report's (Maximize
    /// X_recv_set).
    fn maximize_received(&mut self, now: Time, part: f64, receive_rate: f64) -> f64 {
        let known = self.received.iter().map(|(_, rate)| part * rate).filter(|rate| rate.is_finite());
        let max = known.fold(receive_rate, f64::max);
        self.received.clear();
        self.received.push((now, max));
        max
    }

    /// Returns the maximum of the recent receive rates.
    fn max_received(&self) -> f64 {
        self.received.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// Sets a new rate, at most `limit` (section 4.3, step 4).
    fn adapt(&mut self, now: Time, rtt: f64, limit: f64) {
        if self.loss > 0.0 {
            self.rate = self.friendly.min(limit).max(self.min_rate());
        } else if now.since(self.doubled).as_secs() >= rtt {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate(rtt));
            self.doubled = now;
        }
    }

    /// Handles the no-feedback timer (section 4.4).
    fn expire(&mut self, now: Time) {
        match self.rtt {
            None if self.idle => {}
            None => self.rate = (self.rate / 2.0).max(self.min_rate()),
            Some(rtt) => self.slow_down(now, rtt),
        }
        self.set_timer(now);
        self.update_limited(now);
    }

    fn slow_down(&mut self, now: Time, rtt: f64) {
        let (recover, received) = (self.initial_rate(rtt), self.max_received());
        let slow = if self.loss > 0.0 { received < recover } else { self.rate < 2.0 * recover };
        if self.idle && slow {
            // An idle sender keeps the rate of a new one.
        } else if self.loss == 0.0 {
            self.rate = (self.rate / 2.0).max(self.min_rate());
        } else {
            // Halves the limit of the rate, which is the receive rate or the equation.
            let limit = if self.friendly > 2.0 * received { received } else { self.friendly / 2.0 };
            let limit = limit.max(self.min_rate());
            self.received.clear();
            self.received.push((now, limit / 2.0));
            self.adapt(now, rtt, limit);
        }
    }

    fn set_timer(&mut self, now: Time) {
        self.timer = Some(now + Duration::from_secs(self.timeout()));
        self.idle = true;
    }

    /// Returns the length of the no-feedback timer in seconds.
    fn timeout(&self) -> f64 {
        self.rtt.map_or(FIRST_TIMER, |rtt| 4.0 * rtt).max(2.0 * self.bytes / self.rate)
    }

    /// Returns W_init/R, with the initial window of RFC 3390.
    fn initial_rate(&self, rtt: f64) -> f64 {
        (4.0 * self.bytes).min((2.0 * self.bytes).max(4380.0)) / rtt
    }

    /// Returns the rate of one packet per longest gap, s/t_mbi.
    fn min_rate(&self) -> f64 {
        self.bytes / LONGEST_GAP
    }
}

/// Returns the rate of an application in bytes per second; infinite if it is unlimited.
fn bytes_per_second(limit: Option<Rate>) -> f64 {
    limit.map_or(f64::INFINITY, |limit| limit.bits_per_second().max(1) as f64 / 8.0)
}
