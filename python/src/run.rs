//! Runs, comparisons and sweeps.

use std::num::NonZeroU32;

use fairlane_qdisc::Kind;
use fairlane_runner::machine::thread_cpu_s;
use fairlane_runner::memory::Needs;
use fairlane_runner::sweep::typed;
use fairlane_runner::{Batch, BatchResult, Job, RecordedRun, Series, Trace, check, compare as choose};
use fairlane_scenario::{Duration, Scenario, ScenarioError};
use fairlane_sim::{Control, Fingerprint, run as simulate};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;

use crate::disciplines::{Given, config};
use crate::document::{Disciplines, Document, GivenDiscipline, Settings};
use crate::errors;
use crate::outcome::Outcome;
use crate::record_files::RecordFiles;
use crate::watched::watched;

/// Outcomes in order, and whether some of them are missing or partial because of Ctrl-C.
type Outcomes = (Vec<Outcome>, bool);

/// Options of a batch.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    runs: u32,
    threads: Option<usize>,
    /// Record the first run of each job over time, for a page.
    recorded: bool,
    /// Called with the number of finished runs and the total.
    progress: Option<Py<PyAny>>,
}

/// Runs a scenario `runs` times.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, document: &Bound<'_, Document>, options: Options) -> PyResult<Outcomes> {
    let job = Job::of(scenario(py, document)?);
    batch(py, &options, 1, |_| Ok(vec![job]))
}

/// Returns the kinds that are compared when none are given.
#[pyfunction]
pub(crate) fn usual(py: Python<'_>, document: &Bound<'_, Document>) -> PyResult<Vec<&'static str>> {
    Ok(choose::usual(&scenario(py, document)?).into_iter().map(Kind::name).collect())
}

/// Runs a scenario with each of `queues`: a kind, or a kind with its parameters.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    document: &Bound<'_, Document>,
    queues: Vec<Choice<'_>>,
    options: Options,
) -> PyResult<Outcomes> {
    let scenario = scenario(py, document)?;
    let job = |choice: &Choice<'_>| {
        let (scenario, asked) = match choice {
            Choice::Kind(name) => {
                let kind: Kind = name.parse().map_err(|error| errors::refused(py, error))?;
                (choose::with_kind(&scenario, kind), kind.name().to_owned())
            }
            Choice::Given(given) => {
                let parameters = config(given)?;
                (choose::with_parameters(&scenario, &parameters), parameters.kind().name().to_owned())
            }
        };
        Ok(Job { scenario: scenario.map_err(|error| errors::batch(py, &error))?, point: None, asked })
    };
    let jobs = queues.iter().map(job).collect::<PyResult<Vec<_>>>()?;
    batch(py, &options, jobs.len(), |_| Ok(jobs))
}

/// Runs a scenario at each of `points`.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    document: &Bound<'_, Document>,
    points: Vec<Settings>,
    disciplines: Vec<GivenDiscipline<'_>>,
    options: Options,
) -> PyResult<Outcomes> {
    let (document, disciplines) = (document.get(), Disciplines::read(disciplines)?);
    let job = |point: Settings| {
        let asked: Vec<String> = point.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let scenario = disciplines.at(&document.inner, &point)?;
        Ok(Job { scenario, point: Some(typed(&point)), asked: asked.join(" ") })
    };
    batch(py, &options, points.len(), |control| {
        points.into_iter().take_while(|_| !control.stopped()).map(job).collect()
    })
}

/// Runs a scenario once, and records series at an interval, a trace and files if requested.
#[pyfunction]
pub(crate) fn watch(
    py: Python<'_>,
    document: &Bound<'_, Document>,
    series: Option<&str>,
    trace: bool,
    files: RecordFiles,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcomes> {
    let scenario = scenario(py, document)?;
    let series = series.map(|every| interval(py, every)).transpose()?;
    let needs = Needs::of([&scenario], 1, None);
    let needs = series.map_or(needs, |every| needs.with_series(&scenario, every));
    needs.check().and_then(|()| check(&scenario, "")).map_err(|error| errors::batch(py, &error))?;
    let records = files.begin(py, document.get(), &scenario, series)?;
    let mut tables =
        (series.map(|every| Series::in_memory(every, &scenario)), trace.then(|| Trace::in_memory(&scenario)));
    let control = Control::default();
    let (run, (series, trace)) = watched(py, &control, progress.as_ref(), 1, || {
        let run = records.run(&scenario, &mut tables, &control);
        control.finish_one();
        (run, tables)
    })?;
    let RecordedRun { outcome, timeline, interrupted } = run.map_err(|error| errors::batch(py, &error))?;
    let Some(inner) = outcome else { return Ok((Vec::new(), interrupted)) };
    let mistake = |error: fairlane_outcome::tables::TableError| PyRuntimeError::new_err(error.to_string());
    let series = series.map(Series::into_batches).transpose().map_err(mistake)?;
    let trace = trace.map(Trace::into_batches).transpose().map_err(mistake)?;
    Ok((vec![Outcome { inner, timeline, series, trace }], interrupted))
}

/// Returns the fingerprint of a scenario's first run, strict and loose.
#[pyfunction]
pub(crate) fn fingerprint(py: Python<'_>, document: &Bound<'_, Document>) -> PyResult<(u64, u64)> {
    let scenario = scenario(py, document)?;
    Needs::of([&scenario], 1, Some(1)).check().map_err(|error| errors::batch(py, &error))?;
    let control = Control::default();
    let run = watched(py, &control, None, 1, || {
        let mut fingerprint = Fingerprint::default();
        simulate(&scenario, 0, &control, &mut fingerprint).map(|run| (fingerprint, run.partial))
    })?;
    let (fingerprint, partial) = run.map_err(|error| errors::refused(py, error))?;
    if partial { Err(PyKeyboardInterrupt::new_err(())) } else { Ok((fingerprint.strict(), fingerprint.loose())) }
}

/// A queue of a comparison.
#[derive(FromPyObject)]
pub(crate) enum Choice<'py> {
    /// A kind, with those of the scenario's parameters that it knows.
    Kind(String),
    /// A kind with these parameters and no others.
    Given(Given<'py>),
}

pub(crate) fn scenario(py: Python<'_>, document: &Bound<'_, Document>) -> PyResult<Scenario> {
    document.get().inner.scenario().map_err(|error| errors::scenario(py, &error))
}

pub(crate) fn interval(py: Python<'_>, every: &str) -> PyResult<Duration> {
    let every: Duration = every.parse().map_err(|error| errors::refused(py, format!("series: {error}")))?;
    if every == Duration::ZERO {
        return Err(errors::refused(py, "series: must be greater than zero, for example \"100ms\""));
    }
    Ok(every)
}

/// Creates `count` jobs and runs them. Ctrl-C is checked from the beginning, since creating and checking many jobs
/// takes time, too.
fn batch(
    py: Python<'_>,
    options: &Options,
    count: usize,
    jobs: impl FnOnce(&Control) -> Result<Vec<Job>, ScenarioError> + Send,
) -> PyResult<Outcomes> {
    let runs = NonZeroU32::new(options.runs).ok_or_else(|| errors::argument("runs: must be at least 1"))?;
    let (threads, recorded) = (options.threads, options.recorded);
    let control = Control::with_clock(thread_cpu_s);
    let total = count as u64 * u64::from(options.runs);
    let done = watched(py, &control, options.progress.as_ref(), total, || {
        let batch = Batch::stoppable(jobs(&control)?, runs, threads, &control)?;
        let batch = if recorded { batch.recorded() } else { batch };
        batch.execute(&control)
    })?;
    let BatchResult { outcomes, timelines, interrupted, .. } = done.map_err(|error| errors::batch(py, &error))?;
    let interrupted = interrupted || outcomes.len() < count;
    let outcomes = outcomes.into_iter().zip(timelines).map(|(inner, timeline)| Outcome::new(inner, timeline));
    Ok((outcomes.collect(), interrupted))
}
