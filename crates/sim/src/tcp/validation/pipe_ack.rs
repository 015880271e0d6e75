//! New congestion window validation (RFC 7661): the window of a sender that is limited by its application.
//!
//! pipeACK is the most data that was acknowledged within a round trip, of the last three round trips or the last second
//! if that is longer. The window is validated if pipeACK is half of it at least, or undefined: at the start and after
//! loss recovery. Otherwise
//!
//! * it stays, and grows only if it is full (section 4.4);
//! * a loss or a timeout halves the used window, the larger of pipeACK and the flight; at the end of loss recovery the
//!   window is half of that without the segments that were retransmitted (section 4.4). A mark reduces the used window
//!   as far as congestion control reduces a window;
//! * after five minutes it is halved, down to the initial window, and the threshold is at least three quarters of it
//!   (section 4.4).
//!
//! A sample of pipeACK begins when the one before ends, and ends when all segments are acknowledged that were
//! outstanding at its first acknowledgement. None is taken in loss recovery (section 4.2).
//!
//! Deviations: after each further five minutes the window is halved again. The burst after a pause is not limited
//! (section 4.4 allows pacing for that, which is a separate option). LEDBAT has its own limit to a window that is not
//! used (RFC 6817, section 2.4.2), so its growth does not depend on the phase.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Time};

use super::super::congestion::{AckSample, CongestionSignal, WindowSize};
use super::super::ranges::Ranges;

/// The non-validated period.
const NON_VALIDATED: Duration = Duration::from_millis(300_000);

/// The shortest time for which a sample counts.
const SAMPLING: Duration = Duration::from_millis(1_000);

#[derive(Clone, Debug)]
pub(in super::super) struct PipeAck {
    /// The initial window.
    initial: f64,
    /// The samples that count and are larger than all later ones, with the times at which they ended.
    samples: VecDeque<(Time, u32)>,
    /// The time for which a sample counts.
    period: Duration,
    /// pipeACK is defined.
    defined: bool,
    /// The current sample; `None` before its first acknowledgement.
    sample: Option<Sample>,
    /// The last time at which the window was validated or halved after the non-validated period.
    validated_at: Time,
    /// The window is full.
    full: bool,
    /// One past the highest segment sent.
    highest: u32,
    /// Loss recovery goes on.
    recovering: bool,
    loss: Option<Loss>,
}

/// The segments `[from, end)` of a sample of pipeACK.
#[derive(Clone, Copy, Debug)]
struct Sample {
    from: u32,
    end: u32,
}

/// The repair of a loss in a window that is not validated.
#[derive(Clone, Debug)]
struct Loss {
    /// The larger of pipeACK and LossFlightSize.
    used: f64,
    /// The segments retransmitted since, and their number (R).
    resent: Ranges,
    count: u32,
}

impl PipeAck {
    pub(super) fn new(initial_window: u32) -> Self {
        let (samples, period, defined) = (VecDeque::new(), SAMPLING, false);
        let (sample, highest, full, recovering, loss) = (None, 0, false, false, None);
        let (validated_at, initial) = (Time::ZERO, f64::from(initial_window));
        Self { initial, samples, period, defined, sample, validated_at, full, highest, recovering, loss }
    }

    pub(super) fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    pub(super) fn on_send(&mut self, seq: u32) {
        if let Some(loss) = self.loss.as_mut().filter(|_| seq < self.highest) {
            loss.count += loss.resent.insert(seq, seq + 1, |_, _| {}).new;
        }
        self.highest = self.highest.max(seq + 1);
    }

    pub(super) fn on_ack(&mut self, size: &mut WindowSize, sample: &AckSample, recovering: bool) {
        let ends = !recovering && (self.recovering || self.loss.is_some());
        self.recovering = recovering;
        if ends {
            self.end_recovery(size);
        } else if !recovering && sample.acked > 0 {
            self.measure(sample);
        }
        if !recovering {
            self.update(size, sample.now);
        }
    }

    fn measure(&mut self, sample: &AckSample) {
        let (una, end) = (sample.una, sample.max);
        let current = *self.sample.get_or_insert(Sample { from: una - sample.acked, end });
        if una < current.end {
            return;
        }
        let acked = una - current.from;
        self.sample = (end > una).then_some(Sample { from: una, end });
        self.period = Duration::from_nanos(sample.rtt.as_nanos().saturating_mul(3)).max(SAMPLING);
        while self.samples.back().is_some_and(|(_, smaller)| *smaller <= acked) {
            self.samples.pop_back();
        }
        self.samples.push_back((sample.now, acked));
        self.defined = true;
    }

    /// Determines the phase at `now`, and reduces a window that has not been validated for too long.
    pub(super) fn update(&mut self, size: &mut WindowSize, now: Time) {
        let half = size.cwnd / 2.0;
        let valid = self.samples.iter().rev().find(|(_, acked)| f64::from(*acked) >= half);
        let until = if self.defined { valid.map(|(at, _)| *at + self.period) } else { Some(now) };
        if let Some(until) = until {
            self.validated_at = self.validated_at.max(until.min(now));
        }
        while self.samples.front().is_some_and(|(at, _)| *at + self.period <= now) {
            self.samples.pop_front();
        }
        self.reduce(size, now);
    }

    /// Reduces a window that has not been validated for too long.
    fn reduce(&mut self, size: &mut WindowSize, now: Time) {
        let periods = now.since(self.validated_at).as_nanos().saturating_sub(1) / NON_VALIDATED.as_nanos();
        if periods == 0 {
            return;
        }
        size.ssthresh = size.ssthresh.max(0.75 * size.cwnd);
        let least = size.cwnd.min(self.initial);
        for _ in 0..periods {
            if size.cwnd <= least {
                break;
            }
            size.cwnd = (size.cwnd / 2.0).max(least);
        }
        self.validated_at += Duration::from_nanos(periods * NON_VALIDATED.as_nanos());
    }

    /// Returns pipeACK in segments.
    fn value(&self) -> f64 {
        self.samples.front().map_or(0.0, |(_, acked)| f64::from(*acked))
    }

    fn is_validated(&self, cwnd: f64) -> bool {
        !self.defined || self.value() >= cwnd / 2.0
    }

    pub(super) fn allows_growth(&mut self, size: &mut WindowSize, now: Time) -> bool {
        self.update(size, now);
        self.full || self.is_validated(size.cwnd)
    }

    /// Returns the segments that were in use if the window is not validated.
    pub(super) fn on_congestion(&mut self, size: WindowSize, flight: u32, signal: CongestionSignal) -> Option<f64> {
        if self.is_validated(size.cwnd) {
            return None;
        }
        let used = self.value().max(f64::from(flight)).min(size.cwnd);
        if signal == CongestionSignal::Loss {
            self.loss = Some(Loss { used, resent: Ranges::default(), count: 0 });
        }
        Some(used)
    }

    fn end_recovery(&mut self, size: &mut WindowSize) {
        if let Some(loss) = self.loss.take() {
            size.cwnd = ((loss.used - f64::from(loss.count)) / 2.0).max(1.0);
            size.ssthresh = size.cwnd;
        }
        self.forget();
    }

    /// Makes pipeACK undefined, and forgets a loss.
    pub(super) fn forget(&mut self) {
        (self.defined, self.sample, self.loss) = (false, None, None);
        self.samples.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// An acknowledgement of `acked` segments up to `una` of `max`, a round trip of 100 ms after they were sent.
    fn ack(millis: u64, acked: u32, una: u32, max: u32) -> AckSample {
        AckSample { now: ms(millis), acked, una, max, rtt: Duration::from_millis(100), ..AckSample::default() }
    }

    /// Returns the state after bursts of segments, each acknowledged half by half at a time and 10 ms later, with a
    /// window of `cwnd`.
    fn after(bursts: &[(u64, u32)], cwnd: f64) -> (PipeAck, WindowSize) {
        let (mut pipe, mut size) = (PipeAck::new(10), WindowSize { cwnd, ssthresh: 8.0 });
        let mut sent = 0;
        for (millis, segments) in bursts {
            (sent..sent + segments).for_each(|seq| pipe.on_send(seq));
            sent += segments;
            let half = segments / 2;
            pipe.on_ack(&mut size, &ack(*millis, segments - half, sent - half, sent), false);
            pipe.on_ack(&mut size, &ack(*millis + 10, half, sent, sent), false);
        }
        (pipe, size)
    }

    /// Section 4.3, by hand: a burst of 20 validates a window of 40, and one of 19 does not. A sample counts for a
    /// second, with which 300 ms are less, and until then smaller ones do not matter. Without any the window is
    /// validated. Would catch a sample of half a burst.
    #[test]
    fn half_of_the_window_validates_it() {
        for (bursts, now, expected) in [
            (&[(100, 20)][..], 1_109, true),
            (&[(100, 20)], 1_110, false),
            (&[(100, 19)], 120, false),
            (&[(100, 20), (600, 4)], 1_109, true),
            (&[(100, 20), (600, 4)], 1_110, false),
            (&[(100, 20), (600, 22)], 1_609, true),
            (&[], 50_000, true),
        ] {
            let (mut pipe, mut size) = after(bursts, 40.0);
            assert_eq!(pipe.allows_growth(&mut size, ms(now)), expected, "{bursts:?} at {now} ms");
            assert_eq!(size.cwnd, 40.0);
        }
    }

    /// Section 4.4: a window that is not validated grows if it is full.
    #[test]
    fn a_full_window_grows() {
        let (mut pipe, mut size) = after(&[(100, 8)], 40.0);
        pipe.set_full(true);
        assert!(pipe.allows_growth(&mut size, ms(120)));
        pipe.set_full(false);
        assert!(!pipe.allows_growth(&mut size, ms(120)));
    }

    /// Section 4.4, by hand: validated until 1,110 ms, a window of 40 is 20 after five minutes more, and the threshold
    /// 30; after ten minutes it is the initial window of 10, and stays there. Would catch a period that begins with the
    /// last acknowledgement.
    #[test]
    fn halves_after_five_minutes() {
        for (now, expected) in
            [(301_110, (40.0, 8.0)), (301_111, (20.0, 30.0)), (601_111, (10.0, 30.0)), (3_601_111, (10.0, 30.0))]
        {
            let (mut pipe, mut size) = after(&[(100, 20)], 40.0);
            pipe.update(&mut size, ms(now));
            assert_eq!((size.cwnd, size.ssthresh), expected, "at {now} ms");
        }
    }

    /// Section 4.4, by hand: with a pipeACK of 8 and a flight of 12 of a window of 40, 12 are in use, and with a
    /// pipeACK of 16 it is 16. Three segments are retransmitted, one of them twice: (12 - 3) / 2. Then pipeACK is
    /// undefined. Would catch half of the window, and a retransmission that counts twice.
    #[test]
    fn a_loss_halves_what_was_in_use() {
        for (burst, used, left) in [(8, 12.0, 4.5), (16, 16.0, 6.5)] {
            let (mut pipe, mut size) = after(&[(100, burst)], 40.0);
            (burst..burst + 12).for_each(|seq| pipe.on_send(seq));
            assert_eq!(pipe.on_congestion(size, 12, CongestionSignal::Loss), Some(used));
            for lost in [0, 1, 5, 1] {
                pipe.on_send(burst + lost);
                pipe.on_ack(&mut size, &ack(300, 1, burst + lost, burst + 12), true);
            }
            assert_eq!(size.cwnd, 40.0);
            pipe.on_ack(&mut size, &ack(400, 6, burst + 12, burst + 12), false);
            assert_eq!((size.cwnd, size.ssthresh), (left, left));
            assert_eq!(pipe.on_congestion(WindowSize { cwnd: 100.0, ..size }, 12, CongestionSignal::Loss), None);
        }
        let (mut pipe, size) = after(&[(100, 20)], 40.0);
        assert_eq!(pipe.on_congestion(size, 12, CongestionSignal::Loss), None);
    }
}
