//! gCHOKe, which goes on drawing while it matches, with one unresponsive flow among many TCP flows.
//!
//! The algorithm and the bounds on both shares are those of Eshete and Jiang (arXiv 1202.0789); the load in between is
//! derived here as for [`Choke`](crate::Choke), without early drops. Of a flow with a part `h` of the queue an arrival
//! that may match `m` packets hits `h kappa` on average, `kappa = 1 + h + … + h^(m - 1) = (1 - h^m) / (1 - h)`. What
//! leaks is what matches, `h kappa = (1 - h) (1 - z)`; with `z = exp(-L)` its share `s` of the link obeys
//! `s / (1 - s) = z L / kappa`, and its load is `a = s / (z (1 - h))`.
//!
//! With `m = 1` it is CHOKe. Without a bound on `m` the flow has at most `(3 - sqrt 5) / 2`, 38.2 %, of the queue and
//! 20.5 % of the link; CHOKe's bounds are 50 % and 26.9 %.

use core::num::NonZeroU32;

use crate::check::{Error, positive, probability};
use crate::solve::{increasing, largest};

/// Limit on the packets that one arrival may match, gCHOKe's `maxcomp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparisons {
    /// At most this many.
    AtMost(NonZeroU32),
    /// No limit: drawing goes on while it matches.
    Unlimited,
}

/// gCHOKe in equilibrium with one unresponsive flow and many TCP flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GChoke {
    comparisons: Comparisons,
    load: f64,
    leak: f64,
}

impl GChoke {
    /// An unresponsive flow of `load` times the link's rate, 1e-12 to 1e12.
    ///
    /// # Errors
    /// When the load is out of its range.
    pub fn at_load(comparisons: Comparisons, load: f64) -> Result<Self, Error> {
        positive("load", load)?;
        // L / a = kappa (1 - h) + z L (1 - h), of which the first is at most 1 and the second at most 1/e.
        let of = |leak| Self { comparisons, load, leak };
        let leak = increasing(|leak| of(leak).load_of_leak(), load, 0.0, 2.0 * load);
        Ok(of(leak))
    }

    /// Returns the equilibrium with the largest share of the link.
    #[must_use]
    pub fn peak(comparisons: Comparisons) -> Self {
        let of = |leak| Self { comparisons, load: 0.0, leak };
        // Beyond L = 100 the departures are below any precision.
        let peak = of(largest(|leak| of(leak).share(), 0.0, 100.0));
        Self { load: peak.load_of_leak(), ..peak }
    }

    /// The part of the queue that the flow approaches as its load grows: 1/2 for CHOKe, `(3 - sqrt 5) / 2` without a
    /// bound.
    #[must_use]
    pub fn buffer_bound(comparisons: Comparisons) -> f64 {
        Self { comparisons, load: f64::INFINITY, leak: f64::INFINITY }.buffer_share()
    }

    /// Sending rate of the unresponsive flow as a part of the link's rate, `a`.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.load
    }

    /// Its part of the queue, `h`.
    #[must_use]
    pub fn buffer_share(&self) -> f64 {
        let leaks = -libm::expm1(-self.leak);
        increasing(|h| h * self.comparisons.kappa(h) - (1.0 - h) * leaks, 0.0, 0.0, 0.5)
    }

    /// Its share of the link, `s`.
    #[must_use]
    pub fn share(&self) -> f64 {
        let odds = self.leak * libm::exp(-self.leak) / self.comparisons.kappa(self.buffer_share());
        odds / (1.0 + odds)
    }

    /// The part of its packets that is dropped, `h + h kappa`.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let h = self.buffer_share();
        h + h * self.comparisons.kappa(h)
    }

    fn load_of_leak(&self) -> f64 {
        let h = self.buffer_share();
        let kappa = self.comparisons.kappa(h);
        self.leak / ((1.0 - h) * (kappa + self.leak * libm::exp(-self.leak)))
    }
}

impl Comparisons {
    /// The packets that an arrival of a flow with a part `h` of the queue costs the flow on average, itself among them:
    /// `h + h kappa`; without a bound, and only then, it is infinite for `h = 1`.
    ///
    /// # Errors
    /// When `h` is no probability.
    pub fn expected_losses(self, h: f64) -> Result<f64, Error> {
        probability("buffer share", h)?;
        Ok(h + h * self.kappa(h))
    }

    /// `1 + h + … + h^(m - 1)`.
    fn kappa(self, h: f64) -> f64 {
        match self {
            Self::AtMost(most) if h >= 1.0 => f64::from(most.get()),
            Self::AtMost(most) => (1.0 - libm::pow(h, f64::from(most.get()))) / (1.0 - h),
            Self::Unlimited => 1.0 / (1.0 - h),
        }
    }
}
