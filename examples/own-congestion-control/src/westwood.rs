//! TCP Westwood+ (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", Computer Communication Review 34(2), 2004): grows as Reno, and after congestion has the window
//! that fits the measured bandwidth, so that a random loss on an idle link costs little.
//!
//! A sample of the bandwidth is taken each round trip: the segments acknowledged in it over its time. The estimate is
//! nine tenths of the one before and a tenth of the sample; the threshold is the estimate times the shortest round
//! trip. Deviation: segments that selective acknowledgements tell of count when they are acknowledged in order.

use fairlane_qdisc::{Duration, Time};
use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, LossState, WindowSize};

/// The weight of the former estimate.
const KEPT: f64 = 0.9;

#[derive(Debug, Default)]
pub struct Westwood {
    shortest: Option<Duration>,
    /// The estimate in segments per second.
    bandwidth: Option<f64>,
    /// The start of the present sample, the first with the first segment, and the segments acknowledged since.
    since: Option<Time>,
    acked: u32,
}

impl CongestionControl for Westwood {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        window.cwnd += f64::from(ack.growth()) / window.cwnd;
    }

    fn on_ack(&mut self, _window: &mut WindowSize, ack: &AckSample, _loss: LossState) {
        self.shortest = Some(self.shortest.map_or(ack.rtt, |shortest| shortest.min(ack.rtt)));
        self.acked += ack.acked;
        let time = ack.now.since(self.since.unwrap_or(ack.now));
        if time >= ack.rtt && time > Duration::ZERO {
            let sample = f64::from(self.acked) / time.as_secs();
            self.bandwidth = Some(self.bandwidth.map_or(sample, |former| KEPT * former + (1.0 - KEPT) * sample));
            (self.since, self.acked) = (Some(ack.now), 0);
        }
    }

    fn on_send(&mut self, now: Time, _seq: u32, _idle: bool, _in_flight: u32) {
        self.since.get_or_insert(now);
    }

    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        let fits = self.bandwidth.zip(self.shortest).map(|(bandwidth, shortest)| bandwidth * shortest.as_secs());
        fits.unwrap_or(event.segments / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use fairlane_sim::tcp::CongestionSignal;

    use super::*;

    /// By hand, from 5 s on, with round trips of 100 ms: 10 segments in the first are 100 a second, 30 in the second
    /// make 0.9 · 100 + 0.1 · 300 = 120, and 120 a second in 100 ms are 12 segments, also of a window of 100.
    /// Acknowledgements within a round trip add up. Would catch an estimate that each acknowledgement changes, and a
    /// window that is halved.
    #[test]
    fn the_threshold_is_what_the_path_carries() {
        let mut westwood = Westwood::default();
        let mut window = WindowSize { cwnd: 100.0, ssthresh: 2.0 };
        let event = CongestionEvent { now: Time::ZERO, signal: CongestionSignal::Loss, segments: 100.0 };
        assert_eq!(westwood.on_congestion(&window, &event), 50.0);
        let start = Time::ZERO + Duration::from_millis(5_000);
        westwood.on_send(start, 0, true, 1);
        for (millis, acked) in [(50, 4), (100, 6), (150, 20), (200, 10), (250, 7)] {
            let now = start + Duration::from_millis(millis);
            let ack = AckSample { now, acked, rtt: Duration::from_millis(100), ..AckSample::default() };
            westwood.on_ack(&mut window, &ack, LossState { in_flight: 100, recovering: false });
        }
        let threshold = westwood.on_congestion(&window, &event);
        assert!((threshold - 12.0).abs() < 1e-9, "{threshold}");
    }
}
