//! Outcomes and their reports.

use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use fairlane_outcome::{
    DelayBin, DelayHistogram, GroupTimeline, Outcome as Inner, QueueTimeline, ShaperTimeline, Timeline, tables as made,
};
use fairlane_report::html::{Origin, compare_page, run_page, sweep_page};
use fairlane_report::{Details, Terminal, compare_table, run_report, sweep_table};
use fairlane_runner::sweep::typed;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::document::Settings;
use crate::errors;
use crate::table::{Table, to_bytes};

/// An outcome with the recorded course of its first run.
#[pyclass(module = "fairlane._core", frozen)]
pub(crate) struct Outcome {
    pub(crate) inner: Inner,
    pub(crate) timeline: Option<Timeline>,
    /// The series of flows and of queues.
    pub(crate) series: Option<[Vec<RecordBatch>; 2]>,
    pub(crate) trace: Option<Vec<RecordBatch>>,
}

impl Outcome {
    pub(crate) const fn new(inner: Inner, timeline: Option<Timeline>) -> Self {
        Self { inner, timeline, series: None, trace: None }
    }
}

/// A name with series of values.
type PlainSeries = (String, Vec<Vec<f64>>);

/// A queue's series, and the names and values of its thresholds.
type PlainQueue = (PlainSeries, Vec<(String, f64)>);

/// A timeline as plain values: the times, and the series of the queues, groups and shapers.
type PlainTimeline = (Vec<f64>, Vec<PlainQueue>, Vec<PlainSeries>, Vec<PlainSeries>);

/// All data of an outcome as plain values: its JSON form; the histograms of its queues and of its groups' transfers;
/// its timeline; its tables.
type Parts<'py> = (String, Vec<Vec<(u64, u64, u64)>>, Option<PlainTimeline>, Vec<Option<Bound<'py, PyBytes>>>);

#[pymethods]
impl Outcome {
    fn to_json(&self) -> String {
        self.inner.to_json()
    }

    #[getter]
    fn partial(&self) -> bool {
        self.inner.partial
    }

    /// Returns the series of flows or of queues, if it was recorded.
    fn series(&self, of_queues: bool) -> Option<Table> {
        self.series.as_ref().map(|tables| Table::new(tables[usize::from(of_queues)].clone()))
    }

    #[getter]
    fn trace(&self) -> Option<Table> {
        self.trace.clone().map(Table::new)
    }

    /// Returns a copy whose summaries show this queue.
    fn shown_at(&self, queue: String) -> Self {
        Self {
            inner: Inner { at: Some(queue), ..self.inner.clone() },
            timeline: self.timeline.clone(),
            series: self.series.clone(),
            trace: self.trace.clone(),
        }
    }

    /// Returns a copy with this label and, if settings are given, this point.
    fn named(&self, label: Option<String>, settings: Settings) -> Self {
        let point = if settings.is_empty() { self.inner.point.clone() } else { Some(typed(&settings)) };
        Self {
            inner: Inner { label, point, ..self.inner.clone() },
            timeline: self.timeline.clone(),
            series: self.series.clone(),
            trace: self.trace.clone(),
        }
    }

    /// The report of the command line.
    fn report(&self, width: usize) -> String {
        run_report(&self.inner, &Terminal { width, colour: false, details: Details::ALL })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| self.inner.to_json_without_cost() == other.get().inner.to_json_without_cost())
    }

    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Parts<'py>> {
        let bins = |bin: &DelayBin| (bin.from_ns, bin.to_ns, bin.packets);
        let of_queues = self.inner.queues.iter().map(|queue| &queue.delay_histogram);
        let of_groups =
            self.inner.groups.iter().filter_map(|group| Some(&group.transfers.as_ref()?.completion_histogram));
        let histograms = of_queues.chain(of_groups).map(|histogram| histogram.bins().iter().map(bins).collect());
        let [flows, queues] = match &self.series {
            Some([flows, queues]) => [Some(flows), Some(queues)],
            None => [None, None],
        };
        let tables = [flows, queues, self.trace.as_ref()];
        let tables = tables.map(|table| table.map(|batches| bytes_of(py, batches)).transpose());
        let tables = tables.into_iter().collect::<PyResult<_>>()?;
        Ok((self.inner.to_json(), histograms.collect(), self.timeline.clone().map(plain), tables))
    }

    #[staticmethod]
    fn from_parts(parts: Parts<'_>) -> PyResult<Self> {
        let (json, histograms, timeline, tables) = parts;
        let mut inner = Inner::from_json(&json).map_err(|error| errors::argument(error.to_string()))?;
        let of_queues = inner.queues.iter_mut().map(|queue| &mut queue.delay_histogram);
        let with_transfers = inner.groups.iter_mut().filter_map(|group| group.transfers.as_mut());
        let of_groups = with_transfers.map(|transfers| &mut transfers.completion_histogram);
        for (histogram, bins) in of_queues.chain(of_groups).zip(histograms) {
            let bins = bins.into_iter().map(|(from_ns, to_ns, packets)| DelayBin { from_ns, to_ns, packets });
            *histogram = DelayHistogram::from_bins(bins);
        }
        let mut tables = tables.into_iter().map(|table| table.map(|bytes| from_bytes(bytes.as_bytes())).transpose());
        let mut next = || tables.next().transpose().map(Option::flatten);
        let (flows, queues, trace) = (next()?, next()?, next()?);
        let series = flows.zip(queues).map(|(flows, queues)| [flows, queues]);
        Ok(Self { inner, timeline: timeline.map(unplain), series, trace })
    }
}

fn bytes_of<'py>(py: Python<'py>, batches: &[RecordBatch]) -> PyResult<Bound<'py, PyBytes>> {
    let Some(first) = batches.first() else { return Ok(PyBytes::new(py, &[])) };
    to_bytes(py, &first.schema(), batches)
}

fn from_bytes(bytes: &[u8]) -> PyResult<Vec<RecordBatch>> {
    let read = StreamReader::try_new(Cursor::new(bytes), None).and_then(Iterator::collect);
    read.map_err(|error| errors::argument(error.to_string()))
}

fn plain(timeline: Timeline) -> PlainTimeline {
    let queue = |queue: QueueTimeline| {
        let QueueTimeline { name, packets, average, probability, dropped_pps, marked_pps, thresholds } = queue;
        ((name, vec![packets, average, probability, dropped_pps, marked_pps]), thresholds)
    };
    let queues = timeline.queues.into_iter().map(queue);
    let group = |group: GroupTimeline| {
        let GroupTimeline { name, goodput_bps, cwnd_packets, srtt_s, window_correlation } = group;
        (name, vec![goodput_bps, cwnd_packets, srtt_s, window_correlation.into_iter().collect()])
    };
    let groups = timeline.groups.into_iter().map(group);
    let shapers = timeline.shapers.into_iter().map(|shaper| (shaper.name, vec![shaper.rate_bps, shaper.link_bps]));
    (timeline.time_s, queues.collect(), groups.collect(), shapers.collect())
}

fn unplain((time_s, queues, groups, shapers): PlainTimeline) -> Timeline {
    /// Takes the series out one after the other; one that is missing is empty.
    fn each<const COUNT: usize>(series: Vec<Vec<f64>>) -> [Vec<f64>; COUNT] {
        let mut series = series.into_iter();
        std::array::from_fn(|_| series.next().unwrap_or_default())
    }
    let queue = |((name, series), thresholds): PlainQueue| {
        let [packets, average, probability, dropped_pps, marked_pps] = each(series);
        QueueTimeline { name, packets, average, probability, dropped_pps, marked_pps, thresholds }
    };
    let group = |(name, series): PlainSeries| {
        let [goodput_bps, cwnd_packets, srtt_s, correlation] = each(series);
        GroupTimeline { name, goodput_bps, cwnd_packets, srtt_s, window_correlation: correlation.first().copied() }
    };
    let shaper = |(name, series): PlainSeries| {
        let [rate_bps, link_bps] = each(series);
        ShaperTimeline { name, rate_bps, link_bps }
    };
    let queues = queues.into_iter().map(queue).collect();
    Timeline {
        time_s,
        queues,
        groups: groups.into_iter().map(group).collect(),
        shapers: shapers.into_iter().map(shaper).collect(),
    }
}

/// One of the tables of `docs/outcome.md`, of several outcomes.
#[pyfunction]
pub(crate) fn table(name: &str, outcomes: Vec<Py<Outcome>>) -> PyResult<Table> {
    let outcomes = inner(&outcomes);
    let table = match name {
        "queues" => made::queues(&outcomes),
        "flows" => made::flows(&outcomes),
        "groups" => made::groups(&outcomes),
        "queue_flows" => made::queue_flows(&outcomes),
        "delay_histogram" => made::delay_histogram(&outcomes),
        "each_run" => made::each_run(&outcomes),
        other => return Err(errors::argument(format!("there is no table \"{other}\""))),
    };
    table.batch().map(|batch| Table::new(vec![batch])).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Returns the page of a `run`, of a `compare` or of a `sweep`.
#[pyfunction]
pub(crate) fn page(
    of: &str,
    outcomes: Vec<Py<Outcome>>,
    command: String,
    scenario: String,
    missing: Option<String>,
) -> String {
    let origin = Origin { command, scenario, changes: String::new(), missing };
    let timelines: Vec<Option<Timeline>> = outcomes.iter().map(|outcome| outcome.get().timeline.clone()).collect();
    let all = inner(&outcomes);
    let page = match (of, &*all) {
        ("run", [one]) => run_page(one, timelines.first().and_then(Option::as_ref), &origin),
        ("sweep", _) => sweep_page(&all, &origin),
        _ => compare_page(&all, &timelines, None, &origin),
    };
    page.to_html()
}

/// Returns the table of a comparison or of a sweep, as the command line prints it.
#[pyfunction]
pub(crate) fn report(of: &str, outcomes: Vec<Py<Outcome>>, width: usize) -> String {
    let (all, terminal) = (inner(&outcomes), Terminal { width, colour: false, details: Details::ALL });
    if of == "sweep" { sweep_table(&all, &terminal) } else { compare_table(&all, None, &[], &terminal) }
}

fn inner(outcomes: &[Py<Outcome>]) -> Vec<Inner> {
    outcomes.iter().map(|outcome| outcome.get().inner.clone()).collect()
}
