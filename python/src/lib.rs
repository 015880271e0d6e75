//! The compiled part of the Python package `fairlane`.
//!
//! It hands over what the crates below do, with plain values on its border; what a Python user sees, and its documentation,
//! is in `package/fairlane`.
#![allow(clippy::needless_pass_by_value, reason = "what comes from Python is owned by the function that takes it")]

mod disciplines;
mod document;
mod errors;
mod more;
mod outcome;
mod own;
mod queue;
mod run;
mod run_own;
mod table;
mod values;
mod watched;

use fairlane_batch::MOST_THREADS;
use pyo3::prelude::*;

/// Private: import `fairlane` instead.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::disciplines::{check, explain, kinds};
    #[pymodule_export]
    use super::document::Document;
    #[pymodule_export]
    use super::more::{claims, judge, replay, theory};
    #[pymodule_export]
    use super::outcome::{Outcome, page, report, table};
    #[pymodule_export]
    use super::own::{Fate, Packet};
    #[pymodule_export]
    use super::queue::{Queue, rate};
    #[pymodule_export]
    use super::run::{compare, fingerprint, run, sweep, watch};
    #[pymodule_export]
    use super::run_own::run_own;
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("MOST_THREADS", MOST_THREADS)
    }
}
