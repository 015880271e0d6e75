//! Vegas (Brakmo, Peterson 1995): keeps one to three segments of its own in the queue, by the round trip.
//!
//! Once a round trip it compares what the window should bring at the shortest round trip with what it brings:
//! `diff = cwnd (1 − base / rtt)` segments wait in queues. α = 1, β = 3 and γ = 1 are ns-2's.
//!
//! Slow start doubles the window every other round trip; the comparison is made after the rounds between, in which the
//! window stands still, as the paper has it. Deviations: losses are found and repaired as by every sender with SACK,
//! without the fine-grained timer for the first duplicates, and halve the window, as in ns-2, where the paper leaves three
//! quarters. Where the receiver delays acknowledgements, one of a single segment has waited for the receiver's timer, so it is
//! left out of the round trip: a few of them would look like a queue, and hold the window at a handful of segments.

use fairlane_qdisc::Duration;

use super::{News, Size};

const ALPHA: f64 = 1.0;
const BETA: f64 = 3.0;
const GAMMA: f64 = 1.0;
/// Vegas never shrinks the window below this, so that it goes on to measure.
const LEAST: f64 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct Vegas {
    /// The shortest round trip ever.
    base: Duration,
    /// The round trips of this round: their sum in nanoseconds, and how many.
    sum: u64,
    samples: u32,
    round_end: u32,
    /// Slow start doubles the window in this round.
    doubles: bool,
    /// An acknowledgement should cover this many segments to count as a measurement.
    covers: u32,
}

impl Vegas {
    /// For a receiver that delays acknowledgements or not. The first round is that of the `initial` window.
    pub(super) fn new(initial: u32, delayed: bool) -> Self {
        Self {
            base: Duration::from_nanos(u64::MAX),
            sum: 0,
            samples: 0,
            round_end: initial,
            doubles: true,
            covers: if delayed { 2 } else { 1 },
        }
    }

    pub(super) fn grow(&mut self, size: &mut Size, news: &News) {
        if news.acked >= self.covers {
            self.base = self.base.min(news.rtt);
            self.sum = self.sum.saturating_add(news.rtt.as_nanos());
            self.samples += 1;
        }
        if size.in_slow_start() && self.doubles {
            size.cwnd += 1.0;
        }
        if news.ends_round(&mut self.round_end) {
            let (sum, samples) = (std::mem::take(&mut self.sum), std::mem::take(&mut self.samples));
            let shortest = self.base.as_nanos() as f64 * f64::from(samples);
            // A path that takes no time at all has no queue, nor has a round without a measurement.
            let waiting = if sum > 0 { size.cwnd * (1.0 - shortest / sum as f64) } else { 0.0 };
            self.adjust(size, waiting);
        }
    }

    /// Moves the window at the end of a round in which `waiting` segments stood in queues.
    fn adjust(&mut self, size: &mut Size, waiting: f64) {
        if size.in_slow_start() {
            if !self.doubles && waiting > GAMMA {
                size.cwnd = (size.cwnd * 7.0 / 8.0).max(LEAST);
                size.ssthresh = size.cwnd;
            }
            self.doubles = !self.doubles;
        } else if waiting < ALPHA {
            size.cwnd += 1.0;
        } else if waiting > BETA {
            size.cwnd = (size.cwnd - 1.0).max(LEAST);
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Time;

    use super::*;

    /// The window after `rounds` of slow start from 10, in each of which nine tenths of the acknowledgements are of two
    /// segments, in 100 ms, and the others of one, in 140 ms.
    fn slow_start(delayed: bool, rounds: u32) -> Size {
        let mut vegas = Vegas::new(10, delayed);
        let mut size = Size { cwnd: 10.0, ssthresh: 1e6 };
        let mut una = 0;
        for _ in 0..rounds {
            let max = una + size.cwnd as u32;
            let mut count = 0;
            while una < max {
                let (acked, millis) = if count % 10 == 9 || una + 1 == max { (1, 140) } else { (2, 100) };
                (una, count) = (una + acked, count + 1);
                let rtt = Duration::from_millis(millis);
                let news =
                    News { now: Time::ZERO, una, max: una + size.cwnd as u32, acked, counted: 1, marked: false, rtt };
                vegas.grow(&mut size, &news);
            }
        }
        size
    }

    /// What waits for the receiver's timer is no queue: slow start goes on. Where the receiver is known not to delay, the same
    /// times are those of a queue: 10 segments at a mean of 104 ms and more are a packet in it after few doublings.
    #[test]
    fn delayed_acknowledgements_are_no_queue() {
        assert_eq!(slow_start(true, 12).ssthresh, 1e6);
        assert!(slow_start(true, 12).cwnd > 60.0);
        let queue = slow_start(false, 12);
        assert!(queue.ssthresh < 40.0, "{queue:?}");
    }

    /// The law by hand, at 20 segments and a base of 100 ms: 104 ms are 0.77 packets in the queue, 110 ms 1.82, 125 ms 4.
    #[test]
    fn moves_by_one_outside_one_to_three() {
        for (millis, window) in [(104, 21.0), (110, 20.0), (125, 19.0)] {
            let mut vegas = Vegas { base: Duration::from_millis(100), ..Vegas::new(1, false) };
            let mut size = Size { cwnd: 20.0, ssthresh: 10.0 };
            let rtt = Duration::from_millis(millis);
            vegas.grow(&mut size, &News { now: Time::ZERO, una: 1, max: 20, acked: 1, counted: 1, marked: false, rtt });
            assert_eq!(size.cwnd, window, "{millis} ms");
        }
    }
}
