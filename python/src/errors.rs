//! Conversion of errors to the exceptions of `fairlane.errors`.

use std::any::Any;
use std::fmt::Display;
use std::io;
use std::path::Path;

use fairlane_runner::Error;
use fairlane_scenario::ScenarioError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

const MODULE: &str = "fairlane.errors";

/// Options of the command line in messages, with the words for them here.
const OPTIONS: [(&str, &str); 8] = [
    ("--mahimahi", "mahimahi"),
    ("a program brings them with run_endpoints", "give what makes them with `endpoints`"),
    ("--queue ", ""),
    ("give all its values in one --vary", "give all its values in one list"),
    ("leave --jobs out for", "leave `jobs` out for"),
    ("ask for fewer with --jobs", "ask for fewer with `jobs`"),
    ("is asked on the command line: --runs 30", "is asked with the run: run(runs=30)"),
    (", which `fairlane scenarios` lists", ".toml in the folder scenarios of the repository"),
];

/// Converts the error of a rejected scenario: its text and its parts.
pub(crate) fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    exception_of(py, "ScenarioError", error)
}

/// Creates the error of a key that no scenario has.
pub(crate) fn unknown_key(py: Python<'_>, error: &ScenarioError) -> PyErr {
    exception_of(py, "UnknownKeyError", error)
}

fn exception_of(py: Python<'_>, class: &str, error: &ScenarioError) -> PyErr {
    let (line, column) = error.line_column().unzip();
    let help = error.help().map(in_python);
    let parts = (text(error), error.key(), help, error.file_name(), line, column, error.source_text());
    exception(py, class, parts)
}

/// The text of an error, in which a value of a sweep is not an option of the command line.
fn text(error: &ScenarioError) -> String {
    let said = error.to_string();
    let option = error.option().and_then(|option| Some((option, option.split_once(' ')?.1)));
    let said = match option {
        Some((option, setting)) if option.starts_with("--") => {
            match (said.strip_prefix(option), setting.split_once('=')) {
                (Some(rest), Some((key, value))) => format!("{key} = {value}{rest}"),
                (Some(rest), None) => format!("sweep{rest}"),
                (None, _) => said,
            }
        }
        _ => said,
    };
    in_python(&said)
}

fn in_python(text: &str) -> String {
    OPTIONS.iter().fold(text.to_owned(), |text, (option, words)| text.replace(option, words))
}

/// Creates an error about the options of a run.
pub(crate) fn refused(py: Python<'_>, message: impl Display) -> PyErr {
    exception(py, "ScenarioError", (in_python(&message.to_string()),))
}

/// Creates the error of an argument that is out of range or does not fit the others.
pub(crate) fn argument(message: impl Display) -> PyErr {
    Python::attach(|py| exception(py, "ArgumentError", (message.to_string(),)))
}

/// Creates the error of a call for which it is too late or too early.
pub(crate) fn state(message: impl Display) -> PyErr {
    Python::attach(|py| exception(py, "StateError", (message.to_string(),)))
}

/// Creates the error of a discipline written in Python that loses, duplicates or misuses packets.
pub(crate) fn discipline(py: Python<'_>, message: impl Display) -> PyErr {
    exception(py, "DisciplineError", (message.to_string(),))
}

/// Creates the error of a congestion control written in Python.
pub(crate) fn congestion(py: Python<'_>, message: impl Display) -> PyErr {
    exception(py, "CongestionError", (message.to_string(),))
}

/// Creates the error of an endpoint written in Python.
pub(crate) fn endpoint(py: Python<'_>, message: impl Display) -> PyErr {
    exception(py, "EndpointError", (message.to_string(),))
}

/// Converts the error of a rejected batch.
pub(crate) fn batch(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Scenario(error) => scenario(py, error),
        Error::Refused { .. } => refused(py, error),
        Error::Write { path, source } => unwritable(path, source),
    }
}

/// Creates the `OSError` of a file that cannot be written, of the class that Python has for it.
pub(crate) fn unwritable(path: &Path, error: &io::Error) -> PyErr {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())).into()
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
