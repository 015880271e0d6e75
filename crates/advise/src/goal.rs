//! Goals: bounds on metrics and an objective, as text.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use fairlane_scenario::{Scenario, suggest};

use crate::metric::{GroupMetric, Metric, MetricUnit};
use crate::text::{TextError, split, trimmed};

/// The bounds that candidates must meet, and the objective by which those that meet them are ranked.
///
/// A goal is read from text: bounds `METRIC OP VALUE` and at most one objective, `minimise METRIC` or
/// `maximise METRIC`, separated by commas. Values have their units.
///
/// ```
/// use fairlane_advise::Goal;
///
/// let goal: Goal = "delay.p95<20ms, utilisation>0.95, maximise jain".parse()?;
/// assert_eq!(goal.bounds().len(), 2);
/// let wrong = "dealy.p95<20ms".parse::<Goal>().unwrap_err();
/// assert!(wrong.to_string().contains("did you mean \"delay.p95\"?"));
/// # Ok::<(), fairlane_advise::TextError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    text: String,
    bounds: Vec<Bound>,
    objective: Option<Objective>,
    /// The place of each metric in the text, bounds first, then the objective.
    places: Vec<Range<usize>>,
}

/// A bound on a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The metric.
    pub metric: Metric,
    /// The side of the limit on which it has to be.
    pub comparison: Comparison,
    /// The limit in the base of the metric's unit.
    pub limit: f64,
}

/// The side of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// A metric that is to be as small or as large as possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// The metric.
    pub metric: Metric,
    /// True for `maximise`.
    pub maximise: bool,
}

const OPERATORS: [(&str, Comparison); 4] = [
    // The longer ones first.
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("<", Comparison::Below),
    (">", Comparison::Above),
];

const EXAMPLE: &str = "write bounds and at most one objective: delay.p95<20ms, utilisation>0.95, maximise jain";

impl Comparison {
    /// Returns true if `value` is on this side of `limit`.
    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
        }
    }

    /// Returns true if small values are on this side.
    pub(crate) const fn is_upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OPERATORS.iter().find(|(_, comparison)| comparison == self).map_or("", |(sign, _)| sign))
    }
}

impl Bound {
    /// Returns how far `value` is inside the bound: 0 on it, 1 at the ideal, which is 0 for an upper bound and 1 for a
    /// lower one of a ratio; negative outside. A lower bound of another unit has no ideal: there the distance is in
    /// parts of the limit. A value that is not known is at −1.
    #[must_use]
    pub fn slack(&self, value: Option<f64>) -> f64 {
        let Some(value) = value else { return -1.0 };
        let over = |distance: f64, whole: f64| if whole > 0.0 { distance / whole } else { distance };
        if self.comparison.is_upper() {
            over(self.limit - value, self.limit)
        } else if matches!(self.metric.unit(), MetricUnit::Ratio | MetricUnit::Index) {
            over(value - self.limit, 1.0 - self.limit)
        } else {
            over(value - self.limit, self.limit)
        }
    }
}

impl Goal {
    /// Returns the bounds.
    #[must_use]
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }

    /// Returns the objective, if there is one. Without one, the bound with the least margin is to have as much as
    /// possible.
    #[must_use]
    pub const fn objective(&self) -> Option<&Objective> {
        self.objective.as_ref()
    }

    /// Returns the goal on a link whose round trip is longer by so many seconds, or shorter if negative: bounds on
    /// delays and round trips of groups, which contain the link's, follow.
    pub(crate) fn shifted(&self, round_trip: f64) -> Self {
        let mut goal = self.clone();
        for bound in &mut goal.bounds {
            bound.limit += match bound.metric {
                Metric::Group(_, GroupMetric::Delay) => round_trip / 2.0,
                Metric::Group(_, GroupMetric::RoundTrip) => round_trip,
                _ => 0.0,
            };
        }
        goal
    }

    /// Returns the metrics: of each bound, and then of the objective.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &Metric> {
        let objective = self.objective.iter().map(|objective| &objective.metric);
        self.bounds.iter().map(|bound| &bound.metric).chain(objective)
    }

    /// Checks that outcomes of `scenario` have all metrics.
    ///
    /// # Errors
    /// One is missing.
    pub fn check(&self, scenario: &Scenario) -> Result<(), TextError> {
        for (metric, place) in self.metrics().zip(&self.places) {
            let checked = metric.check(scenario);
            checked.map_err(|(message, help)| TextError::new(&self.text, place.clone(), message, help))?;
        }
        Ok(())
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Goal {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut goal = Self { text: text.trim().to_owned(), bounds: Vec::new(), objective: None, places: Vec::new() };
        let text = goal.text.clone();
        let reader = Reader { text: &text };
        let mut objective_place = None;
        for clause in split(&text, 0..text.len(), ',') {
            let clause = trimmed(&text, clause);
            match reader.objective(&clause)? {
                Some((objective, place)) => {
                    if goal.objective.is_some() {
                        return Err(reader.error(clause, "a goal has one objective", "make the other one a bound"));
                    }
                    (goal.objective, objective_place) = (Some(objective), Some(place));
                }
                None => {
                    let (bound, place) = reader.bound(clause)?;
                    goal.bounds.push(bound);
                    goal.places.push(place);
                }
            }
        }
        goal.places.extend(objective_place);
        Ok(goal)
    }
}

/// Reads the parts of a goal.
struct Reader<'t> {
    text: &'t str,
}

impl Reader<'_> {
    fn error(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> TextError {
        TextError::new(self.text, span, message, help)
    }

    /// Reads an objective; `None` if the clause is none.
    fn objective(&self, clause: &Range<usize>) -> Result<Option<(Objective, Range<usize>)>, TextError> {
        let text = &self.text[clause.clone()];
        let Some((verb, rest)) = text.split_once(char::is_whitespace) else { return Ok(None) };
        if verb.contains(['<', '>', '=']) || rest.trim_start().starts_with(['<', '>', '=']) {
            return Ok(None);
        }
        let maximise = match verb {
            "minimise" => false,
            "maximise" => true,
            _ => {
                let end = clause.start + verb.len();
                let help = suggest::help(verb, ["minimise", "maximise"]);
                return Err(self.error(clause.start..end, format!("\"{verb}\" is no verb of an objective"), help));
            }
        };
        let place = trimmed(self.text, clause.start + verb.len()..clause.end);
        let metric = self.metric(&place)?;
        Ok(Some((Objective { metric, maximise }, place)))
    }

    fn bound(&self, clause: Range<usize>) -> Result<(Bound, Range<usize>), TextError> {
        let text = &self.text[clause.clone()];
        if text.is_empty() {
            return Err(self.error(clause, "here is no bound and no objective", EXAMPLE));
        }
        let Some(at) = text.find(['<', '>', '=']) else {
            let help = format!("compare it with a value, as {text}<…, or write minimise {text}");
            return Err(self.error(clause, format!("\"{text}\" is neither a bound nor an objective"), help));
        };
        let sign = OPERATORS.iter().find(|(sign, _)| text[at..].starts_with(sign));
        let start = clause.start + at;
        let Some((sign, comparison)) = sign else {
            let help = "write < or > in place of it: no simulation meets a value exactly";
            return Err(self.error(start..start + 1, "a metric cannot be compared by =", help));
        };
        let place = trimmed(self.text, clause.start..start);
        let metric = self.metric(&place)?;
        let value = trimmed(self.text, start + sign.len()..clause.end);
        let limit = metric.unit().parse(&self.text[value.clone()]).map_err(|error| {
            let (message, help) =
                error.split_once("; ").or_else(|| error.split_once(": ")).unwrap_or((&error, EXAMPLE));
            self.error(value, message, help)
        })?;
        Ok((Bound { metric, comparison: *comparison, limit }, place))
    }

    fn metric(&self, place: &Range<usize>) -> Result<Metric, TextError> {
        let text = &self.text[place.clone()];
        if text.is_empty() {
            return Err(self.error(place.clone(), "here is no metric", EXAMPLE));
        }
        Metric::parse(text).map_err(|(message, help)| self.error(place.clone(), message, help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{QueueMetric, Statistic};

    #[test]
    fn bounds_and_an_objective_are_read() {
        let goal: Goal = " delay.p95 < 20ms,utilisation>=0.95 , group.web.completion.p95<=1.5s, minimise drop_ratio "
            .parse()
            .unwrap();
        let bound = |metric, comparison, limit| Bound { metric, comparison, limit };
        assert_eq!(
            goal.bounds(),
            [
                bound(Metric::shown(QueueMetric::Delay(Statistic::P95)), Comparison::Below, 0.02),
                bound(Metric::shown(QueueMetric::Utilisation), Comparison::AtLeast, 0.95),
                bound(
                    Metric::Group("web".to_owned(), GroupMetric::Completion(Statistic::P95)),
                    Comparison::AtMost,
                    1.5
                ),
            ]
        );
        assert_eq!(
            goal.objective(),
            Some(&Objective { metric: Metric::shown(QueueMetric::DropRatio), maximise: false })
        );
    }

    /// Would catch an error that points elsewhere, and one without its remedy.
    #[test]
    fn mistakes_are_pointed_at() {
        for (text, wrong, part) in [
            ("dealy.p95<20ms", "dealy.p95", "did you mean \"delay.p95\"?"),
            ("delay.p95<20", "20", "a bare number has no unit"),
            ("delay.p95<20mbit", "20mbit", "none of ns, us, ms, s"),
            ("jain>0.9, utilisation>95%", "95%", "write 0.95 instead of 95%"),
            ("utilisation>1.5", "1.5", "0 to 1"),
            ("utilisation=0.95", "=", "write < or >"),
            ("delay.p95", "delay.p95", "minimise delay.p95"),
            ("delay.p95<20ms,", "", "here is no bound"),
            ("", "", "here is no bound"),
            ("minimize delay.p95", "minimize", "did you mean \"minimise\"?"),
            ("maximise jain, minimise delay.p95", "minimise delay.p95", "one objective"),
            ("<20ms", "", "here is no metric"),
            ("group.web.goodputt>1mbit", "group.web.goodputt", "did you mean \"group.web.goodput\"?"),
            ("web.goodput>1mbit", "web.goodput", "group.web.goodput"),
            ("queue.r1-r2.dealy.p95<1ms", "queue.r1-r2.dealy.p95", "did you mean \"queue.r1-r2.delay.p95\"?"),
        ] {
            let error = text.parse::<Goal>().unwrap_err();
            assert_eq!(&error.text()[error.span()], wrong, "{text}: {error}");
            assert!(error.to_string().contains(part), "{text}: {error}");
        }
        let drawn = "jain>0.9, utilisation>95%".parse::<Goal>().unwrap_err().to_string();
        assert!(drawn.contains("  jain>0.9, utilisation>95%\n                        ^^^\n"), "{drawn}");
    }

    /// A one-way delay contains half of the round trip; a delay in the queue none of it.
    #[test]
    fn delays_of_groups_follow_the_round_trip() {
        let goal: Goal = "group.voip.delay<30ms, group.cubic.rtt<60ms, delay.p95<20ms".parse().unwrap();
        let limits: Vec<f64> = goal.shifted(0.04).bounds().iter().map(|bound| (bound.limit * 1e3).round()).collect();
        assert_eq!(limits, [50.0, 100.0, 20.0]);
    }

    /// By hand: 15 of 20 ms is a quarter inside, 30 ms half of it outside; 0.98 is three fifths of the way from 0.95
    /// to 1.
    #[test]
    fn slack_is_relative_to_the_ideal() {
        let goal: Goal = "delay.p95<20ms, utilisation>0.95, goodput>4mbit".parse().unwrap();
        for (bound, value, expected) in [
            (0, Some(0.015), 0.25),
            (0, Some(0.030), -0.5),
            (0, None, -1.0),
            (1, Some(0.98), 0.6),
            (1, Some(0.90), -1.0),
            (2, Some(5e6), 0.25),
        ] {
            assert!((goal.bounds()[bound].slack(value) - expected).abs() < 1e-9, "{bound} {value:?}");
        }
    }
}
