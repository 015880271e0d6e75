//! Random variables for sources, the same on every platform.

use fairlane_qdisc::{Duration, Stream};
use fairlane_scenario::Periods;

/// Draws a uniform number in (0, 1], whose logarithms and powers are finite.
fn positive(random: &mut Stream) -> f64 {
    1.0 - random.unit()
}

/// Draws from an exponential distribution.
pub(crate) fn exponential(random: &mut Stream, mean: f64) -> f64 {
    -mean * libm::log(positive(random))
}

/// Draws from a Pareto distribution with tail index `shape`, above 1.
pub(crate) fn pareto(random: &mut Stream, mean: f64, shape: f64) -> f64 {
    mean * (shape - 1.0) / shape * libm::pow(positive(random), -1.0 / shape)
}

/// Draws from a log-normal distribution; `sigma` is the standard deviation of the logarithm.
pub(crate) fn lognormal(random: &mut Stream, mean: f64, sigma: f64) -> f64 {
    mean * libm::exp(sigma * normal(random) - sigma * sigma / 2.0)
}

/// Draws from the standard normal distribution (Box and Muller 1958).
fn normal(random: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(positive(random)));
    radius * libm::cos(2.0 * core::f64::consts::PI * random.unit())
}

/// Draws from a geometric distribution: the number of trials up to the first success, from 1.
pub(crate) fn geometric(random: &mut Stream, probability: f64) -> u64 {
    if probability >= 1.0 {
        return 1;
    }
    // The cast saturates.
    (libm::log(positive(random)) / libm::log1p(-probability)) as u64 + 1
}

/// Draws the length of an on or off period.
pub(crate) fn period(random: &mut Stream, mean: Duration, periods: Periods) -> Duration {
    let mean = mean.as_nanos() as f64;
    nanos(match periods {
        Periods::Exponential => exponential(random, mean),
        Periods::Pareto { shape } => pareto(random, mean, shape),
    })
}

/// Rounds to whole nanoseconds.
pub(crate) fn nanos(count: f64) -> Duration {
    Duration::from_nanos(libm::round(count) as u64)
}

/// Returns the duration of `count` slots.
pub(crate) const fn slots(slot: Duration, count: u64) -> Duration {
    Duration::from_nanos(slot.as_nanos().saturating_mul(count))
}

/// Returns `fraction` of `whole`, rounded down to whole nanoseconds.
#[must_use]
pub fn part(whole: Duration, fraction: f64) -> Duration {
    Duration::from_nanos((whole.as_nanos() as f64 * fraction) as u64)
}
