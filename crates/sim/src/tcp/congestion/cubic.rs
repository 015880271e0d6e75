//! CUBIC (RFC 9438). The window is a cubic function of the time since the last congestion, flat near the window of that
//! congestion, and never below the window that Reno would have.
//!
//! | parameter | value | RFC 9438 |
//! |---|---|---|
//! | C | 0.4 | section 5.1 |
//! | β | 0.7 | section 4.6 |
//! | α of the Reno-friendly region | 3 (1 − β) / (1 + β), 1 from the former window on | section 4.3 |
//!
//! Deviations: an acknowledgement of several segments counts for all of them, so that delayed acknowledgements do not
//! slow down growth, but it never takes the window beyond the target. The round-trip time is that of the
//! acknowledgement and not the smoothed one, which may have a coarse clock. If the window is larger than the flight,
//! the flight is reduced.

use fairlane_qdisc::Time;

use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, WindowSize};

const C: f64 = 0.4;
const BETA: f64 = 0.7;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    stage: Stage,
    /// The stage before the last congestion, to which it returns if that was none (RFC 9438, section 4.9).
    former: Option<Box<Stage>>,
    /// The time of the last segment or acknowledgement.
    active: Time,
}

/// The knowledge of the last congestion.
#[derive(Clone, Debug, Default)]
struct Stage {
    /// The window at the last congestion, or less if that was smaller than at the one before (fast convergence); 0 if
    /// unknown.
    w_max: f64,
    /// The window at the last congestion.
    prior: f64,
    /// Congestion avoidance since then.
    epoch: Option<Epoch>,
}

/// A congestion avoidance stage.
#[derive(Clone, Debug)]
struct Epoch {
    start: Time,
    /// The time in seconds until the curve is flat, K.
    k: f64,
    /// The window where it is flat.
    plateau: f64,
    /// The window that Reno would have, W_est.
    estimate: f64,
}

impl Epoch {
    fn begin(start: Time, cwnd: f64, w_max: f64) -> Self {
        let plateau = w_max.max(cwnd);
        Self { start, k: libm::cbrt((plateau - cwnd) / C), plateau, estimate: cwnd }
    }

    /// Returns W_cubic, `t` seconds after the start.
    fn window(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.plateau
    }
}

impl CongestionControl for Cubic {
    fn grow(&mut self, size: &mut WindowSize, sample: &AckSample) {
        let (cwnd, acked) = (size.cwnd, f64::from(sample.growth()));
        let Stage { w_max, prior, epoch } = &mut self.stage;
        let epoch = epoch.get_or_insert_with(|| Epoch::begin(sample.now, cwnd, *w_max));
        let alpha = if epoch.estimate < *prior { ALPHA } else { 1.0 };
        epoch.estimate += alpha * acked / cwnd;
        let t = sample.now.since(epoch.start).as_secs();
        size.cwnd = if epoch.window(t) < epoch.estimate {
            epoch.estimate.max(cwnd)
        } else {
            let target = epoch.window(t + sample.rtt.as_secs()).clamp(cwnd, 1.5 * cwnd);
            (cwnd + acked * (target - cwnd) / cwnd).min(target)
        };
    }

    fn on_ack(&mut self, _size: &mut WindowSize, sample: &AckSample, _loss: LossState) {
        self.active = sample.now;
    }

    fn on_unused(&mut self, _size: &mut WindowSize, sample: &AckSample) {
        self.rest(sample.now);
    }

    fn on_send(&mut self, now: Time, _seq: u32, idle: bool, _in_flight: u32) {
        if idle {
            self.rest(now);
        }
        self.active = now;
    }

    fn on_congestion(&mut self, _size: &WindowSize, event: &CongestionEvent) -> f64 {
        let segments = event.segments;
        let w_max = match event.signal {
            // The next stage begins at the plateau (RFC 9438, section 4.8).
            CongestionSignal::Timeout => 0.0,
            // Fast convergence (section 4.7): a flow whose window has shrunk releases bandwidth to others.
            CongestionSignal::Loss | CongestionSignal::Mark if segments < self.stage.w_max => {
                segments * (1.0 + BETA) / 2.0
            }
            CongestionSignal::Loss | CongestionSignal::Mark => segments,
        };
        let former = std::mem::replace(&mut self.stage, Stage { w_max, prior: segments, epoch: None });
        self.former = Some(Box::new(former));
        segments * BETA
    }

    fn on_undo(&mut self) {
        if let Some(former) = self.former.take() {
            self.stage = *former;
        }
    }
}

impl Cubic {
    /// Notes that the window was not used from the last segment or acknowledgement until now: such times do not count
    /// (RFC 9438, section 5.8), since the window would be too large after them.
    fn rest(&mut self, now: Time) {
        if let Some(epoch) = &mut self.stage.epoch {
            epoch.start += now.since(self.active);
        }
        self.active = now;
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Duration;

    use super::super::reduced;
    use super::*;

    /// RFC 9438, figures 1 and 2: from 70 to 100 segments it takes cbrt(30 / 0.4) = 4.2172 s, and there the curve is
    /// flat.
    #[test]
    fn the_plateau_is_where_congestion_was() {
        let epoch = Epoch::begin(Time::ZERO, 70.0, 100.0);
        assert!((epoch.k - 4.2172).abs() < 5e-5, "{}", epoch.k);
        assert!((epoch.window(0.0) - 70.0).abs() < 1e-9);
        assert_eq!(epoch.window(epoch.k), 100.0);
        assert!((epoch.window(2.0 * epoch.k) - 130.0).abs() < 1e-9);
    }

    /// RFC 9438, section 4.2, with a round trip of 1 s, 700 segments after a loss at 1000: K is cbrt(300 / 0.4) =
    /// 9.0856 s, and the target a second later, when the curve has left Reno's estimate behind, 0.4 (2 - 9.0856)^3 +
    /// 1000 = 857.7; an acknowledgement of one segment takes the window there by 1/700 of the distance. Far below the
    /// curve, at 10 segments, the target is 15. Would catch a jump to the curve.
    #[test]
    fn the_target_is_the_curve_a_round_trip_later() {
        let ack = |now| AckSample { now, acked: 1, rtt: Duration::from_millis(1000), ..AckSample::default() };
        let mut cubic = Cubic::default();
        let mut size = WindowSize { cwnd: reduced(&mut cubic, 1000.0, CongestionSignal::Loss), ssthresh: 700.0 };
        cubic.grow(&mut size, &ack(Time::ZERO));
        size.cwnd = 700.0;
        let second = Time::ZERO + Duration::from_millis(1000);
        cubic.grow(&mut size, &ack(second));
        assert!((size.cwnd - (700.0 + 157.7 / 700.0)).abs() < 1e-4, "{size:?}");
        size.cwnd = 10.0;
        cubic.grow(&mut size, &ack(second));
        assert!((size.cwnd - 10.5).abs() < 1e-9, "{size:?}");
    }

    /// RFC 9438, section 4.3, by hand: W_est begins at 70 and grows by 9/17 of a segment a round trip up to the 100 of
    /// the last congestion, after 57 round trips, and by one from there. Round trips of a microsecond leave the cubic
    /// function flat. Would catch α that does not change.
    #[test]
    fn the_reno_friendly_estimate_has_two_slopes() {
        let mut cubic = Cubic::default();
        let mut size = WindowSize { cwnd: reduced(&mut cubic, 100.0, CongestionSignal::Loss), ssthresh: 70.0 };
        let mut round = |round: u64| {
            let (now, rtt) = (Time::from_nanos(1_000 * round), Duration::from_nanos(1_000));
            // All segments of the window at once.
            let acked = size.cwnd;
            for _ in 0..acked as u32 {
                cubic.grow(&mut size, &AckSample { now, acked: 1, rtt, ..AckSample::default() });
            }
            size.cwnd
        };
        let windows: Vec<f64> = (0..70).map(&mut round).collect();
        // Each round has up to one acknowledgement less than the window, and a window that grows meanwhile.
        let slope = |from: usize, to: usize| (windows[to] - windows[from]) / (to - from) as f64;
        assert!((slope(0, 50) - 9.0 / 17.0).abs() < 0.01, "{}", slope(0, 50));
        assert!((slope(60, 69) - 1.0).abs() < 0.02, "{}", slope(60, 69));
        assert!((windows[50] - (70.0 + 51.0 * 9.0 / 17.0)).abs() < 0.5, "{}", windows[50]);
    }

    /// RFC 9438, section 5.8: after a second of congestion avoidance with a pause of an hour the window is the same as
    /// without it, W(1 s + 0.1 s) = 0.4 (1.1 - 4.2172)^3 + 100. Would catch a pause that makes it half as large again.
    #[test]
    fn a_pause_does_not_count() {
        let mut cubic = Cubic::default();
        let mut size = WindowSize { cwnd: reduced(&mut cubic, 100.0, CongestionSignal::Loss), ssthresh: 70.0 };
        let mut ack = |cubic: &mut Cubic, millis, acked| {
            let (now, rtt) = (Time::ZERO + Duration::from_millis(millis), Duration::from_millis(100));
            let sample = AckSample { now, acked, rtt, ..AckSample::default() };
            cubic.grow(&mut size, &sample);
            cubic.on_ack(&mut size, &sample, LossState { in_flight: 0, recovering: false });
            size.cwnd
        };
        ack(&mut cubic, 0, 1);
        ack(&mut cubic, 900, 70);
        cubic.on_send(Time::ZERO + Duration::from_millis(3_600_900), 0, true, 0);
        let window = ack(&mut cubic, 3_601_000, 100);
        let curve = 100.0 - 0.4 * 3.1172 * 3.1172 * 3.1172;
        assert!((window - curve).abs() < 0.01, "{window}, not {curve}");
    }

    /// RFC 9438, section 4.9: after congestion at 80 that was none, W_max is again the 100 of the one before.
    #[test]
    fn returns_to_the_stage_before() {
        let mut cubic = Cubic::default();
        reduced(&mut cubic, 100.0, CongestionSignal::Loss);
        reduced(&mut cubic, 80.0, CongestionSignal::Loss);
        cubic.on_undo();
        assert_eq!((cubic.stage.w_max, cubic.stage.prior), (100.0, 100.0));
    }

    /// RFC 9438, section 4.7: congestion at 100 and then at 80 makes w_max (1 + 0.7) / 2 of 80. At 90, above that,
    /// w_max is 90. After a timeout it is unknown.
    #[test]
    fn gives_up_room_when_it_has_lost_ground() {
        let mut cubic = Cubic::default();
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
        near(reduced(&mut cubic, 100.0, CongestionSignal::Loss), 70.0);
        near(cubic.stage.w_max, 100.0);
        near(reduced(&mut cubic, 80.0, CongestionSignal::Mark), 56.0);
        near(cubic.stage.w_max, 68.0);
        near(reduced(&mut cubic, 90.0, CongestionSignal::Loss), 63.0);
        near(cubic.stage.w_max, 90.0);
        near(reduced(&mut cubic, 50.0, CongestionSignal::Timeout), 35.0);
        assert_eq!(cubic.stage.w_max, 0.0);
    }
}
