//! Characterizations of disciplines by RFC 7928.

use std::num::NonZeroU32;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use fairlane_characterize::{
    CaseReport, GroupReport, Number, Plan, Report, Section, Settings, Subject, SubjectReport, page,
};
use fairlane_qdisc::{Duration, Rate};
use fairlane_sim::Control;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::disciplines::{Given, config};
use crate::errors;
use crate::table::Table;
use crate::watched::watched;

/// The settings of a report, as `fairlane.characterize` hands them over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    rate: String,
    rtt: String,
    buffer: String,
    only: Vec<String>,
    quick: bool,
    ecn: bool,
    runs: Option<u32>,
    seed: u64,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
}

impl Asked {
    fn settings(&self, py: Python<'_>) -> PyResult<Settings> {
        let rate: Rate = self.rate.parse().map_err(|error| errors::refused(py, format!("rate: {error}")))?;
        if rate.bits_per_second() == 0 {
            return Err(errors::refused(py, "rate: a link needs a rate above zero"));
        }
        let rtt: Duration = self.rtt.parse().map_err(|error| errors::refused(py, format!("rtt: {error}")))?;
        let buffer = self.buffer.parse().map_err(|error| errors::refused(py, format!("buffer: {error}")))?;
        let runs = self.runs.and_then(NonZeroU32::new);
        let Self { only, quick, ecn, seed, .. } = self;
        Ok(Settings { rate, rtt, buffer, ecn: *ecn, quick: *quick, runs, only: only.clone(), seed: *seed })
    }
}

/// The report of one or several disciplines.
#[pyclass(module = "fairlane._core", frozen)]
pub(crate) struct Characterization {
    report: Report,
}

/// Runs the scenarios of the chosen sections under each of `queues`, which have a label each.
#[pyfunction]
pub(crate) fn characterize(
    py: Python<'_>,
    queues: Vec<(String, Given<'_>)>,
    asked: Asked,
) -> PyResult<Characterization> {
    let subject = |(label, given): &(String, Given<'_>)| {
        Ok(Subject { label: label.clone(), parameters: config(given)?, cost: None })
    };
    let subjects = queues.iter().map(subject).collect::<PyResult<Vec<_>>>()?;
    let settings = asked.settings(py)?;
    let control = Control::default();
    let plan = watched(py, &control, None, 0, || Plan::new(subjects, settings, &control))?;
    let plan = plan.map_err(|error| errors::batch(py, &error))?;
    let report = watched(py, &control, asked.progress.as_ref(), plan.runs(), || plan.execute(asked.threads, &control))?;
    Ok(Characterization { report: report.map_err(|error| errors::batch(py, &error))? })
}

#[pymethods]
impl Characterization {
    /// Returns the report with this JSON.
    #[staticmethod]
    fn of(json: &str) -> PyResult<Self> {
        let report = serde_json::from_str(json).map_err(|error| errors::argument(error.to_string()))?;
        Ok(Self { report })
    }

    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    fn html(&self, command: &str) -> String {
        page(&self.report, command).to_html()
    }

    /// Returns a row for each group of flows under each discipline in each case.
    fn groups(&self) -> PyResult<Table> {
        let rows: Vec<(Row<'_>, &GroupReport)> =
            self.rows().flat_map(|row| row.2.groups.iter().map(move |group| (row, group))).collect();
        let all = || rows.iter().map(|(_, group)| *group);
        let mut table = Columns::about(rows.iter().map(|(row, _)| *row));
        table.text("group", all().map(|group| &*group.name));
        table.number("goodput_bps", all().map(|group| Some(group.goodput_bps)));
        table.number("queueing_s", all().map(|group| Some(group.queueing_s)));
        for (at, percentile) in ["p50", "p95", "p99"].into_iter().enumerate() {
            table.number(&format!("delay_{percentile}_s"), all().map(|group| Some(group.delay_s[at])));
        }
        for (at, percentile) in ["p50", "p95", "p99"].into_iter().enumerate() {
            table.number(&format!("variation_{percentile}_s"), all().map(|group| Some(group.variation_s[at])));
        }
        table.number("loss", all().map(|group| Some(group.loss)));
        table.number("gap_s", all().map(|group| group.gap_s));
        table.count("completed", all().map(|group| group.completed));
        table.number("startup_s", all().map(|group| group.startup_s));
        table.number("completion_s", all().map(|group| group.completion_s));
        table.single("completion_p95_s", all().map(|group| group.completion_p95_s));
        table.finish()
    }

    /// Returns a row for the first queue under study of each discipline in each case.
    fn queues(&self) -> PyResult<Table> {
        let all = || self.rows().map(|(.., subject)| &subject.queue);
        let mut table = Columns::about(self.rows());
        table.number("utilisation", all().map(|queue| Some(queue.utilisation)));
        table.number("delay_s", all().map(|queue| Some(queue.delay_s)));
        table.number("delay_p95_s", all().map(|queue| Some(queue.delay_p95_s)));
        table.number("loss", all().map(|queue| Some(queue.loss)));
        table.number("marked", all().map(|queue| Some(queue.marked)));
        table.number("synchronisation", all().map(|queue| queue.synchronisation));
        table.single("synchronisation_p90", all().map(|queue| queue.synchronisation_p90));
        table.finish()
    }
}

/// A discipline in a case of a section.
type Row<'r> = (&'r Section, &'r CaseReport, &'r SubjectReport);

impl Characterization {
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.report.sections.iter().flat_map(|section| {
            section.cases.iter().flat_map(move |case| case.subjects.iter().map(move |subject| (section, case, subject)))
        })
    }
}

/// The columns of a table.
#[derive(Default)]
struct Columns(Vec<(String, ArrayRef)>);

impl Columns {
    /// Returns the columns that say what each row is about.
    fn about<'r>(rows: impl Iterator<Item = Row<'r>>) -> Self {
        let rows: Vec<Row<'_>> = rows.collect();
        let mut columns = Self::default();
        columns.text("section", rows.iter().map(|(section, ..)| &*section.id));
        columns.text("case", rows.iter().map(|(_, case, _)| &*case.name));
        columns.text("queue", rows.iter().map(|(.., subject)| &*subject.label));
        columns.count("runs", rows.iter().map(|(.., subject)| subject.runs));
        columns
    }

    fn text<'r>(&mut self, name: &str, values: impl Iterator<Item = &'r str>) {
        self.0.push((name.to_owned(), Arc::new(StringArray::from_iter_values(values))));
    }

    fn count(&mut self, name: &str, values: impl Iterator<Item = usize>) {
        self.0.push((name.to_owned(), Arc::new(UInt64Array::from_iter_values(values.map(|value| value as u64)))));
    }

    fn single(&mut self, name: &str, values: impl Iterator<Item = Option<f64>>) {
        self.0.push((name.to_owned(), Arc::new(Float64Array::from_iter(values))));
    }

    /// Adds a mean and its interval.
    fn number(&mut self, name: &str, values: impl Iterator<Item = Option<Number>>) {
        let values: Vec<Option<Number>> = values.collect();
        self.single(name, values.iter().map(|value| value.map(|value| value.mean)));
        self.single(&format!("{name}_ci95"), values.iter().map(|value| value.and_then(|value| value.ci95)));
    }

    fn finish(self) -> PyResult<Table> {
        let made =
            RecordBatch::try_from_iter_with_nullable(self.0.into_iter().map(|(name, values)| (name, values, true)));
        let batch = made.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok(Table::new(vec![batch]))
    }
}
