//! Pacing: segments leave one by one, evenly spread over the round trip, rather than in bursts.
//!
//! The rate is the law's own (BBR), or the window over the smoothed round trip, times 2 in slow start, in which the window
//! doubles, and else times 1.25 (RFC 9002 7.7), so that a varying round trip leaves no gap. Before a round trip has been
//! measured nothing is held back. A retransmission by loss recovery or the timer goes at once, and what follows waits for it.

use fairlane_qdisc::{Duration, Time};

use super::{News, Size};

#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    /// When the next segment may go.
    next: Time,
    /// From one segment to the next.
    gap: Duration,
    /// A segment waits until then.
    release: Option<Time>,
    /// The smoothed round trip in seconds (RFC 6298's weights); 0 before the first.
    srtt: f64,
}

impl Pacer {
    /// Segments a second.
    pub(super) fn set_rate(&mut self, rate: f64) {
        self.gap = Duration::from_secs(1.0 / rate);
    }

    /// Sets the rate from the window and the round trip.
    pub(super) fn follow(&mut self, size: Size, news: &News) {
        if news.acked > 0 {
            let rtt = news.rtt.as_secs();
            self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
        }
        if self.srtt > 0.0 {
            let gain = if size.in_slow_start() { 2.0 } else { 1.25 };
            self.set_rate(gain * size.cwnd / self.srtt);
        }
    }

    pub(super) fn on_send(&mut self, now: Time) {
        self.next = self.next.max(now) + self.gap;
    }

    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        let holds = now < self.next;
        if holds {
            self.release = Some(self.next);
        }
        holds
    }

    pub(super) fn release(&self) -> Option<Time> {
        self.release
    }

    pub(super) fn forget_release(&mut self) {
        self.release = None;
    }
}
