//! Results of an experiment: one row for each point and run.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// A row: the values of the axes, `experiment`, `run`, and the measures.
pub type Row = Map<String, Value>;

/// The table of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The rows, point by point and in these run by run.
    pub rows: Vec<Row>,
}

impl Table {
    /// The rows of run `run`, one a point.
    pub fn run(&self, run: u64) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.get("run").and_then(Value::as_u64) == Some(run))
    }

    /// Number of runs of the point that has the most.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.rows.iter().filter_map(|row| row.get("run")?.as_u64()).max().map_or(0, |last| last + 1)
    }

    /// The table as CSV: a line of names, then a line per row. Measures that are not a single number or text are left
    /// out.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            for (name, value) in row {
                if !(value.is_array() || value.is_object() || names.contains(&name.as_str())) {
                    names.push(name);
                }
            }
        }
        let mut writer = csv::Writer::from_writer(Vec::new());
        // Writing to memory cannot fail, and all rows have the same length.
        let _ = writer.write_record(&names);
        for row in &self.rows {
            let _ = writer.write_record(names.iter().map(|name| cell(row.get(*name))));
        }
        writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// Returns true if `row` is at the point `at`: every requested value is the same.
pub(crate) fn is_at(row: &Row, at: &BTreeMap<String, Value>) -> bool {
    at.iter().all(|(name, asked)| row.get(name).is_some_and(|value| same(value, asked)))
}

/// Returns true if two values are equal; numbers are compared by value, not by spelling.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn csv_has_every_single_number() {
        let row = |value: Value| value.as_object().cloned().unwrap_or_default();
        let table = Table {
            rows: vec![
                row(json!({ "run": 0, "name": "a, \"b\"", "x": 1.5, "all": [1] })),
                row(json!({ "run": 1, "x": null, "y": 2 })),
            ],
        };
        assert_eq!(table.to_csv(), "run,name,x,y\n0,\"a, \"\"b\"\"\",1.5,\n1,,,2\n");
        assert_eq!((table.runs(), table.run(1).count()), (2, 1));
    }

    #[test]
    fn numbers_are_the_same_however_written() {
        let row = json!({ "m": 1, "kind": "red" }).as_object().cloned().unwrap_or_default();
        let at = |value: Value| value.as_object().cloned().unwrap_or_default().into_iter().collect();
        assert!(is_at(&row, &at(json!({ "m": 1.0, "kind": "red" }))));
        assert!(!is_at(&row, &at(json!({ "m": 2 }))) && !is_at(&row, &at(json!({ "k": 1 }))));
    }
}
