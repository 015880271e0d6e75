//! Long work on a separate thread, with progress and Ctrl-C.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fairlane_sim::Control;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Runs `work` without blocking other Python threads. Ten times a second it checks for signals and calls `progress`
/// with the number of finished runs and `total`. After Ctrl-C the work stops and returns its results so far; any other
/// exception is raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    control: &Control,
    progress: Option<&Py<PyAny>>,
    total: u64,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let tell = |py: Python<'_>| {
        let told = progress.map(|progress| progress.call1(py, (control.finished(), total)));
        told.map_or(Ok(()), |told| told.map(drop))
    };
    let (result, stopped) = py.detach(|| {
        thread::scope(|scope| {
            let (working, done) = mpsc::channel::<()>();
            let worker = scope.spawn(move || {
                // Dropping it ends the loop below, also if the work panics.
                let _working = working;
                work()
            });
            let mut stopped = None;
            while done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if stopped.is_none() {
                    stopped = Python::attach(|py| py.check_signals().and_then(|()| tell(py))).err();
                }
                if stopped.is_some() {
                    control.stop();
                }
            }
            (worker.join(), stopped)
        })
    });
    match stopped {
        Some(error) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => return Err(error),
        Some(_) => {}
        None => tell(py)?,
    }
    result.map_err(|panic| errors::panicked(panic.as_ref()))
}
