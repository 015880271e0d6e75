//! A rate averaged over time with exponential weights, for disciplines that compare flows by rate.
//!
//! **Source.** Stoica, Shenker, Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998, equation 3: a packet of length l
//! that comes T after the one before makes `r = (1 - e^(-T/K)) l/T + e^(-T/K) r`. The weight does not depend on how
//! packets are cut, so a flow of many small ones is measured as one of few large ones.

use crate::{Duration, Time};

/// The average of one flow or of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateEstimate {
    /// K in nanoseconds; not 0.
    constant: f64,
    bits_per_second: f64,
    last: Time,
    /// What came at `last` and has no time to be spread over yet.
    pending: u64,
}

impl RateEstimate {
    /// Nothing so far, with time constant `constant`. Time counts from `start`.
    pub(crate) fn new(constant: Duration, start: Time) -> Self {
        Self { constant: constant.as_nanos().max(1) as f64, bits_per_second: 0.0, last: start, pending: 0 }
    }

    /// Takes in a packet of `bytes` bytes at `now`; the rate in bit/s. Packets of the same moment count with the next.
    pub(crate) fn add(&mut self, now: Time, bytes: u32) -> f64 {
        self.pending += u64::from(bytes);
        let time = now.since(self.last).as_nanos();
        if time > 0 {
            let time = time as f64;
            let keep = libm::exp(-time / self.constant);
            let sample = self.pending as f64 * 8e9 / time;
            // 1 - e^-x without loss where packets come much closer than the constant.
            self.bits_per_second = -libm::expm1(-time / self.constant) * sample + keep * self.bits_per_second;
            self.last = now;
            self.pending = 0;
        }
        self.bits_per_second
    }

    /// The rate in bit/s as of the last packet.
    pub(crate) const fn bits_per_second(&self) -> f64 {
        self.bits_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SPEC appendix D: K = 0.1 s, T = 8 ms, 8000 bit: 76883.65 bit/s.
    #[test]
    fn the_first_packet_counts_by_the_equation() {
        let mut rate = RateEstimate::new(Duration::from_millis(100), Time::ZERO);
        assert!((rate.add(Time::ZERO + Duration::from_millis(8), 1000) - 76_883.65).abs() < 0.01);
    }

    /// A constant flow converges to its rate, as e^-(n T/K) whatever the packets' size: (1 - e^-(t/K)) of it after t.
    #[test]
    fn a_constant_flow_is_measured_whatever_its_packets() {
        for (bytes, every) in [(1000, 8_000_000), (100, 800_000), (10, 80_000)] {
            let mut rate = RateEstimate::new(Duration::from_millis(100), Time::ZERO);
            let packets = 800_000_000 / every;
            for n in 1..=packets {
                rate.add(Time::from_nanos(n * every), bytes);
            }
            let expected = 1e6 * (1.0 - libm::exp(-8.0));
            assert!((rate.bits_per_second() / expected - 1.0).abs() < 1e-9, "{}", rate.bits_per_second());
        }
    }

    /// Packets of one moment are one packet, and an hour of silence leaves nothing.
    #[test]
    fn time_that_stands_still_or_leaps_is_no_matter() {
        let (mut one, mut many) = (
            RateEstimate::new(Duration::from_millis(100), Time::ZERO),
            RateEstimate::new(Duration::from_millis(100), Time::ZERO),
        );
        let now = Time::ZERO + Duration::from_millis(5);
        one.add(Time::ZERO, 3000);
        for _ in 0..3 {
            assert_eq!(many.add(Time::ZERO, 1000), 0.0);
        }
        assert_eq!(one.add(now, 500), many.add(now, 500));
        let later = now + Duration::from_secs(3600.0);
        let rest = one.add(later, 1000);
        assert!((rest - 8000.0 / 3600.0).abs() < 1e-9, "{rest}");
        assert_eq!(RateEstimate::new(Duration::ZERO, Time::ZERO).add(later, 0), 0.0);
    }
}
