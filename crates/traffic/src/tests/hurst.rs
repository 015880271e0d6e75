//! Self-similar traffic, measured with wavelets.

use fairlane_scenario::{self as scenario, Ssmp};

use super::noise::fractional_gaussian;
use super::{SLOT, counts, mean, source};

/// The finest scale: counts are of 2^FINEST slots.
const FINEST: u32 = 4;

/// Returns the energy of the Haar wavelet details at the scales 2^1, 2^2, … in units of the spacing of `values`, and
/// their number.
fn energies(values: &[f64], scales: u32) -> Vec<(f64, f64)> {
    let mut level = values.to_vec();
    let energy = |_| {
        let pairs = level.chunks_exact(2);
        let details: Vec<f64> = pairs.clone().map(|pair| (pair[0] - pair[1]) * (pair[0] - pair[1]) / 2.0).collect();
        level = pairs.map(|pair| (pair[0] + pair[1]) * std::f64::consts::FRAC_1_SQRT_2).collect();
        (mean(&details), details.len() as f64)
    };
    (0..scales).map(energy).collect()
}

/// Returns the Hurst parameter (Abry and Veitch 1998, with the Haar wavelet): energies are proportional to 2^(j(2H −
/// 1)), so H follows from the slope, with each scale weighted by its number of details.
fn hurst(energies: &[(f64, f64)]) -> f64 {
    let points = || (0_u32..).zip(energies).map(|(j, (energy, weight))| (f64::from(j), libm::log2(*energy), *weight));
    let total: f64 = points().map(|(_, _, weight)| weight).sum();
    let x = points().map(|(x, _, weight)| x * weight).sum::<f64>() / total;
    let y = points().map(|(_, y, weight)| y * weight).sum::<f64>() / total;
    let covariance: f64 = points().map(|point| point.2 * (point.0 - x) * (point.1 - y)).sum();
    let variance: f64 = points().map(|point| point.2 * (point.0 - x) * (point.0 - x)).sum();
    (covariance / variance + 1.0) / 2.0
}

/// Returns the exact energies of the chain at the scales of 2^(FINEST + 1) slots and so on, from its autocovariance:
/// the distribution of the state k slots after state 0, step by step. Thinning multiplies the covariances by its
/// square.
fn exact(chain: &Ssmp, thinning: f64, scales: u32) -> Vec<f64> {
    let (q, a) = (chain.q(), chain.a);
    let powers = |base: f64| {
        (1..chain.states).scan(1.0, move |power, _| {
            *power *= base;
            Some(*power)
        })
    };
    let there: Vec<f64> = powers(1.0 / a).collect();
    let back: Vec<f64> = powers(q / a).collect();
    let stay = 1.0 - there.iter().sum::<f64>();
    let active = 1.0 / (1.0 + powers(1.0 / q).sum::<f64>());
    let rate = thinning * active;
    let longest = 1_usize << (FINEST + scales);
    let (mut zero, mut others) = (1.0, vec![0.0; there.len()]);
    // Sums of r(k) and of k·r(k) below each k give the variance of a sum of m slots: m·r(0) + 2 Σ (m − k) r(k).
    let (mut sums, mut moments) = (vec![0.0], vec![0.0]);
    for k in 1..longest {
        let returns: f64 = others.iter().zip(&back).map(|(part, back)| part * back).sum();
        for (part, (there, back)) in others.iter_mut().zip(there.iter().zip(&back)) {
            *part = *part * (1.0 - back) + zero * there;
        }
        zero = zero * stay + returns;
        let covariance = thinning * thinning * active * (zero - active);
        sums.push(sums[k - 1] + covariance);
        moments.push(moments[k - 1] + k as f64 * covariance);
    }
    let variance = |m: usize| m as f64 * (rate * (1.0 - rate) + 2.0 * sums[m - 1]) - 2.0 * moments[m - 1];
    let energy = |j: u32| {
        let m = 1 << (FINEST + j);
        (4.0 * variance(m / 2) - variance(m)) / f64::from(1 << j)
    };
    (1..=scales).map(energy).collect()
}

fn measured(chain: Ssmp, thinning: f64, scales: u32) -> Vec<(f64, f64)> {
    let config = scenario::Source::Ssmp { slot: SLOT, probability: thinning * chain.activity(), chain };
    let window = fairlane_qdisc::Duration::from_nanos(SLOT.as_nanos() << FINEST);
    energies(&counts(&mut source(config, 3), window, 1 << 20), scales)
}

/// Would catch a wrong estimator, with noise of known parameter. Its standard error here is about 0.01.
#[test]
fn the_estimator_measures_exact_noise() {
    for parameter in [0.5, 0.65, 0.8, 0.9] {
        let noise = fractional_gaussian(parameter, 1 << 13, 11);
        let measured = hurst(&energies(&noise, 9));
        assert!((measured - parameter).abs() < 0.03, "{parameter}: {measured}");
    }
}

/// Would catch a first state that is not drawn from the stationary distribution: in each slot 4000 flows send with the
/// probability of state 0, with a standard error of 0.8 %.
#[test]
fn flows_begin_in_the_stationary_distribution() {
    let chain = Ssmp { states: 8, a: 10.0, hurst: 0.8 };
    let config = scenario::Source::Ssmp { slot: SLOT, probability: chain.activity(), chain };
    let flows: Vec<Vec<f64>> = (0..4000).map(|flow| counts(&mut source(config.clone(), flow), SLOT, 200)).collect();
    for slot in [0, 1, 10, 199] {
        let share = mean(&flows.iter().map(|counts| counts[slot]).collect::<Vec<_>>());
        assert!((share - chain.activity()).abs() < 0.03, "slot {slot}: {share}");
    }
}

/// Would catch a wrong transition probability and a wrong thinning: at each of the scales from 2^5 to 2^12 slots the
/// energy is the exact one of the chain, and so is the rate.
#[test]
fn the_chain_has_its_exact_spectrum() {
    for (states, a, hurst) in [(11, 5.0, 0.7), (8, 10.0, 0.8), (20, 3.0, 0.6), (2, 2.0, 0.5)] {
        let chain = Ssmp { states, a, hurst };
        for thinning in [1.0, 0.2] {
            let config = scenario::Source::Ssmp { slot: SLOT, probability: thinning * chain.activity(), chain };
            let rate = mean(&counts(&mut source(config, 3), SLOT, 1 << 22));
            assert!((rate / (thinning * chain.activity()) - 1.0).abs() < 0.03, "{chain:?}: rate {rate}");
            for ((energy, _), exact) in measured(chain, thinning, 8).iter().zip(exact(&chain, thinning, 8)) {
                assert!((energy / exact - 1.0).abs() < 0.08, "{chain:?}, {thinning}: {energy} for {exact}");
            }
        }
    }
}

/// Would catch a wrong Hurst parameter: it is within 0.05 of the configured one over the scales from 2^8 to 2^16 slots.
/// The longest scale of these chains, (a/q)^(states − 1), is 2^14.5 to 2^16.6.
#[test]
fn the_hurst_parameter_is_the_configured_one() {
    for (states, a) in [(11, 5.0), (8, 10.0), (20, 3.0)] {
        for parameter in [0.7, 0.8] {
            let measured = hurst(&measured(Ssmp { states, a, hurst: parameter }, 1.0, 12)[3..]);
            assert!((measured - parameter).abs() < 0.05, "{states} states, a = {a}, {parameter}: {measured}");
        }
    }
}

/// The variance of sums over 2^3 to 2^11 slots, for a configured Hurst parameter of 0.8. An independent implementation
/// measured 0.778 for 11 states with a = 5, and 0.807 for 8 states with a = 10. The exact values are 0.779 and 0.785;
/// the standard error of one run is about 0.02. Would catch too few states that are not noticed: these measure less.
#[test]
fn sums_have_the_variance_of_an_independent_implementation() {
    let by_variance = |states: u32, a: f64| {
        let chain = Ssmp { states, a, hurst: 0.8 };
        let config = scenario::Source::Ssmp { slot: SLOT, probability: chain.activity(), chain };
        let mut level = counts(&mut source(config, 3), SLOT, 1 << 22);
        let mut points = Vec::new();
        for j in 0..=11_u32 {
            let expected = chain.activity() * f64::from(1 << j);
            let squares: Vec<f64> = level.iter().map(|sum| (sum - expected) * (sum - expected)).collect();
            if j >= 3 {
                points.push((mean(&squares), 1.0));
            }
            level = level.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect();
        }
        // The variance is proportional to 2^(j·2H), an energy to 2^(j(2H − 1)).
        hurst(&points) - 0.5
    };
    for (states, a, measured) in [(11, 5.0, 0.778), (8, 10.0, 0.807)] {
        assert!((by_variance(states, a) - measured).abs() < 0.03, "{states}, {a}: {}", by_variance(states, a));
    }
    assert!(by_variance(4, 5.0) < 0.7, "{}", by_variance(4, 5.0));
}
