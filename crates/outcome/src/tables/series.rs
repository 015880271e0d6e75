//! Time series of flows and queues as two tables that are written while the engine runs.

use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use super::RecordBatch;
use super::TableError;
use super::cell::{Cell, Column};
use super::rows::RowWriter;
use crate::{Extent, FlowRow, QueueRow};

const FLOW_COLUMNS: [Column; 13] = [
    Column::f64("time_s"),
    Column::u32("flow"),
    Column::text("flow_name"),
    Column::u64("sent"),
    Column::u64("delivered"),
    Column::u64("dropped"),
    Column::u64("lost"),
    Column::u64("retransmitted"),
    Column::u64("timeouts"),
    Column::f64("throughput_bps"),
    Column::f64("goodput_bps"),
    Column::f64("cwnd").or_nothing(),
    Column::f64("srtt_s").or_nothing(),
];

const QUEUE_COLUMNS: [Column; 11] = [
    Column::f64("time_s"),
    Column::text("queue"),
    Column::u64("arrived"),
    Column::u64("departed"),
    Column::u64("dropped"),
    Column::u64("marked"),
    Column::f64("throughput_bps"),
    Column::u64("backlog_packets"),
    Column::u64("backlog_bytes"),
    Column::f64("avg").or_nothing(),
    Column::f64("probability").or_nothing(),
];

/// Writes the two tables, row by row, in bounded memory; or keeps them in it.
///
/// A writer that is dropped without [`finish`](Self::finish), as when a run ends with an error, leaves files that can
/// be read, under the names of [parts](Extent::path).
pub struct SeriesWriter {
    flows: RowWriter,
    queues: RowWriter,
}

impl SeriesWriter {
    /// The files of the series called `path`: `x.csv` has the flows in `x.flows.csv` and the queues in `x.queues.csv`.
    #[must_use]
    pub fn files(path: &Path) -> [PathBuf; 2] {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        ["flows", "queues"].map(|part| path.with_extension(format!("{part}.{extension}")))
    }

    /// Starts the tables of the series called `path`, whose extension says in which format: `.parquet` or `.csv`.
    ///
    /// # Errors
    ///
    /// [`TableError::Extension`] and [`TableError::Write`].
    pub fn create(path: &Path) -> Result<Self, TableError> {
        let [flows, queues] = Self::files(path);
        Ok(Self {
            flows: RowWriter::create(&flows, &FLOW_COLUMNS)?,
            queues: RowWriter::create(&queues, &QUEUE_COLUMNS)?,
        })
    }

    /// Starts tables that are kept in memory.
    #[cfg(feature = "parquet")]
    #[must_use]
    pub fn in_memory() -> Self {
        Self { flows: RowWriter::in_memory(&FLOW_COLUMNS), queues: RowWriter::in_memory(&QUEUE_COLUMNS) }
    }

    /// The tables of flows and of queues that were kept in memory, each in one batch at least; none if they are files.
    ///
    /// # Errors
    ///
    /// [`TableError::Arrow`], which would be a mistake in this crate, and for files those of [`finish`](Self::finish).
    #[cfg(feature = "parquet")]
    pub fn into_batches(self) -> Result<[Vec<RecordBatch>; 2], TableError> {
        Ok([self.flows.into_batches()?, self.queues.into_batches()?])
    }

    /// Adds a row to the table of flows.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn write_flow(&mut self, row: &FlowRow<'_>) -> Result<(), TableError> {
        self.flows.write(&[
            Cell::F64(row.time_s),
            Cell::U32(row.flow),
            Cell::Text(row.flow_name),
            Cell::U64(row.sent),
            Cell::U64(row.delivered),
            Cell::U64(row.dropped),
            Cell::U64(row.lost),
            Cell::U64(row.retransmitted),
            Cell::U64(row.timeouts),
            Cell::F64(row.throughput_bps),
            Cell::F64(row.goodput_bps),
            Cell::maybe(row.cwnd, Cell::F64),
            Cell::maybe(row.srtt_s, Cell::F64),
        ])
    }

    /// Adds a row to the table of queues.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn write_queue(&mut self, row: &QueueRow<'_>) -> Result<(), TableError> {
        self.queues.write(&[
            Cell::F64(row.time_s),
            Cell::Text(row.queue),
            Cell::U64(row.arrived),
            Cell::U64(row.departed),
            Cell::U64(row.dropped),
            Cell::U64(row.marked),
            Cell::F64(row.throughput_bps),
            Cell::U64(row.backlog_packets),
            Cell::U64(row.backlog_bytes),
            Cell::maybe(row.avg, Cell::F64),
            Cell::maybe(row.probability, Cell::F64),
        ])
    }

    /// Writes the rows that are held back and puts the files into their [places](Extent::path), which are returned.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn finish(self, extent: Extent) -> Result<[PathBuf; 2], TableError> {
        Ok([self.flows.finish(extent)?, self.queues.finish(extent)?])
    }
}
