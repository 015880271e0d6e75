//! A number with its interval.

use core::fmt;

use crate::stats::{Moments, student_t_975};

/// A number that was measured: once, or as the mean over several runs with its 95 % confidence interval.
#[derive(Clone, Copy)]
pub struct Estimate {
    /// The value, or its mean over the runs.
    pub mean: f64,
    /// NaN for none: each flow has a dozen estimates, and this takes a third less room than an `Option`.
    ci95: f64,
}

impl Estimate {
    /// Creates an estimate of a value or mean with the half width of its 95 % confidence interval. NaN counts as no
    /// interval.
    #[must_use]
    pub fn new(mean: f64, ci95: Option<f64>) -> Self {
        Self { mean, ci95: ci95.unwrap_or(f64::NAN) }
    }

    /// A value measured once.
    #[must_use]
    pub const fn single(value: f64) -> Self {
        Self { mean: value, ci95: f64::NAN }
    }

    /// Half width of the 95 % confidence interval of the mean; `None` for a single run.
    #[must_use]
    pub fn ci95(&self) -> Option<f64> {
        (!self.ci95.is_nan()).then_some(self.ci95)
    }
}

impl Default for Estimate {
    fn default() -> Self {
        Self::single(0.0)
    }
}

impl PartialEq for Estimate {
    fn eq(&self, other: &Self) -> bool {
        self.mean == other.mean && self.ci95() == other.ci95()
    }
}

impl fmt::Debug for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Estimate").field("mean", &self.mean).field("ci95", &self.ci95()).finish()
    }
}

/// Averages over a fixed number of runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Averager {
    runs: u64,
    t: f64,
}

impl Averager {
    /// Over `runs` runs, at least one.
    pub(crate) fn over(runs: usize) -> Self {
        let runs = runs as u64;
        Self { runs, t: student_t_975(runs.saturating_sub(1)) }
    }

    /// The mean of `values`, with its interval when there are several.
    pub(crate) fn estimate(&self, values: impl Iterator<Item = f64>) -> Estimate {
        let moments: Moments = values.collect();
        // The quantile of all runs is known; a number that some runs lack needs its own.
        let ci95 = if moments.count() == self.runs {
            moments.standard_error().map(|error| error * self.t)
        } else {
            moments.ci95()
        };
        Estimate::new(moments.mean(), ci95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3, 4: s² = 5/3, so the half width is 3.182446 · √(5/12), whichever way t is found.
    #[test]
    fn interval_by_hand() {
        let half = 3.182_446_305 * libm::sqrt(5.0 / 12.0);
        for runs in [4, 9] {
            let estimate = Averager::over(runs).estimate([1.0, 2.0, 3.0, 4.0].into_iter());
            assert_eq!(estimate.mean, 2.5);
            assert!((estimate.ci95().unwrap() - half).abs() < 1e-8);
        }
    }

    #[test]
    fn single_run_has_no_interval() {
        assert_eq!(Averager::over(1).estimate([7.0].into_iter()), Estimate::single(7.0));
    }
}
