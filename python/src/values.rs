//! Values of a scenario between Python and TOML.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::errors;

/// Deepest nesting of a scenario; a list that contains itself would exceed it.
const DEEPEST: usize = 16;

/// Converts a Python value to TOML; `key` is its path, for messages.
pub(crate) fn to_toml(value: &Bound<'_, PyAny>, key: &str) -> PyResult<toml::Value> {
    within(value, key, 0)
}

fn within(value: &Bound<'_, PyAny>, key: &str, depth: usize) -> PyResult<toml::Value> {
    if depth > DEEPEST {
        return Err(errors::argument(format!("{key}: no scenario nests as deeply as this value")));
    }
    // A bool is an int to Python.
    if let Ok(switch) = value.cast::<PyBool>() {
        Ok(switch.is_true().into())
    } else if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>();
        number.map(Into::into).map_err(|_| {
            let most = i64::MAX;
            errors::refused(value.py(), format!("{key}: {value} is too large or too small: numbers go up to {most}"))
        })
    } else if let Ok(number) = value.cast::<PyFloat>() {
        Ok(number.value().into())
    } else if let Ok(text) = value.cast::<PyString>() {
        let read = text.to_cow().map_err(|error| {
            errors::refused(value.py(), format!("{key}: this text cannot be written as UTF-8: {error}"))
        })?;
        Ok(read.into_owned().into())
    } else if let Ok(table) = value.cast::<PyDict>() {
        let mut made = toml::Table::new();
        for (name, value) in table {
            let name: String = name.extract().map_err(|_| {
                let place = if key.is_empty() { String::new() } else { format!("{key}: ") };
                PyTypeError::new_err(format!("{place}the keys of a table are text, and {name} is not"))
            })?;
            let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            made.insert(name, within(&value, &inner, depth + 1)?);
        }
        Ok(made.into())
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| within(&item?, key, depth + 1));
        Ok(toml::Value::Array(items.collect::<PyResult<_>>()?))
    } else {
        let what = value.get_type();
        let name = what.name()?;
        let message = format!("{key}: a value is text, a number, a bool, a list or a dict, and not of the type {name}");
        Err(PyTypeError::new_err(message))
    }
}

/// A value of a scenario file in Python.
pub(crate) fn from_toml<'py>(py: Python<'py>, value: &toml::Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        toml::Value::String(text) => PyString::new(py, text).into_any(),
        toml::Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        toml::Value::Float(number) => PyFloat::new(py, *number).into_any(),
        toml::Value::Boolean(switch) => PyBool::new(py, *switch).to_owned().into_any(),
        toml::Value::Datetime(date) => PyString::new(py, &date.to_string()).into_any(),
        toml::Value::Array(items) => {
            let items = items.iter().map(|item| from_toml(py, item));
            PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any()
        }
        toml::Value::Table(table) => from_table(py, table)?.into_any(),
    })
}

/// A table of a scenario file as a dict.
pub(crate) fn from_table<'py>(py: Python<'py>, table: &toml::Table) -> PyResult<Bound<'py, PyDict>> {
    let made = PyDict::new(py);
    for (key, value) in table {
        made.set_item(key, from_toml(py, value)?)?;
    }
    Ok(made)
}
