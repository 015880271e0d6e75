//! Exceptions of what is written in Python, on their way through the simulator.

use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_sim::Error;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors;

/// The first exception of a congestion control or an endpoint in a run.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Returns the exception for a run that `error` ended: what the method raised is its cause, unless that is Ctrl-C.
pub(crate) fn exception(py: Python<'_>, error: Error, raised: &Raised) -> PyErr {
    let cause = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (error, cause) {
        (_, Some(cause)) if cause.is_instance_of::<PyKeyboardInterrupt>(py) => cause,
        (Error::Congestion(fault), Some(cause)) => {
            let at = fault.at.as_secs();
            let text = format!("flow {} at {at} s: its congestion control raised {cause}", fault.flow);
            because(py, errors::congestion(py, text), cause)
        }
        (Error::Congestion(fault), None) => errors::congestion(py, fault),
        (Error::Endpoint(error), Some(cause)) => {
            let text = format!("{}: it raised {cause}", error.place());
            because(py, errors::endpoint(py, text), cause)
        }
        (Error::Endpoint(error), None) => errors::endpoint(py, error),
        (error, _) => errors::refused(py, error),
    }
}

/// Returns `error` with its cause.
fn because(py: Python<'_>, error: PyErr, cause: PyErr) -> PyErr {
    error.set_cause(py, Some(cause));
    error
}

/// Keeps an exception and ends the run.
pub(crate) fn fail(raised: &Raised, error: PyErr) -> ! {
    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    resume_unwind(Box::new("an exception in Python"))
}
