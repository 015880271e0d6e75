//! CUBIC as Linux has it (Ha, Rhee, Xu, "CUBIC", ACM SIGOPS Operating Systems Review 42(5), 2008): in whole segments.
//!
//! | point | here | RFC 9438 |
//! |---|---|---|
//! | curve | its value a round trip from now, less its fraction; looked at every 31 ms and when the window has changed, once in a millisecond | at each acknowledgement |
//! | growth | one segment for each `count` acknowledged, at least 2 | by the distance to the curve |
//! | without a former congestion, or after a timeout | one segment for each 20, or more by the curve | by the curve |
//! | Reno's window | one segment more for each 15/8 of the window acknowledged, always | 9/17 of a segment a round trip, then one |
//! | round trip | the shortest, without those of a curve's first second; forgotten by a timeout | the smoothed one |
//! | undo | the window alone | the curve, too |
//!
//! Deviation: times are whole milliseconds, as in a kernel with 1000 ticks a second.

use fairlane_qdisc::Time;

use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, WindowSize};

/// C, of which Linux has 41/1024 in tenths.
const C: f64 = 410.0 / 1024.0;

/// β: 717 of 1024.
const BETA: u64 = 717;
const ONE: u64 = 1024;

/// Eighths of the window that are acknowledged until Reno's window grows: 8 (1 + β) / 3 / (1 - β), a whole number.
const RENO: u64 = 8 * (ONE + BETA) / 3 / (ONE - BETA);

/// The most acknowledged segments for one more where no congestion is known.
const UNKNOWN: u64 = 20;

/// The time in milliseconds for which an unchanged window keeps its pace: a thirty-second of a second.
const KEPT: u64 = 1000 / 32;

#[derive(Clone, Debug, Default)]
pub(super) struct LinuxCubic {
    /// The window of the last congestion, or less by fast convergence; 0: not known.
    w_max: u64,
    epoch: Option<LinuxEpoch>,
    /// Segments to be acknowledged for one more.
    count: u64,
    /// Segments that were acknowledged towards that.
    credits: u64,
    /// The window and the time in milliseconds for which `count` was found.
    found_for: (u64, u64),
    /// The shortest round trip in nanoseconds; 0: not known.
    shortest: u64,
    /// The time of the last segment.
    sent: Time,
}

/// Congestion avoidance since the last congestion.
#[derive(Clone, Debug)]
struct LinuxEpoch {
    /// The start in milliseconds.
    start: u64,
    /// The time in seconds until the curve is flat.
    k: f64,
    /// The window where it is flat.
    plateau: u64,
    /// The window that Reno would have, and the segments acknowledged towards one more.
    reno: u64,
    acked: u64,
}

impl LinuxEpoch {
    fn begin(start: u64, window: u64, w_max: u64) -> Self {
        let plateau = w_max.max(window);
        Self { start, k: libm::cbrt((plateau - window) as f64 / C), plateau, reno: window, acked: 0 }
    }

    /// Returns the curve, `t` seconds after the start. The distance from the plateau has no fraction.
    fn window(&self, t: f64) -> u64 {
        let from_plateau = t - self.k;
        let distance = (C * from_plateau.abs() * from_plateau * from_plateau) as u64;
        if from_plateau < 0.0 { self.plateau.saturating_sub(distance) } else { self.plateau + distance }
    }

    /// Lets Reno's window grow, and returns it.
    fn reno(&mut self, window: u64) -> u64 {
        let each = (window * RENO / 8).max(1);
        while self.acked > each {
            self.acked -= each;
            self.reno += 1;
        }
        self.reno
    }
}

impl CongestionControl for LinuxCubic {
    fn grow(&mut self, size: &mut WindowSize, sample: &AckSample) {
        let acked = u64::from(sample.growth());
        let mut window = (size.cwnd as u64).max(1);
        self.find_count(window, acked, milliseconds(sample.now));
        if self.credits >= self.count {
            (self.credits, window) = (0, window + 1);
        }
        self.credits += acked;
        window += self.credits / self.count;
        self.credits %= self.count;
        size.cwnd = window as f64;
    }

    fn on_ack(&mut self, _size: &mut WindowSize, sample: &AckSample, _loss: LossState) {
        let since = self.epoch.as_ref().map(|epoch| milliseconds(sample.now).saturating_sub(epoch.start));
        if sample.acked > 0 && since.is_none_or(|since| since >= 1000) {
            let rtt = sample.rtt.as_nanos().max(1);
            self.shortest = if self.shortest == 0 { rtt } else { self.shortest.min(rtt) };
        }
    }

    fn on_send(&mut self, now: Time, _seq: u32, idle: bool, _in_flight: u32) {
        if let Some(epoch) = self.epoch.as_mut().filter(|_| idle) {
            let pause = milliseconds(now) - milliseconds(self.sent);
            epoch.start = (epoch.start + pause).min(milliseconds(now));
        }
        self.sent = now;
    }

    fn on_congestion(&mut self, _size: &WindowSize, event: &CongestionEvent) -> f64 {
        let window = event.segments as u64;
        if event.signal == CongestionSignal::Timeout {
            *self = Self { sent: self.sent, ..Self::default() };
        } else {
            self.credits = 0;
            // Fast convergence: a flow whose window has shrunk releases bandwidth to others.
            let shrunk = window < self.w_max;
            self.w_max = if shrunk { window * (ONE + BETA) / (2 * ONE) } else { window };
            self.epoch = None;
        }
        (window * BETA / ONE) as f64
    }
}

impl LinuxCubic {
    /// Finds the number of segments to be acknowledged for one more, unless it was found a moment ago.
    fn find_count(&mut self, window: u64, acked: u64, now: u64) {
        let (before, at) = self.found_for;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
            if before == window && now - at <= KEPT {
                return;
            }
        }
        // The curve is looked at once in a millisecond.
        let known = self.epoch.is_some() && at == now;
        let begin = || LinuxEpoch { acked, ..LinuxEpoch::begin(now, window, self.w_max) };
        let epoch = self.epoch.get_or_insert_with(begin);
        if !known {
            self.found_for = (window, now);
            let ahead = self.shortest.div_ceil(1_000_000);
            let curve = epoch.window((now - epoch.start + ahead) as f64 / 1000.0);
            self.count = if curve > window { window / (curve - window) } else { 100 * window };
            if self.w_max == 0 {
                self.count = self.count.min(UNKNOWN);
            }
        }
        let reno = epoch.reno(window);
        if reno > window {
            self.count = self.count.min(window / (reno - window));
        }
        self.count = self.count.max(2);
    }
}

fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Duration;

    use super::super::reduced;
    use super::*;

    fn ack(millis: u64, acked: u32) -> AckSample {
        let (now, rtt) = (Time::ZERO + Duration::from_millis(millis), Duration::from_millis(100));
        AckSample { now, acked, rtt, ..AckSample::default() }
    }

    /// Returns the windows after acknowledgements of one segment each at these times in milliseconds.
    fn windows(cubic: &mut LinuxCubic, cwnd: f64, times: impl Iterator<Item = u64>) -> Vec<f64> {
        let mut size = WindowSize { cwnd, ssthresh: 1.0 };
        times
            .map(|at| {
                cubic.on_ack(&mut size, &ack(at, 1), LossState { in_flight: 0, recovering: false });
                cubic.grow(&mut size, &ack(at, 1));
                size.cwnd
            })
            .collect()
    }

    /// Without a former congestion one of twenty adds a segment, by hand: the curve of 0.4 t³ is below one for a
    /// second, and Reno's window, 50 * 15/8 = 93 acknowledged, comes later.
    #[test]
    fn a_window_without_history_grows_by_a_twentieth() {
        let grown = windows(&mut LinuxCubic::default(), 50.0, (0..60).map(|number| number * 10));
        let steps: Vec<usize> = (1..60).filter(|at| grown[*at] > grown[at - 1]).collect();
        assert_eq!(steps, [19, 39, 59]);
    }

    /// A window of 100 falls to 70, and K is cbrt(30 / 0.4004) = 4.216 s. Two seconds and a round trip later the curve
    /// is 0.4004 * 2.116³ = 3.8 below 100, without the fraction at 97: 70 / 27 = 2 segments for one more. At 9 s it is
    /// 43.8 above.
    #[test]
    fn the_curve_has_no_fraction() {
        let mut cubic = LinuxCubic::default();
        assert_eq!(reduced(&mut cubic, 100.0, CongestionSignal::Loss), 70.0);
        cubic.shortest = 100_000_000;
        let epoch = LinuxEpoch::begin(0, 70, 100);
        assert!((epoch.k - 4.2158).abs() < 1e-3, "{}", epoch.k);
        assert_eq!((epoch.window(2.1), epoch.window(epoch.k), epoch.window(9.0)), (97, 100, 143));
        cubic.find_count(70, 1, 0);
        cubic.find_count(70, 1, 2000);
        assert_eq!(cubic.count, 2);
    }

    /// Within a millisecond a window that has grown to 90 keeps its count; a millisecond later the curve of the test
    /// above is at 97, and 90 / 7 = 12. With 100.4 ms, which count as 101, the distance at 2.259 s is just below 3, and
    /// 90 / 8 = 11.
    #[test]
    fn the_curve_is_looked_at_once_in_a_millisecond() {
        let counted = |shortest, now: u64| {
            let mut cubic = LinuxCubic::default();
            reduced(&mut cubic, 100.0, CongestionSignal::Loss);
            cubic.shortest = shortest;
            cubic.find_count(70, 1, 0);
            cubic.find_count(70, 1, now);
            cubic.find_count(90, 1, now);
            let kept = cubic.count;
            cubic.find_count(90, 1, now + 1);
            (kept, cubic.count)
        };
        assert_eq!(counted(100_000_000, 2000), (2, 12));
        assert_eq!(counted(100_400_000, 2157), (2, 11));
    }

    /// The count is looked at every 31 ms only: at 7 segments without history Reno's window grows after 14 of them,
    /// 7 * 15/8 = 13 and one more. Acknowledgements come in bursts of 2 ms, and the first of the next burst sees it.
    #[test]
    fn a_count_is_kept_for_a_while() {
        let burst = |from: u64| (0..7).map(move |number| from + 2 * number);
        let times: Vec<u64> = [0].into_iter().chain(burst(100)).chain(burst(210)).chain(burst(320)).collect();
        let grown = windows(&mut LinuxCubic::default(), 7.0, times.iter().copied());
        let first = grown.iter().position(|cwnd| *cwnd == 8.0);
        assert_eq!(first.map(|at| times[at]), Some(320), "{grown:?}");
    }

    /// 717 of 1024, less the fraction; a window that has shrunk gives up more: 80 * 1741 / 2048 = 68. A timeout
    /// forgets all.
    #[test]
    fn congestion_leaves_seven_tenths() {
        let mut cubic = LinuxCubic::default();
        assert_eq!(reduced(&mut cubic, 10.0, CongestionSignal::Loss), 7.0);
        assert_eq!(reduced(&mut cubic, 100.0, CongestionSignal::Loss), 70.0);
        cubic.credits = 5;
        assert_eq!((reduced(&mut cubic, 80.0, CongestionSignal::Mark), cubic.w_max, cubic.credits), (56.0, 68, 0));
        cubic.shortest = 100_000_000;
        assert_eq!((reduced(&mut cubic, 90.0, CongestionSignal::Timeout), cubic.w_max, cubic.shortest), (63.0, 0, 0));
    }

    /// A pause moves the curve: after an hour the window is where it was.
    #[test]
    fn a_pause_does_not_count() {
        let mut cubic = LinuxCubic::default();
        reduced(&mut cubic, 100.0, CongestionSignal::Loss);
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        cubic.on_send(at(0), 0, false, 0);
        cubic.find_count(70, 1, 0);
        cubic.on_send(at(3_600_000), 1, true, 0);
        assert_eq!(cubic.epoch.map(|epoch| epoch.start), Some(3_600_000));
    }
}
