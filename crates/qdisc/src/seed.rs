//! Named streams of random numbers, so that one use of chance never disturbs another.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// A seed of random numbers: a number, and the names that were applied to it.
///
/// Streams of different names are independent, and the same name always gives the same stream. Changing a
/// queue or adding a flow therefore does not change any other random numbers (common random numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(u64);

impl Seed {
    /// Returns the seed of this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(mix(number.wrapping_add(GOLDEN)))
    }

    /// Derives the seed for a purpose, such as `"queue/bottleneck"`.
    #[must_use]
    pub const fn named(self, name: &str) -> Self {
        // FNV-1a over the name, started from this seed, then mixed so that close names are far apart.
        let mut hash = self.0 ^ 0xcbf2_9ce4_8422_2325;
        let bytes = name.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
            i += 1;
        }
        Self(mix(hash))
    }

    /// Derives the seed of the `index`-th of many alike, such as flow 7 of a group.
    #[must_use]
    pub const fn numbered(self, index: u64) -> Self {
        Self(mix(self.0 ^ mix(index.wrapping_add(GOLDEN))))
    }

    /// Returns the stream `name`.
    #[must_use]
    pub fn stream(self, name: &str) -> Stream {
        let seed = self.named(name).0;
        let state = (u128::from(mix(seed)) << 64) | u128::from(mix(seed.wrapping_add(GOLDEN)));
        Stream(Pcg64Mcg::new(state))
    }
}

/// A stream of random numbers: PCG XSL RR 128/64 (MCG), the same on every platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// Returns the next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number drawn uniformly from [0, 1), a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        // 2^-53 is a power of two: the product is exact.
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Draws whether an event of `probability` happens: never at 0, always at 1.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a number drawn uniformly from `0..bound`, without bias; 0 for a `bound` of 0.
    #[inline(always)]
    pub fn below(&mut self, bound: u32) -> u32 {
        // Lemire, "Fast random integer generation in an interval" (2019): a multiplication, and a division only
        // when the low half falls in the short zone that would favour some values.
        let throw = self.throw(bound);
        self.number_of(throw, bound)
    }

    /// Does the first half of [`below`](Self::below): throws once.
    #[inline(always)]
    pub(crate) fn throw(&mut self, bound: u32) -> Throw {
        Throw((self.bits() >> 32) * u64::from(bound))
    }

    /// Returns the throw for `bound` that comes [`AHEAD`] throws from now: 1 is the next.
    #[inline(always)]
    pub(crate) fn throw_ahead(&self, bound: u32) -> Throw {
        // That many steps are one product. PCG's output function, XSL RR, makes a number of the state (O'Neill, "PCG: A
        // Family of Simple Fast Space-Efficient Statistically Good Algorithms for Random Number Generation", 2014,
        // section 6.3).
        let state = self.0.state().wrapping_mul(STEPS_AHEAD);
        let bits = ((state >> 64) as u64 ^ state as u64).rotate_right((state >> 122) as u32);
        Throw((bits >> 32) * u64::from(bound))
    }

    /// Does the second half: returns the number that `throw` gives for `bound`, or that of another one if it does not
    /// count.
    #[inline(always)]
    pub(crate) fn number_of(&mut self, throw: Throw, bound: u32) -> u32 {
        let Throw(product) = throw;
        if throw.may_not_count(bound) {
            let number;
            (*self, number) = Self(self.0.clone()).below_without_bias(product, bound);
            return number;
        }
        throw.number()
    }

    /// Returns the number that `product` gives for `bound`, or draws anew as long as the product is one of those by
    /// which some numbers would be more frequent; and the stream behind it. Taken by value it does not keep the
    /// caller's in memory.
    #[cold]
    fn below_without_bias(mut self, mut product: u64, bound: u32) -> (Self, u32) {
        let threshold = bound.wrapping_neg() % bound;
        while (product as u32) < threshold {
            product = (self.bits() >> 32) * u64::from(bound);
        }
        (self, (product >> 32) as u32)
    }
}

/// A throw of [`Stream::below`], which may have to be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Throw(u64);

impl Throw {
    /// Tells whether it may be one of those by which some numbers would be more frequent; `false` is certain.
    #[inline(always)]
    pub(crate) const fn may_not_count(self, bound: u32) -> bool {
        (self.0 as u32) < bound
    }

    /// Returns the number that it gives if it counts.
    #[inline(always)]
    pub(crate) const fn number(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// How many throws [`Stream::throw_ahead`] looks ahead: so many that memory answers until then.
pub(crate) const AHEAD: u32 = 6;

/// The factor by which so many steps multiply the state: the multiplier of PCG's generators of 128 bits, to that power.
const STEPS_AHEAD: u128 = {
    let (mut product, mut step) = (1_u128, 0);
    while step < AHEAD {
        product = product.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645);
        step += 1;
    }
    product
};

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64 bits with full avalanche.
pub(crate) const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a multiplier, an output function or a number of steps that is not the generator's.
    #[test]
    fn a_throw_ahead_is_the_one_that_comes() {
        let mut stream = Seed::new(7).stream("throws");
        for bound in 1..1000 {
            let ahead = stream.throw_ahead(bound);
            let mut later = stream.clone();
            let thrown = (0..AHEAD).map(|_| later.throw(bound)).last();
            assert_eq!(Some(ahead), thrown);
            stream.bits();
        }
    }
}
