//! Charts of a sweep: results against the varied keys.

use fairlane_outcome::{Estimate, Outcome, PointValue, QueueOutcome};
use fairlane_qdisc::{Bytes, Duration, Packets, Rate};

use super::Block;
use super::timeline::chosen;
use crate::figure::{Axis, Line, LineStyle};
use crate::queues::{ShownQueue, labels};
use crate::summary::group_names;
use crate::sweep::{short_keys, shown, varied};

/// The most points of a line with markers; with more only the line would be visible.
const MARKED: usize = 40;
/// The plotted quantity.
struct Measure {
    title: String,
    unit: &'static str,
    /// One value for each outcome that has it.
    values: Vec<Option<Estimate>>,
}

/// The varied keys as the title of a column.
pub(super) fn title(outcomes: &[Outcome]) -> String {
    varied(outcomes).join(", ")
}

/// A name for each point: its values.
pub(super) fn names(outcomes: &[Outcome]) -> Vec<String> {
    let keys = varied(outcomes);
    let kinds = labels(outcomes);
    outcomes.iter().zip(&kinds).map(|(outcome, kind)| name(outcome, keys.iter().copied(), kind)).collect()
}

/// Charts against the first key whose values are numbers, with a line for each combination of the other keys' values; none if no key
/// has numbers.
pub(super) fn figures(outcomes: &[Outcome]) -> Vec<Block> {
    let keys = varied(outcomes);
    let Some((key, places)) = keys.iter().find_map(|key| Some((*key, places(outcomes, key)?))) else {
        return Vec::new();
    };
    measures(outcomes).iter().filter_map(|measure| lines(outcomes, &keys, key, &places, measure)).collect()
}

fn measures(outcomes: &[Outcome]) -> Vec<Measure> {
    let times =
        |factor: f64, value: Estimate| Estimate::new(factor * value.mean, value.ci95().map(|half| factor * half));
    let share = |name: &str| Measure {
        title: format!("Share of {name}"),
        unit: "share of the throughput (%)",
        values: outcomes.iter().map(|outcome| Some(times(100.0, outcome.group(name)?.share))).collect(),
    };
    let mut measures: Vec<Measure> = group_names(outcomes).into_iter().map(share).collect();
    for at in ShownQueue::all(outcomes) {
        let measure = |title: &str, unit, of: fn(&QueueOutcome) -> Estimate, factor| Measure {
            title: at.title(title),
            unit,
            values: outcomes.iter().map(|outcome| Some(times(factor, of(outcome.queue(at.name)?)))).collect(),
        };
        measures.push(measure("Delay in the queue", "mean delay (ms)", |queue| queue.delay_s.mean, 1e3));
        measures.push(measure("Length of the queue", "mean length (packets)", |queue| queue.mean_packets, 1.0));
        measures.push(measure("Use of the link", "used (%)", |queue| queue.utilisation, 100.0));
    }
    measures
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

fn lines(outcomes: &[Outcome], keys: &[&str], along: &str, places: &Places, measure: &Measure) -> Option<Block> {
    let mut lines: Vec<Line> = Vec::new();
    for ((outcome, at), value) in outcomes.iter().zip(&places.at).zip(&measure.values) {
        let Some(value) = *value else { continue };
        let name = name(outcome, keys.iter().copied().filter(|key| *key != along), &measure.title);
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
    let axis = if places.log { Axis::log(places.label.as_str()) } else { Axis::linear(places.label.as_str()) };
    chosen(&measure.title, "", axis, Axis::linear(measure.unit), lines)
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
