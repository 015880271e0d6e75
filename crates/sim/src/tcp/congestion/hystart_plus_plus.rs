//! HyStart++ (RFC 9406): slow start ends when the round-trip time rises, before a queue overflows.
//!
//! A rise by an eighth over the round before, at least 4 ms and at most 16 ms, begins conservative slow start (CSS),
//! which grows a quarter as fast. If the round-trip time falls below that at the start of CSS, slow start resumes;
//! otherwise congestion avoidance follows after five rounds of CSS.
//!
//! HyStart++ is used in the initial slow start only (section 4.3). Deviation: as in the RFC the window grows by the
//! number of segments acknowledged, up to eight, or any number with pacing, but here even without byte counting.

use fairlane_qdisc::Duration;

use super::{AckSample, WindowSize};

/// MIN_RTT_THRESH and MAX_RTT_THRESH.
const MIN_RISE: Duration = Duration::from_millis(4);
const MAX_RISE: Duration = Duration::from_millis(16);
/// MIN_RTT_DIVISOR.
const RISE_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// CSS_GROWTH_DIVISOR.
const CSS_DIVISOR: f64 = 4.0;
/// CSS_ROUNDS.
const CSS_ROUNDS: u32 = 5;
/// L, for a sender without pacing.
const BURST: u32 = 8;

#[derive(Clone, Debug)]
pub(super) struct HyStartPlusPlus {
    round_end: u32,
    /// The shortest round-trip times of this round and of the one before.
    shortest: Option<Duration>,
    shortest_before: Option<Duration>,
    /// The number of round-trip times measured in this round.
    samples: u32,
    css: Option<Css>,
    burst: u32,
    /// The reductions so far. HyStart++ runs until the first (RFC 9406, section 4.3).
    pub(super) reductions: u32,
}

/// Conservative slow start.
#[derive(Clone, Debug)]
struct Css {
    /// The shortest round-trip time when it began.
    baseline: Duration,
    /// The number of rounds so far.
    rounds: u32,
}

impl HyStartPlusPlus {
    pub(super) fn new(paced: bool) -> Self {
        let burst = if paced { u32::MAX } else { BURST };
        Self { round_end: 0, shortest: None, shortest_before: None, samples: 0, css: None, burst, reductions: 0 }
    }

    /// Grows the window in slow start.
    pub(super) fn grow(&mut self, size: &mut WindowSize, sample: &AckSample) {
        if sample.ends_round(&mut self.round_end) {
            self.begin_round();
        }
        if self.css.as_ref().is_some_and(|css| css.rounds >= CSS_ROUNDS) {
            size.ssthresh = size.cwnd;
            return;
        }
        let step = f64::from(sample.growth().min(self.burst));
        size.cwnd += if self.css.is_some() { step / CSS_DIVISOR } else { step };
        self.samples += 1;
        self.shortest = Some(self.shortest.map_or(sample.rtt, |shortest| shortest.min(sample.rtt)));
        self.check_rtt();
    }

    fn begin_round(&mut self) {
        self.shortest_before = self.shortest.take();
        self.samples = 0;
        if let Some(css) = &mut self.css {
            css.rounds += 1;
        }
    }

    /// Begins or ends CSS according to the round-trip times of this round.
    fn check_rtt(&mut self) {
        let Some(shortest) = self.shortest.filter(|_| self.samples >= SAMPLES) else { return };
        match &self.css {
            Some(css) => {
                if shortest < css.baseline {
                    self.css = None;
                }
            }
            None => {
                let Some(before) = self.shortest_before else { return };
                let rise = Duration::from_nanos(before.as_nanos() / RISE_DIVISOR).clamp(MIN_RISE, MAX_RISE);
                if shortest >= before + rise {
                    self.css = Some(Css { baseline: shortest, rounds: 0 });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Acknowledges a round of 20 segments, each `millis` after it was sent.
    fn round(hystart: &mut HyStartPlusPlus, size: &mut WindowSize, una: &mut u32, millis: u64) {
        for _ in 0..20 {
            *una += 1;
            let rtt = Duration::from_millis(millis);
            let sample = AckSample { una: *una, max: *una + 20, rtt, ..AckSample::default() };
            hystart.grow(size, &sample);
        }
    }

    /// By hand: 40 ms, then 45 ms, an eighth more. Eight acknowledgements of that round add one segment each; the
    /// eighth sample begins CSS, in which each adds a quarter. At 44 ms, again with the eighth sample, slow start
    /// resumes. 60 ms begin CSS once more. That round is one of its five; then the threshold is set to the window.
    #[test]
    fn slows_down_while_the_round_trip_is_long() {
        let (mut hystart, mut una) = (HyStartPlusPlus::new(false), 0);
        let mut size = WindowSize { cwnd: 0.0, ssthresh: 1e9 };
        for (millis, growth) in [
            (40, 20.0),
            (45, 8.0 + 12.0 / 4.0),
            (44, 8.0 / 4.0 + 12.0),
            (60, 8.0 + 12.0 / 4.0),
            (60, 5.0),
            (60, 5.0),
            (60, 5.0),
            (60, 5.0),
        ] {
            let before = size.cwnd;
            round(&mut hystart, &mut size, &mut una, millis);
            assert_eq!((size.cwnd - before, size.ssthresh), (growth, 1e9), "{millis} ms");
        }
        let before = size.cwnd;
        round(&mut hystart, &mut size, &mut una, 60);
        assert_eq!((size.cwnd, size.ssthresh), (before, before));
    }

    /// RFC 9406, section 4.2: without pacing an acknowledgement adds at most eight segments.
    #[test]
    fn limits_bursts_without_pacing() {
        for (paced, growth) in [(false, 8.0), (true, 30.0)] {
            let mut size = WindowSize { cwnd: 10.0, ssthresh: 1e9 };
            let rtt = Duration::from_millis(40);
            let sample = AckSample { una: 30, max: 40, acked: 30, rtt, ..AckSample::default() };
            HyStartPlusPlus::new(paced).grow(&mut size, &sample);
            assert_eq!(size.cwnd, 10.0 + growth);
        }
    }
}
