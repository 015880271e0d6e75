//! DCTCP (RFC 8257). A mark reduces the window by half of the fraction of marked segments, so a low marking threshold
//! keeps the queue short without leaving the link idle.
//!
//! The receiver echoes marks segment by segment ([`TcpReceiver`](super::super::TcpReceiver)). `g` is 1/16 and α begins
//! at 1 (sections 3.3 and 4.2). A loss halves the window (section 3.5). Deviations: segments are counted instead of
//! bytes, which is equivalent here, and the window may fall to one segment, as with the other algorithms; Linux stops
//! at two.

use super::{AckSample, CongestionSignal, reno};

/// The weight of the last window, g.
const WEIGHT: f64 = 1.0 / 16.0;

#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    /// The averaged fraction of marked segments, from 0 to 1.
    alpha: f64,
    /// The segments acknowledged in this window, and those of them with ECN-Echo.
    acked: u32,
    marked: u32,
    window_end: u32,
}

impl Dctcp {
    pub(super) fn new() -> Self {
        Self { alpha: 1.0, acked: 0, marked: 0, window_end: 0 }
    }

    pub(super) fn on_ack(&mut self, sample: &AckSample) {
        self.acked += sample.acked;
        self.marked += sample.marks();
        if sample.ends_round(&mut self.window_end) {
            // SACK blocks may tell of marks before their segments are acknowledged.
            let share = (f64::from(self.marked) / f64::from(self.acked)).min(1.0);
            self.alpha += WEIGHT * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
        }
    }

    pub(super) fn decrease(&self, segments: f64, signal: CongestionSignal) -> f64 {
        match signal {
            CongestionSignal::Mark => segments * (1.0 - self.alpha / 2.0),
            CongestionSignal::Loss | CongestionSignal::Timeout => reno::decrease(segments),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn window(dctcp: &mut Dctcp, una: u32, marked: u32) {
        for (acked, marked) in [(10 - marked, false), (marked, true)] {
            let sample = AckSample { una, max: una + 10, acked, marked, ..AckSample::default() };
            dctcp.on_ack(&AckSample { una: if marked { una } else { una - 1 }, ..sample });
        }
    }

    /// RFC 8257, section 3.3, by hand: α = 15/16, then 15/16 of that plus 1/16 of 4/10; a mark reduces the window by
    /// half of α.
    #[test]
    fn follows_the_share_of_marks() {
        let mut dctcp = Dctcp { window_end: 10, ..Dctcp::new() };
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
        near(dctcp.decrease(20.0, CongestionSignal::Mark), 10.0);
        let sample = AckSample { una: 10, max: 20, acked: 10, ..AckSample::default() };
        dctcp.on_ack(&sample);
        near(dctcp.alpha, 15.0 / 16.0);
        window(&mut dctcp, 20, 4);
        near(dctcp.alpha, 225.0 / 256.0 + 0.025);
        near(dctcp.decrease(20.0, CongestionSignal::Mark), 20.0 - 10.0 * dctcp.alpha);
        near(dctcp.decrease(21.0, CongestionSignal::Loss), 10.0);
    }
}
