//! Distributions of goodput and delay (RFC 7928, section 2.7).

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The steps in which a distribution is given.
const STEPS: u32 = 40;

/// A cumulative distribution: the values that a share of all does not exceed, for shares from 0 to 1 in steps of 2.5 %;
/// empty without values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Cdf(Vec<f64>);

impl Cdf {
    /// Returns the distribution of `values`.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        // The nearest rank: the value that the share reaches.
        let at = |step: u32| (values.len() * step as usize).div_ceil(STEPS as usize).saturating_sub(1);
        Self((0..=STEPS).filter_map(|step| values.get(at(step)).copied()).collect())
    }

    /// Returns the distribution of times in seconds.
    pub(crate) fn of_nanos(nanos: &Histogram<u64>) -> Self {
        if nanos.is_empty() {
            return Self::default();
        }
        let at = |step: u32| nanos.value_at_quantile(f64::from(step) / f64::from(STEPS)) as f64 / 1e9;
        Self((0..=STEPS).map(at).collect())
    }

    /// Returns the mean of several distributions, value by value at each share; those without values do not count.
    #[must_use]
    pub fn mean<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let all: Vec<&Self> = all.into_iter().filter(|cdf| !cdf.0.is_empty()).collect();
        let Some(first) = all.first() else { return Self::default() };
        let mean = |step: usize| all.iter().filter_map(|cdf| cdf.0.get(step)).sum::<f64>() / all.len() as f64;
        Self((0..first.0.len()).map(mean).collect())
    }

    /// Returns each value with the share of all that does not exceed it.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        (0_u32..).zip(&self.0).map(|(step, value)| (*value, f64::from(step) / f64::from(STEPS)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, of 1 to 10: a quarter of all does not exceed 3 (rank ⌈2.5⌉), half 5, all 10; the least value stands for
    /// the share of zero.
    #[test]
    fn values_have_their_shares() {
        let cdf = Cdf::of((1..=10).rev().map(f64::from));
        let at = |share: f64| cdf.points().find(|point| (point.1 - share).abs() < 1e-9).map(|point| point.0);
        assert_eq!([0.0, 0.25, 0.5, 0.9, 1.0].map(at), [1.0, 3.0, 5.0, 9.0, 10.0].map(Some));
        assert_eq!((cdf.points().count(), Cdf::of([]).points().count()), (41, 0));
    }

    /// Would catch a mean over one that has no values.
    #[test]
    fn the_mean_is_that_of_each_share() {
        let mean = Cdf::mean([&Cdf::of([1.0]), &Cdf::of([3.0]), &Cdf::default()]);
        assert!(mean.points().all(|(value, _)| value == 2.0) && mean.points().count() == 41);
        assert_eq!(Cdf::mean([]), Cdf::default());
    }

    #[test]
    fn nanoseconds_become_seconds() {
        let mut histogram = Histogram::new(3).expect("three digits are allowed");
        histogram.record_n(1_000_000_000, 10).expect("it grows");
        assert!(Cdf::of_nanos(&histogram).points().all(|(value, _)| (value - 1.0).abs() < 1e-3));
        assert_eq!(Cdf::of_nanos(&Histogram::new(3).expect("three digits are allowed")), Cdf::default());
    }
}
