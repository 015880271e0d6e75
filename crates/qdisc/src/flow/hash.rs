//! A keyed hash of flows, for disciplines that spread flows over bins.
//!
//! The hash applies SplitMix64's finalizer (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014) twice, each time after a secret: without the seed, a sender cannot choose a flow that falls into
//! another flow's bin.

use crate::Seed;
use crate::seed::mix;

/// A hash function with secrets drawn from a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHash {
    secrets: [u64; 2],
}

impl FlowHash {
    /// Returns the function that `seed` determines. A series of functions takes numbered seeds.
    pub(crate) fn new(seed: Seed) -> Self {
        let mut secrets = seed.stream("hash");
        Self { secrets: [secrets.bits(), secrets.bits()] }
    }

    /// Returns 64 bits for `key`, a flow's or a host's number. Different keys have different bits.
    pub(crate) const fn bits(&self, key: u64) -> u64 {
        mix(mix(key ^ self.secrets[0]) ^ self.secrets[1])
    }

    /// Returns the bin of `key` among `bins`, uniformly distributed; 0 if there are none.
    #[inline]
    pub(crate) const fn bin(&self, key: u64, bins: u32) -> u32 {
        // The high half of a product takes no division and is as even as 32 bits allow.
        (((self.bits(key) >> 32) * bins as u64) >> 32) as u32
    }
}

/// A hash function for the slots of a table, keyed too, and shorter: no decision may depend on it.
///
/// The hash multiplies by a secret and folds the product, as wyhash (Wang Yi, 2019).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotHash {
    secrets: [u64; 2],
}

impl SlotHash {
    /// Returns the function that `seed` determines.
    pub(crate) fn new(seed: Seed) -> Self {
        let mut secrets = seed.stream("hash");
        Self { secrets: [secrets.bits(), secrets.bits() | 1] }
    }

    /// Returns 64 bits for `key`, of which the lowest are as good as any.
    #[inline]
    pub(crate) const fn bits(&self, key: u64) -> u64 {
        let product = (key ^ self.secrets[0]) as u128 * self.secrets[1] as u128;
        product as u64 ^ (product >> 64) as u64
    }
}

/// Returns the probability that each bin of a flow is shared with one of `polluters` flows (the paper's equation 1).
pub(crate) fn misclassified(levels: u32, bins: u32, polluters: u32) -> f64 {
    let clean = (0..polluters).fold(1.0, |clean, _| clean * (1.0 - 1.0 / f64::from(bins)));
    (0..levels).fold(1.0, |all, _| all * (1.0 - clean))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chi-square statistic of `counts` against equal shares.
    fn chi_square(counts: &[u32]) -> f64 {
        let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
        let share = total / counts.len() as f64;
        counts.iter().map(|&count| (f64::from(count) - share) * (f64::from(count) - share) / share).sum()
    }

    /// Would catch bins that numbered flows do not fill evenly, for any differing bits of the number.
    #[test]
    fn bins_are_filled_evenly() {
        let hash = FlowHash::new(Seed::new(1));
        // The 99.99 % points of chi-square with 22, 63 and 99 degrees of freedom.
        for (bins, limit) in [(23, 56.0), (64, 114.0), (100, 161.0)] {
            for stride in [1, 2, 1 << 32, 1 << 48] {
                let mut counts = std::vec![0_u32; bins as usize];
                for key in 0..25_600_u64 {
                    counts[hash.bin(key.wrapping_mul(stride), bins) as usize] += 1;
                }
                assert!(chi_square(&counts) < limit, "{bins} bins, stride {stride}: {}", chi_square(&counts));
            }
        }
    }

    /// Would catch slots of a table that numbered flows, or those that differ in any other bits, do not fill evenly.
    #[test]
    fn slots_are_filled_evenly() {
        let hash = SlotHash::new(Seed::new(1));
        for stride in [1, 2, 3, 1 << 16, 1 << 32, 1 << 48, 0x0001_0001] {
            let mut counts = std::vec![0_u32; 64];
            for key in 0..25_600_u64 {
                counts[hash.bits(key.wrapping_mul(stride)) as usize % 64] += 1;
            }
            // The 99.99 % point of chi-square with 63 degrees of freedom. Fewer collisions than by chance are no harm.
            assert!(chi_square(&counts) < 114.0, "stride {stride}: {}", chi_square(&counts));
        }
    }

    /// Would catch functions that are not independent: two flows that share a bin under one seed share one under
    /// another seed with probability 1 / `bins`.
    #[test]
    fn functions_of_two_seeds_are_independent() {
        let (bins, seed) = (16, Seed::new(7));
        let (first, second) = (FlowHash::new(seed.numbered(0)), FlowHash::new(seed.numbered(1)));
        let mut pairs = std::vec![0_u32; 256];
        for key in 0..100_000 {
            pairs[(first.bin(key, bins) * bins + second.bin(key, bins)) as usize] += 1;
        }
        // The 99.99 % point of chi-square with 255 degrees of freedom is 348.
        assert!(chi_square(&pairs) < 348.0, "{}", chi_square(&pairs));
    }

    /// Would catch a panic without bins, and a bin that is out of range.
    #[test]
    fn zero_bins_do_not_panic_and_one_takes_all() {
        let hash = FlowHash::new(Seed::new(1));
        assert!((0..100).all(|key| hash.bin(key, 0) == 0 && hash.bin(key, 1) == 0));
        assert!((0..1000).all(|key| hash.bin(key, u32::MAX) < u32::MAX));
    }
}
