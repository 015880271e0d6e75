//! The sender (RFC 5348, section 4).

use fairlane_qdisc::{Duration, Rate, Time};

use super::{Feedback, throughput};

/// Weight of the round trip so far in its average, q, and of its root's (RFC 5348, 4.3 and 4.5).
const KEPT: f64 = 0.9;
/// The longest time between packets in seconds, t_mbi.
const LONGEST_GAP: f64 = 64.0;
/// The no-feedback timer before there is a round trip, in seconds.
const FIRST_TIMER: f64 = 2.0;

/// The sending side.
///
/// It sends packets of one size, spaced by the allowed rate or by the application's where that is lower. The application has
/// data from [`start`](Self::start) to [`stop`](Self::stop). What it could not send in time is not made up for later. A sender
/// can send 2^32 − 1 packets.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Bytes in a packet, s.
    bytes: f64,
    /// Spacing follows the round trip of the moment (4.5).
    damping: bool,
    /// The application's rate in bytes per second; infinite without limit.
    most: f64,
    /// Since when it has sent less than it might: the application was slower, or had nothing.
    limited: Option<Time>,
    /// When the packet was sent that the last report answered.
    echo: Time,
    /// The allowed rate X in bytes per second.
    rate: f64,
    /// What the throughput equation allows.
    friendly: f64,
    /// The loss event rate last reported, p.
    loss: f64,
    /// The round trip in seconds, R.
    rtt: Option<f64>,
    /// The mean of its square root, and the root of the last sample.
    roots: (f64, f64),
    /// Rates at which the receiver got data, with their moments; infinite before the first report.
    received: Vec<(Time, f64)>,
    /// When slow start last doubled the rate.
    doubled: Time,
    next: u32,
    /// When the last packet was sent.
    sent: Option<Time>,
    /// Since when there are data to send.
    open: Option<Time>,
    /// When to halve the rate if no report comes before.
    timer: Option<Time>,
    /// Nothing has been sent since the timer was set.
    idle: bool,
}

impl Sender {
    /// A sender of packets of `bytes` bytes, with the oscillation `damping` of section 4.5 or without, for an application that
    /// sends at `most` at the most.
    #[must_use]
    pub fn new(bytes: u32, damping: bool, most: Option<Rate>) -> Self {
        let bytes = f64::from(bytes.max(1));
        Self {
            bytes,
            damping,
            most: most.map_or(f64::INFINITY, |most| most.bits_per_second().max(1) as f64 / 8.0),
            limited: Some(Time::ZERO),
            echo: Time::ZERO,
            // A packet a second until the first report.
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

    /// Begins to send, or goes on.
    pub fn start(&mut self, now: Time) {
        self.open = self.open.or(Some(now));
        if self.timer.is_none() {
            self.set_timer(now);
        }
        self.watch(now);
    }

    /// Sends nothing from now on.
    pub fn stop(&mut self, now: Time) {
        self.open = None;
        self.watch(now);
    }

    /// Takes a report.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        // The timer goes by the rate before this report, and by the round trip with it.
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
        self.watch(now);
    }

    /// To be called at [`deadline`](Self::deadline) or later: the number of the packet to send now, if one is due.
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

    /// When the sender wants to be woken; a moment that is past means at once.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        match (self.send_at(), self.timer) {
            (Some(send), Some(timer)) => Some(send.min(timer)),
            (send, timer) => send.or(timer),
        }
    }

    /// The allowed rate X in bytes per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The round trip time R; `None` before the first report.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.map(Duration::from_secs)
    }

    /// When the next packet may go; `None` when there is none to send.
    fn send_at(&self) -> Option<Time> {
        let open = self.open.filter(|_| self.next < u32::MAX)?;
        // Never two at the same moment, however fast.
        let gap =
            Duration::from_secs(self.bytes / self.instantaneous_rate().min(self.most)).max(Duration::from_nanos(1));
        Some(self.sent.map_or(open, |sent| open.max(sent + gap)))
    }

    /// The rate by which packets are spaced: with damping it falls while the round trip is longer than usual.
    fn instantaneous_rate(&self) -> f64 {
        let (mean, root) = self.roots;
        if self.damping && root > 0.0 { (self.rate * mean / root).max(self.least()) } else { self.rate }
    }

    /// Takes the round trip of a report into the average, which it gives (4.3, steps 1 and 2).
    fn measure(&mut self, now: Time, feedback: &Feedback) -> f64 {
        let sample = now.since(feedback.echo).as_nanos().saturating_sub(feedback.delay.as_nanos()).max(1) as f64 / 1e9;
        let root = libm::sqrt(sample);
        let averaged = |mean: f64, sample: f64| KEPT * mean + (1.0 - KEPT) * sample;
        let (rtt, mean) = self.rtt.map_or((sample, root), |rtt| (averaged(rtt, sample), averaged(self.roots.0, root)));
        self.rtt = Some(rtt);
        self.roots = (mean, root);
        rtt
    }

    /// How much what is received allows (4.3, step 4); `worse`: the loss event rate has risen.
    fn limit(&mut self, now: Time, rtt: f64, receive_rate: f64, worse: bool) -> f64 {
        // Some of what the report speaks of was sent while the network was the limit.
        if self.limited.is_none_or(|since| since > self.echo) {
            2.0 * self.note(now, rtt, receive_rate)
        } else if worse {
            // What an application that holds back got through was too much.
            self.maximize(now, 0.5, 0.85 * receive_rate)
        } else {
            2.0 * self.maximize(now, 1.0, receive_rate)
        }
    }

    /// Keeps track of whether the application is the limit.
    fn watch(&mut self, now: Time) {
        let limited = self.open.is_none() || self.most < self.rate;
        self.limited = if limited { self.limited.or(Some(now)) } else { None };
    }

    /// Adds the rate of a report, forgets those older than two round trips, and gives the highest (Update X_recv_set).
    fn note(&mut self, now: Time, rtt: f64, receive_rate: f64) -> f64 {
        self.received.retain(|(at, _)| now.since(*at).as_secs() <= 2.0 * rtt);
        self.received.push((now, receive_rate));
        self.most_received()
    }

    /// Keeps the highest alone of the rates so far, times `part`, and of a report's, as of now (Maximize X_recv_set).
    fn maximize(&mut self, now: Time, part: f64, receive_rate: f64) -> f64 {
        let known = self.received.iter().map(|(_, rate)| part * rate).filter(|rate| rate.is_finite());
        let most = known.fold(receive_rate, f64::max);
        self.received.clear();
        self.received.push((now, most));
        most
    }

    /// The highest of the rates that count.
    fn most_received(&self) -> f64 {
        self.received.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// A new rate, of `limit` at the most (4.3, step 4).
    fn adapt(&mut self, now: Time, rtt: f64, limit: f64) {
        if self.loss > 0.0 {
            self.rate = self.friendly.min(limit).max(self.least());
        } else if now.since(self.doubled).as_secs() >= rtt {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate(rtt));
            self.doubled = now;
        }
    }

    /// No report has come in time (4.4).
    fn expire(&mut self, now: Time) {
        match self.rtt {
            None if self.idle => {}
            None => self.rate = (self.rate / 2.0).max(self.least()),
            Some(rtt) => self.slow_down(now, rtt),
        }
        self.set_timer(now);
        self.watch(now);
    }

    fn slow_down(&mut self, now: Time, rtt: f64) {
        let (recover, received) = (self.initial_rate(rtt), self.most_received());
        let slow = if self.loss > 0.0 { received < recover } else { self.rate < 2.0 * recover };
        if self.idle && slow {
            // An idle sender keeps what a new one would have.
        } else if self.loss == 0.0 {
            self.rate = (self.rate / 2.0).max(self.least());
        } else {
            // What limits the rate is halved: what was received, or what the equation allows.
            let limit = if self.friendly > 2.0 * received { received } else { self.friendly / 2.0 };
            let limit = limit.max(self.least());
            self.received.clear();
            self.received.push((now, limit / 2.0));
            self.adapt(now, rtt, limit);
        }
    }

    fn set_timer(&mut self, now: Time) {
        self.timer = Some(now + Duration::from_secs(self.timeout()));
        self.idle = true;
    }

    /// The no-feedback timer in seconds.
    fn timeout(&self) -> f64 {
        self.rtt.map_or(FIRST_TIMER, |rtt| 4.0 * rtt).max(2.0 * self.bytes / self.rate)
    }

    /// W_init/R, with the initial window of RFC 3390.
    fn initial_rate(&self, rtt: f64) -> f64 {
        (4.0 * self.bytes).min((2.0 * self.bytes).max(4380.0)) / rtt
    }

    /// A packet in the longest gap, s/t_mbi.
    fn least(&self) -> f64 {
        self.bytes / LONGEST_GAP
    }
}
