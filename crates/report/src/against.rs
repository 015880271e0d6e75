//! The same scenario in two engines, number by number.

use fairlane_outcome::{Estimate, GroupOutcome, Outcome, QueueOutcome};

use crate::numbers::{Scale, aligned};
use crate::queues::delay;
use crate::summary::{NOTHING, heading};
use crate::table::{Look, Terminal, TextTable};

/// A number that all outcomes have: its subject, its name, its unit, and each outcome's value.
struct Row {
    of: String,
    what: &'static str,
    scale: fn(&[Estimate]) -> Scale,
    numbers: Vec<Estimate>,
}

impl Row {
    /// Shows a value. Differences of ratios are in percentage points.
    fn cell(&self, value: &Estimate) -> String {
        aligned(&[(self.scale)(&self.numbers).parts(value)]).concat()
    }

    fn difference(&self, place: usize) -> String {
        let difference = difference(&self.numbers[0], &self.numbers[place]);
        let text = aligned(&[(self.scale)(&self.numbers).of_differences().parts(&difference)]).concat();
        if difference.mean >= 0.0 { format!("+{text}") } else { text }
    }
}

/// A row for each number of the groups and of the bottleneck: `measured`, and each of the `others` with the difference
/// to it, each with its interval if there are several runs.
///
/// The interval of a difference is the root of the sum of both squares; if one side has a single run, it is that of the
/// other side.
#[must_use]
pub fn against_table(measured: &Outcome, others: &[&Outcome], terminal: &Terminal) -> String {
    let all: Vec<&Outcome> = [measured].iter().chain(others).copied().collect();
    let rows = rows(&all);
    if rows.is_empty() {
        return NOTHING.to_owned();
    }
    let mut table = TextTable::new()
        .key("of", rows.iter().map(|row| row.of.clone()).collect())
        .key("number", rows.iter().map(|row| row.what.to_owned()).collect());
    for (place, outcome) in all.iter().enumerate() {
        table = table.right(&outcome.engine, rows.iter().map(|row| row.cell(&row.numbers[place])).collect());
        if place > 0 {
            table = table.right("difference", rows.iter().map(|row| row.difference(place)).collect());
        }
    }
    let mut text = heading(std::slice::from_ref(measured), terminal);
    let compared = |other: &&Outcome| {
        let runs = if other.runs == 1 { "run" } else { "runs" };
        format!("{}: {} {runs}", other.engine, other.runs)
    };
    let others = others.iter().map(compared).collect::<Vec<_>>().join(", ");
    text += &terminal.line(&format!("compared with {others}"), Look::Faint);
    text.push('\n');
    text + &table.print(terminal)
}

/// The first number minus the second.
fn difference(first: &Estimate, second: &Estimate) -> Estimate {
    let squares: Vec<f64> = [first, second].into_iter().filter_map(Estimate::ci95).map(|half| half * half).collect();
    let half = (!squares.is_empty()).then(|| squares.iter().sum::<f64>().sqrt());
    Estimate::new(first.mean - second.mean, half)
}

fn rows(all: &[&Outcome]) -> Vec<Row> {
    type Of<T> = (&'static str, fn(&T) -> Option<Estimate>, fn(&[Estimate]) -> Scale);
    let of_group: [Of<GroupOutcome>; 5] = [
        ("share", |group| Some(group.share), Scale::percent),
        ("throughput", |group| Some(group.throughput_bps), Scale::rate),
        ("dropped", |group| Some(group.drop_ratio), Scale::percent),
        ("queue share", |group| Some(group.queue_share), Scale::percent),
        ("Jain", |group| group.jain, |_| Scale::index()),
    ];
    let of_queue: [Of<QueueOutcome>; 6] = [
        ("utilisation", |queue| Some(queue.utilisation), Scale::percent),
        ("queue length", |queue| Some(queue.mean_packets), Scale::packets),
        ("delay", |queue| delay(queue, queue.delay_s.mean), Scale::time),
        ("delay p50", |queue| delay(queue, queue.delay_s.p50), Scale::time),
        ("delay p95", |queue| delay(queue, queue.delay_s.p95), Scale::time),
        ("delay p99", |queue| delay(queue, queue.delay_s.p99), Scale::time),
    ];
    let mut rows = Vec::new();
    let Some((measured, others)) = all.split_first() else { return rows };
    for group in &measured.groups {
        let others = others.iter().map(|other| other.group(&group.name)).collect::<Option<Vec<_>>>();
        let Some(others) = others else { continue };
        // The index of a single flow is always 1.
        let told = of_group.iter().filter(|(what, ..)| *what != "Jain" || group.flows > 1);
        rows.extend(told.filter_map(|(what, field, scale)| {
            let numbers = [group].into_iter().chain(others.iter().copied()).map(field).collect::<Option<_>>()?;
            Some(Row { of: group.name.clone(), what, scale: *scale, numbers })
        }));
    }
    for shown in measured.shown_queues() {
        let others = others.iter().map(|other| other.queue(&shown.name)).collect::<Option<Vec<_>>>();
        let Some(others) = others else { continue };
        let queues: Vec<&QueueOutcome> = [shown].into_iter().chain(others).collect();
        let of = format!("{} ({})", queues[0].name, queues[0].kind);
        rows.extend(of_queue.iter().filter_map(|(what, field, scale)| {
            let numbers = queues.iter().copied().map(field).collect::<Option<_>>()?;
            Some(Row { of: of.clone(), what, scale: *scale, numbers })
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
        assert_eq!(difference(&of(10.0, Some(3.0)), &of(7.0, Some(4.0))), of(3.0, Some(5.0)));
        assert_eq!(difference(&of(1.0, None), &of(7.0, Some(4.0))), of(-6.0, Some(4.0)));
        assert_eq!(difference(&of(1.0, None), &of(7.0, None)), of(-6.0, None));
    }
}
