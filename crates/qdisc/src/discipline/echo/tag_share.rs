//! The law: how likely an arrival is sampled, and how likely it is signalled, by the tags of its flow.
//!
//! Probabilities are compared with random numbers of 32 bits by products, so that nothing is divided.

use super::control::Controller;
use super::fixed::{ONE, root};

/// The fair share and what follows from it, until the next update.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagShare {
    /// T, in tags.
    share: u64,
    /// 1 / T, and 1 / max(T, 1), with 46 binary digits behind the point.
    inverse: u64,
    inverse_known: u64,
    /// The mean distance of sampled arrivals in bytes, as long as no flow is above its share.
    apart: u64,
    /// The part of the arrivals of unknown flows that is sampled, as a part of those of known ones.
    rare: u64,
    /// The number of tags that a sampled arrival overwrites.
    copies: u64,
}

impl TagShare {
    pub(super) fn new(controller: &Controller, tags: u32) -> Self {
        let share = controller.share().max(1);
        let rare = (share / RARE_BELOW).clamp(LEAST_RARE, ONE);
        let apart = ((controller.apart(tags) * rare) >> 16).max(u64::from(controller.largest)).max(1);
        let inverse = |share: u64| (1 << 62) / share;
        Self {
            share,
            inverse: inverse(share),
            inverse_known: inverse(share.max(ONE)),
            apart,
            rare,
            copies: controller.copies,
        }
    }

    /// Draws whether an arrival of `bytes` bytes of a flow with `count` tags is sampled: with the probability
    /// `bytes` / `apart`, times the root of T / K where K is above T, or times `rare` where K is 0.
    #[inline]
    pub(super) fn is_sampled(&self, count: u32, bytes: u32, draw: u64) -> bool {
        let thinned = root(product(u64::from(count) << 16, self.inverse_known).max(ONE));
        let part = if count == 0 { self.rare } else { ONE };
        u128::from(draw) * u128::from(self.apart) * u128::from(thinned) < (u128::from(bytes) * u128::from(part)) << 32
    }

    /// Draws the number of tags that a sampled arrival overwrites, by 16 random bits.
    pub(super) fn copies(&self, draw: u64) -> u32 {
        ((self.copies + draw) >> 16) as u32
    }

    /// Tells whether `count` tags are at most 1.5 T.
    pub(super) fn is_near(&self, count: u32) -> bool {
        u64::from(count) << 17 <= 3 * self.share
    }

    /// Returns the excess of a flow with `count` tags over the fair rate.
    #[inline]
    pub(super) fn excess(&self, count: u32) -> Excess {
        let ratio = product((u64::from(count) << 16) + ONE / 4, self.inverse).clamp(ONE, MOST_RATIO);
        // Below 2^32, so that its square is below 2^64.
        Excess(((ratio * root(ratio)) >> 16) - ONE)
    }
}

/// Returns the product of a number with 16 digits behind the point and an inverse.
fn product(number: u64, inverse: u64) -> u64 {
    ((u128::from(number) * u128::from(inverse)) >> 46) as u64
}

/// The part by which a flow exceeds the fair rate (w).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess(u64);

impl Excess {
    /// That of a flow within its share.
    pub(super) const NONE: Self = Self(0);

    /// Draws with the probability w² / (1 + w + w²).
    #[inline]
    pub(super) fn is_signalled(self, draw: u64) -> bool {
        let square = self.0 * self.0;
        let whole = ONE * ONE + ONE * self.0 + square;
        self.0 > 0 && u128::from(draw) * u128::from(whole) < u128::from(square) << 32
    }

    /// Tells whether fewer than one of five arrivals is signalled.
    pub(super) const fn is_small(self) -> bool {
        4 * (self.0 as u128 * self.0 as u128) < (ONE * (ONE + self.0)) as u128
    }
}

/// The share in tags below which unknown flows are sampled less: where counting begins to tell.
const RARE_BELOW: u64 = 4;

/// The least part of them that is sampled, 1/50.
const LEAST_RARE: u64 = ONE / 50;

/// The largest ratio of a flow's tags to the fair share that counts, 2^10: 2^15 times the fair rate.
const MOST_RATIO: u64 = ONE << 10;
