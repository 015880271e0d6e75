//! The number of tags of flows that are no floods, in the mean of their sampled arrivals.

use super::fixed::ONE;

/// A mean of K + 1/4 that each number moves by one part of [`PARTS`] of its distance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MeanCount {
    /// [`PARTS`] times the mean, with 16 binary digits behind the point.
    sum: u64,
}

impl MeanCount {
    /// Adds a number of tags.
    pub(super) fn add(&mut self, count: u32) {
        self.sum = self.sum - self.sum / PARTS + (u64::from(count) << 16) + ONE / 4;
    }

    /// Returns the mean, with 16 binary digits behind the point.
    pub(super) fn get(self) -> u64 {
        self.sum / PARTS
    }

    /// Follows a change of the size of the sample: the mean remains the same part of it.
    pub(super) fn resize(&mut self, old: u32, new: u32) {
        self.sum = self.sum * u64::from(new) / u64::from(old);
    }
}

/// As many as the least sample that follows the link's rate has tags. A power of two: to divide is to shift.
const PARTS: u64 = 256;
