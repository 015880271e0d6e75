//! Captures, models and the papers' claims.

use std::path::PathBuf;

use fairlane_capture::{FlowsBy, Network};
use fairlane_papers::{Library, Options, Plan, crosses, json};
use fairlane_qdisc::Rate;
use fairlane_runner::machine::thread_cpu_s;
use fairlane_runner::pool;
use fairlane_runner::replay::{self as captures, Selection};
use fairlane_sim::Control;
use fairlane_theory::Question;
use pyo3::prelude::*;

use crate::disciplines::{Given, config};
use crate::errors;
use crate::outcome::Outcome;
use crate::watched::watched;

/// The rate of the link of a replay, the seed, the definition of flows, and the network whose packets are sent.
pub(crate) type ReplayLink<'a> = (&'a str, u64, &'a str, Option<&'a str>);

/// Reads a replay's rate, seed, and the selection of its packets.
pub(crate) fn replay_link(
    py: Python<'_>,
    (rate, seed, flows, source): ReplayLink<'_>,
) -> PyResult<(Rate, u64, Selection)> {
    let rate: Rate = rate.parse().map_err(|error| errors::refused(py, format!("rate: {error}")))?;
    let flows: FlowsBy = flows.parse().map_err(|error| errors::argument(format!("flows: {error}")))?;
    let from = source.map(str::parse::<Network>).transpose();
    let from = from.map_err(|error| errors::argument(format!("source: {error}")))?;
    Ok((rate, seed, Selection { flows, from }))
}

/// Sends the packets of a capture through each of `queues`; also returns the number of packets that were out of order.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    file: PathBuf,
    queues: Vec<Given<'_>>,
    link: ReplayLink<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Outcome>, bool, u64)> {
    use rayon::prelude::*;
    let (rate, seed, selection) = replay_link(py, link)?;
    let queues = queues.iter().map(config).collect::<PyResult<Vec<_>>>()?;
    let prepared = captures::check(&file)
        .and_then(|()| queues.iter().try_for_each(|queue| captures::build(queue, rate, seed).map(drop)))
        .and_then(|()| pool(threads));
    let pool = prepared.map_err(|error| errors::batch(py, &error))?;
    let control = Control::with_clock(thread_cpu_s);
    let pass = |queue| {
        let passed = captures::pass(&file, (queue, rate, seed), selection, &control, &mut ());
        control.finish_one();
        passed
    };
    let passes = watched(py, &control, progress.as_ref(), queues.len() as u64, || {
        pool.install(|| queues.par_iter().map(pass).collect::<Result<Vec<_>, _>>())
    })?;
    let passes = passes.map_err(|error| errors::batch(py, &error))?;
    let late = passes.iter().map(|(_, findings)| findings.late.packets).max().unwrap_or(0);
    let outcomes: Vec<Outcome> =
        passes.into_iter().filter_map(|(outcome, _)| Some(Outcome::new(outcome?, None))).collect();
    let interrupted = outcomes.len() < queues.len() || outcomes.iter().any(|outcome| outcome.inner.partial);
    Ok((outcomes, interrupted, late))
}

/// Returns a model's answer to a question, both as JSON.
#[pyfunction]
pub(crate) fn theory(question: &str) -> PyResult<String> {
    let question: Question = serde_json::from_str(question).map_err(|error| errors::argument(error.to_string()))?;
    let answer = question.answer().map_err(|error| errors::argument(error.to_string()))?;
    Ok(answer.to_string())
}

/// Returns the claims that `ids` name as JSON, or all claims if `ids` is empty.
#[pyfunction]
pub(crate) fn claims(ids: Vec<String>) -> PyResult<String> {
    let library = library()?;
    let claims: Vec<_> = if ids.is_empty() {
        library.claims().collect()
    } else {
        library.select(&ids).map_err(|error| refused(&error))?
    };
    let all: Vec<_> = claims.into_iter().map(|(book, claim)| json::claim(book, claim)).collect();
    Ok(serde_json::Value::from(all).to_string())
}

/// Runs and judges the claims that `ids` name, and returns the verdicts as JSON, the number of finished runs and the
/// total.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    ids: Vec<String>,
    short: bool,
    runs: Option<u32>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, u64, u64)> {
    let library = library()?;
    let claims = library.select(&ids).map_err(|error| refused(&error))?;
    let plan = Plan::new(&library, claims, Options { short, runs }).map_err(|error| refused(&error))?;
    let pool = pool(threads).map_err(|error| errors::batch(py, &error))?;
    let control = Control::with_clock(thread_cpu_s);
    let (progress, all) = (progress.as_ref(), plan.runs());
    let results = watched(py, &control, progress, all, || pool.install(|| plan.execute(None, &control)))?;
    let results = results.map_err(|error| refused(&error))?;
    let verdicts = py.detach(|| plan.judge(&results)).map_err(|error| refused(&error))?;
    let tables = crosses(&verdicts, &results).map_err(|error| refused(&error))?;
    Ok((json::verdicts(&verdicts, &tables, results.partial).to_string(), control.finished(), all))
}

fn library() -> PyResult<Library> {
    Library::open().map_err(|error| refused(&error))
}

fn refused(error: &fairlane_papers::Error) -> PyErr {
    errors::argument(error.to_string())
}
