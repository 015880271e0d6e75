//! Outcomes as tables: CSV and, with the feature `parquet`, Arrow record batches and Parquet.
//!
//! `docs/outcome.md` describes every table and column. Numbers with an interval have two columns, `x` and `x_ci95`; the
//! second is empty for a single run. The columns do not depend on the measured values.

#[cfg(feature = "parquet")]
mod batches;
mod cell;
mod columns;
mod read;
mod rows;
mod series;
mod table;
mod trace;
mod write;

use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
pub use arrow_array::RecordBatch;
pub use read::read_groups;
pub use series::SeriesWriter;
pub use table::Table;
pub use trace::{TraceEvent, TracePacket, TraceRow, TraceWriter};

use crate::{Estimate, Extent, GroupOutcome, Outcome, QueueOutcome, Reason, RunValues, TransferOutcome, VideoOutcome};
use columns::Columns;
use write::Format;

/// Why a table could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The name does not say in which format to write.
    #[error("cannot tell the format of `{}`: let its name end in .parquet or .csv", path.display())]
    Extension {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// Parquet is asked for, and this build cannot write it.
    #[cfg(not(feature = "parquet"))]
    #[error("cannot write `{}`: Parquet needs the feature `parquet` of fairlane-outcome; let the name end in .csv", path.display())]
    NoParquet {
        /// The file that was to be written.
        path: PathBuf,
    },
    /// The file could not be written.
    #[error("cannot write `{}`: {source}; choose a place that exists, that has room and that you may write to", path.display())]
    Write {
        /// The file that was to be written.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file could not be read.
    #[error("cannot read `{}`: {cause}", path.display())]
    Read {
        /// The file that was to be read.
        path: PathBuf,
        /// The mistake, and the remedy.
        cause: String,
    },
    /// Arrow refused the table.
    #[cfg(feature = "parquet")]
    #[error("cannot make the table")]
    Arrow(#[from] arrow_schema::ArrowError),
}

impl TableError {
    fn write(path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Write { path: path.to_owned(), source: source.into() }
    }
}

/// A row for each queue of each outcome.
#[must_use]
pub fn queues(outcomes: &[Outcome]) -> Table<'_> {
    let rows = rows(outcomes, |outcome| outcome.queues.iter().collect());
    let mut columns = Columns::of(rows.as_slice(), outcomes);
    columns.text("queue", |queue| &queue.name);
    columns.text("kind", |queue| &queue.kind);
    columns.estimate("arrived", |queue| Some(queue.arrived));
    columns.estimate("departed", |queue| Some(queue.departed));
    columns.estimate("marked", |queue| Some(queue.marked));
    for reason in Reason::ALL {
        columns.estimate(&format!("dropped_{reason}"), |queue| Some(queue.dropped.get(reason)));
    }
    columns.estimate("lost", |queue| Some(queue.lost));
    columns.estimate("mean_packets", |queue| Some(queue.mean_packets));
    columns.estimate("mean_avg", |queue| queue.mean_avg);
    columns.estimate("delay_mean_s", |queue| Some(queue.delay_s.mean));
    columns.estimate("delay_p50_s", |queue| Some(queue.delay_s.p50));
    columns.estimate("delay_p95_s", |queue| Some(queue.delay_s.p95));
    columns.estimate("delay_p99_s", |queue| Some(queue.delay_s.p99));
    columns.estimate("utilisation", |queue| Some(queue.utilisation));
    columns.estimate("normalised_deviation", |queue| Some(queue.normalised_deviation));
    columns.finish()
}

/// A row for each flow of each outcome.
#[must_use]
pub fn flows(outcomes: &[Outcome]) -> Table<'_> {
    let rows = rows(outcomes, |outcome| outcome.flows.iter().collect());
    let mut columns = Columns::of(rows.as_slice(), outcomes);
    columns.number("id", |flow| u64::from(flow.id));
    columns.text("flow", |flow| &flow.name);
    columns.text("group", |flow| &flow.group);
    columns.text("kind", |flow| &flow.kind);
    columns.estimate("sent", |flow| Some(flow.sent));
    columns.estimate("delivered", |flow| Some(flow.delivered));
    columns.estimate("dropped", |flow| Some(flow.dropped));
    columns.estimate("lost", |flow| Some(flow.lost));
    columns.estimate("throughput_bps", |flow| Some(flow.throughput_bps));
    columns.estimate("goodput_bps", |flow| Some(flow.goodput_bps));
    columns.estimate("drop_ratio", |flow| Some(flow.drop_ratio));
    columns.estimate("queue_share", |flow| Some(flow.queue_share));
    columns.estimate("retransmitted", |flow| Some(flow.retransmitted));
    columns.estimate("timeouts", |flow| Some(flow.timeouts));
    columns.estimate("delay_s", |flow| flow.delay_s);
    columns.estimate("jitter_s", |flow| flow.jitter_s);
    columns.estimate("rtt_s", |flow| flow.rtt_s);
    transfers(&mut columns, |flow| flow.transfers.as_deref());
    video(&mut columns, |flow| flow.video.as_deref());
    columns.finish()
}

/// A row for each group of each outcome at each queue that summaries show and where its packets came: see
/// [`Outcome::shown_queues`]. A group that came to none of them has one row without a queue.
#[must_use]
pub fn groups(outcomes: &[Outcome]) -> Table<'_> {
    let rows = rows(outcomes, |outcome| {
        let at_queues = |group: &'_ GroupOutcome| {
            let queues = outcome.shown_queues().filter(|queue| queue.group(&group.name).is_some());
            let mut rows: Vec<_> = queues.map(Some).collect();
            if rows.is_empty() {
                rows.push(None);
            }
            rows
        };
        outcome.groups.iter().flat_map(|group| at_queues(group).into_iter().map(move |queue| (group, queue))).collect()
    });
    let mut columns = Columns::of(rows.as_slice(), outcomes);
    columns.text("group", |(group, _)| &group.name);
    columns.text("transport", |(group, _)| &group.transport);
    columns.number("flows", |(group, _)| group.flows);
    columns.estimate("throughput_bps", |(group, _)| Some(group.throughput_bps));
    columns.estimate("share", |(group, _)| Some(group.share));
    columns.estimate("drop_ratio", |(group, _)| Some(group.drop_ratio));
    columns.value("fair_bps", |(group, _)| group.fair_bps);
    columns.value("fair_share", |(group, _)| group.fair_share);
    columns.estimate("queue_share", |(group, queue)| Some(queue.as_ref()?.group(&group.name)?.queue_share));
    columns.estimate("jain", |(group, _)| group.jain);
    columns.estimate("retransmitted", |(group, _)| Some(group.retransmitted));
    columns.estimate("timeouts", |(group, _)| Some(group.timeouts));
    columns.estimate("delay_s", |(group, _)| group.delay_s);
    columns.estimate("jitter_s", |(group, _)| group.jitter_s);
    columns.estimate("rtt_s", |(group, _)| group.rtt_s);
    transfers(&mut columns, |(group, _)| group.transfers.as_deref());
    video(&mut columns, |(group, _)| group.video.as_deref());
    columns.estimate("mos", |(group, _)| group.score.as_ref()?.mos);
    columns.estimate("qoo", |(group, _)| group.score.as_ref()?.qoo);
    columns.text("queue", |(_, queue)| queue.map_or("", |queue| &queue.name));
    columns.text("queue_kind", |(_, queue)| queue.map_or("", |queue| &queue.kind));
    let mut of_queue = |name, field: fn(&QueueOutcome) -> Estimate| {
        columns.estimate(name, |(_, queue)| queue.map(field));
    };
    of_queue("queue_utilisation", |queue| queue.utilisation);
    of_queue("queue_mean_packets", |queue| queue.mean_packets);
    of_queue("queue_delay_mean_s", |queue| queue.delay_s.mean);
    of_queue("queue_delay_p95_s", |queue| queue.delay_s.p95);
    of_queue("queue_marked", |queue| queue.marked);
    columns.finish()
}

/// Adds the columns of completed transfers; nulls for rows without.
fn transfers<'r, T>(columns: &mut Columns<'r, '_, T>, of: impl Fn(&'r T) -> Option<&'r TransferOutcome>) {
    columns.estimate("transfers", |row| Some(of(row)?.completed));
    columns.estimate("completion_mean_s", |row| Some(of(row)?.completion_s.as_ref()?.mean));
    columns.estimate("completion_p50_s", |row| Some(of(row)?.completion_s.as_ref()?.p50));
    columns.estimate("completion_p95_s", |row| Some(of(row)?.completion_s.as_ref()?.p95));
    columns.estimate("completion_p99_s", |row| Some(of(row)?.completion_s.as_ref()?.p99));
    columns.estimate("startup_s", |row| of(row)?.startup_s);
}

/// Adds the columns of adaptive video; nulls for rows without.
fn video<'r, T>(columns: &mut Columns<'r, '_, T>, of: impl Fn(&'r T) -> Option<&'r VideoOutcome>) {
    columns.estimate("video_bit_rate_bps", |row| of(row)?.bit_rate_bps);
    columns.estimate("video_stalls", |row| Some(of(row)?.stalls));
    columns.estimate("video_stalled_s", |row| Some(of(row)?.stalled_s));
    columns.estimate("video_switches", |row| Some(of(row)?.switches));
    columns.estimate("video_startup_s", |row| of(row)?.startup_s);
}

/// A row for each group in each run of each outcome, at each queue that summaries show; a single run has the outcome's
/// own values.
#[must_use]
pub fn each_run(outcomes: &[Outcome]) -> Table<'_> {
    let rows = rows(outcomes, |outcome| {
        let single = || vec![RunValues::of(0, &outcome.groups, &outcome.queues)];
        let runs = if outcome.each_run.is_empty() { single() } else { outcome.each_run.clone() };
        let mut rows = Vec::new();
        for run in &runs {
            for group in &outcome.groups {
                let Some(values) = run.groups.get(&group.name) else { continue };
                let here = outcome.shown_queues().filter(|queue| queue.group(&group.name).is_some());
                let mut at: Vec<_> =
                    here.filter_map(|queue| Some((queue, *run.queues.get(&queue.name)?))).map(Some).collect();
                if at.is_empty() {
                    at.push(None);
                }
                rows.extend(at.into_iter().map(|queue| (run.run, group, *values, queue)));
            }
        }
        rows
    });
    let mut columns = Columns::of(rows.as_slice(), outcomes);
    columns.number("run", |(run, ..)| u64::from(*run));
    columns.text("group", |(_, group, ..)| &group.name);
    columns.value("throughput_bps", |(_, _, values, _)| Some(values.throughput_bps));
    columns.value("share", |(_, _, values, _)| Some(values.share));
    columns.text("queue", |(.., queue)| queue.map_or("", |(queue, _)| &queue.name));
    columns.text("queue_kind", |(.., queue)| queue.map_or("", |(queue, _)| &queue.kind));
    columns.value("queue_delay_mean_s", |(.., queue)| queue.map(|(_, values)| values.delay_mean_s));
    columns.value("queue_utilisation", |(.., queue)| queue.map(|(_, values)| values.utilisation));
    columns.finish()
}

/// A row for each flow at each queue of each outcome.
#[must_use]
pub fn queue_flows(outcomes: &[Outcome]) -> Table<'_> {
    let rows = rows(outcomes, |outcome| {
        outcome.queues.iter().flat_map(|queue| queue.flows.iter().map(|flow| (queue.name.as_str(), flow))).collect()
    });
    let mut columns = Columns::of(rows.as_slice(), outcomes);
    columns.text("queue", |(queue, _)| queue);
    columns.number("id", |(_, flow)| u64::from(flow.id));
    columns.estimate("arrived", |(_, flow)| Some(flow.arrived));
    columns.estimate("departed", |(_, flow)| Some(flow.departed));
    columns.estimate("dropped", |(_, flow)| Some(flow.dropped));
    columns.estimate("drop_ratio", |(_, flow)| Some(flow.drop_ratio));
    columns.estimate("throughput_bps", |(_, flow)| Some(flow.throughput_bps));
    columns.estimate("queue_share", |(_, flow)| Some(flow.queue_share));
    columns.finish()
}

/// A row for each time that packets spent in a queue, over all runs; none for outcomes that were read from JSON.
#[must_use]
pub fn delay_histogram(outcomes: &[Outcome]) -> Table<'_> {
    let rows = rows(outcomes, |outcome| {
        let bins = |queue: &'_ QueueOutcome| queue.delay_histogram.bins().to_vec();
        outcome.queues.iter().flat_map(|queue| bins(queue).into_iter().map(|bin| (&queue.name, bin))).collect()
    });
    let mut columns = Columns::of(rows.as_slice(), outcomes);
    columns.text("queue", |(queue, _)| queue);
    columns.number("from_ns", |(_, bin)| bin.from_ns);
    columns.number("to_ns", |(_, bin)| bin.to_ns);
    columns.number("packets", |(_, bin)| bin.packets);
    columns.finish()
}

/// The names of the tables in a directory.
const NAMES: [&str; 5] = ["queues", "flows", "groups", "queue_flows", "delay_histogram"];
const FORMATS: &[Format] = &[
    #[cfg(feature = "parquet")]
    Format::Parquet,
    Format::Csv,
];
const JSON: &str = "outcomes.json";

/// Returns the files that [`write_dir`] writes to the directory `dir`.
#[must_use]
pub fn dir_files(dir: &Path) -> Vec<PathBuf> {
    let tables =
        NAMES.iter().flat_map(|name| FORMATS.iter().map(move |format| format!("{name}.{}", format.extension())));
    tables.chain([JSON.to_owned()]).map(|name| dir.join(name)).collect()
}

/// Writes all tables, each as `.csv` and, with the feature `parquet`, as `.parquet`, and the JSON form as
/// `outcomes.json` to the directory `dir`, which is made if need be. A file is either complete or not there; one of a
/// part has [another name](Extent::path).
///
/// # Errors
///
/// [`TableError::Write`] when the directory or a file cannot be written.
pub fn write_dir(dir: &Path, outcomes: &[Outcome], extent: Extent) -> Result<(), TableError> {
    std::fs::create_dir_all(dir).map_err(|error| TableError::write(dir, error))?;
    let tables: [fn(&[Outcome]) -> Table<'_>; 5] = [queues, flows, groups, queue_flows, delay_histogram];
    for (name, table) in NAMES.into_iter().zip(tables) {
        let table = table(outcomes);
        for format in FORMATS {
            write::table(&dir.join(name).with_extension(format.extension()), *format, extent, &table)?;
        }
    }
    write::file(&dir.join(JSON), extent, |file| {
        let mut file = io::BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, &std::collections::BTreeMap::from([("outcomes", outcomes)]))?;
        io::Write::write_all(&mut file, b"\n").and_then(|()| io::Write::flush(&mut file))
    })
}

/// Writes the table [`groups`] to `path`, whose extension says in which format: `.parquet` or `.csv`. For a sweep, that
/// is one row for each point and group, and the point's keys are columns. The file is either complete or not there; one
/// of a part has [another name](Extent::path).
///
/// # Errors
///
/// [`TableError::Extension`] and [`TableError::Write`]; without the feature `parquet` also its `NoParquet`.
pub fn write_file(path: &Path, outcomes: &[Outcome], extent: Extent) -> Result<(), TableError> {
    let format = Format::of(path)?;
    write::table(path, format, extent, &groups(outcomes))
}

/// The items of the lists of all outcomes, each with the number of its outcome.
fn rows<'a, T>(outcomes: &'a [Outcome], list: impl Fn(&'a Outcome) -> Vec<T>) -> Vec<(usize, T)> {
    let numbered = |(number, outcome)| list(outcome).into_iter().map(move |row| (number, row)).collect::<Vec<_>>();
    outcomes.iter().enumerate().flat_map(numbered).collect()
}
