//! Sources compared with the theory of each.

mod hurst;
mod noise;

use fairlane_qdisc::{Duration, Rate, Seed, Stream};
use fairlane_scenario::{self as scenario, PacketSizes, Periods, Udp};

use crate::draw;
use crate::periods::OnOffPeriods;
use crate::source::Source;

const SLOT: Duration = Duration::from_millis(1);
/// One packet of 1000 bytes every 8 ms.
const RATE: Rate = Rate::from_bits_per_second(1_000_000);
const INTERVAL: f64 = 0.008;

fn source(source: scenario::Source, seed: u64) -> Source {
    Source::new(&Udp { rate: RATE, source, sizes: PacketSizes::Fixed, ecn: false }, 0, 1000, Seed::new(seed))
}

fn on_off(on: u64, off: u64, periods: Periods) -> scenario::Source {
    let (on, off) = (Duration::from_millis(on), Duration::from_millis(off));
    scenario::Source::OnOff(scenario::OnOff { on, off, periods })
}

/// Returns the number of packets in each of `count` successive windows.
fn counts(source: &mut Source, window: Duration, count: usize) -> Vec<f64> {
    let mut counts = vec![0.0; count];
    let mut at = source.first(&mut Seed::new(0).stream("start")).as_nanos();
    while let Some(count) = counts.get_mut((at / window.as_nanos()) as usize) {
        *count += 1.0;
        at += source.next().as_nanos();
    }
    counts
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the index of dispersion, variance / mean.
fn dispersion(counts: &[f64]) -> f64 {
    let mean = mean(counts);
    counts.iter().map(|count| (count - mean) * (count - mean)).sum::<f64>() / (counts.len() - 1) as f64 / mean
}

fn draws(count: usize, mut draw: impl FnMut(&mut Stream) -> f64) -> Vec<f64> {
    let mut random = Seed::new(7).stream("draws");
    (0..count).map(|_| draw(&mut random)).collect()
}

/// Returns Hill's estimate of the tail index from the `largest` largest values.
fn hill(values: &[f64], largest: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let threshold = sorted[largest];
    largest as f64 / sorted[..largest].iter().map(|value| libm::log(value / threshold)).sum::<f64>()
}

/// Counts of a Poisson process have an index of dispersion of 1 for any window. With 20,000 windows its standard error
/// is √(2/20,000) = 0.01.
#[test]
fn poisson_has_an_index_of_dispersion_of_one() {
    for millis in [4, 80, 800] {
        let counts = counts(&mut source(scenario::Source::Poisson, 1), Duration::from_millis(millis), 20_000);
        assert!((dispersion(&counts) - 1.0).abs() < 0.04, "{}", dispersion(&counts));
        let expected = millis as f64 / 1000.0 / INTERVAL;
        assert!((mean(&counts) / expected - 1.0).abs() < 0.03, "{}", mean(&counts));
    }
}

/// Counts in windows of n slots are binomial, with mean n·p and index of dispersion 1 − p. Would also catch packets
/// that are not aligned with slots, and two in one slot.
#[test]
fn geometric_has_an_index_of_dispersion_of_one_less_p() {
    for probability in [0.033, 0.1, 0.5, 0.9, 1.0] {
        let geometric = || source(scenario::Source::Geometric { slot: SLOT, probability }, 2);
        let counts = counts(&mut geometric(), Duration::from_millis(20), 20_000);
        assert!((dispersion(&counts) - (1.0 - probability)).abs() < 0.04, "{probability}: {}", dispersion(&counts));
        assert!((mean(&counts) / (20.0 * probability) - 1.0).abs() < 0.02, "{probability}: {}", mean(&counts));
        let mut gaps = geometric();
        for _ in 0..1000 {
            let gap = gaps.next().as_nanos();
            assert!(gap >= SLOT.as_nanos() && gap.is_multiple_of(SLOT.as_nanos()));
        }
    }
}

/// The mean rate of an on/off source is rate · on/(on + off), for on periods of one or many intervals. Over 20,000
/// exponential periods the standard error is below 1 %.
#[test]
fn exponential_periods_have_their_mean_rate() {
    for (on, off) in [(500, 500), (8, 100), (2000, 3000), (20, 1)] {
        let periods = 20_000;
        let window = Duration::from_millis((on + off) * periods);
        let packets = counts(&mut source(on_off(on, off, Periods::Exponential), 3), window, 1)[0];
        let expected = (on * periods) as f64 / 1000.0 / INTERVAL;
        assert!((packets / expected - 1.0).abs() < 0.04, "{on}/{off}: {packets} for {expected}");
    }
}

/// In an on period packets are exactly one interval apart, and the longer gaps are the off periods.
#[test]
fn an_on_period_is_at_the_full_rate() {
    let mut source = source(on_off(400, 400, Periods::Exponential), 4);
    let gaps: Vec<f64> = (0..100_000).map(|_| source.next().as_secs()).collect();
    let (steady, silent): (Vec<f64>, Vec<f64>) = gaps.into_iter().partition(|gap| *gap <= INTERVAL);
    assert!(steady.iter().all(|gap| (gap - INTERVAL).abs() < 1e-12));
    // Two off periods can fall into one gap: with 50 intervals per on period, 2 % of them.
    let excess: Vec<f64> = silent.iter().map(|gap| gap - INTERVAL).collect();
    assert!((mean(&excess) / 0.4 - 1.0).abs() < 0.08, "{}", mean(&excess));
    assert!((silent.len() as f64 / 2000.0 - 1.0).abs() < 0.1, "{}", silent.len());
}

/// A flow is on at its start with the stationary probability on/(on + off): a fifth of 2000 flows, with a standard
/// error of 0.9 %.
#[test]
fn flows_start_in_the_stationary_distribution() {
    let config = scenario::OnOff {
        on: Duration::from_millis(100),
        off: Duration::from_millis(400),
        periods: Periods::Exponential,
    };
    let on = (0..2000).filter(|flow| OnOffPeriods::new(&config, Seed::new(5).numbered(*flow)).next_period().0).count();
    assert!((on as f64 / 2000.0 - 0.2).abs() < 0.04, "{on}");
}

/// Pareto: the mean within 5 % over 10^5 draws, the tail index by Hill's estimator, and no value below the scale
/// parameter.
#[test]
fn pareto_has_its_mean_and_its_tail() {
    for (shape, tolerance) in [(1.5, 0.05), (1.9, 0.05), (3.0, 0.01)] {
        let values = draws(100_000, |random| draw::pareto(random, 6.0, shape));
        assert!((mean(&values) / 6.0 - 1.0).abs() < tolerance, "{shape}: mean {}", mean(&values));
        // Hill's standard error is shape/√k.
        assert!((hill(&values, 10_000) / shape - 1.0).abs() < 0.04, "{shape}: tail {}", hill(&values, 10_000));
        let least = 6.0 * (shape - 1.0) / shape;
        assert!(values.iter().all(|value| *value >= least && value.is_finite()));
    }
}

/// Would catch Pareto periods that do not determine the gaps: the silences have a tail index of 1.5.
#[test]
fn silences_of_a_pareto_source_have_its_tail() {
    let mut source = source(on_off(200, 800, Periods::Pareto { shape: 1.5 }), 6);
    let silences: Vec<f64> = (0..200_000).map(|_| source.next().as_secs()).filter(|gap| *gap > INTERVAL).collect();
    assert!((hill(&silences, silences.len() / 10) - 1.5).abs() < 0.15, "{}", hill(&silences, silences.len() / 10));
}

/// Exponential: mean m and second moment 2 m².
#[test]
fn exponential_has_its_moments() {
    let values = draws(100_000, |random| draw::exponential(random, 3.0));
    let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
    assert!((mean(&values) / 3.0 - 1.0).abs() < 0.02);
    assert!((mean(&squares) / 18.0 - 1.0).abs() < 0.05);
}

/// Log-normal: mean m, and a logarithm with mean ln m − σ²/2 and standard deviation σ.
#[test]
fn lognormal_has_its_moments() {
    let values = draws(200_000, |random| draw::lognormal(random, 30.0, 1.0));
    let logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
    let centre = mean(&logarithms);
    let deviation = mean(&logarithms.iter().map(|log| (log - centre) * (log - centre)).collect::<Vec<_>>()).sqrt();
    // Standard errors: 1.3/√200,000 of the mean, 1/√200,000 of the mean logarithm.
    assert!((mean(&values) / 30.0 - 1.0).abs() < 0.012, "{}", mean(&values));
    assert!((centre - (libm::log(30.0) - 0.5)).abs() < 0.01, "{centre}");
    assert!((deviation - 1.0).abs() < 0.01, "{deviation}");
}

/// Would catch a source that does not depend on its seed, or on anything else.
#[test]
fn a_seed_names_a_source() {
    let gaps = |seed| {
        let mut source = source(on_off(50, 50, Periods::Pareto { shape: 1.5 }), seed);
        (0..100).map(|_| source.next()).collect::<Vec<_>>()
    };
    assert_eq!(gaps(1), gaps(1));
    assert_ne!(gaps(1), gaps(2));
}
