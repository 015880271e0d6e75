//! Time by the byte: how long packets take at a rate, without a division for each.

use crate::{Duration, Rate, Time};

/// What a byte takes at a rate, as a fixed-point number of nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    nanos: u64,
    shift: u32,
}

impl Pace {
    /// The pace of `rate`, which is not 0.
    pub(crate) fn new(rate: Rate) -> Self {
        let rate = u128::from(rate.bits_per_second().max(1));
        // As many fractional bits as 63 bits have room for. A byte takes 8e9 ns at the slowest: 33 bits.
        let whole = BYTE_NANOS.div_ceil(rate);
        let shift = 63 - (u128::BITS - whole.leading_zeros());
        // Rounded up: what is exactly a whole number of nanoseconds stays so.
        Self { nanos: (BYTE_NANOS << shift).div_ceil(rate) as u64, shift }
    }

    /// What `bytes` bytes take, and the fraction of a nanosecond beyond that, when `fraction` was left over before.
    fn take(self, bytes: u32, fraction: u64) -> (Duration, u64) {
        let all = u128::from(bytes) * u128::from(self.nanos) + u128::from(fraction);
        let whole = u64::try_from(all >> self.shift).unwrap_or(u64::MAX);
        (Duration::from_nanos(whole), all as u64 & ((1 << self.shift) - 1))
    }

    /// What `bytes` bytes take, in whole nanoseconds.
    pub(crate) fn duration(self, bytes: u32) -> Duration {
        self.take(bytes, 0).0
    }
}

/// Nanoseconds for a byte at 1 bit/s.
const BYTE_NANOS: u128 = 8_000_000_000;

/// A clock that shows when a link of a rate may send its next packet: it goes on with every byte, so that the rate is exact in
/// the long run, whenever it is looked at.
///
/// ```
/// use fairlane_qdisc::{LinkClock, Rate, Time};
///
/// let mut clock = LinkClock::new(Rate::from_bits_per_second(3_000_000));
/// (0..3).for_each(|_| clock.advance(1000));
/// assert_eq!(clock.next(), Time::from_nanos(8_000_000));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LinkClock {
    pace: Pace,
    next: Time,
    fraction: u64,
}

impl LinkClock {
    /// A link of `rate` that has not sent anything yet; at rate 0, as at 1 bit/s.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { pace: Pace::new(rate), next: Time::ZERO, fraction: 0 }
    }

    /// When the next packet may leave.
    #[must_use]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// From here on the link has another rate; what it is sending keeps its time.
    pub fn set_rate(&mut self, rate: Rate) {
        self.pace = Pace::new(rate);
        self.fraction = 0;
    }

    /// There was nothing to send before `now`: time that was not used is lost.
    pub fn wake(&mut self, now: Time) {
        if self.next < now {
            self.next = now;
            self.fraction = 0;
        }
    }

    /// `bytes` bytes leave.
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

    /// 1000 bytes take 8 ms at 1 Mbit/s and 4 ms at 2. Would catch a change that takes back what was sent, or that goes on with
    /// the fraction of another pace.
    #[test]
    fn another_rate_is_for_what_comes() {
        let mut clock = LinkClock::new(Rate::from_bits_per_second(1_000_000));
        clock.advance(1000);
        clock.set_rate(Rate::from_bits_per_second(2_000_000));
        assert_eq!(clock.next(), Time::from_nanos(8_000_000));
        clock.advance(1000);
        assert_eq!(clock.next(), Time::from_nanos(12_000_000));
    }
}
