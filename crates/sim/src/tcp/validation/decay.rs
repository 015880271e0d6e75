//! Validation of the congestion window (RFC 2861): a window that has not been used says little about the path.
//!
//! * Idle: for each retransmission timeout since the last segment the window is halved.
//! * Limited by the application: if the window has not been filled for a retransmission timeout, it falls to the mean
//!   of itself and its used part.
//!
//! The least window, and the least that counts as used, is one segment by the RFC, and the initial window in Linux.
//!
//! In both cases the slow start threshold is three quarters of the window before, or what it was if that is more.

use fairlane_qdisc::{Duration, Time};

use super::super::congestion::WindowSize;

/// The use of a window.
#[derive(Clone, Debug)]
pub(in super::super) struct Decay {
    /// The least window that either rule leaves, in segments.
    least: f64,
    /// The time of the last transmission (T_last of RFC 2861); `None` before the first.
    last_sent: Option<Time>,
    /// The time at which the window was last full or reduced (T_prev), at first that of the first segment; `None`
    /// before it.
    since: Option<Time>,
    /// The most segments outstanding since then (W_used).
    used: u32,
}

impl Decay {
    pub(super) fn new(least: u32) -> Self {
        Self { least: f64::from(least), last_sent: None, since: None, used: 0 }
    }

    /// Reduces the window before the first segment after an idle time.
    pub(super) fn on_restart(&mut self, size: &mut WindowSize, now: Time, timeout: Duration) {
        let Some(last) = self.last_sent else { return };
        let timeouts = now.since(last).as_nanos() / timeout.as_nanos().max(1);
        if timeouts == 0 {
            return;
        }
        size.ssthresh = size.ssthresh.max(0.75 * size.cwnd);
        let least = size.cwnd.min(self.least);
        for _ in 0..timeouts {
            if size.cwnd <= least {
                break;
            }
            size.cwnd /= 2.0;
        }
        size.cwnd = size.cwnd.max(least);
        (self.since, self.used) = (Some(now), 0);
    }

    /// Notes a transmission.
    pub(super) fn on_send(&mut self, now: Time) {
        self.last_sent = Some(now);
        self.since.get_or_insert(now);
    }

    /// Notes that the window is full.
    pub(super) fn on_full(&mut self, now: Time) {
        (self.since, self.used) = (Some(now), 0);
    }

    /// Notes that the window has room but there are no data, with `flight` segments outstanding.
    pub(super) fn on_application_limited(&mut self, size: &mut WindowSize, now: Time, flight: u32, timeout: Duration) {
        self.used = self.used.max(flight);
        if self.since.is_none_or(|since| now.since(since) < timeout) {
            return;
        }
        let used = f64::from(self.used).max(self.least);
        if used < size.cwnd {
            size.ssthresh = size.ssthresh.max(0.75 * size.cwnd);
            size.cwnd = (size.cwnd + used) / 2.0;
        }
        (self.since, self.used) = (Some(now), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_millis(200);

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn size(cwnd: f64, ssthresh: f64) -> WindowSize {
        WindowSize { cwnd, ssthresh }
    }

    /// RFC 2861, section 3, by hand: after 2.5 timeouts a window of 40 is 10 and the threshold 30. It does not fall
    /// below the initial window, or its own value if that is less.
    #[test]
    fn an_idle_window_is_halved_for_each_timeout() {
        for (initial, cwnd, idle, expected) in [
            (2, 40.0, 500, (10.0, 30.0)),
            (2, 40.0, 199, (40.0, 8.0)),
            (10, 40.0, 60_000, (10.0, 30.0)),
            (10, 4.0, 500, (4.0, 8.0)),
        ] {
            let (mut validation, mut size) = (Decay::new(initial), size(cwnd, 8.0));
            validation.on_restart(&mut size, ms(0), RTO);
            validation.on_send(ms(100));
            validation.on_restart(&mut size, ms(100 + idle), RTO);
            assert_eq!((size.cwnd, size.ssthresh), expected, "{initial} {cwnd} {idle}");
        }
    }

    /// By hand: of a window of 20 at most 8 are in use for a timeout since it was full at 100 ms: (20 + 8) / 2 = 14,
    /// threshold 15. In the next timeout 6 are: 10. Would catch a window that falls before a timeout is over, or
    /// although it has been full in between.
    #[test]
    fn an_unfilled_window_falls_towards_its_use() {
        let (mut validation, mut size) = (Decay::new(2), size(20.0, 5.0));
        validation.on_full(ms(100));
        for (at, flight, expected) in [(150, 8, 20.0), (299, 7, 20.0), (300, 3, 14.0), (400, 6, 14.0), (500, 5, 10.0)] {
            validation.on_application_limited(&mut size, ms(at), flight, RTO);
            assert_eq!(size.cwnd, expected, "at {at} ms");
        }
        assert_eq!(size.ssthresh, 15.0);
        validation.on_full(ms(690));
        validation.on_application_limited(&mut size, ms(710), 1, RTO);
        assert_eq!(size.cwnd, 10.0);
    }
}
