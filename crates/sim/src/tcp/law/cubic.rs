//! CUBIC (RFC 9438): the window is a cubic function of the time since the last congestion, flat near the window at which
//! that came, and never below what Reno would reach.
//!
//! | parameter | value | RFC 9438 |
//! |---|---|---|
//! | C | 0.4 | 5.1 |
//! | β | 0.7 | 4.6 |
//! | α of the Reno-friendly region | 3 (1 − β) / (1 + β), 1 from the former window on | 4.3 |
//!
//! Deviations: an acknowledgement of several segments counts for all of them, so that delayed acknowledgements do not slow
//! it down, but takes the window no further than the target; the round trip is that of the acknowledgement, not smoothed,
//! since the smoothed one may have the coarse clock of 1999. Where the window is larger than what is in flight, the smaller
//! of the two is cut.

use fairlane_qdisc::Time;

use super::{Cause, News, Size};

const C: f64 = 0.4;
const BETA: f64 = 0.7;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Clone, Debug, Default)]
pub(super) struct Cubic {
    /// The window at the last congestion, less if it had shrunk since the one before (fast convergence); 0 if unknown.
    w_max: f64,
    /// The window at the last congestion.
    prior: f64,
    /// Congestion avoidance since that.
    epoch: Option<Epoch>,
    /// When a segment left or an acknowledgement came last.
    active: Time,
}

/// A stage of congestion avoidance.
#[derive(Clone, Debug)]
struct Epoch {
    start: Time,
    /// Seconds until the curve is flat.
    k: f64,
    /// Where it is flat.
    plateau: f64,
    /// Reno's window.
    estimate: f64,
}

impl Epoch {
    fn begin(start: Time, cwnd: f64, w_max: f64) -> Self {
        let plateau = w_max.max(cwnd);
        Self { start, k: libm::cbrt((plateau - cwnd) / C), plateau, estimate: cwnd }
    }

    /// W_cubic, `t` seconds after the start.
    fn window(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.plateau
    }
}

impl Cubic {
    /// An acknowledgement in congestion avoidance.
    pub(super) fn avoid(&mut self, size: &mut Size, news: &News) {
        let (cwnd, acked) = (size.cwnd, f64::from(news.acked));
        let epoch = self.epoch.get_or_insert_with(|| Epoch::begin(news.now, cwnd, self.w_max));
        let alpha = if epoch.estimate < self.prior { ALPHA } else { 1.0 };
        epoch.estimate += alpha * acked / cwnd;
        let t = news.now.since(epoch.start).as_secs();
        size.cwnd = if epoch.window(t) < epoch.estimate {
            epoch.estimate.max(cwnd)
        } else {
            let target = epoch.window(t + news.rtt.as_secs()).clamp(cwnd, 1.5 * cwnd);
            (cwnd + acked * (target - cwnd) / cwnd).min(target)
        };
    }

    /// Any acknowledgement.
    pub(super) fn on_ack(&mut self, news: &News) {
        self.active = news.now;
    }

    /// A segment leaves; `idle`: nothing was outstanding.
    pub(super) fn on_send(&mut self, now: Time, idle: bool) {
        // RFC 9438 5.8: pauses do not count, or the curve would be far up when they end.
        if let Some(epoch) = self.epoch.as_mut().filter(|_| idle) {
            epoch.start += now.since(self.active);
        }
        self.active = now;
    }

    pub(super) fn decrease(&mut self, segments: f64, cause: Cause) -> f64 {
        self.epoch = None;
        self.prior = segments;
        self.w_max = match cause {
            // RFC 9438 4.8: the plateau is where the next stage begins.
            Cause::Timeout => 0.0,
            // 4.7, fast convergence: a flow that has lost ground makes room for others.
            Cause::Loss | Cause::Mark if segments < self.w_max => segments * (1.0 + BETA) / 2.0,
            Cause::Loss | Cause::Mark => segments,
        };
        segments * BETA
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Duration;

    use super::*;

    /// SPEC's vector: from 70 up to 100 segments it takes cbrt(30 / 0.4) = 4.2172 s, and there the curve is flat.
    #[test]
    fn the_plateau_is_where_congestion_was() {
        let epoch = Epoch::begin(Time::ZERO, 70.0, 100.0);
        assert!((epoch.k - 4.2172).abs() < 5e-5, "{}", epoch.k);
        assert!((epoch.window(0.0) - 70.0).abs() < 1e-9);
        assert_eq!(epoch.window(epoch.k), 100.0);
        assert!((epoch.window(2.0 * epoch.k) - 130.0).abs() < 1e-9);
    }

    /// RFC 9438 5.8: after a second of congestion avoidance and a pause of an hour the window is where it would have been,
    /// at W(1 s + 0.1 s) = 0.4 (1.1 - 4.2172)^3 + 100, rather than half as large again.
    #[test]
    fn a_pause_does_not_count() {
        let mut cubic = Cubic::default();
        let mut size = Size { cwnd: cubic.decrease(100.0, Cause::Loss), ssthresh: 70.0 };
        let mut ack = |cubic: &mut Cubic, millis, acked| {
            let (now, rtt) = (Time::ZERO + Duration::from_millis(millis), Duration::from_millis(100));
            let news = News { now, una: 0, max: 0, acked, counted: 1, marked: false, rtt };
            cubic.avoid(&mut size, &news);
            cubic.on_ack(&news);
            size.cwnd
        };
        ack(&mut cubic, 0, 1);
        ack(&mut cubic, 900, 70);
        cubic.on_send(Time::ZERO + Duration::from_millis(3_600_900), true);
        let window = ack(&mut cubic, 3_601_000, 100);
        let curve = 100.0 - 0.4 * 3.1172 * 3.1172 * 3.1172;
        assert!((window - curve).abs() < 0.01, "{window}, not {curve}");
    }

    /// RFC 9438 4.7: 100, then congestion at 80: (1 + 0.7) / 2 of 80. At 90, above that, none is given up. After a timeout
    /// nothing is remembered.
    #[test]
    fn gives_up_room_when_it_has_lost_ground() {
        let mut cubic = Cubic::default();
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
        near(cubic.decrease(100.0, Cause::Loss), 70.0);
        near(cubic.w_max, 100.0);
        near(cubic.decrease(80.0, Cause::Mark), 56.0);
        near(cubic.w_max, 68.0);
        near(cubic.decrease(90.0, Cause::Loss), 63.0);
        near(cubic.w_max, 90.0);
        near(cubic.decrease(50.0, Cause::Timeout), 35.0);
        assert_eq!(cubic.w_max, 0.0);
    }
}
