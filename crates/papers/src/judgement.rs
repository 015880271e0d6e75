//! The rule by which a number is held against a demand.

use fairlane_outcome::Estimate;
use serde::Serialize;

/// The part of a demand's width that half of the number's interval may have.
const QUARTER: f64 = 0.25;

/// The verdict on a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The mean lies in the accepted range, and its interval is narrow enough to say so.
    Met,
    /// The mean lies outside, and its interval is narrow enough to say so.
    Missed,
    /// The interval is too wide: more runs are needed.
    Undecided,
}

/// The role of a number's interval in its judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The number has no randomness, or the check asks for the number itself.
    Exact,
    /// The number is a mean over runs, with an interval if there are several.
    Random,
}

impl Judgement {
    /// Holds `ours` against the range from `demand.0` to `demand.1`, whose bounds belong to it.
    ///
    /// A range with two bounds lets half of the interval be a quarter of its width. With one bound, the interval must
    /// not contain that bound: its half must be at most the mean's distance from it. A mean whose whole interval lies
    /// outside is missed however wide the interval is. A single run says nothing of its interval, so it is undecided.
    /// An exact number, and every number of which a single value is demanded, is judged by itself: once a run deviates,
    /// no further runs bring the mean back.
    pub(crate) fn of(ours: Estimate, demand: (f64, f64), certainty: Certainty) -> Self {
        let (mean, (least, most)) = (ours.mean, demand);
        let verdict = if least <= mean && mean <= most { Self::Met } else { Self::Missed };
        if certainty == Certainty::Exact || least == most {
            return verdict;
        }
        let Some(half) = ours.ci95().filter(|half| half.is_finite()) else { return Self::Undecided };
        let allowed = match (least.is_finite(), most.is_finite()) {
            (true, true) => QUARTER * (most - least),
            (true, false) => (mean - least).abs(),
            (false, true) => (most - mean).abs(),
            (false, false) => f64::INFINITY,
        };
        let outside = mean + half < least || mean - half > most;
        if outside || half <= allowed { verdict } else { Self::Undecided }
    }

    /// True if met, false if missed; `None` if it is undecided.
    #[must_use]
    pub fn met(self) -> Option<bool> {
        match self {
            Self::Met => Some(true),
            Self::Missed => Some(false),
            Self::Undecided => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    fn of(mean: f64, half: f64, demand: (f64, f64)) -> Judgement {
        Judgement::of(Estimate::new(mean, Some(half)), demand, Certainty::Random)
    }

    /// The bounds belong to the range, and so does a quarter of its width: of 8 to 16 it is 2.
    #[test]
    fn two_bounds() {
        use Judgement::{Met, Missed, Undecided};
        for (mean, half, verdict) in [
            (12.0, 2.0, Met),
            (12.0, 2.001, Undecided),
            (8.0, 2.0, Met),
            (16.0, 0.0, Met),
            (7.999, 2.0, Missed),
            (16.001, 0.0, Missed),
            (7.999, 2.001, Undecided),
            // The whole interval lies outside, and its width does not matter; where it touches the range, it does.
            (4.0, 3.999, Missed),
            (4.0, 4.0, Undecided),
            (100.0, 83.0, Missed),
            (100.0, 84.0, Undecided),
        ] {
            assert_eq!(of(mean, half, (8.0, 16.0)), verdict, "{mean} ± {half}");
        }
        // The case that led to the rule: an interval that reaches into the range says nothing.
        assert_eq!(of(28.0, 53.0, (50.0, 150.0)), Undecided);
    }

    /// One bound: the interval may touch it and not contain it.
    #[test]
    fn one_bound() {
        use Judgement::{Met, Missed, Undecided};
        for (mean, half, verdict) in
            [(12.0, 2.0, Met), (12.0, 2.001, Undecided), (8.0, 2.0, Missed), (8.0, 2.001, Undecided), (10.0, 0.0, Met)]
        {
            assert_eq!(of(mean, half, (10.0, INF)), verdict, "{mean} ± {half} from 10");
            assert_eq!(of(-mean, half, (-INF, -10.0)), verdict, "{} ± {half} to -10", -mean);
        }
        assert_eq!(of(3.0, 1e9, (-INF, INF)), Met);
    }

    /// A single value is met by nothing but itself, and by all runs.
    #[test]
    fn a_single_value() {
        assert_eq!(of(6.0, 0.0, (6.0, 6.0)), Judgement::Met);
        assert_eq!(of(5.9, 0.2, (6.0, 6.0)), Judgement::Missed);
    }

    /// One run has no interval. An exact number needs none, and an exact check does not look at it.
    #[test]
    fn without_an_interval() {
        let one = Estimate::single(3.0);
        for demand in [(2.0, 4.0), (2.0, INF), (5.0, 6.0), (5.0, INF)] {
            assert_eq!(Judgement::of(one, demand, Certainty::Random), Judgement::Undecided, "{demand:?}");
        }
        assert_eq!(Judgement::of(one, (2.0, 4.0), Certainty::Exact), Judgement::Met);
        assert_eq!(Judgement::of(one, (3.1, 4.0), Certainty::Exact), Judgement::Missed);
        assert_eq!(Judgement::of(Estimate::new(3.0, Some(99.0)), (2.0, 4.0), Certainty::Exact), Judgement::Met);
    }

    #[test]
    fn what_is_undecided_is_neither() {
        let met = [Judgement::Met, Judgement::Missed, Judgement::Undecided].map(Judgement::met);
        assert_eq!(met, [Some(true), Some(false), None]);
    }
}
