//! What flows and queues did in each interval of a run, as two tables that grow while the engine runs.

use std::path::{Path, PathBuf};

use super::TableError;
use super::rows::{Cell, Column, RowWriter};

/// What a flow did since the row before it. Counts are in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRow<'a> {
    /// The end of the interval, in seconds from the start of the run.
    pub time_s: f64,
    /// The flow's number.
    pub flow: u32,
    /// The flow's name.
    pub flow_name: &'a str,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets that reached the receiver.
    pub delivered: u64,
    /// Data packets dropped, at any queue.
    pub dropped: u64,
    /// Data packets lost on a wire.
    pub lost: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Bit/s of data at the receiver, by its size on the wire.
    pub throughput_bps: f64,
    /// Bit/s of data that the receiver had not had before.
    pub goodput_bps: f64,
    /// The congestion window in packets at the end of the interval; `None` where there is none.
    pub cwnd: Option<f64>,
    /// The smoothed round trip time in seconds at the end of the interval; `None` before the first measurement.
    pub srtt_s: Option<f64>,
}

/// What a queue did since the row before it. Counts are in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueRow<'a> {
    /// The end of the interval, in seconds from the start of the run.
    pub time_s: f64,
    /// The queue's name.
    pub queue: &'a str,
    /// Offered to the queue.
    pub arrived: u64,
    /// Given to the link.
    pub departed: u64,
    /// Dropped, for any reason.
    pub dropped: u64,
    /// Marked, for any reason.
    pub marked: u64,
    /// Bit/s given to the link.
    pub throughput_bps: f64,
    /// Packets in the queue at the end of the interval.
    pub backlog_packets: u64,
    /// Bytes in the queue at the end of the interval.
    pub backlog_bytes: u64,
    /// The average that the discipline steers by, at the end of the interval; `None` where it keeps none.
    pub avg: Option<f64>,
    /// The probability with which the discipline signals, at the end of the interval; `None` where that is not one number.
    pub probability: Option<f64>,
}

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

/// Writes the two tables, row by row, in bounded memory.
///
/// A writer that is dropped without [`finish`](Self::finish), as when a run is interrupted, leaves files that can be read.
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

    /// Writes what is held back and closes the files.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn finish(self) -> Result<(), TableError> {
        self.flows.finish()?;
        self.queues.finish()
    }
}
