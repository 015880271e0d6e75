//! Columns of a table over rows of any type.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchOptions, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::TableError;
use crate::{Estimate, Outcome, Point, PointValue};

/// The columns so far: first those that say to which outcome a row belongs.
pub(super) struct Columns<'a, T> {
    rows: &'a [(usize, T)],
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl<'a, T> Columns<'a, T> {
    /// Of `rows`, each with the number of its outcome.
    pub(super) fn of(rows: &'a [(usize, T)], outcomes: &'a [Outcome]) -> Self {
        let mut columns = Self { rows, fields: Vec::new(), arrays: Vec::new() };
        let outcome = |number: usize| outcomes.get(number);
        columns.push("outcome", false, UInt64Array::from_iter_values(rows.iter().map(|(number, _)| *number as u64)));
        let number = |field: fn(&Outcome) -> u64| {
            UInt64Array::from_iter_values(rows.iter().map(|(number, _)| outcome(*number).map_or(0, field)))
        };
        let text = |field: fn(&Outcome) -> &String| {
            StringArray::from_iter_values(rows.iter().map(|(number, _)| outcome(*number).map_or("", |it| field(it))))
        };
        columns.push("scenario", false, text(|outcome| &outcome.scenario));
        columns.push("engine", false, text(|outcome| &outcome.engine));
        columns.push("seed", false, number(|outcome| outcome.seed));
        columns.push("runs", false, number(|outcome| outcome.runs));
        for key in keys(outcomes) {
            let value = |number: usize| outcome(number).and_then(|outcome| outcome.point.as_ref()?.get(key));
            columns.push_values(key, &rows.iter().map(|(number, _)| value(*number)).collect::<Vec<_>>());
        }
        columns
    }

    /// Adds a column of text.
    pub(super) fn text<'t>(&mut self, name: &str, value: impl Fn(&'a T) -> &'t str)
    where
        'a: 't,
    {
        self.push(name, false, StringArray::from_iter_values(self.rows.iter().map(|(_, row)| value(row))));
    }

    /// Adds a column of whole numbers.
    pub(super) fn number(&mut self, name: &str, value: impl Fn(&'a T) -> u64) {
        self.push(name, false, UInt64Array::from_iter_values(self.rows.iter().map(|(_, row)| value(row))));
    }

    /// Adds a column of numbers and, as `{name}_ci95`, one of the half widths of their intervals.
    pub(super) fn estimate(&mut self, name: &str, value: impl Fn(&'a T) -> Option<Estimate>) {
        let values: Vec<Option<Estimate>> = self.rows.iter().map(|(_, row)| value(row)).collect();
        self.push(name, true, values.iter().map(|value| Some((*value)?.mean)).collect::<Float64Array>());
        let ci95 = values.iter().map(|value| (*value)?.ci95()).collect::<Float64Array>();
        self.push(&format!("{name}_ci95"), true, ci95);
    }

    /// The table.
    pub(super) fn finish(self) -> Result<RecordBatch, TableError> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(self.fields)), self.arrays, &options)?)
    }

    /// Adds a key that a sweep varied: a column of numbers if all its values are, else of text. A key that is called
    /// like a column is told apart by `point.` before its name.
    fn push_values(&mut self, key: &str, values: &[Option<&PointValue>]) {
        const OWN: [&str; 5] = ["outcome", "scenario", "engine", "seed", "runs"];
        let name = if OWN.contains(&key) { format!("point.{key}") } else { key.to_owned() };
        let number = |value: &PointValue| match *value {
            PointValue::Count(value) => Some(value as f64),
            PointValue::Ratio(value) => Some(value),
            PointValue::Switch(_) | PointValue::Text(_) => None,
        };
        if values.iter().flatten().all(|value| number(value).is_some()) {
            self.push(&name, true, values.iter().map(|value| number((*value)?)).collect::<Float64Array>());
        } else {
            let text = values.iter().map(|value| value.map(ToString::to_string));
            self.push(&name, true, text.collect::<StringArray>());
        }
    }

    fn push(&mut self, name: &str, nullable: bool, array: impl arrow_array::Array + 'static) {
        let data_type: DataType = array.data_type().clone();
        self.fields.push(Field::new(name, data_type, nullable));
        self.arrays.push(Arc::new(array));
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
