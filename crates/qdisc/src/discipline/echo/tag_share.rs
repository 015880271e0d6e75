//! The law: how likely an arrival is sampled, and how likely it is signalled, by the tags of its flow.
//!
//! Probabilities are compared with random numbers of 32 bits by products, so that nothing is divided.

use super::control::Controller;
use super::fixed::ONE;

/// The fair share and the values derived from it, until the next update.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagShare {
    /// T, in tags.
    share: u64,
    /// The number of tags with a quarter from which on a flow exceeds the fair rate.
    exceeded_from: u64,
    /// 1 / T, with 46 binary digits behind the point.
    inverse: u64,
    /// How likely a byte is sampled that belongs to a known flow within its share, or to an unknown one; with 48 binary
    /// digits behind the point.
    odds: u64,
    odds_unknown: u64,
    /// The number of tags that a sampled arrival overwrites.
    copies: u32,
    /// The fair share as a multiple of the mean number of tags of flows that are no floods, 1 at least and
    /// [`MOST_GAIN`] at most.
    gain: u32,
}

impl TagShare {
    /// `mean` is that of [`is_ordinary`](Self::is_ordinary) flows, with 16 binary digits behind the point.
    pub(super) fn new(controller: &Controller, tags: u32, mean: u64) -> Self {
        let share = controller.share().max(1);
        let rare = (share / RARE_BELOW).clamp(LEAST_RARE, ONE);
        let apart = ((controller.apart(tags) * rare) >> 16).max(u64::from(controller.largest)).max(1);
        let odds = (1 << 48) / apart;
        let inverse = (1 << 62) / share;
        Self {
            share,
            // The first whose ratio to T is above one, as `excess` rounds it.
            exceeded_from: ((ONE + 1) << 46).div_ceil(inverse),
            inverse,
            odds,
            odds_unknown: ((u128::from(odds) * u128::from(rare)) >> 16) as u64,
            copies: controller.copies,
            gain: ((share << 16) / mean.max(1)).clamp(ONE, MOST_GAIN) as u32,
        }
    }

    /// Draws whether an arrival of `bytes` bytes of a flow with `count` tags is sampled: with the probability of its
    /// bytes, times T / K where K is above T.
    #[inline]
    pub(super) fn is_sampled(&self, count: u32, bytes: u32, draw: u64) -> bool {
        let odds = if count == 0 { self.odds_unknown } else { self.odds };
        let likely = u64::from(bytes).saturating_mul(odds);
        let count = (u64::from(count) << 16).max(self.share);
        u128::from(draw << 16) * u128::from(count) < u128::from(likely) * u128::from(self.share)
    }

    /// Draws the number of tags that a sampled arrival overwrites, by 16 random bits.
    #[inline]
    pub(super) fn copies(&self, draw: u64) -> u32 {
        ((u64::from(self.copies) + draw) >> 16) as u32
    }

    /// Tells whether `count` tags are at most 2 T + 1, which those of a flood of more than four times the fair rate are
    /// not.
    pub(super) fn is_ordinary(&self, count: u32) -> bool {
        u64::from(count) << 16 <= 2 * self.share + ONE
    }

    /// Tells whether `count` tags are at most 1.5 T.
    #[inline]
    pub(super) fn is_near(&self, count: u32) -> bool {
        u64::from(count) << 17 <= 3 * self.share
    }

    /// Tells whether `count` tags and one more are at most T / 2.
    pub(super) fn is_sparse(&self, count: u32) -> bool {
        (u64::from(count) + 1) << 17 <= self.share
    }

    /// Returns the excess of a flow with `count` tags over the fair rate, in the rates of flows that are no floods.
    #[inline]
    pub(super) fn excess(&self, count: u32) -> Excess {
        let count = (u64::from(count) << 16) + ONE / 4;
        if count < self.exceeded_from {
            return Excess(0);
        }
        let ratio = ((u128::from(count) * u128::from(self.inverse)) >> 46) as u64;
        let ratio = ratio.min(MOST_RATIO);
        let excess = ((ratio * ratio) >> 16) - ONE;
        // Below 2^32, so that its square is below 2^64.
        Excess(((excess * u64::from(self.gain)) >> 16).min(u32::MAX.into()))
    }
}

/// The part by which a flow exceeds the fair rate (w).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess(u64);

impl Excess {
    /// Draws with the probability w² / (1 + w + w²).
    #[inline]
    pub(super) fn is_signalled(self, draw: u64) -> bool {
        let square = self.0 * self.0;
        let whole = u128::from(ONE * (ONE + self.0)) + u128::from(square);
        self.0 > 0 && u128::from(draw) * whole < u128::from(square) << 32
    }

    /// Tells whether fewer than one of five arrivals is signalled.
    pub(super) const fn is_small(self) -> bool {
        4 * (self.0 as u128 * self.0 as u128) < (ONE * (ONE + self.0)) as u128
    }
}

/// The share in tags below which unknown flows are sampled less: where counting begins to tell.
const RARE_BELOW: u64 = 4;

/// The least part of them that is sampled: with less, heavy flows fall below their share.
const LEAST_RARE: u64 = ONE / 2;

/// The most by which an excess is multiplied.
const MOST_GAIN: u64 = 3 * ONE;

/// The largest ratio of a flow's tags to the fair share that counts, 2^8: 2^16 times the fair rate.
const MOST_RATIO: u64 = ONE << 8;
