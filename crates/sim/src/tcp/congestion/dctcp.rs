//! DCTCP (RFC 8257). A mark reduces the window by half of the fraction of marked segments, so a low marking threshold
//! keeps the queue short without leaving the link idle.
//!
//! The receiver echoes marks segment by segment ([`TcpReceiver`](super::super::TcpReceiver)). `g` is 1/16 and α begins
//! at 1 (sections 3.3 and 4.2). A loss halves the window (section 3.5). Deviations: segments are counted instead of
//! bytes, which is equivalent here, and the window may fall to one segment, as with the other algorithms; Linux stops
//! at two.

use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, WindowSize, reno};

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
}

impl CongestionControl for Dctcp {
    fn grow(&mut self, size: &mut WindowSize, sample: &AckSample) {
        reno::avoid(size, sample);
    }

    fn on_ack(&mut self, _size: &mut WindowSize, sample: &AckSample, _loss: LossState) {
        self.acked += sample.acked;
        self.marked += sample.marks();
        if sample.ends_round(&mut self.window_end) {
            // SACK blocks may tell of marks before their segments are acknowledged.
            let share = (f64::from(self.marked) / f64::from(self.acked)).min(1.0);
            self.alpha += WEIGHT * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
        }
    }

    fn on_congestion(&mut self, _size: &WindowSize, event: &CongestionEvent) -> f64 {
        match event.signal {
            CongestionSignal::Mark => event.segments * (1.0 - self.alpha / 2.0),
            CongestionSignal::Loss | CongestionSignal::Timeout => reno::decrease(event.segments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced;
    use super::*;

    /// Hands over an acknowledgement.
    fn on_ack(dctcp: &mut Dctcp, sample: &AckSample) {
        let mut size = WindowSize { cwnd: 20.0, ssthresh: 20.0 };
        dctcp.on_ack(&mut size, sample, LossState { in_flight: 0, recovering: false });
    }

    fn window(dctcp: &mut Dctcp, una: u32, marked: u32) {
        for (acked, marked) in [(10 - marked, false), (marked, true)] {
            let sample = AckSample { una, max: una + 10, acked, marked, ..AckSample::default() };
            on_ack(dctcp, &AckSample { una: if marked { una } else { una - 1 }, ..sample });
        }
    }

    /// RFC 8257, section 3.3, by hand: α = 15/16, then 15/16 of that plus 1/16 of 4/10; a mark reduces the window by
    /// half of α.
    #[test]
    fn follows_the_share_of_marks() {
        let mut dctcp = Dctcp { window_end: 10, ..Dctcp::new() };
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
        near(reduced(&mut dctcp, 20.0, CongestionSignal::Mark), 10.0);
        let sample = AckSample { una: 10, max: 20, acked: 10, ..AckSample::default() };
        on_ack(&mut dctcp, &sample);
        near(dctcp.alpha, 15.0 / 16.0);
        window(&mut dctcp, 20, 4);
        near(dctcp.alpha, 225.0 / 256.0 + 0.025);
        near(reduced(&mut dctcp, 20.0, CongestionSignal::Mark), 20.0 - 10.0 * dctcp.alpha);
        near(reduced(&mut dctcp, 21.0, CongestionSignal::Loss), 10.0);
    }
}
