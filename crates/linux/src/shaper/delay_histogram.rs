//! A histogram of durations with fixed buckets.

use fairlane_qdisc::Duration;

/// The bucket bounds within a decade: the series R10 of ISO 3. Each is 10^(1/10) times the one before, rounded to
/// within one percent.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];

/// The indices of the steps at which coarse buckets end: 1, 2 and 5.
const COARSE: [usize; 3] = [0, 3, 7];

/// The upper bounds of the buckets in nanoseconds, 10 us to 10 s. Longer durations are counted in one more bucket.
const BOUNDS: [u64; 61] = {
    let mut bounds = [0; 61];
    let (mut at, mut unit) = (0, 100);
    while at < bounds.len() {
        bounds[at] = unit * STEPS[at % STEPS.len()];
        at += 1;
        if at % STEPS.len() == 0 {
            unit *= 10;
        }
    }
    bounds
};

/// For each number of significant bits, the bucket of the shortest duration that has so many. A bucket of the duration
/// itself is at most four further, since a factor of two spans at most four bounds.
const FIRST: [u8; 65] = {
    let mut first = [0; 65];
    let mut bits = 1;
    while bits < first.len() {
        let mut bucket = 0;
        while bucket < BOUNDS.len() && BOUNDS[bucket] < 1 << (bits - 1) {
            bucket += 1;
        }
        first[bits] = bucket as u8;
        bits += 1;
    }
    first
};

/// Returns the index of the first bucket whose bound is not below `nanos`.
fn bucket(nanos: u64) -> usize {
    let first = usize::from(FIRST[(u64::BITS - nanos.leading_zeros()) as usize]);
    first + BOUNDS[first..].iter().take_while(|bound| **bound < nanos).count()
}

/// A histogram of durations, with ten buckets per decade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayHistogram {
    buckets: [u64; BOUNDS.len() + 1],
    count: u64,
    sum_ns: u128,
    max: Duration,
}

impl Default for DelayHistogram {
    fn default() -> Self {
        Self { buckets: [0; BOUNDS.len() + 1], count: 0, sum_ns: 0, max: Duration::ZERO }
    }
}

impl DelayHistogram {
    /// Adds a duration.
    pub fn add(&mut self, delay: Duration) {
        self.buckets[bucket(delay.as_nanos())] += 1;
        self.count += 1;
        self.sum_ns += u128::from(delay.as_nanos());
        self.max = self.max.max(delay);
    }

    /// Returns the number of durations.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all durations in seconds.
    #[must_use]
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// Returns the longest duration; zero if there is none.
    #[must_use]
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// Returns the buckets in ascending order: the upper bound in seconds, inclusive, and the number of durations in
    /// this bucket alone. The last bound is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e9).chain([f64::INFINITY]);
        bounds.zip(self.buckets)
    }

    /// Returns the same durations in fewer buckets, which end at 1, 2 and 5 in each decade.
    #[must_use]
    pub fn coarse_buckets(&self) -> Vec<(f64, u64)> {
        let (mut coarse, mut within) = (Vec::new(), 0);
        for (index, (bound, count)) in self.buckets().enumerate() {
            within += count;
            if COARSE.contains(&(index % STEPS.len())) || bound.is_infinite() {
                coarse.push((bound, within));
                within = 0;
            }
        }
        coarse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a bound that belongs to the bucket above (Prometheus's `le` includes it) and one that is off by a
    /// decade.
    #[test]
    fn a_delay_is_in_its_bucket() {
        let mut delays = DelayHistogram::default();
        for nanos in [0, 10_000, 10_001, 10_000_000_000, 10_000_000_001] {
            delays.add(Duration::from_nanos(nanos));
        }
        let buckets: Vec<(f64, u64)> = delays.buckets().collect();
        assert_eq!((buckets[0], buckets[1]), ((10e-6, 2), (12.5e-6, 1)));
        assert_eq!((buckets[60], buckets[61]), ((10.0, 1), (f64::INFINITY, 1)));
        assert_eq!((buckets.len(), delays.count(), delays.max().as_nanos()), (62, 5, 10_000_000_001));
        assert!((delays.sum_s() - 20.000_020_002).abs() < 1e-12);
    }

    /// Comparison with a search of all bounds: each bound and power of two, and their neighbours. Would catch a table
    /// that begins too late.
    #[test]
    fn the_table_finds_the_bucket_that_a_search_finds() {
        let powers = (0..64).map(|bits| 1 << bits);
        for near in BOUNDS.into_iter().chain(powers).chain([0, u64::MAX]) {
            for nanos in [near.saturating_sub(1), near, near.saturating_add(1)] {
                assert_eq!(bucket(nanos), BOUNDS.partition_point(|bound| *bound < nanos), "{nanos}");
            }
        }
    }

    /// One delay in each bucket, at its bound. Would catch a coarse bucket that ends elsewhere than at 1, 2 and 5, and
    /// delays that are left out.
    #[test]
    fn coarse_buckets_hold_the_fine_ones() {
        let mut delays = DelayHistogram::default();
        BOUNDS.iter().for_each(|bound| delays.add(Duration::from_nanos(*bound)));
        let coarse = delays.coarse_buckets();
        // The first bucket holds 10 us alone. The next, up to 20, 50 and 100 us, hold 12.5 16 20, 25 31.5 40 50, and 63
        // 80 100.
        assert_eq!(coarse[..4], [(10e-6, 1), (20e-6, 3), (50e-6, 4), (100e-6, 3)]);
        assert_eq!((coarse.len(), coarse[18], coarse[19]), (20, (10.0, 3), (f64::INFINITY, 0)));
        assert_eq!(coarse.iter().map(|(_, count)| count).sum::<u64>(), 61);
    }
}
