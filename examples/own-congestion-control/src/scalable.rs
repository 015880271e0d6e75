//! Scalable TCP (Kelly, "Scalable TCP: improving performance in highspeed wide area networks", Computer Communication
//! Review 33(2), 2003): the time to recover from a loss does not depend on the window.
//!
//! A window above 16 segments grows by a hundredth of a segment for each acknowledged one and loses an eighth; a
//! smaller one is that of Reno (section 2).

use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, WindowSize};

/// The largest window in segments that is treated as Reno treats it.
const LEGACY: f64 = 16.0;
const A: f64 = 0.01;
const B: f64 = 0.125;

#[derive(Debug)]
pub struct Scalable;

impl CongestionControl for Scalable {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        let step = if window.cwnd > LEGACY { A } else { 1.0 / window.cwnd };
        window.cwnd += step * f64::from(ack.growth());
    }

    fn on_congestion(&mut self, window: &WindowSize, event: &CongestionEvent) -> f64 {
        event.segments * if window.cwnd > LEGACY { 1.0 - B } else { 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Time;
    use fairlane_sim::tcp::CongestionSignal;

    use super::*;

    /// By hand: an acknowledgement of two segments makes 200.02 of 200, and 10.2 of 10; congestion leaves 175 of 200
    /// and 5 of 10. Would catch a window whose size does not matter.
    #[test]
    fn the_window_decides() {
        for (cwnd, grown, left) in [(200.0, 200.02, 175.0), (10.0, 10.2, 5.0)] {
            let mut window = WindowSize { cwnd, ssthresh: 2.0 };
            let event = CongestionEvent { now: Time::ZERO, signal: CongestionSignal::Loss, segments: cwnd };
            assert_eq!(Scalable.on_congestion(&window, &event), left);
            Scalable.grow(&mut window, &AckSample { acked: 2, ..AckSample::default() });
            assert_eq!(window.cwnd, grown);
        }
    }
}
