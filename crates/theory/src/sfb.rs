//! Probability that Stochastic Fair Blue takes a responsive flow for an unresponsive one.
//!
//! Feng, Kandlur, Saha and Shin 2001, equation 1. Each of `L` levels hashes a flow to one of its `N` bins. M flows that
//! do not answer pollute their bins; another flow is misclassified when its bins are polluted at all levels:
//!
//! `p = (1 - (1 - 1/N)^M)^L`.
//!
//! The formula is exact for one flow with independent uniform hashes. Of many flows that share the hashes, `p` is the
//! expected part.

use crate::check::{Error, count};

/// SFB's bins and the flows that pollute them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sfb {
    levels: u32,
    bins: u32,
    flows: u32,
}

impl Sfb {
    /// `levels` of `bins` each, both at least 1, and `flows` that do not answer.
    ///
    /// # Errors
    /// When there are no levels or no bins.
    pub fn new(levels: u32, bins: u32, flows: u32) -> Result<Self, Error> {
        count("levels", levels)?;
        count("bins", bins)?;
        Ok(Self { levels, bins, flows })
    }

    /// The levels among which `total` bins are best divided for `flows` that do not answer: a flow is then
    /// misclassified least. Bins that do not divide evenly are left over. Of equal choices it is that with the fewest
    /// levels, which costs the least.
    ///
    /// # Errors
    /// When there are no bins, or more than 16,777,216.
    pub fn best(total: u32, flows: u32) -> Result<Self, Error> {
        const MOST: u32 = 1 << 24;
        count("bins", total)?;
        if total > MOST {
            return Err(Error::new("bins", format!("{total} is out of range; give at most {MOST}")));
        }
        let mut best = Self { levels: 1, bins: total, flows };
        // With N fixed another level always helps, so of all L only the largest for each N can be best.
        let mut levels = 1;
        while levels < total {
            let bins = total / (levels + 1);
            levels = total / bins;
            let other = Self { levels, bins, flows };
            if other.misclassified() < best.misclassified() {
                best = other;
            }
        }
        Ok(best)
    }

    /// L, the levels.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// N, the bins of a level.
    #[must_use]
    pub fn bins(&self) -> u32 {
        self.bins
    }

    /// M, the flows that do not answer.
    #[must_use]
    pub fn flows(&self) -> u32 {
        self.flows
    }

    /// The probability that a bin is polluted, `1 - (1 - 1/N)^M`.
    #[must_use]
    pub fn polluted(&self) -> f64 {
        if self.flows == 0 {
            return 0.0;
        }
        -libm::expm1(f64::from(self.flows) * libm::log1p(-1.0 / f64::from(self.bins)))
    }

    /// The expected number of polluted bins of a level, `N (1 - (1 - 1/N)^M)`.
    #[must_use]
    pub fn polluted_bins(&self) -> f64 {
        f64::from(self.bins) * self.polluted()
    }

    /// The probability that a flow which answers is taken for one that does not (equation 1).
    #[must_use]
    pub fn misclassified(&self) -> f64 {
        libm::pow(self.polluted(), f64::from(self.levels))
    }
}
