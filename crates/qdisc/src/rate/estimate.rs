//! A rate averaged over time with exponential weights, for disciplines that compare flows by rate.
//!
//! **Source.** Stoica, Shenker, Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998, equation 3: a packet of length l
//! that arrives T after the previous one updates the rate to `r = (1 - e^(-T/K)) l/T + e^(-T/K) r`. The weight depends
//! on time only, so the estimate is the same whether a flow sends many small packets or few large ones.

use crate::{Duration, Time};

/// The estimated rate of one flow or of all traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateEstimate {
    /// The time constant K in nanoseconds; not 0.
    constant: f64,
    bits_per_second: f64,
    last: Time,
    /// The bytes that arrived at `last`, which count with the next packet that arrives later.
    pending: u64,
}

/// The effect of a packet on an estimate.
#[derive(Clone, Copy, Debug)]
struct Weights {
    /// The time since the previous packet in nanoseconds (T).
    time: f64,
    /// The weight of the estimate so far, e^(-T/K).
    keep: f64,
    /// The weight of the new sample, 1 - e^(-T/K).
    new: f64,
}

/// The last weights that were calculated with one time constant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastWeights(Option<Weights>);

impl RateEstimate {
    /// Creates an estimate of 0 with time constant `constant`; the first interval begins at `start`.
    pub(crate) fn new(constant: Duration, start: Time) -> Self {
        Self { constant: constant.as_nanos().max(1) as f64, bits_per_second: 0.0, last: start, pending: 0 }
    }

    /// Adds a packet of `bytes` bytes that arrives at `now` and returns the rate in bit/s. Packets that arrive at the
    /// same time as the previous one count with the next.
    pub(crate) fn add(&mut self, now: Time, bytes: u32) -> f64 {
        let weights = self.weights(now);
        self.add_weighted(now, bytes, weights)
    }

    /// Does the same with the weights of the packet before in `last`, which are kept there: packets often follow each
    /// other at equal intervals, as behind a link.
    pub(crate) fn add_with(&mut self, last: &mut LastWeights, now: Time, bytes: u32) -> f64 {
        let weights = self.weights_with(last, now);
        self.add_weighted(now, bytes, weights)
    }

    /// Adds a packet of `bytes` bytes that arrives at `now` to both estimates, whose time constants are equal, and
    /// returns the rate of `self`. Mostly their last packets were the same, and then so are the weights.
    pub(crate) fn add_to_both_with(&mut self, last: &mut LastWeights, other: &mut Self, now: Time, bytes: u32) -> f64 {
        let weights = self.weights_with(last, now);
        let others = if other.last == self.last { weights } else { other.weights(now) };
        other.add_weighted(now, bytes, others);
        self.add_weighted(now, bytes, weights)
    }

    /// Returns the weights of a packet that arrives at `now`; `None` if it arrives with the previous one.
    fn weights(&self, now: Time) -> Option<Weights> {
        let time = now.since(self.last).as_nanos();
        if time == 0 {
            return None;
        }
        let time = time as f64;
        // expm1 keeps its precision where the gap is much shorter than the time constant.
        Some(Weights { time, keep: libm::exp(-time / self.constant), new: -libm::expm1(-time / self.constant) })
    }

    /// Does the same, and calculates nothing if the packet comes as long after the previous one as that in `last`.
    fn weights_with(&self, last: &mut LastWeights, now: Time) -> Option<Weights> {
        let time = now.since(self.last).as_nanos();
        match last.0 {
            Some(known) if time as f64 == known.time => last.0,
            _ => {
                let weights = self.weights(now);
                last.0 = weights.or(last.0);
                weights
            }
        }
    }

    fn add_weighted(&mut self, now: Time, bytes: u32, weights: Option<Weights>) -> f64 {
        self.pending += u64::from(bytes);
        if let Some(Weights { time, keep, new }) = weights {
            let sample = self.pending as f64 * 8e9 / time;
            self.bits_per_second = new * sample + keep * self.bits_per_second;
            self.last = now;
            self.pending = 0;
        }
        self.bits_per_second
    }

    /// Returns the rate in bit/s as of the last packet.
    pub(crate) const fn bits_per_second(&self) -> f64 {
        self.bits_per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equation 3 by hand, for K = 0.1 s, T = 8 ms and 8000 bit: 76,883.65 bit/s. Would catch a wrong unit or weight.
    #[test]
    fn the_first_packet_follows_the_equation() {
        let mut rate = RateEstimate::new(Duration::from_millis(100), Time::ZERO);
        assert!((rate.add(Time::ZERO + Duration::from_millis(8), 1000) - 76_883.65).abs() < 0.01);
    }

    /// Would catch an estimate that depends on the size of packets: after a time t at a constant rate it is
    /// 1 - e^(-t/K) of that rate.
    #[test]
    fn the_size_of_packets_does_not_matter() {
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

    /// Would catch a division by zero and bytes lost where packets arrive at the same time, and a rate that outlasts an
    /// hour of silence.
    #[test]
    fn packets_at_the_same_time_count_together() {
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
