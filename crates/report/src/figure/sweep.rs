//! Figures of a sweep: results against the varied keys.

use fairlane_outcome::{Estimate, Outcome, PointValue, QueueOutcome};
use fairlane_qdisc::{Bytes, Duration, Packets, Rate};

use super::{Axis, Figure, Line, LineStyle, Measure};
use crate::numbers::scaled;
use crate::queues::{ShownQueue, labels};
use crate::summary::{group_names, most_different};
use crate::sweep::{short_keys, shown, varied};

/// The most points of a line with markers; with more only the line would be visible.
const MARKED: usize = 40;
/// The plotted values.
struct Values {
    title: String,
    axis: Axis,
    /// One value for each outcome that has it.
    values: Vec<Option<Estimate>>,
}

/// The varied keys as the title of a column.
pub(crate) fn title(outcomes: &[Outcome]) -> String {
    varied(outcomes).join(", ")
}

/// A name for each outcome: the values of its point in a sweep, else its discipline.
pub(crate) fn names(outcomes: &[Outcome]) -> Vec<String> {
    let keys = varied(outcomes);
    let kinds = labels(outcomes);
    // Shapers are compared under several disciplines, and the labels have both.
    if keys == ["shaper"] {
        return kinds;
    }
    outcomes.iter().zip(&kinds).map(|(outcome, kind)| name(outcome, keys.iter().copied(), kind)).collect()
}

/// The measures of a sweep.
const MEASURES: [Measure; 4] = [Measure::Share, Measure::Delay, Measure::Length, Measure::Utilisation];

/// Figures against the first key whose values are numbers, with a line for each combination of the other keys' values;
/// none if no key has numbers.
pub(crate) fn figures(outcomes: &[Outcome]) -> Vec<Figure> {
    let groups = group_names(outcomes);
    let shares = groups.into_iter().filter_map(|group| sweep_figure(outcomes, Measure::Share, Some(group)));
    let queues = ShownQueue::all(outcomes).into_iter().flat_map(|at| {
        MEASURES.iter().skip(1).filter_map(move |measure| lines(outcomes, of_queue(outcomes, *measure, at)?))
    });
    shares.chain(queues).collect()
}

/// A `measure` of `group`, or without one of the group whose share differs most, or of the first queue that the
/// outcomes show, against the first varied key whose values are numbers, with a line for each combination of the other
/// keys' values; `None` if no key has numbers or a sweep does not have the measure.
#[must_use]
pub fn sweep_figure(outcomes: &[Outcome], measure: Measure, group: Option<&str>) -> Option<Figure> {
    if measure == Measure::Share {
        let group = group.or_else(|| most_different(outcomes, &group_names(outcomes)))?;
        let share = |outcome: &Outcome| Some(scaled(outcome.group(group)?.share, 100.0));
        return lines(
            outcomes,
            Values {
                title: format!("Share of {group}"),
                axis: Axis::linear("share of the throughput (%)").within(0.0, 100.0),
                values: outcomes.iter().map(share).collect(),
            },
        );
    }
    let at = ShownQueue::all(outcomes).into_iter().next()?;
    lines(outcomes, of_queue(outcomes, measure, at)?)
}

/// The values of a queue; `None` for other measures.
fn of_queue(outcomes: &[Outcome], measure: Measure, at: ShownQueue<'_>) -> Option<Values> {
    type Of = fn(&QueueOutcome) -> Estimate;
    let (title, unit, most, factor, of): (_, _, _, _, Of) = match measure {
        Measure::Delay => ("Delay in the queue", "mean delay (ms)", f64::INFINITY, 1e3, |queue| queue.delay_s.mean),
        Measure::Length => {
            ("Length of the queue", "mean length (packets)", f64::INFINITY, 1.0, |queue| queue.mean_packets)
        }
        Measure::Utilisation => ("Utilisation", "utilisation (%)", 100.0, 100.0, |queue| queue.utilisation),
        _ => return None,
    };
    Some(Values {
        title: at.title(title),
        axis: Axis::linear(unit).within(0.0, most),
        values: outcomes.iter().map(|outcome| Some(scaled(of(outcome.queue(at.name)?), factor))).collect(),
    })
}

/// The positions of a key's values on an axis.
struct Places {
    label: String,
    log: bool,
    /// One for each outcome.
    at: Vec<f64>,
}

/// The key's values as numbers of one unit; `None` when they are not, or when all are the same.
fn places(outcomes: &[Outcome], key: &str) -> Option<Places> {
    let values: Vec<&PointValue> =
        outcomes.iter().map(|outcome| outcome.point.as_ref()?.get(key)).collect::<Option<_>>()?;
    let (at, unit) = numbers(&values)?;
    let mut grid = at.clone();
    grid.sort_by(f64::total_cmp);
    grid.dedup();
    if grid.len() < 2 {
        return None;
    }
    let label = if unit.is_empty() { key.to_owned() } else { format!("{key} ({unit})") };
    Some(Places { label, log: geometric(&grid), at })
}

/// Returns true if the ratios between neighbours differ less than the differences do.
fn geometric(grid: &[f64]) -> bool {
    let spread = |steps: Vec<f64>| {
        let (least, most) =
            steps.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), x| (least.min(*x), most.max(*x)));
        most / least
    };
    let ratios = grid.windows(2).map(|pair| libm::log(pair[1] / pair[0])).collect();
    let differences = grid.windows(2).map(|pair| pair[1] - pair[0]).collect();
    grid.len() > 2 && grid[0] > 0.0 && spread(ratios) < spread(differences)
}

/// Numbers with the unit that they share.
fn numbers(values: &[&PointValue]) -> Option<(Vec<f64>, &'static str)> {
    let each =
        |read: &dyn Fn(&PointValue) -> Option<f64>| values.iter().map(|value| read(value)).collect::<Option<Vec<_>>>();
    let text = |value: &PointValue| match value {
        PointValue::Text(text) => Some(text.clone()),
        _ => None,
    };
    let plain = each(&|value| match value {
        PointValue::Count(value) => Some(*value as f64),
        PointValue::Ratio(value) => Some(*value),
        _ => None,
    });
    plain
        .map(|values| (values, ""))
        .or_else(|| {
            let rates = each(&|value| Some(text(value)?.parse::<Rate>().ok()?.bits_per_second() as f64 / 1e6))?;
            Some((rates, "Mb/s"))
        })
        .or_else(|| Some((each(&|value| Some(text(value)?.parse::<Duration>().ok()?.as_secs() * 1e3))?, "ms")))
        .or_else(|| Some((each(&|value| Some(f64::from(text(value)?.parse::<Packets>().ok()?.get())))?, "packets")))
        .or_else(|| Some((each(&|value| Some(text(value)?.parse::<Bytes>().ok()?.get() as f64))?, "bytes")))
}

fn lines(outcomes: &[Outcome], measured: Values) -> Option<Figure> {
    let keys = varied(outcomes);
    let (along, places) = keys.iter().find_map(|key| Some((*key, places(outcomes, key)?)))?;
    let mut lines: Vec<Line> = Vec::new();
    for ((outcome, at), value) in outcomes.iter().zip(&places.at).zip(&measured.values) {
        let Some(value) = *value else { continue };
        let name = name(outcome, keys.iter().copied().filter(|key| *key != along), &measured.title);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.push((*at, value)),
            None => lines.push(Line::new(name, LineStyle::Marked, vec![(*at, value)])),
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if line.points.len() > MARKED {
            line.style = LineStyle::Plain;
        }
    }
    let x = if places.log { Axis::log(places.label) } else { Axis::linear(places.label) };
    (!lines.is_empty()).then(|| Figure::lines(measured.title, x, measured.axis, lines))
}

/// A label of the values of `keys`; `otherwise` without any.
fn name<'k>(outcome: &Outcome, keys: impl Iterator<Item = &'k str>, otherwise: &str) -> String {
    let keys: Vec<&str> = keys.collect();
    let value = |key: &str| outcome.point.as_ref().and_then(|point| point.get(key)).map_or("–".to_owned(), shown);
    match keys.as_slice() {
        [] => otherwise.to_owned(),
        [key] => value(key),
        keys => {
            let named = keys.iter().zip(short_keys(keys)).map(|(key, short)| format!("{short} {}", value(key)));
            named.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grids as `a..b/Nlog` and `a..b/N` produce them, and as people write them by hand.
    #[test]
    fn grids_of_equal_ratios_are_told_from_those_of_equal_steps() {
        for grid in [[0.1, 1.0, 10.0].as_slice(), &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0], &[1.0, 2.0, 4.0, 8.0]] {
            assert!(geometric(grid), "{grid:?}");
        }
        for grid in [[1.0, 2.0, 3.0].as_slice(), &[0.0, 1.0, 10.0], &[5.0, 10.0], &[10.0, 20.0, 30.0, 45.0]] {
            assert!(!geometric(grid), "{grid:?}");
        }
    }

    #[test]
    fn values_become_numbers_of_one_unit() {
        let text = |text: &str| PointValue::from(text);
        let read = |values: &[PointValue]| numbers(&values.iter().collect::<Vec<_>>());
        assert_eq!(read(&[text("500kbit"), text("2mbit")]), Some((vec![0.5, 2.0], "Mb/s")));
        assert_eq!(read(&[text("5ms"), text("1s")]), Some((vec![5.0, 1000.0], "ms")));
        assert_eq!(read(&[text("100p"), text("7p")]), Some((vec![100.0, 7.0], "packets")));
        assert_eq!(read(&[2_i64.into(), 0.5.into()]), Some((vec![2.0, 0.5], "")));
        assert_eq!(read(&[text("red"), text("choke")]), None);
        assert_eq!(read(&[text("100p"), text("2mbit")]), None);
    }
}
