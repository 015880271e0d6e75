//! The data that the script of a page draws, as JSON. `web/src/data.ts` reads it.

use std::collections::BTreeMap;

use fairlane_outcome::Estimate;
use serde_json::{Map, Value, json};

use super::chart::{Bins, Chart, Lines, Panel};
use super::table::{Cell, Table};
use crate::figure::{Axis, LineStyle, Mark};

/// Series of more values are written with as many digits as can be seen.
const LONG: usize = 120;
/// The digits of the largest value of a long series.
const DIGITS: i32 = 4;
/// The same for places on the horizontal axis, whose differences count.
const PLACE_DIGITS: i32 = 6;
/// The base of the digits of a step, below the bit that says that more follow.
const BASE: u64 = 32;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The figures of a page, and the columns that they share.
#[derive(Debug, Default)]
pub(super) struct Data {
    columns: Vec<Value>,
    /// The number of each column by its text: figures over the same places share them.
    numbers: BTreeMap<String, usize>,
    figures: Vec<Value>,
}

impl Data {
    /// Adds a chart and returns its number.
    pub(super) fn chart(&mut self, chart: &Chart) -> usize {
        let figure = match chart {
            Chart::Lines { chart, .. } => json!({ "kind": "chart", "chart": self.lines(chart) }),
            Chart::Stack { keys, panels, .. } => {
                let panels: Vec<Value> = panels.iter().map(|panel| self.lines(panel)).collect();
                json!({ "kind": "stack", "keys": keys, "panels": panels })
            }
            Chart::Grid { cells, .. } => {
                let cells: Vec<Value> = cells.iter().map(|cell| self.lines(cell)).collect();
                json!({ "kind": "grid", "cells": cells })
            }
            Chart::Scatter { x, panels, .. } => {
                let half = |value: &Estimate| value.ci95().filter(|half| half.is_finite()).unwrap_or(0.0);
                let place = |(name, x, y): &(String, Estimate, Estimate)| json!({ "name": name, "x": x.mean, "y": y.mean, "ex": half(x), "ey": half(y) });
                let panel = |panel: &Panel| {
                    let places: Vec<Value> = panel.places.iter().map(place).collect();
                    json!({ "title": panel.title, "y": axis(&panel.y), "places": places })
                };
                let panels: Vec<Value> = panels.iter().map(panel).collect();
                json!({ "kind": "scatter", "x": axis(x), "panels": panels })
            }
        };
        self.add(figure)
    }

    /// Adds a table and returns its number.
    pub(super) fn records(&mut self, label: &str, table: &Table) -> usize {
        let cell = |cell: &Cell| match cell {
            Cell::Value { value, .. } if value.is_finite() => json!(value),
            cell => json!(cell.plain()),
        };
        let fields: Vec<Value> = table
            .all()
            .map(|column| json!({ "title": column.title, "cells": column.cells.iter().map(cell).collect::<Vec<_>>() }))
            .collect();
        self.add(json!({ "kind": "records", "label": label, "fields": fields }))
    }

    /// Adds a file and returns its number.
    pub(super) fn file(&mut self, label: &str, text: &str) -> usize {
        self.add(json!({ "kind": "file", "label": label, "text": text }))
    }

    /// The JSON text, without anything that could end the element around it.
    pub(super) fn to_json(&self) -> String {
        json!({ "columns": self.columns, "figures": self.figures }).to_string().replace('<', "\\u003c")
    }

    fn add(&mut self, figure: Value) -> usize {
        self.figures.push(figure);
        self.figures.len() - 1
    }

    fn lines(&mut self, chart: &Lines) -> Value {
        let lines: Vec<Value> = chart
            .lines
            .iter()
            .zip(chart.keys.iter().map(Some).chain(std::iter::repeat(None)))
            .map(|(line, key)| {
                let places: Vec<f64> = line.points.iter().map(|(x, _)| *x).collect();
                let means: Vec<f64> = line.points.iter().map(|(_, y)| y.mean).collect();
                let halves: Vec<f64> = line.points.iter().map(|(_, y)| y.ci95().unwrap_or(f64::NAN)).collect();
                let mut written = Map::new();
                written.insert("name".to_owned(), json!(line.name));
                written.insert("style".to_owned(), json!(style(line.style)));
                written.insert("x".to_owned(), json!(self.column(&places, PLACE_DIGITS)));
                written.insert("y".to_owned(), json!(self.column(&means, DIGITS)));
                if halves.iter().any(|half| half.is_finite()) {
                    written.insert("e".to_owned(), json!(self.column(&halves, DIGITS)));
                }
                if let Some(key) = key {
                    written.insert("key".to_owned(), json!(key));
                }
                Value::Object(written)
            })
            .collect();
        let mark = |mark: &Mark| json!({ "at": mark.at, "label": mark.label });
        let marks: Vec<Value> = chart.marks.iter().filter(|mark| mark.at.is_finite()).map(mark).collect();
        let mut written = json!({
            "title": chart.title,
            "x": axis(&chart.x),
            "y": axis(&chart.y),
            "lines": lines,
            "marks": marks,
            "groups": chart.groups,
        });
        if let Some(object) = written.as_object_mut() {
            let bins = chart.bins.map(|bins| if bins == Bins::Mean { "mean" } else { "range" });
            object.extend(chart.warmup.map(|end| ("warmup".to_owned(), json!(end))));
            object.extend(bins.map(|bins| ("bins".to_owned(), json!(bins))));
        }
        written
    }

    /// The number of a column of these values.
    fn column(&mut self, values: &[f64], digits: i32) -> usize {
        let column = if values.len() > LONG {
            let (unit, steps) = steps(values, digits);
            json!({ "unit": unit, "steps": steps })
        } else {
            json!(values.iter().map(|value| value.is_finite().then_some(*value)).collect::<Vec<_>>())
        };
        let next = self.columns.len();
        let number = *self.numbers.entry(column.to_string()).or_insert(next);
        if number == next {
            self.columns.push(column);
        }
        number
    }
}

fn axis(axis: &Axis) -> Value {
    let mut written = json!({ "label": axis.label, "log": axis.log });
    let ends = [axis.range.0, axis.range.1].map(|end| end.is_finite().then_some(end));
    if let (Some(object), [Some(_), _] | [_, Some(_)]) = (written.as_object_mut(), ends) {
        object.insert("range".to_owned(), json!(ends));
    }
    written
}

const fn style(style: LineStyle) -> &'static str {
    match style {
        LineStyle::Marked => "marked",
        LineStyle::Plain => "plain",
        LineStyle::Steps => "steps",
        LineStyle::Points => "points",
    }
}

/// The values as steps between whole multiples of a unit, a power of ten. Whole numbers keep all their digits, others
/// as many as the largest one needs to have `digits`.
fn steps(values: &[f64], digits: i32) -> (f64, String) {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let largest = finite().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let whole = largest < 1e9 && finite().all(|value| value == libm::trunc(value));
    let place = if whole || largest == 0.0 { 0 } else { libm::floor(libm::log10(largest)) as i32 + 1 - digits };
    // Powers below 1 are divisors, so that a value is the nearest to its decimal.
    let (times, divisor) = (libm::pow(10.0, f64::from(place.max(0))), libm::pow(10.0, f64::from((-place).max(0))));
    let mut text = String::with_capacity(values.len() * 2);
    let mut last = 0_i64;
    for value in values {
        if !value.is_finite() {
            text.push('~');
            continue;
        }
        let now = libm::round(value / times * divisor) as i64;
        push(&mut text, now - last);
        last = now;
    }
    (times / divisor, text)
}

/// Writes a step: digits in base 32, the lowest first, with the sign in the lowest bit.
fn push(text: &mut String, step: i64) {
    let mut rest = step.unsigned_abs() << 1 | u64::from(step < 0);
    loop {
        let (digit, more) = (rest % BASE, rest / BASE);
        let digit = if more > 0 { digit + BASE } else { digit };
        text.push(char::from(ALPHABET[digit as usize]));
        if more == 0 {
            return;
        }
        rest = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 1 is 2 = `C`, −1 is 3 = `D`, 16 is 32 = 0 with more and 1: `gB`.
    #[test]
    fn steps_are_written_by_the_rule() {
        assert_eq!(steps(&[1.0, 0.0, f64::NAN, 16.0], 4), (1.0, "CD~gB".to_owned()));
        // 0.125 of at most 1.5: four digits are thousandths; 125 is 250 = 26 + 7 · 32, 1375 is 2750 = 30 + 21 · 32 + 2
        // · 1024.
        assert_eq!(steps(&[0.125, 1.5], 4), (0.001, "6H+1C".to_owned()));
    }

    /// Would catch a name that ends the element which holds the data.
    #[test]
    fn data_cannot_end_its_element() {
        let mut data = Data::default();
        data.file("</script><!--", "</script>");
        assert!(!data.to_json().contains('<'));
    }
}
