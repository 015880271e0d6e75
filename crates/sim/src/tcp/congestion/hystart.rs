//! HyStart (Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011), as in Linux's
//! CUBIC: slow start ends before it overflows a queue, when one of two signs appears in a round.
//!
//! | sign | condition |
//! |---|---|
//! | a long train | acknowledgements, each at most 2 ms after the one before, arrive for more than half of the shortest round-trip time and 1 ms; with pacing, for more than all of it |
//! | a longer round trip | the shortest round-trip time of more than eight exceeds the shortest ever by more than an eighth, at least 4 ms and at most 16 ms |
//!
//! The threshold is then set to the window, and congestion avoidance follows. Windows below 16 segments are not
//! checked: the first round begins with the acknowledgement that finds a window of 16. A timeout forgets everything,
//! and the next slow start is checked, too.
//!
//! Linux adds to the shortest round-trip time, where it limits a train, the time of four of its largest bursts at its
//! pacing rate, but at most 1 ms, which is the value for every flow below 1 Gbit/s and is used here for all. Deviation:
//! the round-trip time is that of the first segment that an acknowledgement covers (RFC 7323), in Linux of the last.

use fairlane_qdisc::{Duration, Time};

use super::{AckSample, WindowSize};

/// The smallest window that is checked, in segments (`hystart_low_window` of Linux).
const LOW_WINDOW: f64 = 16.0;
/// The largest distance of two acknowledgements in a train (`hystart_ack_delta_us`).
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// The allowance for bursts in the length of a train.
const BURSTS: Duration = Duration::from_millis(1);
/// The number of round-trip times in a round after which the next one is compared (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// The limits of the rise of the round-trip time (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);
const RISE_DIVISOR: u64 = 8;
/// A shortest round-trip time before the first one.
const UNKNOWN: Duration = Duration::from_nanos(u64::MAX);

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    /// The current round; `None` before the first acknowledgement beyond `round_end`.
    round: Option<Round>,
    /// An acknowledgement beyond this begins the next round.
    round_end: u32,
    /// The shortest round-trip time ever.
    shortest: Duration,
    /// The part of the shortest round-trip time that a train may last.
    train_divisor: u64,
}

/// A round trip.
#[derive(Clone, Debug)]
struct Round {
    start: Time,
    /// The last acknowledgement of the train.
    train_end: Time,
    /// The shortest round-trip time.
    shortest: Duration,
    samples: u32,
}

impl HyStart {
    pub(super) fn new(paced: bool) -> Self {
        let train_divisor = if paced { 1 } else { 2 };
        Self { round: None, round_end: 0, shortest: UNKNOWN, train_divisor }
    }

    /// Forgets everything: slow start begins again after a timeout. `max` is one past the highest segment ever sent.
    pub(super) fn restart(&mut self, max: u32) {
        (self.round, self.round_end, self.shortest) = (None, max, UNKNOWN);
    }

    /// Handles an acknowledgement in slow start before the window grows. Sets the threshold to the window if one of the
    /// signs appears.
    pub(super) fn check(&mut self, size: &mut WindowSize, sample: &AckSample) {
        self.shortest = self.shortest.min(sample.rtt);
        if size.cwnd < LOW_WINDOW {
            return;
        }
        if sample.una > self.round_end {
            self.round_end = sample.max;
            self.round = Some(Round { start: sample.now, train_end: sample.now, shortest: UNKNOWN, samples: 0 });
        }
        let Some(round) = &mut self.round else { return };
        let train = Duration::from_nanos((self.shortest + BURSTS).as_nanos() / self.train_divisor);
        let rise = Duration::from_nanos(self.shortest.as_nanos() / RISE_DIVISOR).clamp(MIN_RISE, MAX_RISE);
        let long_train = round.train(sample.now) > train;
        if round.exceeds(sample.rtt, self.shortest + rise) || long_train {
            size.ssthresh = size.cwnd;
        }
    }
}

impl Round {
    /// Adds an acknowledgement to the train; returns the length of the train, or zero if it is not part of it.
    fn train(&mut self, now: Time) -> Duration {
        if now.since(self.train_end) > TRAIN_GAP {
            return Duration::ZERO;
        }
        self.train_end = now;
        now.since(self.start)
    }

    /// Adds a round-trip time; returns true if more than eight are known and all exceed `limit`.
    fn exceeds(&mut self, rtt: Duration, limit: Duration) -> bool {
        self.shortest = self.shortest.min(rtt);
        self.samples = self.samples.saturating_add(1);
        self.samples > SAMPLES && self.shortest > limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges segments one by one, `gap` milliseconds apart from 100 ms on, in a round in which `before` is the
    /// shortest round-trip time ever. The window is 20 segments; returns the number of acknowledgements after which
    /// slow start ends, up to 100.
    fn ends_after(hystart: &mut HyStart, before: u64, rtt: u64, gap: u64) -> Option<u64> {
        let ms = Duration::from_millis;
        hystart.shortest = ms(before);
        let mut size = WindowSize { cwnd: 20.0, ssthresh: 1e9 };
        let first = hystart.round_end + 1;
        (1..=100).find(|number| {
            let una = first + *number as u32 - 1;
            let (now, max) = (Time::ZERO + ms(100 + gap * (number - 1)), first + 200);
            let sample = AckSample { now, una, max, rtt: ms(rtt), ..AckSample::default() };
            hystart.check(&mut size, &sample);
            size.ssthresh == size.cwnd
        })
    }

    /// Linux's rule by hand: the ninth sample decides. 40 ms allow a rise of 5 ms, 16 ms one of 4 ms, 400 ms one of 16
    /// ms; at the limit slow start continues. The acknowledgements are too far apart for a train.
    #[test]
    fn a_longer_round_trip_ends_it() {
        for (before, rtt, ends) in [
            (40, 45, None),
            (40, 46, Some(9)),
            (16, 20, None),
            (16, 21, Some(9)),
            (400, 416, None),
            (400, 417, Some(9)),
        ] {
            assert_eq!(ends_after(&mut HyStart::new(false), before, rtt, 3), ends, "{before} ms, then {rtt} ms");
        }
    }

    /// A train at distances of 1 ms reaches more than (40 + 1) / 2 = 20.5 ms with the acknowledgement at 21 ms, the
    /// 22nd; with pacing more than 41 ms with the 43rd. At distances of 2 ms the 12th is at 22 ms; 3 ms are no train.
    #[test]
    fn a_long_train_ends_it() {
        for (paced, gap, ends) in
            [(false, 1, Some(22)), (true, 1, Some(43)), (false, 2, Some(12)), (false, 3, None), (true, 3, None)]
        {
            assert_eq!(ends_after(&mut HyStart::new(paced), 40, 40, gap), ends, "{gap} ms, paced: {paced}");
        }
    }

    /// Would catch a check of small windows.
    #[test]
    fn small_windows_go_on() {
        let mut hystart = HyStart::new(false);
        let mut size = WindowSize { cwnd: 15.0, ssthresh: 1e9 };
        for number in 1..=100 {
            let rtt = Duration::from_millis(if number == 1 { 10 } else { 100 });
            let now = Time::ZERO + Duration::from_millis(u64::from(number));
            let sample = AckSample { now, una: number, max: 200, rtt, ..AckSample::default() };
            hystart.check(&mut size, &sample);
        }
        assert_eq!(size.ssthresh, 1e9);
    }

    /// After a timeout with segments to 300 in flight neither the old round-trip time nor acknowledgements up to 300
    /// end the next slow start; a round after them does.
    #[test]
    fn a_timeout_starts_afresh() {
        let mut hystart = HyStart::new(false);
        assert_eq!(ends_after(&mut hystart, 40, 100, 3), Some(9));
        hystart.restart(300);
        let mut size = WindowSize { cwnd: 20.0, ssthresh: 1e9 };
        for una in 201..=300 {
            let (now, rtt) = (Time::ZERO + Duration::from_millis(u64::from(una)), Duration::from_millis(100));
            let sample = AckSample { now, una, max: 300, limit: 1, rtt, ..AckSample::default() };
            hystart.check(&mut size, &sample);
        }
        assert_eq!((size.ssthresh, hystart.shortest), (1e9, Duration::from_millis(100)));
        assert_eq!(ends_after(&mut hystart, 100, 113, 3), Some(9));
    }
}
