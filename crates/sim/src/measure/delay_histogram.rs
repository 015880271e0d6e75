//! Counts of delays.

use fairlane_qdisc::Duration;
use hdrhistogram::Histogram;

/// The longest delay that is told from others: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// The bits of a delay that are counted, the highest first: those of a histogram of three significant digits.
const BITS: u32 = 11;

/// The significant digits of a histogram with as many bits.
const DIGITS: u8 = 3;

/// The number of delays in each bin of a [`Histogram`], which this turns into at the end: to find a bin is all that a
/// packet costs.
#[derive(Debug, Default)]
pub(crate) struct DelayCounts {
    /// The counts of the bins; those beyond are 0. Most queues of a large network never see a long delay.
    counts: Vec<u64>,
}

impl DelayCounts {
    /// Counts `delay`.
    #[inline]
    pub(crate) fn add(&mut self, delay: Duration) {
        let bin = bin(delay.as_nanos().min(LONGEST_NS));
        match self.counts.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.add_bins(bin),
        }
    }

    /// Counts the first delay of `bin`, which is beyond all others.
    #[cold]
    fn add_bins(&mut self, bin: usize) {
        self.counts.resize(bin + 1, 0);
        self.counts[bin] = 1;
    }

    /// Returns all delays in nanoseconds.
    pub(crate) fn histogram(&self) -> Histogram<u64> {
        let mut histogram = Histogram::new(DIGITS).expect("three significant digits are allowed");
        for (bin, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            histogram.record_n(least(bin), *count).expect("the histogram grows to any value");
        }
        histogram
    }
}

/// Returns the bin of a number: of its highest bits and of how many are below these.
#[inline]
const fn bin(number: u64) -> usize {
    let below = u64::BITS - BITS - (number | ((1 << BITS) - 1)).leading_zeros();
    ((below as u64) << (BITS - 1)) as usize + (number >> below) as usize
}

/// Returns the least number of a bin.
const fn least(bin: usize) -> u64 {
    let below = ((bin >> (BITS - 1)) as u32).saturating_sub(1);
    (bin as u64 - ((below as u64) << (BITS - 1))) << below
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    /// Compares with a histogram that records each delay. Would catch a bin that is not one of the histogram's.
    #[test]
    fn equals_a_histogram() {
        let (mut counts, mut random) = (DelayCounts::default(), Seed::new(1).stream("delays"));
        let mut histogram: Histogram<u64> = Histogram::new(DIGITS).expect("digits");
        let edges = (0..40).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let drawn: Vec<u64> = (0..20_000).map(|_| random.bits() >> (20 + random.below(44))).collect();
        for delay in edges.chain(drawn).chain([LONGEST_NS, LONGEST_NS + 1, u64::MAX]) {
            counts.add(Duration::from_nanos(delay));
            histogram.record(delay.min(LONGEST_NS)).expect("it grows");
        }
        let counted = counts.histogram();
        assert_eq!((counted.len(), counted.min(), counted.max()), (histogram.len(), histogram.min(), histogram.max()));
        assert!(counted.iter_recorded().eq(histogram.iter_recorded()));
        assert_eq!(counted, histogram);
    }
}
