//! Transmission times of packets at a constant rate.

use fairlane_qdisc::{Duration, Rate};

/// Calculates transmission times at a rate.
#[derive(Clone, Debug)]
pub struct TransmissionTime {
    rate: u64,
    /// The packet size of the two fields below. Successive packets mostly have the same size, which saves the division.
    bytes: u32,
    nanos: u64,
    remainder: u64,
}

impl TransmissionTime {
    /// Returns the times at `rate`, above zero.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { rate: rate.bits_per_second(), bytes: 0, nanos: 0, remainder: 0 }
    }

    /// Returns the transmission time of the next packet, of `bytes` bytes, in whole nanoseconds. `carry` keeps the
    /// fraction for the packet after it, so that the rate is exact in the long run.
    #[inline]
    pub const fn next(&mut self, carry: &mut u64, bytes: u32) -> Duration {
        if bytes != self.bytes {
            self.divide(bytes);
        }
        // Without a fraction nothing is added to the carried part, which is less than the rate.
        if self.remainder == 0 {
            return Duration::from_nanos(self.nanos);
        }
        *carry += self.remainder;
        if *carry >= self.rate {
            *carry -= self.rate;
            return Duration::from_nanos(self.nanos + 1);
        }
        Duration::from_nanos(self.nanos)
    }

    /// Calculates the time of packets of `bytes` bytes.
    #[inline(never)]
    const fn divide(&mut self, bytes: u32) {
        let bit_nanos = bytes as u64 * 8_000_000_000;
        self.bytes = bytes;
        self.nanos = bit_nanos / self.rate;
        self.remainder = bit_nanos % self.rate;
    }

    /// Returns the transmission time of the last `packets` packets, if all had the size of the last one; `carry` is the
    /// one after them.
    #[must_use]
    pub fn last(&self, packets: u64, carry: u64) -> Duration {
        let borrowed = (u128::from(self.remainder) * u128::from(packets))
            .saturating_sub(u128::from(carry))
            .div_ceil(u128::from(self.rate));
        self.least(packets) + Duration::from_nanos(u64::try_from(borrowed).unwrap_or(u64::MAX))
    }

    /// Returns the least time that [`last`](Self::last) can return, without a division.
    #[inline]
    #[must_use]
    pub const fn least(&self, packets: u64) -> Duration {
        Duration::from_nanos(self.nanos.saturating_mul(packets))
    }

    /// The rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.rate)
    }
}

/// Sends packets one after the other at a rate.
#[derive(Clone, Debug)]
pub struct Transmitter {
    time: TransmissionTime,
    carry: u64,
}

impl Transmitter {
    /// Returns a transmitter at `rate`, above zero.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { time: TransmissionTime::new(rate), carry: 0 }
    }

    /// Returns the transmission time of the next packet, of `bytes` bytes.
    #[inline]
    pub const fn next(&mut self, bytes: u32) -> Duration {
        self.time.next(&mut self.carry, bytes)
    }

    /// The rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.time.rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch fractions of nanoseconds that are lost to rounding.
    #[test]
    fn a_rate_that_does_not_divide_is_exact_in_the_long_run() {
        let mut transmitter = Transmitter::new(Rate::from_bits_per_second(3_000_000));
        let total: u64 = (0..3_000_000).map(|_| transmitter.next(1).as_nanos()).sum();
        assert_eq!(total, 8_000_000_000);
        let mut fast = Transmitter::new(Rate::from_bits_per_second(100_000_000_000));
        assert_eq!(fast.next(1500).as_nanos(), 120);
    }
}
