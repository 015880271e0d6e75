//! The estimate of the round-trip time and the retransmission timeout (RTO).
//!
//! The estimator is Jacobson's in fixed point (SIGCOMM 1988, appendix A; RFC 6298, section 2): the mean is kept times
//! 8, the deviation times 4. It has one of two clocks:
//!
//! | clock | unit | sample | RTO |
//! |---|---|---|---|
//! | BSD and ns-2 | one tick | clock ticks between segment and acknowledgement, at least 1 | mean + 4 deviations, at least 2 ticks |
//! | timestamps (RFC 7323) | 1 ns | the time between them | mean + max(tick, 4 deviations) |
//!
//! The least RTO is a floor, as in RFC 6298, or a margin, as in Linux: mean + max(least RTO, 4 deviations). A margin of
//! 200 ms leaves the time of a delayed acknowledgement however long the round trip is; RFC 6298 has a floor of 1 s.
//!
//! As in ns-2 and on real hosts, each sender has its own clock; the caller sets its offset. All samples have the same
//! weight, however many there are in a window (RFC 7323, appendix G, would lower it).

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;

/// The estimator and its timeout.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    /// Nanoseconds in a unit.
    unit: u64,
    /// The offset of the clock from simulated time in nanoseconds, which determines the times of its ticks.
    offset: u64,
    /// The least that the deviations count, in units: the granularity of the clock or the margin.
    least_deviation: u64,
    /// The smallest timeout, in nanoseconds.
    floor: u64,
    /// The largest timeout, in nanoseconds.
    ceiling: u64,
    /// 8 times the mean, in units; 0 before the first sample.
    mean8: i64,
    /// 4 times the mean deviation, in units.
    deviation4: i64,
    /// The timeout without backoff, in nanoseconds.
    base: u64,
    /// The number of times that the timeout has been doubled.
    doublings: u8,
}

impl Rtt {
    /// Returns an estimator without samples.
    pub(super) fn new(tcp: &Tcp, clock_offset: Duration) -> Self {
        // Without granularity a timeout of zero could fire forever.
        let tick = tcp.tick.as_nanos().max(1);
        let (unit, granularity, least) =
            if tcp.timestamps { (1, tick, tick) } else { (tick, 1, tick.saturating_mul(2)) };
        let margin = if tcp.rto_margin { tcp.min_rto.as_nanos().div_ceil(unit) } else { 0 };
        Self {
            unit,
            offset: clock_offset.as_nanos() % unit,
            least_deviation: granularity.max(margin),
            floor: tcp.min_rto.as_nanos().max(least),
            ceiling: tcp.max_rto.as_nanos().max(tick),
            mean8: 0,
            deviation4: 0,
            base: tcp.initial_rto.as_nanos().max(least),
            doublings: 0,
        }
    }

    /// Adds a sample: a segment sent at `sent` has been acknowledged at `now`. It must not have been retransmitted
    /// (Karn's algorithm) unless it carried a timestamp. Ends the backoff unless `keeps_backoff`.
    #[inline]
    pub(super) fn sample(&mut self, sent: Time, now: Time, keeps_backoff: bool) {
        let reading = |at: Time| at.as_nanos().saturating_add(self.offset) / self.unit;
        let units = reading(now).saturating_sub(reading(sent));
        // The bound keeps eight times the mean inside an i64 for any reading of the clock.
        let measured = units.clamp(1, 1 << 56) as i64;
        if self.mean8 == 0 {
            self.mean8 = measured << 3;
            self.deviation4 = measured << 1;
        } else {
            let error = measured - (self.mean8 >> 3);
            self.mean8 = (self.mean8 + error).max(1);
            self.deviation4 = (self.deviation4 + error.abs() - (self.deviation4 >> 2)).max(1);
        }
        let deviation = self.least_deviation.max(self.deviation4 as u64);
        self.base = ((self.mean8 >> 3) as u64).saturating_add(deviation).saturating_mul(self.unit).max(self.floor);
        if !keeps_backoff {
            self.doublings = 0;
        }
    }

    /// Sets the timeout without a sample after a SYN was sent again: 3 s or more, without backoff (RFC 6298, section
    /// 5.7).
    pub(super) fn restart(&mut self) {
        self.base = self.base.max(AFTER_LOST_SYN.as_nanos());
        self.doublings = 0;
    }

    /// Doubles the timeout (RFC 6298, section 5.5), up to 64 times the original.
    pub(super) fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(MAX_DOUBLINGS);
        if self.doublings > TRUSTED_DOUBLINGS {
            // After this many timeouts the mean is probably wrong (RFC 6298, section 5). The next sample replaces it.
            self.mean8 = 0;
        }
    }

    /// Returns the timeout, including backoff.
    pub(super) fn timeout(&self) -> Duration {
        let backed_off = self.base.saturating_mul(1 << self.doublings);
        Duration::from_nanos(backed_off.min(self.ceiling))
    }

    /// Returns the smoothed round-trip time.
    pub(super) fn mean(&self) -> Option<Duration> {
        let nanos = (u128::from(self.mean8.unsigned_abs()) * u128::from(self.unit)) >> 3;
        (self.mean8 > 0).then(|| Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }
}

/// RFC 6298, section 5.7.
const AFTER_LOST_SYN: Duration = Duration::from_millis(3_000);

/// BSD and ns-2 stop at 64 times the timeout.
const MAX_DOUBLINGS: u8 = 6;

/// BSD and ns-2 discard the mean at the fourth doubling.
const TRUSTED_DOUBLINGS: u8 = 3;

/// How round-trip times are measured.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timing {
    /// By the timestamp in each acknowledgement.
    Timestamps,
    /// By one segment at a time; none is being measured.
    Idle,
    /// By one segment at a time: by this one, sent at this time.
    Segment { seq: u32, sent: Time },
}

impl Timing {
    /// Gives up the measurement of a segment.
    pub(super) fn discard(&mut self) {
        if let Self::Segment { .. } = self {
            *self = Self::Idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Congestion;

    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn timeout_ms(rtt: &Rtt) -> u64 {
        rtt.timeout().as_nanos() / 1_000_000
    }

    /// Would catch an interval that is rounded instead of counted in ticks, and any other order of the fixed-point
    /// steps.
    #[test]
    fn counts_ticks_as_bsd() {
        let mut rtt = Rtt::new(&Tcp::ns2_1999(Congestion::Reno, 300), Duration::ZERO);
        assert_eq!(timeout_ms(&rtt), 6_000);
        // 50 ms with no tick between counts 1. mean8 8, deviation4 2: 1 + 2 ticks.
        rtt.sample(ms(20), ms(70), false);
        assert_eq!(timeout_ms(&rtt), 300);
        // 20 ms across a tick count 1: error 0. mean8 8, deviation4 2 - 0 = 2.
        rtt.sample(ms(190), ms(210), false);
        assert_eq!(timeout_ms(&rtt), 300);
        // 590 ms over 6 ticks: error 5. mean8 13, deviation4 2 + 5 - 0 = 7: 1 + 7 ticks.
        rtt.sample(ms(210), ms(800), false);
        assert_eq!(timeout_ms(&rtt), 800);
        // 390 ms over 3 ticks: error 2. mean8 15, deviation4 7 + 2 - 1 = 8: 1 + 8 ticks.
        rtt.sample(ms(800), ms(1190), false);
        assert_eq!(timeout_ms(&rtt), 900);
        // 4 ticks: error 3. mean8 18, deviation4 8 + 3 - 2 = 9: 2 + 9 ticks.
        rtt.sample(ms(1200), ms(1600), false);
        assert_eq!(timeout_ms(&rtt), 1_100);
        assert_eq!(rtt.mean(), Some(Duration::from_millis(225)));
    }

    /// RFC 6298, section 2, by hand: R = 100 ms gives 100 + 4 * 50; then R = 180 ms gives
    /// RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5 and SRTT = 7/8 * 100 + 1/8 * 180 = 110, so 340 ms.
    #[test]
    fn follows_rfc_6298_with_timestamps() {
        let mut tcp = Tcp::modern(Congestion::Sack, 300);
        tcp.min_rto = Duration::ZERO;
        let mut rtt = Rtt::new(&tcp, Duration::ZERO);
        assert_eq!(rtt.mean(), None);
        assert_eq!(timeout_ms(&rtt), 1_000);
        rtt.sample(ms(0), ms(100), false);
        assert_eq!((rtt.mean(), timeout_ms(&rtt)), (Some(Duration::from_millis(100)), 300));
        rtt.sample(ms(100), ms(280), false);
        assert_eq!((rtt.mean(), timeout_ms(&rtt)), (Some(Duration::from_millis(110)), 340));
        // At a constant round-trip time the deviation vanishes and the granularity of 1 ms stays (RFC 6298, section
        // 2.3).
        for _ in 0..200 {
            rtt.sample(ms(1_000), ms(1_110), false);
        }
        assert_eq!(timeout_ms(&rtt), 111);
    }

    /// Would catch a timeout below its minimum or above its maximum.
    #[test]
    fn keeps_to_the_floor_and_the_ceiling() {
        let mut tcp = Tcp::modern(Congestion::Sack, 300);
        let mut rtt = Rtt::new(&tcp, Duration::ZERO);
        // 10 + max(1, 200, 4 * 5), as in Linux.
        rtt.sample(ms(0), ms(10), false);
        assert_eq!(timeout_ms(&rtt), 210);
        tcp.max_rto = Duration::from_millis(150);
        let mut capped = Rtt::new(&tcp, Duration::ZERO);
        capped.sample(ms(0), ms(10), false);
        assert_eq!(timeout_ms(&capped), 150);
        tcp.tick = Duration::from_millis(300);
        tcp.max_rto = Duration::from_millis(60_000);
        tcp.timestamps = false;
        tcp.initial_rto = Duration::ZERO;
        // At least two ticks, with any settings.
        assert_eq!(timeout_ms(&Rtt::new(&tcp, Duration::ZERO)), 600);
    }

    /// Would catch a backoff that ends early, has no limit or survives a sample.
    #[test]
    fn backs_off_to_64_times_and_recovers() {
        let mut tcp = Tcp::ns2_1999(Congestion::Reno, 300);
        tcp.initial_rto = Duration::from_millis(500);
        let mut rtt = Rtt::new(&tcp, Duration::ZERO);
        for factor in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert_eq!(timeout_ms(&rtt), 500 * factor);
            rtt.back_off();
        }
        // 2 ticks as a first sample: 2 + 4 * 1.
        rtt.sample(ms(0), ms(200), false);
        assert_eq!(timeout_ms(&rtt), 600);
    }

    /// Would catch an overflow, or a timeout of zero, for any settings and times.
    #[test]
    fn survives_absurd_clocks() {
        for timestamps in [true, false] {
            let mut tcp = Tcp::modern(Congestion::Sack, 1);
            (tcp.tick, tcp.min_rto, tcp.max_rto, tcp.initial_rto) =
                (Duration::ZERO, Duration::ZERO, Duration::ZERO, Duration::ZERO);
            tcp.timestamps = timestamps;
            let mut rtt = Rtt::new(&tcp, Duration::ZERO);
            for (sent, now) in [(5, 3), (0, u64::MAX), (u64::MAX, 0), (0, u64::MAX), (7, 7)] {
                rtt.sample(Time::from_nanos(sent), Time::from_nanos(now), false);
                rtt.back_off();
                assert!(rtt.timeout() > Duration::ZERO);
            }
        }
    }
}
