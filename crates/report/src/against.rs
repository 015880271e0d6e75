//! The same scenario in two engines, number by number.

use fairlane_outcome::{Estimate, GroupOutcome, Outcome, QueueOutcome};

use crate::numbers::{Scale, aligned};
use crate::summary::{NOTHING, heading};
use crate::table::{Look, Terminal, TextTable};

/// A number that both outcomes have: its subject, its name, its unit, and both values.
struct Row {
    of: String,
    what: &'static str,
    scale: fn(&[Estimate]) -> Scale,
    /// Differences of ratios are in percentage points.
    numbers: [Estimate; 2],
}

/// A row for each number of the groups and of the bottleneck: `measured`, `simulated` and the difference, each
/// with its interval if there are several runs.
///
/// The interval of a difference is the root of the sum of both squares; if one side has a single run, it is that of the other side.
#[must_use]
pub fn against_table(measured: &Outcome, simulated: &Outcome, terminal: &Terminal) -> String {
    let rows = rows(measured, simulated);
    if rows.is_empty() {
        return NOTHING.to_owned();
    }
    let cell = |row: &Row, value: &Estimate| aligned(&[(row.scale)(&row.numbers).parts(value)]).concat();
    let number = |place: usize| rows.iter().map(|row| cell(row, &row.numbers[place])).collect::<Vec<_>>();
    let differences = rows.iter().map(|row| {
        let difference = difference(&row.numbers);
        let text = cell(row, &difference);
        if difference.mean >= 0.0 { format!("+{text}") } else { text }
    });
    let table = TextTable::new()
        .key("of", rows.iter().map(|row| row.of.clone()).collect())
        .key("number", rows.iter().map(|row| row.what.to_owned()).collect())
        .right(&measured.engine, number(0))
        .right(&simulated.engine, number(1))
        .right("difference", differences.collect());
    let mut text = heading(measured, terminal);
    let runs = format!("beside {}: {} runs", simulated.engine, simulated.runs);
    text += &terminal.line(&runs, Look::Faint);
    text.push('\n');
    text + &table.print(terminal)
}

/// The first number minus the second.
fn difference(numbers: &[Estimate; 2]) -> Estimate {
    let [first, second] = numbers;
    let squares: Vec<f64> = numbers.iter().filter_map(Estimate::ci95).map(|half| half * half).collect();
    let half = (!squares.is_empty()).then(|| squares.iter().sum::<f64>().sqrt());
    Estimate::new(first.mean - second.mean, half)
}

fn rows(measured: &Outcome, simulated: &Outcome) -> Vec<Row> {
    type Of<T> = (&'static str, fn(&T) -> Estimate, fn(&[Estimate]) -> Scale);
    let of_group: [Of<GroupOutcome>; 5] = [
        ("share", |group| group.share, Scale::percent),
        ("throughput", |group| group.throughput_bps, Scale::rate),
        ("dropped", |group| group.drop_ratio, Scale::percent),
        ("of the queue", |group| group.queue_share, Scale::percent),
        ("Jain", |group| group.jain, |_| Scale::index()),
    ];
    let of_queue: [Of<QueueOutcome>; 6] = [
        ("used", |queue| queue.utilisation, Scale::percent),
        ("queued", |queue| queue.mean_packets, Scale::packets),
        ("delay", |queue| queue.delay_s.mean, Scale::time),
        ("delay p50", |queue| queue.delay_s.p50, Scale::time),
        ("delay p95", |queue| queue.delay_s.p95, Scale::time),
        ("delay p99", |queue| queue.delay_s.p99, Scale::time),
    ];
    let mut rows = Vec::new();
    for group in &measured.groups {
        let Some(other) = simulated.group(&group.name) else { continue };
        // The index of a single flow is always 1.
        let told = of_group.iter().filter(|(what, ..)| *what != "Jain" || group.flows > 1);
        rows.extend(told.map(|(what, field, scale)| {
            let numbers = [field(group), field(other)];
            Row { of: group.name.clone(), what, scale: *scale, numbers }
        }));
    }
    if let (Some(queue), Some(other)) = (measured.bottleneck(), simulated.bottleneck()) {
        let of = format!("{} ({})", queue.name, queue.kind);
        rows.extend(of_queue.iter().map(|(what, field, scale)| {
            let numbers = [field(queue), field(other)];
            Row { of: of.clone(), what, scale: *scale, numbers }
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calculated by hand: the widths 3 and 4 of independent numbers give 5.
    #[test]
    fn a_difference_has_the_interval_of_both() {
        let of = |mean, half| Estimate::new(mean, half);
        assert_eq!(difference(&[of(10.0, Some(3.0)), of(7.0, Some(4.0))]), of(3.0, Some(5.0)));
        assert_eq!(difference(&[of(1.0, None), of(7.0, Some(4.0))]), of(-6.0, Some(4.0)));
        assert_eq!(difference(&[of(1.0, None), of(7.0, None)]), of(-6.0, None));
    }
}
