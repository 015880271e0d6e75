//! Conversion of errors to the exceptions of `fairlane.errors`.

use std::any::Any;
use std::fmt::Display;

use fairlane_runner::Error;
use fairlane_scenario::ScenarioError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

const MODULE: &str = "fairlane.errors";

/// Converts the error of a rejected scenario: its text and its parts.
pub(crate) fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let (line, column) = error.line_column().unzip();
    let parts = (error.to_string(), error.key(), error.help(), error.file_name(), line, column, error.source_text());
    exception(py, "ScenarioError", parts)
}

/// Creates an error about the options of a run.
pub(crate) fn refused(py: Python<'_>, message: impl Display) -> PyErr {
    exception(py, "ScenarioError", (message.to_string(),))
}

/// Creates the error of a discipline written in Python that loses, duplicates or misuses packets.
pub(crate) fn discipline(py: Python<'_>, message: impl Display) -> PyErr {
    exception(py, "DisciplineError", (message.to_string(),))
}

/// Converts the error of a rejected batch.
pub(crate) fn batch(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Scenario(error) => scenario(py, error),
        Error::Refused { .. } => refused(py, error),
    }
}

/// Converts a panic, which is a bug in Fairlane.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = format!("this is a bug in Fairlane, please report it: {}", said.unwrap_or("a thread panicked"));
    PyRuntimeError::new_err(message)
}

fn exception<'py>(py: Python<'py>, name: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import(MODULE).and_then(|module| module.getattr(name)).and_then(|class| class.call1(arguments));
    made.map_or_else(|error| error, PyErr::from_value)
}
