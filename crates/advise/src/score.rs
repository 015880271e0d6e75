//! Scores of measurements under a goal.

use fairlane_outcome::stats::Moments;
use fairlane_outcome::{Estimate, mean_difference};
use serde::{Deserialize, Serialize};

use crate::goal::Goal;
use crate::metric::{Metric, MetricUnit};

/// The values of a run: those of the goal's metrics, and of further ones. `None` where a metric is not known.
pub(crate) type Readings = Vec<Option<f64>>;

/// A metric over several runs.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Reading {
    /// The name of the metric.
    pub metric: String,
    /// The unit of its values.
    pub unit: MetricUnit,
    /// The mean over the runs; `None` if it is known of none.
    pub mean: Option<f64>,
    /// Half of the mean's 95 % confidence interval; `None` for one run.
    pub ci95: Option<f64>,
    /// True if the mean meets the goal's bound; `None` without a bound on it.
    pub met: Option<bool>,
}

impl Reading {
    /// Returns the mean with its interval in the unit in which it is [shown](MetricUnit::shown), without the unit; `–`
    /// if it is not known.
    #[must_use]
    pub fn shown(&self) -> String {
        let (factor, _) = self.unit.shown();
        let Some(mean) = self.mean.map(|mean| mean * factor) else { return "–".to_owned() };
        let half = self.ci95.map(|half| half * factor);
        let smallest = half.filter(|half| *half > 0.0).unwrap_or(mean.abs()).min(mean.abs().max(1e-9));
        let digits = if smallest < 0.1 {
            3
        } else if smallest < 10.0 {
            2
        } else {
            1
        };
        let interval = half.map_or_else(String::new, |half| format!(" ± {half:.digits$}"));
        format!("{mean:.digits$}{interval}")
    }
}

/// The score of a candidate: first its miss of the bounds, then its value. Larger is better in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The slack of the bound that is missed most; 0 if all are met. A bound counts as met if it is one standard error
    /// before the limit.
    pub(crate) missed: f64,
    /// The objective, negative to be minimised; without one, the least slack of the bounds.
    pub(crate) value: f64,
}

impl Standing {
    /// Returns the standing by the means over `runs`, which must not be empty.
    pub(crate) fn of(goal: &Goal, runs: &[Readings]) -> Self {
        let slack = |(index, bound): (usize, &crate::goal::Bound)| {
            let values: Vec<f64> = runs.iter().map(|run| bound.slack(run[index])).collect();
            let moments: Moments = values.into_iter().collect();
            moments.mean() - moments.standard_error().unwrap_or(0.0)
        };
        let least = goal.bounds().iter().enumerate().map(slack).fold(f64::INFINITY, f64::min);
        let objective = objectives(goal, runs).map(|values| values.collect::<Moments>().mean());
        Self { missed: least.min(0.0), value: objective.unwrap_or(least) }
    }

    /// Compares two standings: the better one is greater.
    pub(crate) fn compare(&self, other: &Self) -> std::cmp::Ordering {
        self.missed.total_cmp(&other.missed).then(self.value.total_cmp(&other.value))
    }
}

/// The outcome of a comparison by paired runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The first is better: the interval of the difference excludes zero.
    Better,
    /// The interval of the difference includes zero.
    Tie,
    /// The second is better.
    Worse,
}

/// Compares candidates by runs of the same numbers, which saw the same traffic: by the least slack where bounds are
/// missed, else by the value.
pub(crate) fn judge(goal: &Goal, first: &[Readings], second: &[Readings]) -> Verdict {
    let each = |runs: &[Readings]| {
        runs.iter().map(|run| Standing::of(goal, std::slice::from_ref(run))).collect::<Vec<Standing>>()
    };
    let (a, b) = (each(first), each(second));
    let sign = |of: fn(&Standing) -> f64| sign(mean_difference(a.iter().zip(&b).map(|(a, b)| of(a) - of(b))));
    let (of_first, of_second) = (Standing::of(goal, first), Standing::of(goal, second));
    match sign(|standing| standing.missed) {
        // With equal bounds met on the average, single runs beyond a bound do not decide.
        Verdict::Better if of_second.missed < 0.0 => Verdict::Better,
        Verdict::Worse if of_first.missed < 0.0 => Verdict::Worse,
        _ => match sign(|standing| standing.value) {
            Verdict::Better if of_first.missed >= of_second.missed => Verdict::Better,
            Verdict::Worse if of_second.missed >= of_first.missed => Verdict::Worse,
            _ => Verdict::Tie,
        },
    }
}

fn sign(difference: Option<Estimate>) -> Verdict {
    let Some((mean, half)) = difference.and_then(|estimate| Some((estimate.mean, estimate.ci95()?))) else {
        return Verdict::Tie;
    };
    if mean - half > 0.0 {
        Verdict::Better
    } else if mean + half < 0.0 {
        Verdict::Worse
    } else {
        Verdict::Tie
    }
}

/// Returns the objective of each run, larger being better; `None` without an objective. A run that does not have it is
/// the worst.
fn objectives<'a>(goal: &'a Goal, runs: &'a [Readings]) -> Option<impl Iterator<Item = f64> + 'a> {
    let objective = goal.objective()?;
    let place = goal.bounds().len();
    Some(runs.iter().map(move |run| match run[place] {
        Some(value) if objective.maximise => value,
        Some(value) => -value,
        None => f64::NEG_INFINITY,
    }))
}

/// Returns each of `metrics`, which begin with the goal's, over `runs`; a metric that occurs twice is there once.
pub(crate) fn readings(goal: &Goal, metrics: &[Metric], runs: &[Readings]) -> Vec<Reading> {
    let first = |index: &usize| !metrics[..*index].contains(&metrics[*index]);
    (0..metrics.len()).filter(first).map(|index| reading(goal, metrics, runs, index)).collect()
}

fn reading(goal: &Goal, metrics: &[Metric], runs: &[Readings], index: usize) -> Reading {
    let metric = &metrics[index];
    let moments: Moments = runs.iter().filter_map(|run| run[index]).collect();
    let mean = (moments.count() > 0).then(|| moments.mean());
    let mut bounds = goal.bounds().iter().filter(|bound| bound.metric == *metric).peekable();
    let bounded = bounds.peek().is_some();
    let met = bounds.all(|bound| mean.is_some_and(|mean| bound.comparison.holds(mean, bound.limit)));
    Reading { metric: metric.to_string(), unit: metric.unit(), mean, ci95: moments.ci95(), met: bounded.then_some(met) }
}

/// Returns the mean difference of each metric between runs of the same numbers, with its interval.
pub(crate) fn differences(metrics: &[Metric], first: &[Readings], second: &[Readings]) -> Vec<Reading> {
    let once = |index: &usize| !metrics[..*index].contains(&metrics[*index]);
    let difference = |index: usize| {
        let each = first.iter().zip(second).filter_map(|(a, b)| Some(a[index]? - b[index]?));
        let estimate = mean_difference(each);
        Reading {
            metric: metrics[index].to_string(),
            unit: metrics[index].unit(),
            mean: estimate.map(|estimate| estimate.mean),
            ci95: estimate.and_then(|estimate| estimate.ci95()),
            met: None,
        }
    };
    (0..metrics.len()).filter(once).map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[(f64, f64)]) -> Vec<Readings> {
        values.iter().map(|(delay, jain)| vec![Some(*delay), Some(*jain)]).collect()
    }

    fn goal() -> Goal {
        "delay.p95<20ms, maximise jain".parse().unwrap()
    }

    /// Would catch an objective that outweighs a bound, and a mean just below a limit that counts as met at any error.
    /// By hand: 19 and 21 ms have a mean slack of 0 and a standard error of 0.05.
    #[test]
    fn bounds_go_before_the_objective() {
        let of = |values: &[(f64, f64)]| Standing::of(&goal(), &runs(values));
        let (slow, quick) = (of(&[(0.030, 1.0); 2]), of(&[(0.010, 0.1); 2]));
        assert_eq!(quick.compare(&slow), std::cmp::Ordering::Greater);
        assert!((slow.missed + 0.5).abs() < 1e-9 && quick.missed == 0.0, "{slow:?} {quick:?}");
        assert_eq!(of(&[(0.010, 0.2); 2]).compare(&quick), std::cmp::Ordering::Greater);
        let noisy = of(&[(0.019, 0.5), (0.021, 0.5)]);
        assert!((noisy.missed + 0.05).abs() < 1e-9, "{noisy:?}");
    }

    /// Would catch a difference that is called one although its interval includes zero, and one in the wrong direction.
    #[test]
    fn paired_runs_decide() {
        let base = runs(&[(0.01, 0.50), (0.01, 0.70), (0.01, 0.60)]);
        // The same runs with 0.01 to 0.012 more: a small but sure difference under a large spread.
        let more = runs(&[(0.01, 0.51), (0.01, 0.712), (0.01, 0.611)]);
        let other = runs(&[(0.01, 0.65), (0.01, 0.55), (0.01, 0.62)]);
        let missing = runs(&[(0.03, 0.9), (0.03, 0.9), (0.03, 0.9)]);
        assert_eq!(judge(&goal(), &more, &base), Verdict::Better);
        assert_eq!(judge(&goal(), &base, &more), Verdict::Worse);
        assert_eq!(judge(&goal(), &other, &base), Verdict::Tie);
        assert_eq!(judge(&goal(), &missing, &base), Verdict::Worse);
        assert_eq!(judge(&goal(), &base, &missing), Verdict::Better);
    }

    /// Would catch a value on the edge of a bound that is refused for single runs beyond it.
    #[test]
    fn a_bound_is_met_on_the_average() {
        let edge = runs(&[(0.0201, 0.9), (0.0195, 0.9), (0.0195, 0.9), (0.0195, 0.9)]);
        let far = runs(&[(0.01, 0.5); 4]);
        assert_eq!(judge(&goal(), &edge, &far), Verdict::Better);
    }
}
