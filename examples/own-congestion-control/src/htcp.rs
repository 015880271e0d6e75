//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp): the longer ago the last congestion, the faster the window grows, and it falls only as far as
//! the queue was deep.
//!
//! With Δ the seconds since the last congestion, a round trip adds 2 (1 − β) α(Δ) segments, where α is 1 in the first
//! second and then 1 + 10 (Δ − 1) + (Δ − 1)² / 4. Congestion leaves β of the window: the ratio of the shortest round
//! trip to the longest since the last congestion, from 0.5 to 0.8, or 0.5 if the throughput between two congestions
//! changed by more than a fifth.

use fairlane_qdisc::{Duration, Time};
use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, LossState, WindowSize};

#[derive(Debug)]
pub struct Htcp {
    shortest: Duration,
    epoch: Epoch,
    /// The first segment was sent, with which the first epoch begins.
    started: bool,
    /// The epoch before the last congestion, to which it returns if that was none.
    former: Epoch,
}

/// The time since the last congestion.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    since: Time,
    longest: Duration,
    acked: u32,
    /// The segments per second between the two congestions before it.
    throughput: f64,
    beta: f64,
}

impl Htcp {
    pub fn new() -> Self {
        let epoch = Epoch { since: Time::ZERO, longest: Duration::ZERO, acked: 0, throughput: 0.0, beta: 0.5 };
        Self { shortest: Duration::from_nanos(u64::MAX), epoch, started: false, former: epoch }
    }
}

impl CongestionControl for Htcp {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        let late = (ack.now.since(self.epoch.since).as_secs() - 1.0).max(0.0);
        let alpha = 1.0 + 10.0 * late + late * late / 4.0;
        window.cwnd += 2.0 * (1.0 - self.epoch.beta) * alpha * f64::from(ack.growth()) / window.cwnd;
    }

    fn on_ack(&mut self, _window: &mut WindowSize, ack: &AckSample, loss: LossState) {
        // As in Linux: while losses are repaired, acknowledgements wait for what is missing.
        if ack.acked > 0 && !loss.recovering {
            self.shortest = self.shortest.min(ack.rtt);
            self.epoch.longest = self.epoch.longest.max(ack.rtt);
        }
        self.epoch.acked += ack.acked;
    }

    fn on_send(&mut self, now: Time, _seq: u32, _idle: bool, _in_flight: u32) {
        if !self.started {
            (self.started, self.epoch.since) = (true, now);
        }
    }

    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        self.former = self.epoch;
        let Epoch { since, longest, acked, throughput: before, .. } = self.epoch;
        let time = event.now.since(since).as_secs();
        let throughput = if time > 0.0 { f64::from(acked) / time } else { 0.0 };
        let changed = (throughput - before).abs() > 0.2 * before || longest == Duration::ZERO;
        let beta = if changed { 0.5 } else { (self.shortest.as_secs() / longest.as_secs()).clamp(0.5, 0.8) };
        self.epoch = Epoch { since: event.now, longest: Duration::ZERO, acked: 0, throughput, beta };
        beta * event.segments
    }

    fn on_undo(&mut self) {
        self.epoch = self.former;
    }
}

#[cfg(test)]
mod tests {
    use fairlane_sim::tcp::CongestionSignal;

    use super::*;

    /// By hand, from a start at 5 s on: 100 segments a second up to congestions at 10, 20 and 30 s, round trips of 70
    /// to 100 ms, and 40 segments a second from then to 40 s. The first β has no throughput to compare with and is 0.5,
    /// the next two are 0.7, the last one 0.5 again; undone, the epoch is that of β = 0.7, in which three seconds after
    /// congestion 2 · 0.3 · (1 + 10 · 2 + 4 / 4) = 13.2 segments are added to 132 in a round trip. Would catch a β that
    /// keeps its value, a growth without the clock, and congestion that cannot be undone.
    #[test]
    fn growth_and_reduction_follow_the_epoch() {
        let mut htcp = Htcp::new();
        let mut window = WindowSize { cwnd: 132.0, ssthresh: 2.0 };
        let at = |second: u64| Time::ZERO + Duration::from_millis(1000 * (5 + second));
        htcp.on_send(at(0), 0, true, 1);
        let mut left = Vec::new();
        for (second, acked) in [(10, 500), (20, 500), (30, 500), (40, 200)] {
            for rtt in [70, 100].map(Duration::from_millis) {
                let ack = AckSample { now: at(second), acked, rtt, ..AckSample::default() };
                htcp.on_ack(&mut window, &ack, LossState { in_flight: 0, recovering: false });
            }
            // Neither of these is the round trip of a queue.
            let waiting =
                AckSample { now: at(second), acked: 0, rtt: Duration::from_millis(900), ..AckSample::default() };
            htcp.on_ack(&mut window, &waiting, LossState { in_flight: 0, recovering: false });
            htcp.on_ack(&mut window, &AckSample { acked: 1, ..waiting }, LossState { in_flight: 0, recovering: true });
            let event = CongestionEvent { now: at(second), signal: CongestionSignal::Loss, segments: 100.0 };
            left.push(htcp.on_congestion(&window, &event).round());
        }
        assert_eq!(left, [50.0, 70.0, 70.0, 50.0]);
        htcp.on_undo();
        htcp.grow(&mut window, &AckSample { now: at(33), acked: 132, ..AckSample::default() });
        assert!((window.cwnd - 145.2).abs() < 1e-9, "{window:?}");
    }
}
