//! The compiled part of the Python package `fairlane`.
//!
//! The module exposes the Rust crates to Python with plain values as arguments and results. The public interface and
//! its documentation are in `package/fairlane`.
#![allow(clippy::needless_pass_by_value, reason = "values converted from Python are owned by the function")]

mod advise;
mod application;
mod characterize;
mod congestion;
mod custom;
mod disciplines;
mod document;
mod endpoint;
mod errors;
mod methods;
mod more;
mod outcome;
mod quantity;
mod queue;
mod raised;
mod record_files;
mod run;
mod run_custom;
mod simulation;
mod table;
mod values;
mod watched;

use fairlane_runner::MOST_THREADS;
use fairlane_scenario::MOST_POINTS;
use pyo3::prelude::*;

/// Asks for huge pages: large runs read memory all over.
#[global_allocator]
static MEMORY: fairlane_alloc::HugePages = fairlane_alloc::HugePages;

/// Private: import `fairlane` instead.
#[pymodule]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::advise::{advice_page, advise, tune};
    #[pymodule_export]
    use super::application::{PyClient, PyServer};
    #[pymodule_export]
    use super::characterize::{Characterization, characterize};
    #[pymodule_export]
    use super::congestion::{PyAck, PyCongestionEvent, PyWindow};
    #[pymodule_export]
    use super::custom::{PyDropSink, PyPacket};
    #[pymodule_export]
    use super::disciplines::{check, explain, kinds};
    #[pymodule_export]
    use super::document::Document;
    #[pymodule_export]
    use super::more::{claims, judge, replay, theory};
    #[pymodule_export]
    use super::outcome::{Outcome, page, report, table};
    #[pymodule_export]
    use super::quantity::{number, quantity, with_unit};
    #[pymodule_export]
    use super::queue::{Queue, rate};
    #[pymodule_export]
    use super::run::{compare, fingerprint, run, sweep, usual, watch};
    #[pymodule_export]
    use super::run_custom::{replay_custom, run_custom};
    #[pymodule_export]
    use super::simulation::Simulation;
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("MOST_POINTS", MOST_POINTS)?;
        module.add("MOST_THREADS", MOST_THREADS)
    }
}
