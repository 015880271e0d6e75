//! Detection of a classic ECN AQM by the delay (Briscoe and Ahmed, "TCP Prague fall-back on detection of a classic ECN
//! AQM", arXiv:1911.00710, version 2 of the algorithm), for Prague (RFC 9331, section 4.3).
//!
//! Queues of the L4S service are short and their delay hardly varies; those of a classic AQM are long and move with the
//! sawteeth of the windows. Each round a score moves by
//!
//! > V lg (v / V₀) + D lg max(d / D₀, 1),
//!
//! where v is the mean deviation of the round-trip time and d its mean above the shortest. A score up to 8 means L4S,
//! from 9 on classic; it is at most 17, so that neither verdict changes at once. In between α has a lower bound which
//! rises to 0.6, whose half is CUBIC's reduction.
//!
//! The mean has the weight 1 / (2 W^1.5) for the window W at the last reduction, and the deviation half of that, so
//! that both reach over the sawteeth of the flow itself. The round trip is that of the last segment which an
//! acknowledgement covers; retransmitted ones do not count, nor do acknowledgements of a single segment if the receiver
//! delays some: this may be one of them.
//!
//! Deviations: the shortest round trip is that of the whole connection, and a sender that its application limits is not
//! treated differently. A path whose delay varies as much as a classic queue is taken for one: as the report says, this
//! happens at low rates, where a packet takes a millisecond.

use std::collections::VecDeque;

use fairlane_qdisc::Time;

/// V, D, and in seconds V₀ and D₀.
const DEVIATION_WEIGHT: f64 = 0.5;
const DEPTH_WEIGHT: f64 = 0.5;
const DEVIATION: f64 = 750e-6;
const DEPTH: f64 = 2e-3;

/// The shortest deviation that counts, in seconds: the resolution of Linux's clock.
const RESOLUTION: f64 = 1e-6;

/// The score up to which the AQM is one of L4S, that from which it is classic, and the highest.
const L4S: f64 = 8.0;
const CLASSIC: f64 = 9.0;
const HIGHEST: f64 = 17.0;

/// The lower bound of α behind a classic AQM.
const CLASSIC_ALPHA: f64 = 0.6;

#[derive(Clone, Debug)]
pub(super) struct ClassicEcn {
    /// The receiver delays acknowledgements.
    delays: bool,
    /// The times at which the segments from `first` on were sent; `None` after a retransmission.
    sent: VecDeque<Option<Time>>,
    first: u32,
    /// A round-trip time has been measured in this round.
    measured: bool,
    /// The round-trip times so far, in seconds; `None` before the first.
    rtt: Option<RttStatistics>,
    /// The window at the last reduction, in segments.
    window: f64,
    /// From 0 to [`HIGHEST`].
    score: f64,
}

/// Round-trip times in seconds.
#[derive(Clone, Debug)]
struct RttStatistics {
    shortest: f64,
    mean: f64,
    deviation: f64,
}

impl ClassicEcn {
    /// Returns the state before the first segment; `delays` is true if the receiver delays acknowledgements.
    pub(super) fn new(delays: bool) -> Self {
        Self { delays, sent: VecDeque::new(), first: 0, measured: false, rtt: None, window: 0.0, score: 0.0 }
    }

    pub(super) fn on_send(&mut self, now: Time, seq: u32) {
        let index = seq.saturating_sub(self.first) as usize;
        if index == self.sent.len() {
            self.sent.push_back(Some(now));
        } else if let Some(time) = self.sent.get_mut(index) {
            *time = None;
        }
    }

    /// Handles an acknowledgement of all segments before `una`.
    pub(super) fn on_ack(&mut self, now: Time, una: u32) {
        let mut last = None;
        let several = una > self.first + 1;
        while self.first < una {
            last = self.sent.pop_front().flatten();
            self.first += 1;
        }
        if let Some(sent) = last.filter(|_| several || !self.delays) {
            self.sample(now.since(sent).as_secs());
        }
    }

    fn sample(&mut self, rtt: f64) {
        self.measured = true;
        let window = self.window.max(1.0);
        let weight = 0.5 / (window * window.sqrt());
        match &mut self.rtt {
            None => self.rtt = Some(RttStatistics { shortest: rtt, mean: rtt, deviation: 0.0 }),
            Some(statistics) => {
                let error = rtt - statistics.mean;
                statistics.shortest = statistics.shortest.min(rtt);
                statistics.mean += weight * error;
                statistics.deviation += weight / 2.0 * (error.abs() - statistics.deviation);
            }
        }
    }

    /// Notes that a mark reduces a window of `segments`.
    pub(super) fn on_reduction(&mut self, segments: f64) {
        self.window = segments;
    }

    /// Moves the score, once a round after the first mark.
    pub(super) fn end_round(&mut self) {
        let measured = std::mem::take(&mut self.measured);
        let Some(rtt) = self.rtt.as_ref().filter(|_| measured) else { return };
        let deviation = libm::log2(rtt.deviation.max(RESOLUTION) / DEVIATION);
        let depth = libm::log2(((rtt.mean - rtt.shortest) / DEPTH).max(1.0));
        self.score = (self.score + DEVIATION_WEIGHT * deviation + DEPTH_WEIGHT * depth).clamp(0.0, HIGHEST);
    }

    /// Returns the lower bound of α.
    pub(super) fn least_alpha(&self) -> f64 {
        CLASSIC_ALPHA * ((self.score - L4S) / (CLASSIC - L4S)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Duration;

    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    /// Ends rounds in which round trips have been measured.
    fn rounds_of(classic: &mut ClassicEcn, rounds: u32) {
        for _ in 0..rounds {
            classic.measured = true;
            classic.end_round();
        }
    }

    /// By hand: a deviation of 3 ms, four times V₀, moves the score by 0.5 · 2 a round, and a queue of 8 ms, four times
    /// D₀, by as much. Behind both it is 8 after four rounds and 9, classic, before the fifth is over. A deviation of a
    /// quarter of V₀ moves it back by one a round, however short the queue, and a round without a measurement does not
    /// move it.
    #[test]
    fn the_score_moves_by_the_logarithms() {
        let rtt = RttStatistics { shortest: 0.02, mean: 0.028, deviation: 0.003 };
        let mut classic = ClassicEcn { rtt: Some(rtt), ..ClassicEcn::new(false) };
        for (rounds, expected) in [(4, 0.0), (1, 0.6), (10, 0.6)] {
            rounds_of(&mut classic, rounds);
            near(classic.least_alpha(), expected);
        }
        near(classic.score, 17.0);
        classic.rtt = Some(RttStatistics { shortest: 0.02, mean: 0.021, deviation: 0.00075 / 4.0 });
        rounds_of(&mut classic, 8);
        near(classic.least_alpha(), 0.6);
        classic.score -= 0.5;
        near(classic.least_alpha(), 0.3);
        rounds_of(&mut classic, 20);
        near(classic.score, 0.0);
        classic.rtt = Some(RttStatistics { shortest: 0.02, mean: 0.028, deviation: 0.003 });
        classic.end_round();
        near(classic.score, 0.0);
    }

    /// By hand: with a window of 4 the weight is 1/16, and 1/32 for the deviation. After 20 ms a round trip of 36 ms
    /// makes a mean of 21 ms and a deviation of 0.5 ms. Would catch the round trip of the first segment that an
    /// acknowledgement covers, 46 ms, that of a retransmission, and one that a delayed acknowledgement makes longer.
    #[test]
    fn the_round_trip_is_that_of_the_last_segment() {
        let mut classic = ClassicEcn::new(true);
        classic.on_reduction(4.0);
        for (seq, sent) in [(0, 0), (1, 0), (2, 20), (3, 30)] {
            classic.on_send(ms(sent), seq);
        }
        classic.on_ack(ms(20), 2);
        classic.on_ack(ms(66), 4);
        let check = |classic: &ClassicEcn| {
            let rtt = classic.rtt.clone().expect("samples");
            near(rtt.mean, 0.021);
            near(rtt.deviation, 0.0005);
            near(rtt.shortest, 0.02);
        };
        check(&classic);
        for (seq, sent) in [(4, 70), (5, 70), (5, 80)] {
            classic.on_send(ms(sent), seq);
        }
        classic.on_ack(ms(90), 6);
        classic.on_send(ms(100), 6);
        classic.on_ack(ms(160), 7);
        check(&classic);
        // A receiver that acknowledges each segment delays none.
        classic.delays = false;
        classic.on_send(ms(200), 7);
        classic.on_ack(ms(237), 8);
        near(classic.rtt.expect("samples").mean, 0.022);
    }
}
