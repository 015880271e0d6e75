//! Tables of experiments by two of their axes.

use serde_json::Value;

use crate::Error;
use crate::book::CrossText;
use crate::expression::{Expression, Input};
use crate::plan::Results;
use crate::verdict::Verdict;

/// A table by two axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cross {
    /// Its unique name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The name of the axis of the lines, then the values of that of the columns.
    pub head: Vec<String>,
    /// The lines: a value of the axis, then the cells; a point that was not run has an empty one.
    pub lines: Vec<Vec<String>>,
}

/// Returns the tables of the experiments that test the claims of `verdicts`, where they were run.
///
/// # Errors
/// The program of a cell fails.
pub fn crosses(verdicts: &[Verdict<'_>], results: &Results) -> Result<Vec<Cross>, Error> {
    let mut crosses: Vec<Cross> = Vec::new();
    for verdict in verdicts {
        for text in verdict.book.tables.iter().filter(|text| verdict.claim.experiments.contains(&text.experiment)) {
            if crosses.iter().any(|cross| cross.id == text.id) {
                continue;
            }
            let cross = text.fill(results).map_err(|why| Error::Book {
                name: format!("{}.toml", verdict.book.paper.id),
                why: format!("the table {}: {why}", text.id),
            })?;
            crosses.extend(cross);
        }
    }
    Ok(crosses)
}

impl CrossText {
    /// Fills the table from `results`; `None` if its experiment was not run.
    fn fill(&self, results: &Results) -> Result<Option<Cross>, String> {
        let Some(table) = results.tables.get(&self.experiment) else { return Ok(None) };
        let cell = Expression::new(&self.cell)?;
        let values = |axis: &str| {
            let mut values: Vec<&Value> = Vec::new();
            for value in table.rows.iter().filter_map(|row| row.get(axis)) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            values
        };
        let (lines, columns) = (values(&self.lines), values(&self.columns));
        if lines.is_empty() || columns.is_empty() {
            return Ok(None);
        }
        let head = [self.lines.clone()].into_iter().chain(columns.iter().map(|column| shown(column))).collect();
        let at = |line: &Value, column: &Value| {
            let rows = table.rows.iter().map(|row| Value::Object(row.clone()));
            let rows = rows.filter(|row| row.get(&self.lines) == Some(line) && row.get(&self.columns) == Some(column));
            let rows: Vec<Value> = rows.collect();
            if rows.is_empty() {
                return Ok(String::new());
            }
            let found = cell.apply(&Input::new(&Value::Array(rows))?)?;
            Ok::<_, String>(found.map_or_else(String::new, |value| shown(&value)))
        };
        let line = |line: &&Value| {
            let cells = columns.iter().map(|column| at(line, column));
            [Ok(shown(line))].into_iter().chain(cells).collect::<Result<Vec<_>, _>>()
        };
        let lines = lines.iter().map(line).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(Cross { id: self.id.clone(), title: self.title.clone(), head, lines }))
    }
}

/// Returns a value as a cell.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.2}", number.as_f64().unwrap_or(f64::NAN)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::table::{Row, Table};

    /// Two runs of three of the four points.
    fn results() -> Results {
        let row = |case: &str, queue: &str, run: u64, gain: f64| -> Row {
            let value = json!({ "case": case, "queue": queue, "run": run, "gain": gain });
            value.as_object().cloned().unwrap_or_default()
        };
        let rows = vec![
            row("a", "echo", 0, 1.0),
            row("a", "echo", 1, 2.0),
            row("a", "choke", 0, 4.0),
            row("b", "echo", 0, 0.25),
        ];
        let tables = BTreeMap::from([("e".to_owned(), Table { rows })]);
        Results { tables, ..Results::default() }
    }

    fn text(cell: &str) -> CrossText {
        CrossText {
            id: "t".to_owned(),
            title: "T".to_owned(),
            experiment: "e".to_owned(),
            lines: "case".to_owned(),
            columns: "queue".to_owned(),
            cell: cell.to_owned(),
        }
    }

    /// Would catch cells at another point, runs that are left out, and a point without runs that is a number.
    #[test]
    fn cells_are_those_of_their_points() {
        let cross = text("[.[].gain] | add / length").fill(&results()).unwrap().unwrap();
        assert_eq!(cross.head, ["case", "echo", "choke"]);
        assert_eq!(cross.lines, [["a", "1.50", "4.00"], ["b", "0.25", ""]]);
        let cross = text(r#""\(length) runs""#).fill(&results()).unwrap().unwrap();
        assert_eq!(cross.lines[0], ["a", "2 runs", "1 runs"]);
    }

    #[test]
    fn an_experiment_that_was_not_run_has_no_table() {
        let other = CrossText { experiment: "f".to_owned(), ..text(".") };
        assert_eq!(other.fill(&results()), Ok(None));
        assert!(text("error(\"no\")").fill(&results()).is_err());
    }
}
