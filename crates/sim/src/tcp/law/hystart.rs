//! HyStart++ (RFC 9406): slow start ends when the round trip rises, before a queue overflows.
//!
//! A rise of an eighth over the round before, at least 4 ms and at most 16 ms, begins conservative slow start (CSS), which
//! grows a quarter as fast. If the round trip falls below that at which CSS began, slow start resumes; otherwise, after five
//! rounds of CSS, congestion avoidance takes over.
//!
//! It is for the initial slow start alone (RFC 9406 4.3). Deviation: the window grows by the segments acknowledged, up to
//! eight, or any number when the sender is paced, as the RFC has it, whether byte counting is on or not.

use fairlane_qdisc::Duration;

use super::{News, Size};

/// MIN_RTT_THRESH and MAX_RTT_THRESH of the RFC.
const LEAST_RISE: Duration = Duration::from_millis(4);
const MOST_RISE: Duration = Duration::from_millis(16);
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
pub(super) struct HyStart {
    round_end: u32,
    /// The shortest round trip of this round and of the one before.
    shortest: Option<Duration>,
    shortest_before: Option<Duration>,
    /// Round trips measured in this round.
    samples: u32,
    css: Option<Css>,
    burst: u32,
}

/// Conservative slow start.
#[derive(Clone, Debug)]
struct Css {
    /// The shortest round trip when it began.
    baseline: Duration,
    /// Rounds that it has lasted.
    rounds: u32,
}

impl HyStart {
    pub(super) fn new(paced: bool) -> Self {
        let burst = if paced { u32::MAX } else { BURST };
        Self { round_end: 0, shortest: None, shortest_before: None, samples: 0, css: None, burst }
    }

    /// An acknowledgement in slow start.
    pub(super) fn grow(&mut self, size: &mut Size, news: &News) {
        if news.ends_round(&mut self.round_end) {
            self.begin_round();
        }
        if self.css.as_ref().is_some_and(|css| css.rounds >= CSS_ROUNDS) {
            size.ssthresh = size.cwnd;
            return;
        }
        let step = f64::from(news.acked.min(self.burst));
        size.cwnd += if self.css.is_some() { step / CSS_DIVISOR } else { step };
        self.samples += 1;
        self.shortest = Some(self.shortest.map_or(news.rtt, |shortest| shortest.min(news.rtt)));
        self.judge();
    }

    fn begin_round(&mut self) {
        self.shortest_before = self.shortest.take();
        self.samples = 0;
        if let Some(css) = &mut self.css {
            css.rounds += 1;
        }
    }

    /// Begins CSS, or ends it, by the round trips of this round.
    fn judge(&mut self) {
        let Some(shortest) = self.shortest.filter(|_| self.samples >= SAMPLES) else { return };
        match &self.css {
            Some(css) => {
                if shortest < css.baseline {
                    self.css = None;
                }
            }
            None => {
                let Some(before) = self.shortest_before else { return };
                let rise = Duration::from_nanos(before.as_nanos() / RISE_DIVISOR).clamp(LEAST_RISE, MOST_RISE);
                if shortest >= before + rise {
                    self.css = Some(Css { baseline: shortest, rounds: 0 });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Time;

    use super::*;

    /// A round of 20 acknowledgements, one for each segment, `millis` after it was sent.
    fn round(hystart: &mut HyStart, size: &mut Size, una: &mut u32, millis: u64) {
        for _ in 0..20 {
            *una += 1;
            let rtt = Duration::from_millis(millis);
            let news = News { now: Time::ZERO, una: *una, max: *una + 20, acked: 1, counted: 1, marked: false, rtt };
            hystart.grow(size, &news);
        }
    }

    /// By hand: 40 ms, then 45, which is an eighth more. Eight acknowledgements of that round add one each; the eighth sample
    /// begins CSS, in which those that follow add a quarter. At 44 ms, again with the eighth sample, slow start resumes.
    /// 60 ms begin CSS once more. That round counts as one of its five; then the threshold comes down to the window.
    #[test]
    fn slows_down_while_the_round_trip_is_long() {
        let (mut hystart, mut una) = (HyStart::new(false), 0);
        let mut size = Size { cwnd: 0.0, ssthresh: 1e9 };
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

    /// RFC 9406 4.2: without pacing an acknowledgement adds eight at most.
    #[test]
    fn limits_bursts_without_pacing() {
        for (paced, growth) in [(false, 8.0), (true, 30.0)] {
            let mut size = Size { cwnd: 10.0, ssthresh: 1e9 };
            let rtt = Duration::from_millis(40);
            let news = News { now: Time::ZERO, una: 30, max: 40, acked: 30, counted: 1, marked: false, rtt };
            HyStart::new(paced).grow(&mut size, &news);
            assert_eq!(size.cwnd, 10.0 + growth);
        }
    }
}
