//! Numbers in the units of results: bit/s, seconds, packets and bytes.

use fairlane_outcome::PointValue;
use fairlane_qdisc::{Bytes, Domain, Duration, Kind, Packets, Rate};
use fairlane_scenario::{Document, Quantity};
use pyo3::prelude::*;

use crate::errors;

/// The largest whole number up to which a float has every one.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// Returns the quantity of the values of `key`; `None` if they have no unit, or no scenario has the key.
pub(crate) fn of(document: &Document, key: &str) -> Option<Quantity> {
    match key.rsplit_once('.') {
        None if key == "rtt" => Some(Quantity::Duration),
        Some((table, parameter)) if table.rsplit('.').next() == Some("queue") => {
            let kind = document.get(&format!("{table}.kind"));
            let kind =
                kind.as_ref().and_then(toml::Value::as_str).map_or(Some(Kind::DropTail), |kind| kind.parse().ok())?;
            let parameter = kind.parameters().iter().find(|known| known.key == parameter)?;
            match parameter.domain {
                Domain::Size | Domain::Packets => Some(Quantity::Size),
                Domain::Bytes => Some(Quantity::Bytes),
                Domain::Rate => Some(Quantity::Rate),
                Domain::Duration => Some(Quantity::Duration),
                _ => None,
            }
        }
        _ => {
            let mut probe = document.clone();
            probe.put(key, &1.into(), key).ok()?;
            probe.scenario().err()?.missing_unit()
        }
    }
}

/// Returns a number as text with its unit: bit/s, seconds, bytes, or packets for the size of a queue.
pub(crate) fn written(py: Python<'_>, quantity: Quantity, number: f64, key: &str) -> PyResult<String> {
    let (scale, whole) = match quantity {
        Quantity::Rate => (1.0, false),
        Quantity::Duration => (1e9, false),
        Quantity::Bytes | Quantity::Size => (1.0, true),
    };
    let scaled = (number * scale).round();
    if !(0.0..=LARGEST).contains(&scaled) || (whole && scaled != number) {
        let expected = match quantity {
            Quantity::Rate => "a rate in bit/s",
            Quantity::Duration => "a time in seconds",
            Quantity::Bytes => "a whole number of bytes",
            Quantity::Size => "a whole number of packets",
        };
        return Err(errors::refused(py, format!("{key}: {number} is not {expected}")));
    }
    let scaled = scaled as u64;
    Ok(match quantity {
        Quantity::Rate => Rate::from_bits_per_second(scaled).to_string(),
        Quantity::Duration => Duration::from_nanos(scaled).to_string(),
        Quantity::Bytes => format!("{scaled}b"),
        Quantity::Size => format!("{scaled}p"),
    })
}

fn named(name: &str) -> PyResult<Quantity> {
    match name {
        "rate" => Ok(Quantity::Rate),
        "time" => Ok(Quantity::Duration),
        "bytes" => Ok(Quantity::Bytes),
        "packets" => Ok(Quantity::Size),
        other => Err(errors::argument(format!("there is no quantity \"{other}\""))),
    }
}

/// Returns `number` as text with the unit of a `rate`, a `time`, `bytes` or `packets`; errors call it `name`.
#[pyfunction]
pub(crate) fn with_unit(py: Python<'_>, quantity: &str, number: f64, name: &str) -> PyResult<String> {
    written(py, named(quantity)?, number, name)
}

/// Returns the number in a text such as `1mbit`, `20ms`, `300p` or `150kb`, and the ending of columns of its unit.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<(f64, &'static str)> {
    PointValue::from(text).quantity().map(|(number, unit)| (number, unit.suffix()))
}

/// Returns the number in a text such as `1mbit`, a `rate`, or `20ms`, a `time`: in bit/s or seconds.
#[pyfunction]
pub(crate) fn number(py: Python<'_>, quantity: &str, text: &str) -> PyResult<f64> {
    let read = match named(quantity)? {
        Quantity::Rate => text.parse::<Rate>().map(|rate| rate.bits_per_second() as f64),
        Quantity::Duration => text.parse::<Duration>().map(Duration::as_secs),
        Quantity::Bytes => text.parse::<Bytes>().map(|bytes| bytes.get() as f64),
        Quantity::Size => text.parse::<Packets>().map(|packets| f64::from(packets.get())),
    };
    read.map_err(|error| errors::refused(py, error))
}
