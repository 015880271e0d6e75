//! Pacing: segments are sent one by one, evenly spaced over the round trip, instead of in bursts.
//!
//! The rate is that of the algorithm (BBR), or the window divided by the smoothed round-trip time, times 2 in slow
//! start, where the window doubles per round trip, and times 1.25 otherwise (RFC 9002, section 7.7), so that a varying
//! round-trip time leaves no gap, or for Prague times 1. Nothing is held back before the first round-trip time is known. Retransmissions by
//! loss recovery or the timer are not delayed, but the segments after them are.

use fairlane_qdisc::{Duration, Time};

use super::{AckSample, WindowSize};

#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    /// The time at which the next segment may be sent.
    next: Time,
    /// The time from one segment to the next.
    gap: Duration,
    /// The time until which a segment is held back; `None` if none is.
    release: Option<Time>,
    /// The smoothed round-trip time in seconds, with the weights of RFC 6298; 0 before the first sample.
    srtt: f64,
}

impl Pacer {
    /// Sets the rate in segments per second.
    pub(super) fn set_rate(&mut self, rate: f64) {
        self.gap = Duration::from_secs(1.0 / rate);
    }

    /// Sets the rate from the window and the round-trip time, in congestion avoidance times `gain`.
    pub(super) fn follow(&mut self, size: WindowSize, sample: &AckSample, gain: f64) {
        if sample.acked > 0 {
            let rtt = sample.rtt.as_secs();
            self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
        }
        if self.srtt > 0.0 {
            let gain = if size.in_slow_start() { 2.0 } else { gain };
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
