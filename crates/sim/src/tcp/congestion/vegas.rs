//! Vegas (Brakmo and Peterson 1995): keeps one to three own segments in the queue, measured by the round-trip
//! time.
//!
//! Once per round trip it compares the expected rate at the shortest round-trip time with the actual rate:
//! `diff = cwnd (1 − base / rtt)` segments are queued. α = 1, β = 3 and γ = 1 are the values of ns-2; in Linux α is 2
//! and β 4. `rtt` is the mean of a round, as in ns-2, or after slow start the shortest one in it. Linux takes the
//! shortest in slow start, too, and so fills the queue.
//!
//! Slow start doubles the window every other round trip. The comparison is made in the rounds between, in which the
//! window is constant, as in the paper. Deviations: losses are detected and repaired as by all senders with SACK,
//! without the paper's fine-grained timeout at the first duplicates, and they halve the window, as in ns-2; in the
//! paper three quarters remain. If the receiver delays acknowledgements, an acknowledgement of a single segment has
//! waited for the receiver's timer and is not measured: a few of these would look like a queue and keep the window at a
//! few segments.

use fairlane_qdisc::Duration;
use fairlane_scenario::Tcp;

use super::{AckSample, CongestionControl, CongestionEvent, WindowSize, reno};

const GAMMA: f64 = 1.0;
/// The smallest window in segments to which Vegas reduces, so that it continues to measure.
const MIN_CWND: f64 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct Vegas {
    /// The shortest round-trip time so far.
    base: Duration,
    /// The sum in nanoseconds and the number of the round-trip times of this round, or of the shortest one alone.
    sum: u64,
    samples: u32,
    /// After slow start the shortest round-trip time of a round counts, not their mean.
    by_least: bool,
    /// The least and the most segments in queues, α and β.
    queued: (f64, f64),
    round_end: u32,
    /// Slow start grows the window in this round.
    doubles: bool,
    /// The smallest number of segments in an acknowledgement whose round-trip time is measured.
    min_acked: u32,
}

impl Vegas {
    /// Returns the state before the first segment; the initial window is the first round.
    pub(super) fn new(tcp: &Tcp) -> Self {
        Self {
            by_least: tcp.vegas_least_rtt,
            queued: if tcp.as_linux { (2.0, 4.0) } else { (1.0, 3.0) },
            base: Duration::from_nanos(u64::MAX),
            sum: 0,
            samples: 0,
            round_end: tcp.initial_window,
            doubles: true,
            min_acked: if tcp.delayed_ack.is_some() { 2 } else { 1 },
        }
    }

    /// Changes the window at the end of a round in which `queued` segments were in queues.
    fn adjust(&mut self, size: &mut WindowSize, queued: f64) {
        if size.in_slow_start() {
            if !self.doubles && queued > GAMMA {
                size.cwnd = (size.cwnd * 7.0 / 8.0).max(MIN_CWND);
                size.ssthresh = size.cwnd;
            }
            self.doubles = !self.doubles;
        } else if queued < self.queued.0 {
            size.cwnd += 1.0;
        } else if queued > self.queued.1 {
            size.cwnd = (size.cwnd - 1.0).max(MIN_CWND);
            // Not slow start again.
            size.ssthresh = size.ssthresh.min(size.cwnd);
        }
    }
}

impl CongestionControl for Vegas {
    fn grow(&mut self, size: &mut WindowSize, sample: &AckSample) {
        if sample.acked >= self.min_acked {
            self.base = self.base.min(sample.rtt);
            let rtt = sample.rtt.as_nanos();
            (self.sum, self.samples) = match self.samples {
                1.. if self.by_least && !size.in_slow_start() => (self.sum.min(rtt), 1),
                samples => (self.sum.saturating_add(rtt), samples + 1),
            };
        }
        if size.in_slow_start() && self.doubles {
            size.cwnd += 1.0;
        }
        if sample.ends_round(&mut self.round_end) {
            let (sum, samples) = (std::mem::take(&mut self.sum), std::mem::take(&mut self.samples));
            let shortest = self.base.as_nanos() as f64 * f64::from(samples);
            // Without a measurement, or with a round-trip time of zero, no queue is assumed.
            let queued = if sum > 0 { size.cwnd * (1.0 - shortest / sum as f64) } else { 0.0 };
            self.adjust(size, queued);
        }
    }

    /// The window may shrink, but not grow.
    fn on_unused(&mut self, size: &mut WindowSize, sample: &AckSample) {
        let most = size.cwnd;
        self.grow(size, sample);
        size.cwnd = size.cwnd.min(most);
    }

    fn on_congestion(&mut self, _size: &WindowSize, event: &CongestionEvent) -> f64 {
        reno::decrease(event.segments)
    }

    fn has_own_slow_start(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Congestion;

    use super::*;

    /// By hand, at 20 segments and a base of 100 ms: round trips of 100, 100 and 400 ms are 200 in the mean, which is
    /// 10 segments queued; by the shortest round trip no segment is queued. Would catch a pause that is taken for a
    /// queue.
    #[test]
    fn a_pause_is_no_queue() {
        for (by_least, window) in [(false, 19.0), (true, 21.0)] {
            let base = Duration::from_millis(100);
            let mut vegas = Vegas { base, by_least, round_end: 3, ..vegas(1, false) };
            let mut size = WindowSize { cwnd: 20.0, ssthresh: 10.0 };
            for (una, millis) in [(1, 100), (2, 100), (3, 400)] {
                let rtt = Duration::from_millis(millis);
                vegas.grow(&mut size, &AckSample { una, max: 20, rtt, ..AckSample::default() });
            }
            assert_eq!(size.cwnd, window);
        }
    }

    /// Returns the state for an `initial` window; `delayed`: the receiver delays acknowledgements.
    fn vegas(initial: u32, delayed: bool) -> Vegas {
        let delayed_ack = delayed.then(|| Duration::from_millis(40));
        Vegas::new(&Tcp { initial_window: initial, delayed_ack, ..Tcp::ns2_1999(Congestion::Vegas, 300) })
    }

    /// Returns the window after `rounds` of slow start from 10 segments, in each of which nine tenths of the
    /// acknowledgements are for two segments, after 100 ms, and the others for one, after 140 ms.
    fn slow_start(delayed: bool, rounds: u32) -> WindowSize {
        let mut vegas = vegas(10, delayed);
        let mut size = WindowSize { cwnd: 10.0, ssthresh: 1e6 };
        let mut una = 0;
        for _ in 0..rounds {
            let max = una + size.cwnd as u32;
            let mut count = 0;
            while una < max {
                let (acked, millis) = if count % 10 == 9 || una + 1 == max { (1, 140) } else { (2, 100) };
                (una, count) = (una + acked, count + 1);
                let rtt = Duration::from_millis(millis);
                let sample = AckSample { una, max: una + size.cwnd as u32, acked, rtt, ..AckSample::default() };
                vegas.grow(&mut size, &sample);
            }
        }
        size
    }

    /// Would catch delayed acknowledgements that are taken for a queue and end slow start. If the receiver does not
    /// delay, the same times do mean a queue: after a few doublings from 10 segments, 104 ms and more mean more than
    /// one segment in it.
    #[test]
    fn delayed_acknowledgements_are_no_queue() {
        assert_eq!(slow_start(true, 12).ssthresh, 1e6);
        assert!(slow_start(true, 12).cwnd > 60.0);
        let queue = slow_start(false, 12);
        assert!(queue.ssthresh < 40.0, "{queue:?}");
    }

    /// By hand, at 20 segments and a base of 100 ms: 104 ms mean 0.77 segments in the queue, 110 ms 1.82, 125 ms 4.
    #[test]
    fn moves_by_one_outside_one_to_three() {
        for (millis, window) in [(104, 21.0), (110, 20.0), (125, 19.0)] {
            let mut vegas = Vegas { base: Duration::from_millis(100), ..vegas(1, false) };
            let mut size = WindowSize { cwnd: 20.0, ssthresh: 20.0 };
            let rtt = Duration::from_millis(millis);
            vegas.grow(&mut size, &AckSample { una: 1, max: 20, rtt, ..AckSample::default() });
            assert_eq!(size.cwnd, window, "{millis} ms");
            assert!(!size.in_slow_start());
        }
    }
}
