//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): a scalable congestion control for L4S, which sends ECT(1)
//! and meets the requirements of RFC 9331, section 4.
//!
//! * A mark reduces the window by half of α, the averaged fraction of marked segments, as DCTCP does; once each round
//!   trip, and not again within 25 ms.
//! * α is averaged each round trip, of 25 ms at least, and the window grows by (R / 25 ms)² segments in a round trip R
//!   below that. So flows with round trips up to 25 ms have equal rates, and none is faster than a classic one by the
//!   shortness of its path (section 2.4.4). This begins 500 rounds after slow start, so that short flows are fast.
//! * Unmarked segments let the window grow at any time, and marked ones at none.
//! * A loss halves the window (RFC 9331, section 4.3), also in a round trip in which a mark has reduced it.
//! * The window has fractions. The segments outstanding are limited to the next whole number, and paced at the window
//!   over the round trip: no faster, unlike those of others, since a queue of a millisecond would show it. So a window
//!   below one segment is one that is sent more seldom than once a round trip (RFC 9331, section 4.3), down to one in
//!   120 ms: the 100 kbit/s of Linux with segments of 1500 bytes.
//! * α is 1 until the first mark, which so halves the window and ends slow start, and is averaged from then on, as in
//!   Linux.
//! * Behind a classic ECN AQM it reduces the window as far as CUBIC does ([`ClassicEcn`]).
//!
//! Deviations: segments are counted instead of bytes. The receiver echoes marks segment by segment without error
//! ([`TcpReceiver`](super::super::TcpReceiver)) unless accurate ECN (RFC 9768) is on, whose counter of three bits tells
//! the same as long as fewer than eight marked segments are behind lost acknowledgements.

use fairlane_qdisc::{Duration, Time};

use super::classic_ecn::ClassicEcn;
use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, WindowSize};

/// The weight of a round trip in α.
const WEIGHT: f64 = 1.0 / 16.0;

/// The shortest virtual round trip, in seconds (RTT_VIRT_MIN).
const LEAST_ROUND: f64 = 0.025;

/// The rounds after slow start from which on round trips are virtual (D).
const TRANSITION: u32 = 500;

/// The longest time from one segment to the next, in seconds.
const LONGEST_GAP: f64 = 0.12;

#[derive(Clone, Debug)]
pub(super) struct Prague {
    /// The averaged fraction of marked segments, from 0 to 1.
    alpha: f64,
    /// A segment has been marked.
    seen: bool,
    /// The segments acknowledged in this round, and those of them with ECN-Echo.
    acked: u32,
    marked: u32,
    /// The smoothed round-trip time in seconds, with the weight of RFC 6298; 0 before the first sample.
    srtt: f64,
    now: Time,
    /// A round is over when this segment and all before it are acknowledged, and not before `round_until`.
    round_end: u32,
    round_until: Time,
    /// The rounds since slow start, up to [`TRANSITION`]; `None` in slow start.
    rounds: Option<u32>,
    /// No mark reduces the window before this time.
    reduced_until: Time,
    classic: ClassicEcn,
}

impl Prague {
    /// Returns the state before the first segment; `delays` is true if the receiver delays acknowledgements.
    pub(super) fn new(delays: bool) -> Self {
        let (now, round_until, reduced_until) = (Time::ZERO, Time::ZERO, Time::ZERO);
        let (acked, marked, round_end, rounds) = (0, 0, 0, None);
        let (alpha, seen, srtt, classic) = (1.0, false, 0.0, ClassicEcn::new(delays));
        Self { alpha, seen, acked, marked, srtt, now, round_end, round_until, rounds, reduced_until, classic }
    }

    /// Returns the shortest time of a round and between reductions.
    fn least_round(&self) -> Duration {
        if self.is_independent() { Duration::from_secs(LEAST_ROUND) } else { Duration::ZERO }
    }

    /// Returns true if the rate does not depend on short round trips.
    fn is_independent(&self) -> bool {
        self.rounds.is_some_and(|rounds| rounds >= TRANSITION)
    }

    /// Ends a round, with `max` one past the highest segment ever sent.
    fn end_round(&mut self, max: u32) {
        if self.seen {
            // SACK blocks may tell of marks before their segments are acknowledged.
            let share = (f64::from(self.marked) / f64::from(self.acked)).min(1.0);
            self.alpha += WEIGHT * (share - self.alpha);
            self.classic.end_round();
        }
        self.rounds = self.rounds.map(|rounds| (rounds + 1).min(TRANSITION));
        (self.acked, self.marked) = (0, 0);
        (self.round_end, self.round_until) = (max, self.now + self.least_round());
    }
}

impl CongestionControl for Prague {
    fn grow(&mut self, size: &mut WindowSize, sample: &AckSample) {
        let ratio = if self.is_independent() { (self.srtt / LEAST_ROUND).min(1.0) } else { 1.0 };
        let unmarked = sample.acked.saturating_sub(sample.marks());
        size.cwnd += ratio * ratio * f64::from(unmarked) / size.cwnd;
    }

    fn on_send(&mut self, now: Time, seq: u32, _idle: bool, _in_flight: u32) {
        self.classic.on_send(now, seq);
    }

    fn on_ack(&mut self, _size: &mut WindowSize, sample: &AckSample, _loss: LossState) {
        self.now = sample.now;
        let marks = sample.marks();
        self.marked += marks;
        self.seen |= marks > 0;
        if sample.acked == 0 {
            return;
        }
        let rtt = sample.rtt.as_secs();
        self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
        self.classic.on_ack(sample.now, sample.una);
        self.acked += sample.acked;
        if sample.una >= self.round_end && self.now >= self.round_until {
            self.end_round(sample.max);
        }
    }

    fn on_congestion(&mut self, _size: &WindowSize, event: &CongestionEvent) -> f64 {
        let segments = event.segments;
        self.rounds = self.rounds.or(Some(0));
        match event.signal {
            CongestionSignal::Mark => {
                self.reduced_until = self.now + self.least_round();
                self.classic.on_reduction(segments);
                segments * (1.0 - self.alpha.max(self.classic.least_alpha()) / 2.0)
            }
            CongestionSignal::Loss | CongestionSignal::Timeout => segments / 2.0,
        }
    }

    /// The window over the round trip, twice in slow start.
    fn pacing_rate(&self, size: &WindowSize) -> Option<f64> {
        let gain = if size.in_slow_start() { 2.0 } else { 1.0 };
        (self.srtt > 0.0).then(|| gain * size.cwnd / self.srtt)
    }

    fn is_scalable(&self) -> bool {
        true
    }

    /// One segment before the first round-trip time.
    fn smallest_window(&self) -> Option<f64> {
        Some(if self.srtt > 0.0 { (self.srtt / LONGEST_GAP).min(1.0) } else { 1.0 })
    }

    fn reacts_to_mark(&self) -> bool {
        self.now >= self.reduced_until
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced;
    use super::*;

    /// Hands over an acknowledgement.
    fn on_ack(prague: &mut Prague, sample: &AckSample) {
        let mut size = WindowSize { cwnd: 20.0, ssthresh: 20.0 };
        prague.on_ack(&mut size, sample, LossState { in_flight: 0, recovering: false });
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
    }

    /// An acknowledgement of `acked` segments at `ms` with a round trip of `rtt` ms.
    fn ack(ms: u64, rtt: u64, acked: u32, marked: bool) -> AckSample {
        let now = Time::ZERO + Duration::from_millis(ms);
        AckSample { now, acked, marked, rtt: Duration::from_millis(rtt), ..AckSample::default() }
    }

    /// Returns a sender 500 rounds after slow start.
    fn old() -> Prague {
        Prague { rounds: Some(TRANSITION), ..Prague::new(false) }
    }

    /// By hand: at a round trip of 10 ms, α is averaged each 25 ms and the window reduced as seldom. It is 1 up to the
    /// first mark at 105, which halves the window. In the round from 100 to 125, 2 of 8 segments are marked: α is
    /// 15/16 + 1/64 = 61/64. Would catch an α that falls before there are marks, and one that a second mark before 130
    /// applies again.
    #[test]
    fn the_clock_is_the_virtual_round_trip() {
        let mut prague = old();
        for ms in [0, 10, 20, 100] {
            on_ack(&mut prague, &ack(ms, 10, 1, false));
        }
        near(prague.alpha, 1.0);
        on_ack(&mut prague, &ack(105, 10, 2, true));
        assert!(prague.reacts_to_mark());
        near(reduced(&mut prague, 20.0, CongestionSignal::Mark), 10.0);
        on_ack(&mut prague, &ack(124, 10, 4, false));
        near(prague.alpha, 1.0);
        assert!(!prague.reacts_to_mark());
        on_ack(&mut prague, &ack(125, 10, 2, false));
        near(prague.alpha, 61.0 / 64.0);
        assert!(!prague.reacts_to_mark());
        on_ack(&mut prague, &ack(130, 10, 1, true));
        assert!(prague.reacts_to_mark());
        near(reduced(&mut prague, 20.0, CongestionSignal::Mark), 20.0 * (1.0 - 61.0 / 128.0));
    }

    /// By hand: a window of 20 segments grows by 1 in a round trip of 25 ms or more, and by (10 / 25)² = 0.16 in one of
    /// 10 ms; of 20 segments of which a counter says that 5 are marked, the other 15 count. Would catch an
    /// acknowledgement with a mark that lets nothing grow.
    #[test]
    fn grows_by_the_square_of_a_short_round_trip() {
        for (rtt, counted, expected) in [(10, None, 0.16), (25, None, 1.0), (100, None, 1.0), (10, Some(5), 0.12)] {
            let mut prague = old();
            on_ack(&mut prague, &ack(100, rtt, 1, false));
            let mut size = WindowSize { cwnd: 20.0, ssthresh: 10.0 };
            prague.grow(&mut size, &AckSample { counted, ..ack(200, rtt, 20, false) });
            near(size.cwnd, 20.0 + expected);
        }
    }

    /// Section 2.4.4: rounds are those of the path, and the window grows by a segment in each, until 500 have passed
    /// since the first mark. Each acknowledgement here is a round of 10 ms. Would catch an α whose rounds are 25 ms
    /// from the start, and rounds of slow start that count.
    #[test]
    fn round_trips_are_virtual_after_500_rounds() {
        let mut prague = Prague::new(false);
        let mut size = WindowSize { cwnd: 20.0, ssthresh: 10.0 };
        let round = |prague: &mut Prague, number: u32| {
            let sample =
                AckSample { una: 20 * number, max: 20 * (number + 1), ..ack(u64::from(number) * 10, 10, 20, false) };
            on_ack(prague, &sample);
        };
        (1..=600).for_each(|number| round(&mut prague, number));
        reduced(&mut prague, 20.0, CongestionSignal::Mark);
        (601..=1_099).for_each(|number| round(&mut prague, number));
        prague.grow(&mut size, &ack(0, 10, 20, false));
        near(size.cwnd, 21.0);
        round(&mut prague, 1_100);
        prague.grow(&mut size, &ack(0, 10, 21, false));
        near(size.cwnd, 21.16);
    }

    /// By hand: of 60 ms, a window of half a segment is one each 120 ms; longer round trips may fall to one segment.
    #[test]
    fn the_smallest_window_is_a_segment_in_120_ms() {
        assert_eq!(Prague::new(false).smallest_window(), Some(1.0));
        for (rtt, expected) in [(6, 0.05), (60, 0.5), (120, 1.0), (600, 1.0)] {
            let mut prague = Prague::new(false);
            on_ack(&mut prague, &ack(1_000, rtt, 1, false));
            near(prague.smallest_window().expect("one"), expected);
        }
    }

    /// RFC 9331, section 4.3: a loss is answered as by Reno, after any marks. Would catch a half in whole segments,
    /// which is nothing of one.
    #[test]
    fn a_loss_halves_the_window() {
        let mut prague = Prague::new(false);
        on_ack(&mut prague, &ack(100, 30, 1, true));
        reduced(&mut prague, 20.0, CongestionSignal::Mark);
        near(reduced(&mut prague, 20.0, CongestionSignal::Loss), 10.0);
        near(reduced(&mut prague, 1.0, CongestionSignal::Loss), 0.5);
    }
}
