//! What a flow that does not answer is still allowed: a token bucket.

use crate::{Rate, Time};

/// A token bucket, exact to 10^-9 of a bit.
#[derive(Debug)]
pub(super) struct TokenBucket {
    bits_per_second: u64,
    /// What it holds at most, in 10^-9 bits.
    burst: u128,
    tokens: u128,
    since: Time,
}

impl TokenBucket {
    /// A full bucket for `burst` bytes that is filled at `rate`.
    pub(super) fn new(rate: Rate, burst: u64) -> Self {
        let burst = u128::from(burst) * PER_BYTE;
        Self { bits_per_second: rate.bits_per_second(), burst, tokens: burst, since: Time::ZERO }
    }

    /// Whether a packet of `bytes` bytes may pass at `now`; if so, it is paid for.
    pub(super) fn take(&mut self, now: Time, bytes: u32) -> bool {
        let earned = u128::from(self.bits_per_second) * u128::from(now.since(self.since).as_nanos());
        self.tokens = self.tokens.saturating_add(earned).min(self.burst);
        self.since = now;
        let price = u128::from(bytes) * PER_BYTE;
        let passes = price <= self.tokens;
        if passes {
            self.tokens -= price;
        }
        passes
    }
}

/// 10^-9 bits in a byte.
const PER_BYTE: u128 = 8_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    /// S003's limit of 0.16 Mbit/s is 20 packets of 1000 bytes a second.
    #[test]
    fn passes_its_burst_and_then_its_rate() {
        let mut bucket = TokenBucket::new(Rate::from_bits_per_second(160_000), 3000);
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
}
