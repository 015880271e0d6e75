//! Every event of every packet, as a table that is written while the engine runs.

use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use super::RecordBatch;
use super::TableError;
use super::cell::{Cell, Column};
use super::rows::RowWriter;
use crate::{Extent, Reason};

/// Something that happened to a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRow<'a> {
    /// When, in nanoseconds from the start of the run.
    pub time_ns: u64,
    /// The queue's name.
    pub queue: &'a str,
    /// Kind of event.
    pub event: TraceEvent,
    /// The flow's number.
    pub flow: u32,
    /// The flow's name.
    pub flow_name: &'a str,
    /// Kind of packet.
    pub packet: TracePacket,
    /// Its sequence number, or the one that it acknowledges, in packets.
    pub seq: u32,
    /// Its size on the wire in bytes.
    pub bytes: u32,
    /// Time in the queue in nanoseconds; `None` unless the link sends it.
    pub sojourn_ns: Option<u64>,
    /// Packets in the queue: as the arrival that caused this found it, or as the departure left it.
    pub backlog_packets: u32,
    /// The average that the discipline steers by; `None` where it keeps none.
    pub avg: Option<f64>,
}

/// Events of a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// The packet was offered to the queue.
    Arrived,
    /// The packet was given to the link.
    Departed,
    /// The packet was dropped.
    Dropped(Reason),
    /// The packet was marked.
    Marked(Reason),
    /// The packet had departed and was lost on the wire.
    Lost,
}

impl TraceEvent {
    /// The event's name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Departed => "departed",
            Self::Dropped(_) => "dropped",
            Self::Marked(_) => "marked",
            Self::Lost => "lost",
        }
    }

    /// The reason of the event, as in the table: empty for events without one.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Arrived | Self::Departed | Self::Lost => "",
            Self::Dropped(reason) | Self::Marked(reason) => reason.name(),
        }
    }
}

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePacket {
    /// Data.
    Data,
    /// An acknowledgement.
    Ack,
    /// A SYN of TCP.
    Syn,
    /// The answer to a SYN.
    SynAck,
    /// The acknowledgement of a SYN-ACK, without data.
    OpeningAck,
}

impl TracePacket {
    /// Its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Syn => "syn",
            Self::SynAck => "syn-ack",
            Self::OpeningAck => "opening-ack",
        }
    }
}

/// The table's columns.
const COLUMNS: [Column; 12] = [
    Column::u64("time_ns"),
    Column::text("queue"),
    Column::text("event"),
    Column::text("reason"),
    Column::u32("flow"),
    Column::text("flow_name"),
    Column::text("packet"),
    Column::u32("seq"),
    Column::u32("bytes"),
    Column::u64("sojourn_ns").or_nothing(),
    Column::u32("backlog_packets"),
    Column::f64("avg").or_nothing(),
];

/// Writes a trace, row by row, in bounded memory; or keeps it in it.
///
/// A writer that is dropped without [`finish`](Self::finish), as when a run ends with an error, leaves a file that can
/// be read, under the name of a [part](Extent::path).
pub struct TraceWriter(RowWriter);

impl TraceWriter {
    /// Starts a trace at `path`, whose extension says in which format: `.parquet` or `.csv`.
    ///
    /// # Errors
    ///
    /// [`TableError::Extension`] and [`TableError::Write`].
    pub fn create(path: &Path) -> Result<Self, TableError> {
        RowWriter::create(path, &COLUMNS).map(Self)
    }

    /// Starts a trace that is kept in memory.
    #[cfg(feature = "parquet")]
    #[must_use]
    pub fn in_memory() -> Self {
        Self(RowWriter::in_memory(&COLUMNS))
    }

    /// The trace that was kept in memory, in one batch at least; none of one that is a file.
    ///
    /// # Errors
    ///
    /// [`TableError::Arrow`], which would be a mistake in this crate, and for a file those of [`finish`](Self::finish).
    #[cfg(feature = "parquet")]
    pub fn into_batches(self) -> Result<Vec<RecordBatch>, TableError> {
        self.0.into_batches()
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn write(&mut self, row: &TraceRow<'_>) -> Result<(), TableError> {
        self.0.write(&[
            Cell::U64(row.time_ns),
            Cell::Text(row.queue),
            Cell::Text(row.event.name()),
            Cell::Text(row.event.reason()),
            Cell::U32(row.flow),
            Cell::Text(row.flow_name),
            Cell::Text(row.packet.name()),
            Cell::U32(row.seq),
            Cell::U32(row.bytes),
            Cell::maybe(row.sojourn_ns, Cell::U64),
            Cell::U32(row.backlog_packets),
            Cell::maybe(row.avg, Cell::F64),
        ])
    }

    /// Writes the rows that are held back and puts the file into its [place](Extent::path), which is returned.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn finish(self, extent: Extent) -> Result<PathBuf, TableError> {
        self.0.finish(extent)
    }
}
