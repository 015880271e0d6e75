//! The disciplines and their parameters.

use fairlane_qdisc::{Kind, Origin, QdiscParameters, Rate, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use crate::errors;

/// A discipline with its parameters, as `Discipline` hands it over.
pub(crate) type Given<'py> = (String, Bound<'py, PyDict>);

/// Reads a discipline's name and parameters.
pub(crate) fn config(given: &Given<'_>) -> PyResult<QdiscParameters> {
    let (name, parameters) = given;
    let py = parameters.py();
    let kind: Kind = name.parse().map_err(|error| errors::refused(py, error))?;
    let mut config = QdiscParameters::new(kind);
    for (key, value) in parameters {
        let key: String = key.extract()?;
        let value = parameter(&value).map_err(|what| {
            PyTypeError::new_err(format!(
                "{kind} {key}: a value is text, a number or a bool, and not of the type {what}"
            ))
        })?;
        config.set(&key, value).map_err(|error| errors::refused(py, format!("{kind} {error}")))?;
    }
    Ok(config)
}

/// A parameter's value, or the name of its type if it is of none that a parameter takes.
fn parameter(value: &Bound<'_, PyAny>) -> Result<Value, String> {
    if let Ok(switch) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(switch.is_true()));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(Value::Integer(number));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Value::Float(number));
    }
    let text = value.extract::<String>().map(Value::Text);
    text.map_err(|_| value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string()))
}

/// Every kind: name, summary, source, year, kept state, whether it is experimental, and its parameters with key,
/// domain, default and meaning.
#[pyfunction]
pub(crate) fn kinds(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let kind = |kind: Kind| {
        let made = PyDict::new(py);
        made.set_item("kind", kind.name())?;
        made.set_item("summary", kind.summary())?;
        made.set_item("source", kind.source())?;
        made.set_item("year", kind.year())?;
        made.set_item("keeps", kind.needs())?;
        made.set_item("experimental", kind.is_experimental())?;
        let parameters = kind.parameters().iter().map(|parameter| {
            let made = PyDict::new(py);
            made.set_item("key", parameter.key)?;
            made.set_item("domain", domain(parameter.domain))?;
            made.set_item("takes", parameter.domain.describe())?;
            made.set_item("default", parameter.default)?;
            made.set_item("meaning", parameter.meaning)?;
            Ok(made)
        });
        made.set_item("parameters", parameters.collect::<PyResult<Vec<_>>>()?)?;
        Ok(made)
    };
    Kind::ALL.into_iter().map(kind).collect()
}

/// Returns the name of a parameter's type.
const fn domain(domain: fairlane_qdisc::Domain) -> &'static str {
    use fairlane_qdisc::Domain;
    match domain {
        Domain::Size => "size",
        Domain::Bytes => "bytes",
        Domain::Packets => "packets",
        Domain::Rate => "rate",
        Domain::Duration => "duration",
        Domain::Count { infinite: false, .. } => "count",
        Domain::Count { infinite: true, .. } => "count or infinite",
        Domain::Ratio | Domain::Number { .. } => "number",
        Domain::Numbers { .. } => "numbers",
        Domain::Switch => "switch",
        Domain::Choice(_) => "choice",
        _ => "text",
    }
}

/// The rates of a usual, a slow and a fast link, in bit/s.
const RATES: [u64; 3] = [10_000_000, 1_000, 1_000_000_000_000];

/// Checks that each value is valid for its parameter, and that the values do not contradict each other on every link.
#[pyfunction]
pub(crate) fn check(given: Given<'_>) -> PyResult<()> {
    let config = config(&given)?;
    let refused = RATES.map(|rate| config.resolve(Rate::from_bits_per_second(rate)).err());
    match refused {
        // Some values only contradict each other at some rates, such as a limit in time and one in packets.
        [Some(error), Some(_), Some(_)] => Err(errors::refused(given.1.py(), format!("{} {error}", config.kind()))),
        _ => Ok(()),
    }
}

/// Every parameter as it will be used on a link of `rate`: rows of key, value, origin, reason and meaning; then the
/// consequences, and the warnings.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "it is plain values that go to Python")]
pub(crate) fn explain(
    given: Given<'_>,
    rate: &str,
) -> PyResult<(Vec<(String, String, String, Option<String>, String)>, Vec<String>, Vec<String>)> {
    let py = given.1.py();
    let rate: Rate = rate.parse().map_err(|error| errors::refused(py, format!("rate: {error}")))?;
    let config = config(&given)?;
    let explained = config.explain(rate).map_err(|error| errors::refused(py, format!("{} {error}", config.kind())))?;
    let rows = explained.parameters.into_iter().map(|parameter| {
        let (origin, why) = match parameter.origin {
            Origin::Given => ("given", None),
            Origin::Default(why) => ("default", Some(why)),
            Origin::Derived(rule) => ("derived", Some(rule)),
        };
        let (key, meaning) = (parameter.key.to_owned(), parameter.meaning.to_owned());
        (key, parameter.value, origin.to_owned(), why.map(str::to_owned), meaning)
    });
    Ok((rows.collect(), explained.consequences, explained.warnings))
}
