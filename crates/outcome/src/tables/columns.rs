//! Columns of a table over rows of any type.

use std::borrow::Cow;

use super::table::{Table, TableColumn, Values};
use crate::{Estimate, Outcome, Point, PointValue};

/// A table in the making. Its first columns say to which outcome a row belongs.
pub(super) struct Columns<'r, 'o, T> {
    rows: &'r [(usize, T)],
    columns: Vec<TableColumn<'o>>,
}

impl<'r, 'o, T> Columns<'r, 'o, T> {
    /// Begins a table of `rows`, each with the number of its outcome.
    pub(super) fn of(rows: &'r [(usize, T)], outcomes: &'o [Outcome]) -> Self {
        let mut columns = Self { rows, columns: Vec::new() };
        let outcome = |number: usize| outcomes.get(number);
        columns.push("outcome", false, Values::U64(rows.iter().map(|(number, _)| *number as u64).collect()));
        let number = |field: fn(&Outcome) -> u64| {
            Values::U64(rows.iter().map(|(number, _)| outcome(*number).map_or(0, field)).collect())
        };
        let text = |field: fn(&'o Outcome) -> &'o String| {
            let value = |number: usize| Some(Cow::Borrowed(outcome(number).map_or("", |it| field(it))));
            Values::Text(rows.iter().map(|(number, _)| value(*number)).collect())
        };
        columns.push("scenario", false, text(|outcome| &outcome.scenario));
        columns.push("engine", false, text(|outcome| &outcome.engine));
        columns.push("seed", false, number(|outcome| outcome.seed));
        columns.push("runs", false, number(|outcome| outcome.runs));
        if outcomes.iter().any(|outcome| outcome.label.is_some()) {
            let label = |number: usize| outcome(number).and_then(|outcome| outcome.label.as_deref()).map(Cow::Borrowed);
            columns.push("label", true, Values::Text(rows.iter().map(|(number, _)| label(*number)).collect()));
        }
        for key in keys(outcomes) {
            let value = |number: usize| outcome(number).and_then(|outcome| outcome.point.as_ref()?.get(key));
            columns.push_values(key, &rows.iter().map(|(number, _)| value(*number)).collect::<Vec<_>>());
        }
        columns
    }

    /// Adds a column of text.
    pub(super) fn text(&mut self, name: &str, value: impl Fn(&'r T) -> &'o str) {
        let values = self.rows.iter().map(|(_, row)| Some(Cow::Borrowed(value(row))));
        self.push(name, false, Values::Text(values.collect()));
    }

    /// Adds a column of whole numbers.
    pub(super) fn number(&mut self, name: &str, value: impl Fn(&'r T) -> u64) {
        self.push(name, false, Values::U64(self.rows.iter().map(|(_, row)| value(row)).collect()));
    }

    /// Adds a column of numbers and, as `{name}_ci95`, one of the half widths of their intervals.
    pub(super) fn estimate(&mut self, name: &str, value: impl Fn(&'r T) -> Option<Estimate>) {
        let values: Vec<Option<Estimate>> = self.rows.iter().map(|(_, row)| value(row)).collect();
        self.push(name, true, Values::F64(values.iter().map(|value| Some((*value)?.mean)).collect()));
        let ci95 = values.iter().map(|value| (*value)?.ci95()).collect();
        self.push(&format!("{name}_ci95"), true, Values::F64(ci95));
    }

    /// Adds a column of numbers without intervals.
    pub(super) fn value(&mut self, name: &str, value: impl Fn(&'r T) -> Option<f64>) {
        self.push(name, true, Values::F64(self.rows.iter().map(|(_, row)| value(row)).collect()));
    }

    /// The table.
    pub(super) fn finish(self) -> Table<'o> {
        Table { columns: self.columns, rows: self.rows.len() }
    }

    /// Adds a key that a sweep varied: a column of numbers if all its values are, else of text. If all values have the
    /// same quantity, a column of numbers follows whose name ends in the unit: `flows.cbr.rate_bps`. A key that is
    /// called like a column, and `rtt`, whose number would be called like the measured round trip, is told apart by
    /// `point.` before its name.
    fn push_values(&mut self, key: &str, values: &[Option<&'o PointValue>]) {
        const OWN: [&str; 7] = ["outcome", "scenario", "engine", "seed", "runs", "label", "rtt"];
        let name = if OWN.contains(&key) { format!("point.{key}") } else { key.to_owned() };
        let number = |value: &PointValue| match *value {
            PointValue::Count(value) => Some(value as f64),
            PointValue::Ratio(value) => Some(value),
            PointValue::Switch(_) | PointValue::Text(_) => None,
        };
        if values.iter().flatten().all(|value| number(value).is_some()) {
            self.push(&name, true, Values::F64(values.iter().map(|value| number((*value)?)).collect()));
        } else {
            let text = values.iter().map(|value| value.map(|value| Cow::Owned(value.to_string())));
            self.push(&name, true, Values::Text(text.collect()));
            let read: Vec<_> = values.iter().map(|value| value.and_then(PointValue::quantity)).collect();
            let mut units = read.iter().flatten().map(|(_, unit)| *unit);
            let unit = units.next().filter(|unit| units.all(|other| other == *unit));
            let whole = read.iter().zip(values).all(|(read, value)| read.is_some() == value.is_some());
            if let Some(unit) = unit.filter(|_| whole) {
                let numbers = read.into_iter().map(|read| read.map(|(number, _)| number));
                self.push(&format!("{name}_{}", unit.suffix()), true, Values::F64(numbers.collect()));
            }
        }
    }

    fn push(&mut self, name: &str, nullable: bool, values: Values<'o>) {
        self.columns.push(TableColumn { name: name.to_owned(), nullable, values });
    }
}

/// All keys that were varied, in the order in which they first appear.
fn keys(outcomes: &[Outcome]) -> Vec<&str> {
    let mut keys = Vec::new();
    for (key, _) in outcomes.iter().filter_map(|outcome| outcome.point.as_ref()).flat_map(Point::iter) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}
