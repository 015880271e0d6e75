//! Figures of how runs went over time.

use fairlane_outcome::{Estimate, GroupTimeline, Outcome, QueueTimeline, Timeline};

use super::outcomes::title;
use super::sweep::names;
use super::{Axis, Figure, Line, LineStyle, Measure};
use crate::queues::ShownQueue;
use crate::summary::{group_names, most_different};

/// A quantity of a timeline.
pub(crate) struct Quantity {
    pub(crate) name: &'static str,
    /// The label of its axis.
    pub(crate) unit: &'static str,
    /// The factor from the unit of the timeline.
    pub(crate) factor: f64,
    /// A mean since the value before, and not a state of the moment.
    pub(crate) over_interval: bool,
}

impl Quantity {
    /// A state, which has a value at every moment.
    const fn state(name: &'static str, unit: &'static str, factor: f64) -> Self {
        Self { name, unit, factor, over_interval: false }
    }

    /// A rate over the time since the value before.
    const fn rate(name: &'static str, unit: &'static str, factor: f64) -> Self {
        Self { name, unit, factor, over_interval: true }
    }
}

pub(crate) const LENGTH: Quantity = Quantity::state("Length of the queue", "packets", 1.0);
pub(crate) const AVERAGE: Quantity = Quantity::state("Average that the discipline keeps", "in its own unit", 1.0);
pub(crate) const PROBABILITY: Quantity = Quantity::state("Probability of a signal", "", 1.0);
pub(crate) const DROPPED: Quantity = Quantity::rate("Drops", "packets/s", 1.0);
pub(crate) const MARKED: Quantity = Quantity::rate("Marks", "packets/s", 1.0);
pub(crate) const RATE: Quantity = Quantity::state("Rate of the shaper", "Mb/s", 1e-6);
pub(crate) const SIGNALS: Quantity = Quantity::rate("Drops and marks", "packets/s", 1.0);
pub(crate) const GOODPUT: Quantity = Quantity::rate("Goodput", "Mb/s", 1e-6);
pub(crate) const WINDOW: Quantity = Quantity::state("Congestion window", "packets, mean of the flows", 1.0);
pub(crate) const ROUND_TRIP: Quantity = Quantity::state("Smoothed round trip time", "ms, mean of the flows", 1e3);

/// A queue's series of one quantity.
pub(crate) type OfQueue = fn(&QueueTimeline) -> &Vec<f64>;
/// A group's series of one quantity.
pub(crate) type OfGroup = fn(&GroupTimeline) -> &Vec<f64>;

pub(crate) const QUEUES: [(Quantity, OfQueue); 5] = [
    (LENGTH, |queue| &queue.packets),
    (AVERAGE, |queue| &queue.average),
    (PROBABILITY, |queue| &queue.probability),
    (DROPPED, |queue| &queue.dropped_pps),
    (MARKED, |queue| &queue.marked_pps),
];
pub(crate) const GROUPS: [(Quantity, OfGroup); 3] =
    [(GOODPUT, |group| &group.goodput_bps), (WINDOW, |group| &group.cwnd_packets), (ROUND_TRIP, |group| &group.srtt_s)];

/// A `measure` over time of each outcome that has a timeline: of the first queue that the outcomes show, or of `group`,
/// or without one of the group whose share differs most; `None` if no timeline does not have it.
#[must_use]
pub fn series_figure(
    outcomes: &[Outcome],
    timelines: &[Option<Timeline>],
    measure: Measure,
    group: Option<&str>,
) -> Option<Figure> {
    let (quantity, of_queue, of_group) = quantity(measure)?;
    let group = group.or_else(|| most_different(outcomes, &group_names(outcomes)))?;
    let at = ShownQueue::all(outcomes).into_iter().next();
    let values = |timeline: &Timeline| -> Option<Vec<f64>> {
        let values = match (of_queue, of_group) {
            (Some(of), _) => {
                of(timeline.queues.iter().find(|queue| Some(queue.name.as_str()) == at.map(|at| at.name))?)
            }
            (_, of) => of?(timeline.groups.iter().find(|series| series.name == group)?),
        };
        Some(values.clone())
    };
    let of = |(label, timeline): (String, &Option<Timeline>)| {
        let timeline = timeline.as_ref()?;
        Some(line(timeline, &label, &values(timeline)?, quantity))
    };
    let lines: Vec<Line> =
        names(outcomes).into_iter().zip(timelines).filter_map(of).filter(|line| !line.points.is_empty()).collect();
    let name = if of_group.is_some() { format!("{} of {group}", quantity.name) } else { quantity.name.to_owned() };
    // The rest of a unit, such as "mean of the flows", is too long for an axis.
    let unit = quantity.unit.split(',').next().unwrap_or_default();
    let label = if unit.is_empty() { name } else { format!("{name} ({unit})") };
    let y = Axis::linear(label).within(0.0, f64::INFINITY);
    (!lines.is_empty()).then(|| Figure::lines(title(outcomes), Axis::linear("time (s)"), y, lines))
}

/// The quantity that is measured, and its series of a queue or of a group; `None` for measures of a sweep.
fn quantity(measure: Measure) -> Option<(&'static Quantity, Option<OfQueue>, Option<OfGroup>)> {
    let queue = |index: usize| QUEUES.get(index).map(|(quantity, of)| (quantity, Some(*of), None));
    let group = |index: usize| GROUPS.get(index).map(|(quantity, of)| (quantity, None, Some(*of)));
    match measure {
        Measure::Length => queue(0),
        Measure::Average => queue(1),
        Measure::Probability => queue(2),
        Measure::Drops => queue(3),
        Measure::Marks => queue(4),
        Measure::Goodput => group(0),
        Measure::Window => group(1),
        Measure::RoundTrip => group(2),
        Measure::Share | Measure::Delay | Measure::Utilisation => None,
    }
}

/// The names of all groups.
pub(crate) fn timeline_groups<'a>(timelines: &[(&str, &'a Timeline)]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, timeline) in timelines {
        for group in &timeline.groups {
            if !names.contains(&group.name.as_str()) {
                names.push(&group.name);
            }
        }
    }
    names
}

/// A line of a timeline in the unit of its quantity.
pub(crate) fn line(timeline: &Timeline, name: &str, values: &[f64], quantity: &Quantity) -> Line {
    let points =
        timeline.time_s.iter().zip(values).map(|(time, value)| (*time, Estimate::single(value * quantity.factor)));
    Line::new(name, LineStyle::Plain, points.collect())
}
