//! A token bucket: limits traffic to a rate and a burst.

use crate::{Bytes, Rate, Time};

/// A token bucket that is exact to 10^-9 bit, so that rounding never decides: a meter of the packets that conform to a
/// rate and a burst (RFC 2697 with an excess burst of 0, and `police` of tc(8)).
///
/// ```
/// use fairlane_qdisc::{Bytes, Rate, Time, TokenBucket};
///
/// let mut bucket = TokenBucket::new(Rate::from_bits_per_second(8000), Bytes::new(1500));
/// assert!(bucket.take(Time::ZERO, 1500));
/// assert!(!bucket.take(Time::from_nanos(999_999_999), 1000));
/// assert!(bucket.take(Time::from_nanos(1_000_000_000), 1000));
/// ```
#[derive(Clone, Debug)]
pub struct TokenBucket {
    bits_per_second: u64,
    /// The size of the bucket, in 10^-9 bits.
    burst: u128,
    /// The tokens in the bucket at `since`, in 10^-9 bits.
    tokens: u128,
    since: Time,
}

impl TokenBucket {
    /// Creates a full bucket of `burst` bytes that is filled at `rate`.
    #[must_use]
    pub const fn new(rate: Rate, burst: Bytes) -> Self {
        let burst = burst.get() as u128 * PER_BYTE;
        Self { bits_per_second: rate.bits_per_second(), burst, tokens: burst, since: Time::ZERO }
    }

    /// Sets the rate at which the bucket is filled, from the last call of [`take`](Self::take) on.
    pub const fn set_rate(&mut self, rate: Rate) {
        self.bits_per_second = rate.bits_per_second();
    }

    /// Takes the tokens for a packet of `bytes` bytes at `now` and returns `true`, or leaves them and returns `false`
    /// if there are too few.
    pub fn take(&mut self, now: Time, bytes: u32) -> bool {
        let earned = u128::from(self.bits_per_second) * u128::from(now.since(self.since).as_nanos());
        self.tokens = self.tokens.saturating_add(earned).min(self.burst);
        self.since = now;
        let price = u128::from(bytes) * PER_BYTE;
        let enough = price <= self.tokens;
        if enough {
            self.tokens -= price;
        }
        enough
    }
}

/// 10^-9 bits in a byte.
const PER_BYTE: u128 = 8_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    /// Would catch tokens lost by rounding, or kept beyond the burst: 160 kbit/s are 20 packets of 1000 bytes a second.
    #[test]
    fn passes_its_burst_and_then_its_rate() {
        let mut bucket = TokenBucket::new(Rate::from_bits_per_second(160_000), Bytes::new(3000));
        let mut now = Time::from_nanos(7);
        assert_eq!([(); 5].map(|()| bucket.take(now, 1000)), [true, true, true, false, false]);
        let mut passed = 0;
        for _ in 0..100_000 {
            now += Duration::from_nanos(100_003);
            passed += u32::from(bucket.take(now, 1000));
        }
        // 10.0003 s at 20 packets a second.
        assert_eq!(passed, 200);
        assert!(bucket.take(Time::MAX, 3000) && !bucket.take(Time::MAX, 1));
        assert!(!bucket.take(Time::MAX, u32::MAX));
    }

    /// Would catch a change of the rate that takes away tokens or adds some.
    #[test]
    fn another_rate_leaves_the_tokens() {
        let mut bucket = TokenBucket::new(Rate::from_bits_per_second(8000), Bytes::new(1000));
        assert!(bucket.take(Time::ZERO, 600));
        bucket.set_rate(Rate::from_bits_per_second(80_000));
        assert!(!bucket.take(Time::ZERO, 401) && bucket.take(Time::ZERO, 400));
        // 10 kB/s: 100 bytes in 10 ms.
        let later = Time::ZERO + Duration::from_millis(10);
        assert!(!bucket.take(later, 101) && bucket.take(later, 100));
    }
}
