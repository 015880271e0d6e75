//! What happened to every packet, as a table that grows while the engine runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt32Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;

use super::TableError;
use super::write::{Format, properties};
use crate::Reason;

/// Something that happened to a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceRow<'a> {
    /// When, in nanoseconds from the start of the run.
    pub time_ns: u64,
    /// The queue's name.
    pub queue: &'a str,
    /// What happened.
    pub event: TraceEvent,
    /// The flow's number.
    pub flow: u32,
    /// The flow's name.
    pub flow_name: &'a str,
    /// What the packet carries.
    pub packet: TracePacket,
    /// Its sequence number, or the one that it acknowledges, in packets.
    pub seq: u32,
    /// Its size on the wire in bytes.
    pub bytes: u32,
    /// How long it was in the queue, in nanoseconds; `None` unless the link sends it.
    pub sojourn_ns: Option<u64>,
    /// Packets in the queue: as the arrival that caused this found it, or as the departure left it.
    pub backlog_packets: u32,
    /// The average that the discipline steers by; `None` where it keeps none.
    pub avg: Option<f64>,
}

/// What can happen to a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// It was offered to the queue.
    Arrived,
    /// It was given to the link.
    Departed,
    /// It was dropped.
    Dropped(Reason),
    /// It was marked.
    Marked(Reason),
    /// It had departed and was lost on the wire.
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

    /// Why it happened, as the table says it: empty for what needs no reason.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Arrived | Self::Departed | Self::Lost => "",
            Self::Dropped(reason) | Self::Marked(reason) => reason.name(),
        }
    }
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TracePacket {
    /// Data.
    Data,
    /// An acknowledgement.
    Ack,
}

impl TracePacket {
    /// Its name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
        }
    }
}

/// Rows that are held back until they are written together.
const HELD: usize = 8192;
/// Rows of a Parquet row group: what a reader, and the writer's memory, must hold at once.
const ROW_GROUP: usize = 128 * 1024;

/// The table's columns.
const COLUMNS: [&str; 12] = [
    "time_ns",
    "queue",
    "event",
    "reason",
    "flow",
    "flow_name",
    "packet",
    "seq",
    "bytes",
    "sojourn_ns",
    "backlog_packets",
    "avg",
];

/// Writes a trace, row by row, in bounded memory.
///
/// A writer that is dropped without [`finish`](Self::finish), as when a run is interrupted, leaves a file that can be
/// read.
pub struct TraceWriter {
    path: PathBuf,
    sink: Option<Sink>,
}

enum Sink {
    Csv(Box<csv::Writer<File>>),
    Parquet(Box<Parquet>),
}

impl TraceWriter {
    /// Starts a trace at `path`, whose extension says in which format: `.parquet` or `.csv`.
    ///
    /// # Errors
    ///
    /// [`TableError::Extension`] and [`TableError::Write`].
    pub fn create(path: &Path) -> Result<Self, TableError> {
        let format = Format::of(path)?;
        let sink = File::create(path).and_then(|file| Sink::new(format, file));
        let sink = Some(sink.map_err(|error| TableError::write(path, error))?);
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Adds a row.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn write(&mut self, row: &TraceRow<'_>) -> Result<(), TableError> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        sink.write(row).map_err(|error| TableError::write(&self.path, error))
    }

    /// Writes what is held back and closes the file.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    pub fn finish(mut self) -> Result<(), TableError> {
        let Some(sink) = self.sink.take() else { return Ok(()) };
        sink.finish().map_err(|error| TableError::write(&self.path, error))
    }
}

impl Drop for TraceWriter {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.take() {
            // Nobody is left to tell: whoever wants to know calls `finish`.
            let _ = sink.finish();
        }
    }
}

impl Sink {
    fn new(format: Format, file: File) -> io::Result<Self> {
        Ok(match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(file);
                writer.write_record(COLUMNS)?;
                Self::Csv(Box::new(writer))
            }
            Format::Parquet => Self::Parquet(Box::new(Parquet::new(file)?)),
        })
    }

    fn write(&mut self, row: &TraceRow<'_>) -> io::Result<()> {
        match self {
            Self::Csv(writer) => Ok(writer.write_record(cells(row))?),
            Self::Parquet(writer) => writer.write(row),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv(mut writer) => writer.flush(),
            Self::Parquet(writer) => writer.finish(),
        }
    }
}

fn cells(row: &TraceRow<'_>) -> [String; COLUMNS.len()] {
    let optional = |value: Option<String>| value.unwrap_or_default();
    [
        row.time_ns.to_string(),
        row.queue.to_owned(),
        row.event.name().to_owned(),
        row.event.reason().to_owned(),
        row.flow.to_string(),
        row.flow_name.to_owned(),
        row.packet.name().to_owned(),
        row.seq.to_string(),
        row.bytes.to_string(),
        optional(row.sojourn_ns.map(|value| value.to_string())),
        row.backlog_packets.to_string(),
        optional(row.avg.map(|value| value.to_string())),
    ]
}

/// The Parquet side: columns that fill up to [`HELD`] rows.
struct Parquet {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    held: usize,
    time_ns: UInt64Builder,
    queue: StringBuilder,
    event: StringBuilder,
    reason: StringBuilder,
    flow: UInt32Builder,
    flow_name: StringBuilder,
    packet: StringBuilder,
    seq: UInt32Builder,
    bytes: UInt32Builder,
    sojourn_ns: UInt64Builder,
    backlog_packets: UInt32Builder,
    avg: Float64Builder,
}

impl Parquet {
    fn new(file: File) -> io::Result<Self> {
        let data_type = |name: &str| match name {
            "time_ns" | "sojourn_ns" => DataType::UInt64,
            "flow" | "seq" | "bytes" | "backlog_packets" => DataType::UInt32,
            "avg" => DataType::Float64,
            _ => DataType::Utf8,
        };
        let field = |name: &str| Field::new(name, data_type(name), matches!(name, "sojourn_ns" | "avg"));
        let schema: SchemaRef = Arc::new(Schema::new(COLUMNS.map(field).to_vec()));
        let properties = properties().into_builder().set_max_row_group_row_count(Some(ROW_GROUP)).build();
        Ok(Self {
            writer: ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))?,
            schema,
            held: 0,
            time_ns: UInt64Builder::new(),
            queue: StringBuilder::new(),
            event: StringBuilder::new(),
            reason: StringBuilder::new(),
            flow: UInt32Builder::new(),
            flow_name: StringBuilder::new(),
            packet: StringBuilder::new(),
            seq: UInt32Builder::new(),
            bytes: UInt32Builder::new(),
            sojourn_ns: UInt64Builder::new(),
            backlog_packets: UInt32Builder::new(),
            avg: Float64Builder::new(),
        })
    }

    fn write(&mut self, row: &TraceRow<'_>) -> io::Result<()> {
        self.time_ns.append_value(row.time_ns);
        self.queue.append_value(row.queue);
        self.event.append_value(row.event.name());
        self.reason.append_value(row.event.reason());
        self.flow.append_value(row.flow);
        self.flow_name.append_value(row.flow_name);
        self.packet.append_value(row.packet.name());
        self.seq.append_value(row.seq);
        self.bytes.append_value(row.bytes);
        self.sojourn_ns.append_option(row.sojourn_ns);
        self.backlog_packets.append_value(row.backlog_packets);
        self.avg.append_option(row.avg);
        self.held += 1;
        if self.held == HELD { self.write_held() } else { Ok(()) }
    }

    fn write_held(&mut self) -> io::Result<()> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.time_ns.finish()),
            Arc::new(self.queue.finish()),
            Arc::new(self.event.finish()),
            Arc::new(self.reason.finish()),
            Arc::new(self.flow.finish()),
            Arc::new(self.flow_name.finish()),
            Arc::new(self.packet.finish()),
            Arc::new(self.seq.finish()),
            Arc::new(self.bytes.finish()),
            Arc::new(self.sojourn_ns.finish()),
            Arc::new(self.backlog_packets.finish()),
            Arc::new(self.avg.finish()),
        ];
        self.held = 0;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(io::Error::other)?;
        Ok(self.writer.write(&batch)?)
    }

    fn finish(mut self) -> io::Result<()> {
        self.write_held()?;
        self.writer.close()?;
        Ok(())
    }
}
