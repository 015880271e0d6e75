//! Figures of outcomes.

use fairlane_outcome::{Estimate, Outcome, QueueOutcome};

use super::sweep::names;
use super::{Axis, Bars, Content, Figure, Line, LineStyle};
use crate::numbers::{rate_unit, scaled};
use crate::queues::ShownQueue;
use crate::summary::{group_names, most_different};

/// The bar of the shares that would be fair.
const FAIR: &str = "max-min fair";

/// Each group's share of the throughput under each discipline or at each point, next to the shares of the max-min fair
/// rates if these are known.
#[must_use]
pub fn compare_figure(outcomes: &[Outcome]) -> Figure {
    let groups = group_names(outcomes);
    let fair = |name: &str| Some(Estimate::single(outcomes.first()?.group(name)?.fair_share?));
    let fair: Option<Vec<Estimate>> = groups.iter().map(|name| fair(name)).collect();
    let fair = fair.filter(|fair| !fair.is_empty());
    let share = |outcome: &Outcome, name: &str| outcome.group(name).map_or_else(Estimate::default, |group| group.share);
    let series = |(number, name): (usize, &&str)| {
        let fair = fair.as_ref().and_then(|fair| fair.get(number)).copied();
        let shares = fair.into_iter().chain(outcomes.iter().map(|outcome| share(outcome, name))).collect();
        ((*name).to_owned(), shares)
    };
    let categories = fair.as_ref().map(|_| FAIR.to_owned()).into_iter().chain(names(outcomes)).collect();
    Figure {
        title: title(outcomes),
        x: Axis::linear(""),
        y: Axis::linear("share of the throughput").within(0.0, 1.0),
        content: Content::Shares(Bars { categories, series: groups.iter().enumerate().map(series).collect() }),
        marks: Vec::new(),
    }
}

/// The mean and the 95th percentile of the delay in the first queue that the outcomes show; `None` if no packet was
/// delayed there.
#[must_use]
pub fn delay_figure(outcomes: &[Outcome]) -> Option<Figure> {
    let at = ShownQueue::all(outcomes).into_iter().next()?;
    let delays = |of: fn(&QueueOutcome) -> Estimate| {
        let delay =
            |outcome: &Outcome| outcome.queue(at.name).map_or_else(Estimate::default, |queue| scaled(of(queue), 1e3));
        outcomes.iter().map(delay).collect::<Vec<_>>()
    };
    let (mean, late) = (delays(|queue| queue.delay_s.mean), delays(|queue| queue.delay_s.p95));
    mean.iter().any(|delay| delay.mean > 0.0).then(|| Figure {
        title: title(outcomes),
        x: Axis::linear(""),
        y: Axis::linear(at.title("delay in the queue (ms)")).within(0.0, f64::INFINITY),
        content: Content::Bars(Bars {
            categories: names(outcomes),
            series: vec![("mean".to_owned(), mean), ("95th percentile".to_owned(), late)],
        }),
        marks: Vec::new(),
    })
}

/// The throughput of `group`, or without one of the group whose share differs most, against the mean delay in the first
/// queue that the outcomes show, with the intervals of the throughput; `None` if no packet was delayed there.
#[must_use]
pub fn scatter_figure(outcomes: &[Outcome], group: Option<&str>) -> Option<Figure> {
    let group = group.or_else(|| most_different(outcomes, &group_names(outcomes)))?;
    let at = ShownQueue::all(outcomes).into_iter().next()?;
    let rate = |outcome: &Outcome| Some(outcome.group(group)?.throughput_bps);
    let fastest = outcomes.iter().filter_map(rate).map(|rate| rate.mean).fold(0.0, f64::max);
    let (unit, divisor) = rate_unit(fastest);
    let place = |(outcome, name): (&Outcome, String)| {
        let delay = outcome.queue(at.name)?.delay_s.mean.mean;
        let point = (1e3 * delay, scaled(rate(outcome)?, 1.0 / divisor));
        (delay > 0.0).then(|| Line::new(name, LineStyle::Marked, vec![point]))
    };
    let places: Vec<Line> = outcomes.iter().zip(names(outcomes)).filter_map(place).collect();
    let delays = || places.iter().flat_map(|line| &line.points).map(|(delay, _)| *delay);
    let (low, high) = (delays().fold(f64::INFINITY, f64::min), delays().fold(0.0, f64::max));
    let x = at.title("mean delay in the queue (ms)");
    let x = if high > WIDE * low { Axis::log(x) } else { Axis::linear(x) };
    let y = Axis::linear(format!("throughput of {group} ({unit})")).within(0.0, f64::INFINITY);
    (!places.is_empty()).then(|| Figure::lines(title(outcomes), x, y, places))
}

/// The ratio of delays from which their axis is logarithmic.
pub(crate) const WIDE: f64 = 12.0;

pub(super) fn title(outcomes: &[Outcome]) -> String {
    outcomes.first().map_or_else(String::new, |outcome| outcome.scenario.clone())
}
