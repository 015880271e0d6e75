//! A sweep, one row per point.

use fairlane_outcome::{Outcome, Point, PointValue};
use fairlane_qdisc::{Duration, Rate};

use crate::details::{Titled, print_tables};
use crate::numbers::significant;
use crate::paths::with_paths;
use crate::queues::{labels, with_queues};
use crate::summary::{
    Medium, NOTHING, group_names, heading, legend, titled, with_groups, with_jain, with_scores, with_shares,
    with_windows,
};
use crate::table::{Terminal, TextTable};

/// One row for each outcome of a sweep: the varied values, the share of each group, and the state of the queue. If
/// there are several queues, they have a table of their own.
#[must_use]
pub fn sweep_table(outcomes: &[Outcome], terminal: &Terminal) -> String {
    if outcomes.is_empty() {
        return NOTHING.to_owned();
    }
    let text = heading(outcomes, terminal) + &legend(outcomes, &group_names(outcomes), terminal);
    text + &print_tables(tables(outcomes, Medium::Terminal), "", terminal)
}

/// The tables alone: that of the points, that of their queues if there are several, and that of the paths.
pub(crate) fn tables(outcomes: &[Outcome], medium: Medium) -> Vec<Titled> {
    let names = group_names(outcomes);
    let keys = |rows: &[usize]| with_windows(keys(outcomes, rows), outcomes, rows);
    let all: Vec<usize> = (0..outcomes.len()).collect();
    let table = with_groups(keys(&all), outcomes, &names, |table, _| table);
    let table = with_shares(table, outcomes, &names, medium);
    let (table, queues) = with_queues(table, outcomes, keys, medium);
    let table = with_scores(with_jain(table, outcomes, &names), outcomes, &names);
    titled("All points", table, queues, with_paths(outcomes, &names, keys))
}

/// The varied keys, in the requested order.
pub(crate) fn varied(outcomes: &[Outcome]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (key, _) in outcomes.iter().filter_map(|outcome| outcome.point.as_ref()).flat_map(Point::iter) {
        if !names.contains(&key) {
            names.push(key);
        }
    }
    names
}

/// A column for each varied key, or for the discipline without any; the rows are those outcomes.
fn keys(outcomes: &[Outcome], rows: &[usize]) -> TextTable {
    let names = varied(outcomes);
    if names.is_empty() {
        let labels = labels(outcomes);
        return TextTable::new().key("queue", rows.iter().map(|row| labels[*row].clone()).collect());
    }
    names.iter().zip(short_keys(&names)).fold(TextTable::new(), |table, (name, short)| {
        let value = |row: &usize| outcomes[*row].point.as_ref().and_then(|point| point.get(name)).map(shown);
        table.key(short, rows.iter().map(|row| value(row).unwrap_or_else(|| "–".to_owned())).collect())
    })
}

/// A varied value with four digits at most: `1.939mbit` for `1939227bit`.
pub(crate) fn shown(value: &PointValue) -> String {
    /// Longer texts have digits that no reader needs.
    const LONG: usize = 8;
    /// The units, from the largest.
    const RATES: [(f64, &str); 4] = [(1e9, "gbit"), (1e6, "mbit"), (1e3, "kbit"), (1.0, "bit")];
    const TIMES: [(f64, &str); 4] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    let text = value.to_string();
    if text.len() < LONG {
        return text;
    }
    let in_unit = |number: f64, units: &[(f64, &str)]| {
        let (size, unit) = units.iter().find(|(size, _)| number >= *size).or(units.last())?;
        Some(format!("{}{unit}", significant(number / size, 4)))
    };
    let short = match value {
        PointValue::Ratio(ratio) => Some(significant(*ratio, 4)),
        PointValue::Text(text) => text
            .parse::<Rate>()
            .ok()
            .and_then(|rate| in_unit(rate.bits_per_second() as f64, &RATES))
            .or_else(|| in_unit(text.parse::<Duration>().ok()?.as_secs(), &TIMES)),
        PointValue::Switch(_) | PointValue::Count(_) => None,
    };
    short.unwrap_or(text)
}

/// The end of each key, from a dot on, that is as short as it can be and told from the others: `first.queue.kind`.
pub(crate) fn short_keys<'k>(keys: &[&'k str]) -> Vec<&'k str> {
    let short = |key: &&'k str| {
        let starts = key.rmatch_indices('.').map(|(dot, _)| &key[dot + 1..]).chain([*key]);
        let unique =
            |end: &&str| keys.iter().filter(|other| *other == end || other.ends_with(&format!(".{end}"))).count() == 1;
        starts.into_iter().find(unique).unwrap_or(key)
    };
    keys.iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of `100kbit..10mbit/9log` and the like; those that are short as they are stay so.
    #[test]
    fn values_are_shown_with_few_digits() {
        let text = |text: &str| shown(&PointValue::from(text));
        assert_eq!([text("1939227bit"), text("177828bit"), text("10mbit")], ["1.939mbit", "177.8kbit", "10mbit"]);
        assert_eq!([text("3333333ns"), text("fq-codel-long"), text("1.5s")], ["3.333ms", "fq-codel-long", "1.5s"]);
        assert_eq!(shown(&PointValue::from(1.0 / 3.0)), "0.3333");
        assert_eq!(shown(&PointValue::from(123_456_789_i64)), "123456789");
    }

    /// Would catch "kind choke, kind choke" of two queues.
    #[test]
    fn keys_are_told_apart() {
        assert_eq!(short_keys(&["flows.cbr.rate", "bottleneck.queue.kind"]), ["rate", "kind"]);
        assert_eq!(
            short_keys(&["links.first.queue.kind", "links.second.queue.kind", "seed"]),
            ["first.queue.kind", "second.queue.kind", "seed"]
        );
    }
}
