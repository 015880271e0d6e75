//! Transmission times of packets at a rate, without a division for each packet.

use crate::{Duration, Rate, Time};

/// The transmission time of a byte at a rate, as a fixed-point number of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    nanos: u64,
    shift: u32,
}

impl Pace {
    /// Returns the pace of `rate`; a rate of 0 counts as 1 bit/s.
    pub(crate) fn new(rate: Rate) -> Self {
        let rate = u128::from(rate.bits_per_second().max(1));
        // As many fractional bits as fit in 63 bits. The longest time of a byte, 8e9 ns, takes 33 bits.
        let whole = BYTE_NANOS.div_ceil(rate);
        let shift = 63 - (u128::BITS - whole.leading_zeros());
        // Rounded up, so that a time that is exactly a whole number of nanoseconds is not cut below it.
        Self { nanos: (BYTE_NANOS << shift).div_ceil(rate) as u64, shift }
    }

    /// Returns the time that `bytes` bytes take in whole nanoseconds, and the remaining fraction of a nanosecond;
    /// `fraction` is the fraction that remained before.
    fn take(self, bytes: u32, fraction: u64) -> (Duration, u64) {
        let all = u128::from(bytes) * u128::from(self.nanos) + u128::from(fraction);
        let whole = u64::try_from(all >> self.shift).unwrap_or(u64::MAX);
        (Duration::from_nanos(whole), all as u64 & ((1 << self.shift) - 1))
    }

    /// Returns the time that `bytes` bytes take, in whole nanoseconds.
    pub(crate) fn duration(self, bytes: u32) -> Duration {
        self.take(bytes, 0).0
    }
}

/// Nanoseconds for a byte at 1 bit/s.
const BYTE_NANOS: u128 = 8_000_000_000;

/// A clock that shows when a link may send its next packet. Fractions of a nanosecond are carried over, so that the
/// rate is exact in the long run.
///
/// ```
/// use fairlane_qdisc::{LinkClock, Rate, Time};
///
/// let mut clock = LinkClock::new(Rate::from_bits_per_second(3_000_000));
/// (0..3).for_each(|_| clock.advance(1000));
/// assert_eq!(clock.next(), Time::from_nanos(8_000_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkClock {
    pace: Pace,
    next: Time,
    fraction: u64,
}

impl LinkClock {
    /// Creates the clock of an idle link of `rate`; a rate of 0 counts as 1 bit/s.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { pace: Pace::new(rate), next: Time::ZERO, fraction: 0 }
    }

    /// Returns the earliest time at which the next packet may be sent.
    #[must_use]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Changes the rate for the packets that follow. The packet being sent still ends when it would have.
    pub fn set_rate(&mut self, rate: Rate) {
        self.pace = Pace::new(rate);
        self.fraction = 0;
    }

    /// Moves the clock up to `now` if it is behind: an idle link does not save up time.
    pub fn wake(&mut self, now: Time) {
        if self.next < now {
            self.restart(now);
        }
    }

    /// Sets the clock to `now`, forwards or backwards.
    pub(crate) const fn restart(&mut self, now: Time) {
        self.next = now;
        self.fraction = 0;
    }

    /// Sends `bytes` bytes: the next packet may follow when they are through.
    pub fn advance(&mut self, bytes: u32) {
        let (time, fraction) = self.pace.take(bytes, self.fraction);
        self.next += time;
        self.fraction = fraction;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a rate that is off by rounding: after a million packets the clock shows the exact quotient.
    #[test]
    fn the_clock_is_exact() {
        for bits in [1, 3, 7_000, 1_000_000, 8_000_000, 999_999_937, 10_000_000_000, 400_000_000_000, u64::MAX] {
            let mut clock = LinkClock::new(Rate::from_bits_per_second(bits));
            let mut sent: u128 = 0;
            for n in 0..1_000_000_u32 {
                let bytes = 64 + n % 1450;
                clock.advance(bytes);
                sent += u128::from(bytes);
            }
            let exact = u64::try_from(sent * BYTE_NANOS / u128::from(bits)).unwrap_or(u64::MAX);
            let shown = clock.next().as_nanos();
            assert!(shown >= exact && shown - exact <= 1, "{bits}: {shown} {exact}");
        }
    }

    /// 1000 bytes take 8 ms at 1 Mbit/s and 4 ms at 2. Would catch a change that also moves the packet being sent, or
    /// that carries over the fraction of another pace.
    #[test]
    fn another_rate_is_for_the_packets_that_follow() {
        let mut clock = LinkClock::new(Rate::from_bits_per_second(1_000_000));
        clock.advance(1000);
        clock.set_rate(Rate::from_bits_per_second(2_000_000));
        assert_eq!(clock.next(), Time::from_nanos(8_000_000));
        clock.advance(1000);
        assert_eq!(clock.next(), Time::from_nanos(12_000_000));
    }
}
