//! Prague (draft-briscoe-iccrg-prague-congestion-control): a scalable congestion control for L4S, which sends ECT(1) and
//! meets the requirements of RFC 9331, section 4, but for two.
//!
//! * A mark reduces the window by half of α, the averaged fraction of marked segments, as DCTCP does; once each virtual round trip.
//! * The virtual round trip is the smoothed one, or 25 ms if that is longer. α is averaged and the window reduced by this clock, and the
//!   window grows by (R / 25 ms)² segments in a round trip R below it. So flows with round trips up to 25 ms have equal rates, and
//!   none is faster than a classic one by the shortness of its path.
//! * Unmarked segments let the window grow at any time, and marked ones at none.
//! * A loss halves the window, as Reno's (RFC 9331, section 4.3), also in a round trip in which a mark has reduced it.
//! * Segments are paced at the window over the round trip: no faster, unlike those of others, since a queue of a millisecond would show it.
//! * α is 1 until the first mark, which so halves the window and ends slow start, and is averaged from then on, as in Linux.
//!
//! Deviations: the virtual round trip is in use from the start, and not after 500 round trips. Segments are counted instead of bytes. The
//! receiver echoes marks segment by segment without error ([`TcpReceiver`](super::super::TcpReceiver)) unless accurate ECN (RFC 9768) is on,
//! whose counter of three bits tells the same as long as fewer than eight marked segments are behind lost acknowledgements. Of RFC 9331,
//! section 4.3, two requirements are not met: there is no fallback for bottlenecks with a classic ECN AQM, and no window below one segment,
//! so many flows with short round trips cannot be slowed down by marks.

use fairlane_qdisc::{Duration, Time};

use super::{AckSample, CongestionSignal, WindowSize, reno};

/// The weight of a round trip in α.
const WEIGHT: f64 = 1.0 / 16.0;

/// The shortest virtual round trip, in seconds.
const LEAST_ROUND: f64 = 0.025;

#[derive(Clone, Debug)]
pub(super) struct Prague {
    /// The averaged fraction of marked segments, from 0 to 1.
    alpha: f64,
    /// A segment has been marked.
    seen: bool,
    /// The segments acknowledged in this virtual round trip, and those of them with ECN-Echo.
    acked: u32,
    marked: u32,
    /// The smoothed round-trip time in seconds, with the weight of RFC 6298; 0 before the first sample.
    srtt: f64,
    now: Time,
    /// The end of this virtual round trip.
    round_end: Time,
    /// The end of the virtual round trip that began with the last reduction.
    reduced_until: Time,
}

impl Prague {
    pub(super) const fn new() -> Self {
        let (now, round_end, reduced_until) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Self { alpha: 1.0, seen: false, acked: 0, marked: 0, srtt: 0.0, now, round_end, reduced_until }
    }

    /// Returns the virtual round trip.
    fn round(&self) -> Duration {
        Duration::from_secs(self.srtt.max(LEAST_ROUND))
    }

    /// Grows the window in congestion avoidance.
    pub(super) fn avoid(&self, size: &mut WindowSize, sample: &AckSample) {
        let ratio = (self.srtt / LEAST_ROUND).min(1.0);
        size.cwnd += ratio * ratio * f64::from(sample.acked) / size.cwnd;
    }

    pub(super) fn on_ack(&mut self, sample: &AckSample) {
        self.now = sample.now;
        let marks = sample.marks();
        self.marked += marks;
        self.seen |= marks > 0;
        if sample.acked == 0 {
            return;
        }
        let rtt = sample.rtt.as_secs();
        self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
        self.acked += sample.acked;
        if self.now >= self.round_end {
            if self.seen {
                // SACK blocks may tell of marks before their segments are acknowledged.
                let share = (f64::from(self.marked) / f64::from(self.acked)).min(1.0);
                self.alpha += WEIGHT * (share - self.alpha);
            }
            (self.acked, self.marked) = (0, 0);
            self.round_end = self.now + self.round();
        }
    }

    /// Returns true if a mark reduces the window: once each virtual round trip.
    pub(super) fn reacts_to_mark(&self) -> bool {
        self.now >= self.reduced_until
    }

    /// Returns the window after congestion; `segments` is that before.
    pub(super) fn decrease(&mut self, segments: f64, signal: CongestionSignal) -> f64 {
        match signal {
            CongestionSignal::Mark => {
                self.reduced_until = self.now + self.round();
                segments * (1.0 - self.alpha / 2.0)
            }
            CongestionSignal::Loss | CongestionSignal::Timeout => reno::decrease(segments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
    }

    /// An acknowledgement of `acked` segments at `ms` with a round trip of `rtt` ms.
    fn ack(ms: u64, rtt: u64, acked: u32, marked: bool) -> AckSample {
        let now = Time::ZERO + Duration::from_millis(ms);
        AckSample { now, acked, marked, rtt: Duration::from_millis(rtt), ..AckSample::default() }
    }

    /// By hand: at a round trip of 10 ms, α is averaged each 25 ms and the window reduced as seldom. It is 1 up to the first mark at 105,
    /// which halves the window. In the round from 100 to 125, 2 of 8 segments are marked: α is 15/16 + 1/64 = 61/64. Would catch an α that
    /// falls before there are marks, and one that a second mark before 130 applies again.
    #[test]
    fn the_clock_is_the_virtual_round_trip() {
        let mut prague = Prague::new();
        for ms in [0, 10, 20, 100] {
            prague.on_ack(&ack(ms, 10, 1, false));
        }
        near(prague.alpha, 1.0);
        prague.on_ack(&ack(105, 10, 2, true));
        assert!(prague.reacts_to_mark());
        near(prague.decrease(20.0, CongestionSignal::Mark), 10.0);
        prague.on_ack(&ack(124, 10, 4, false));
        near(prague.alpha, 1.0);
        assert!(!prague.reacts_to_mark());
        prague.on_ack(&ack(125, 10, 2, false));
        near(prague.alpha, 61.0 / 64.0);
        assert!(!prague.reacts_to_mark());
        prague.on_ack(&ack(130, 10, 1, true));
        assert!(prague.reacts_to_mark());
        near(prague.decrease(20.0, CongestionSignal::Mark), 20.0 * (1.0 - 61.0 / 128.0));
    }

    /// By hand: a window of 20 segments grows by 1 in a round trip of 25 ms or more, and by (10 / 25)² = 0.16 in one of 10 ms.
    #[test]
    fn grows_by_the_square_of_a_short_round_trip() {
        for (rtt, expected) in [(10, 0.16), (25, 1.0), (100, 1.0)] {
            let mut prague = Prague::new();
            prague.on_ack(&ack(100, rtt, 1, false));
            let mut size = WindowSize { cwnd: 20.0, ssthresh: 10.0 };
            prague.avoid(&mut size, &ack(200, rtt, 20, false));
            near(size.cwnd, 20.0 + expected);
        }
    }

    /// RFC 9331, section 4.3: a loss is answered as by Reno, whatever marks have done.
    #[test]
    fn a_loss_halves_the_window() {
        let mut prague = Prague::new();
        prague.on_ack(&ack(100, 30, 1, true));
        prague.decrease(20.0, CongestionSignal::Mark);
        near(prague.decrease(20.0, CongestionSignal::Loss), 10.0);
    }
}
