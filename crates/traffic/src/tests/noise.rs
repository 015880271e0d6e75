//! Exact fractional Gaussian noise, for tests of estimators of the Hurst parameter.

use fairlane_qdisc::{Seed, Stream};

/// Returns `count` values of mean 0 and variance 1 by Hosking's method (the recursion of Durbin and Levinson for the
/// distribution of each value given all before it), from the autocovariance (|k + 1|^2H − 2|k|^2H + |k − 1|^2H)/2.
pub(super) fn fractional_gaussian(hurst: f64, count: usize, seed: u64) -> Vec<f64> {
    let power = |k: f64| libm::pow(k, 2.0 * hurst);
    let covariance: Vec<f64> = (0..=count)
        .map(|k| k as f64)
        .map(|k| if k == 0.0 { 1.0 } else { (power(k + 1.0) - 2.0 * power(k) + power(k - 1.0)) / 2.0 })
        .collect();
    let mut random = Seed::new(seed).stream("noise");
    let (mut weights, mut before) = (vec![0.0; count], vec![0.0; count]);
    let mut variance = 1.0;
    let mut values = vec![gaussian(&mut random)];
    for n in 1..count {
        let projected: f64 = (1..n).map(|j| before[j - 1] * covariance[n - j]).sum();
        let last = (covariance[n] - projected) / variance;
        for j in 1..n {
            weights[j - 1] = before[j - 1] - last * before[n - j - 1];
        }
        weights[n - 1] = last;
        variance *= 1.0 - last * last;
        let expected: f64 = values.iter().rev().zip(&weights).map(|(value, weight)| value * weight).sum();
        values.push(expected + variance.sqrt() * gaussian(&mut random));
        before[..n].copy_from_slice(&weights[..n]);
    }
    values
}

/// Draws from the standard normal distribution (Box and Muller 1958).
fn gaussian(random: &mut Stream) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - random.unit())).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * random.unit())
}
