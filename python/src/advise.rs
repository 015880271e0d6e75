//! The search for a discipline and its parameters.

use std::num::NonZeroU32;

use fairlane_advise::{Advice, AdvisePlan, AdviseSettings, Error, Link, TunePlan, TuneSettings, page};
use fairlane_qdisc::{Duration, Kind, Rate};
use fairlane_runner::machine::within;
use fairlane_sim::Control;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::document::Document;
use crate::errors;
use crate::watched::watched;

/// The settings of a search for parameters, as `Scenario.tune` hands them over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TuneAsked {
    kind: String,
    goal: String,
    runs: u32,
    budget: u32,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
}

/// The settings of an advice, as `fairlane.advise` hands them over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AdviceAsked {
    rate: String,
    rtt: String,
    goal: String,
    mix: String,
    on: String,
    no_flow_state: bool,
    kinds: Vec<String>,
    time: String,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
}

/// Searches the parameters of a discipline, and returns the JSON of the result; nothing after Ctrl-C.
#[pyfunction]
pub(crate) fn tune(py: Python<'_>, document: &Bound<'_, Document>, asked: TuneAsked) -> PyResult<Option<String>> {
    let document = document.get().inner.clone();
    let goal = asked.goal.parse().map_err(|error| errors::refused(py, error))?;
    let runs = NonZeroU32::new(asked.runs).unwrap_or(NonZeroU32::MIN);
    let settings = TuneSettings { kind: kind(py, &asked.kind)?, goal, runs, budget: asked.budget };
    let plan = TunePlan::new(&document, settings, asked.threads).map_err(|error| refused(py, &error))?;
    let control = Control::default();
    let done = watched(py, &control, asked.progress.as_ref(), plan.runs(), || plan.execute(asked.threads, &control));
    finished(py, &control, done)
}

/// Advises a discipline for a link, and returns the JSON of the advice; nothing after a Ctrl-C before its first part.
#[pyfunction]
pub(crate) fn advise(py: Python<'_>, asked: AdviceAsked) -> PyResult<Option<String>> {
    let rate: Rate = asked.rate.parse().map_err(|error| errors::refused(py, format!("rate: {error}")))?;
    if rate.bits_per_second() == 0 {
        return Err(errors::refused(py, "rate: a link needs a rate above zero"));
    }
    let rtt: Duration = asked.rtt.parse().map_err(|error| errors::refused(py, format!("rtt: {error}")))?;
    let mix = asked.mix.parse().map_err(|error| errors::refused(py, error))?;
    let goal = asked.goal.parse().map_err(|error| errors::refused(py, error))?;
    let settings = AdviseSettings {
        link: Link { rate, rtt, mix },
        goal,
        on: asked.on.parse().map_err(|error: String| errors::refused(py, error))?,
        no_flow_state: asked.no_flow_state,
        kinds: asked.kinds.iter().map(|name| kind(py, name)).collect::<PyResult<_>>()?,
        seed: asked.seed,
    };
    let time: Duration = asked.time.parse().map_err(|error| errors::refused(py, format!("time: {error}")))?;
    let time = std::time::Duration::from_nanos(time.as_nanos());
    let plan = AdvisePlan::new(settings, asked.threads).map_err(|error| refused(py, &error))?;
    let control = Control::default();
    let total = plan.runs();
    let work = || within(time, &control, || plan.execute(asked.threads, &control)).0;
    match watched(py, &control, asked.progress.as_ref(), total, work) {
        // After Ctrl-C an answer is partial too.
        Ok(Ok(advice)) => json(&advice).map(Some),
        done => finished(py, &control, done),
    }
}

/// Returns the page of an advice with this JSON.
#[pyfunction]
pub(crate) fn advice_page(json: &str, command: &str) -> PyResult<String> {
    let advice: Advice = serde_json::from_str(json).map_err(|error| errors::argument(error.to_string()))?;
    Ok(page(&advice, command).to_html())
}

fn kind(py: Python<'_>, name: &str) -> PyResult<Kind> {
    name.parse().map_err(|error| errors::refused(py, error))
}

/// Returns the JSON of what a search has found; nothing after Ctrl-C, which may also come in the last call of the
/// progress.
fn finished(
    py: Python<'_>,
    control: &Control,
    done: PyResult<Result<impl serde::Serialize, Error>>,
) -> PyResult<Option<String>> {
    let done = match done {
        Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => return Ok(None),
        Ok(Err(_)) if control.stopped() => return Ok(None),
        done => done?,
    };
    let done = done.map_err(|error| refused(py, &error))?;
    json(&done).map(Some)
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn refused(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Text(error) => errors::refused(py, error),
        Error::Run(error) => errors::batch(py, error),
    }
}
