//! The points of an experiment with their settings.

use std::collections::BTreeMap;

use fairlane_scenario::{Document, bundled};
use serde_json::{Map, Value};

use crate::book::{Axis, Choice, Experiment, Form};
use crate::table::{Row, same};

/// Default number of runs of an experiment.
const RUNS: u32 = 5;

/// A point: a value of each axis, with their settings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExperimentPoint {
    /// The columns of its rows: the axes with their values.
    pub(crate) columns: Row,
    /// The settings, the experiment's own first; later ones take precedence.
    pub(crate) settings: Vec<(String, Value)>,
}

impl Experiment {
    /// True if the experiment has no randomness, so that all runs are equal.
    pub(crate) fn is_exact(&self) -> bool {
        self.theory.is_some() || self.arithmetic
    }

    /// Returns the scenario.
    pub(crate) fn document(&self) -> Result<Document, String> {
        let name = self.scenario.as_deref().unwrap_or_default();
        match (&self.place, bundled(name)) {
            (_, Some(bundled)) => bundled.document().map_err(|error| error.to_string()),
            (Some(place), None) => {
                Document::load(place.file.with_file_name(name)).map_err(|error| format!("scenario: {error}"))
            }
            (None, None) => Err(format!("there is no scenario \"{name}\"")),
        }
    }

    /// Returns the name of the scenario's file, if there is one.
    #[must_use]
    pub fn scenario_file(&self) -> Option<String> {
        let name = self.scenario.as_deref()?;
        Some(if bundled(name).is_some() { format!("scenarios/{name}.toml") } else { name.to_owned() })
    }

    /// Returns the number of runs of each point in `form`.
    pub(crate) fn runs(&self, form: &Form) -> u32 {
        if self.is_exact() { 1 } else { form.runs.unwrap_or(RUNS) }
    }

    /// The points of `form`: all combinations of its values, the last axis by name varying fastest.
    pub(crate) fn points(&self, form: &Form) -> Vec<ExperimentPoint> {
        let text = |(key, value): (&String, &String)| (key.clone(), Value::String(value.clone()));
        let settings = self.set.iter().chain(&form.set).map(text).collect();
        let mut points = vec![ExperimentPoint { columns: Map::new(), settings }];
        for (name, axis) in &self.vary {
            let chosen = axis.chosen(form.vary.get(name));
            points =
                points.iter().flat_map(|point| chosen.iter().map(|choice| point.with(name, axis, choice))).collect();
        }
        points
    }
}

impl Axis {
    /// The values of the axis; with `only`, the values named there, or new ones.
    fn chosen(&self, only: Option<&Vec<Value>>) -> Vec<Choice> {
        let Some(only) = only else { return self.values.clone() };
        let find = |name: &Value| {
            let known = self.values.iter().find(|choice| same(&choice.name(), name));
            known.cloned().unwrap_or_else(|| Choice::Value(name.clone()))
        };
        only.iter().map(find).collect()
    }
}

impl ExperimentPoint {
    fn with(&self, name: &str, axis: &Axis, choice: &Choice) -> Self {
        let mut point = self.clone();
        point.columns.insert(name.to_owned(), choice.name());
        match (choice, &axis.key) {
            (Choice::Named(named), _) => point.settings.extend(named.set.clone()),
            (Choice::Value(value), Some(key)) => point.settings.push((key.clone(), value.clone())),
            (Choice::Value(_), None) => {}
        }
        point
    }

    /// A question with the point's settings in it.
    pub(crate) fn question(&self, question: &BTreeMap<String, Value>) -> Value {
        let mut keys: Map<String, Value> = question.clone().into_iter().collect();
        keys.extend(self.settings.iter().cloned());
        Value::Object(keys)
    }
}

/// A value as `--set` takes it.
pub(crate) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(written).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment() -> Experiment {
        let text = r#"
            id = "x"
            about = "."
            scenario = "choke-fig3"
            set = { "access.rate" = "20mbit" }
            vary.kind = { values = [{ name = "R1", set = { "q.kind" = "red", "q.weight" = 0.0002 } }, { name = "B1", set = { "q.kind" = "blue" } }] }
            vary.rate = { key = "flows.cbr.rate", values = ["1mbit", "2mbit"] }
            short = { runs = 2, vary = { rate = ["2mbit"], kind = ["B1"] }, set = { duration = "10s" } }
        "#;
        toml::from_str(text).expect("it is one")
    }

    #[test]
    fn all_combinations_are_points() {
        let experiment = experiment();
        let points = experiment.points(&experiment.full);
        let columns: Vec<String> =
            points.iter().map(|point| Value::Object(point.columns.clone()).to_string()).collect();
        assert_eq!(
            columns.join(" "),
            r#"{"kind":"R1","rate":"1mbit"} {"kind":"R1","rate":"2mbit"} {"kind":"B1","rate":"1mbit"} {"kind":"B1","rate":"2mbit"}"#
        );
        let written: Vec<String> =
            points[1].settings.iter().map(|(key, value)| format!("{key}={}", written(value))).collect();
        assert_eq!(written.join(" "), "access.rate=20mbit q.kind=red q.weight=0.0002 flows.cbr.rate=2mbit");
        assert_eq!(experiment.runs(&experiment.full), 5);
    }

    #[test]
    fn the_short_form_has_fewer() {
        let experiment = experiment();
        let points = experiment.points(&experiment.short);
        assert_eq!((points.len(), experiment.runs(&experiment.short)), (1, 2));
        let keys: Vec<&str> = points[0].settings.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["access.rate", "duration", "q.kind", "flows.cbr.rate"]);
    }
}
