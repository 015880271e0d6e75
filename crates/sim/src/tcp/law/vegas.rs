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
