//! The events of every packet at every queue, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use fairlane_outcome::Extent;
#[cfg(feature = "parquet")]
use fairlane_outcome::tables::RecordBatch;
use fairlane_outcome::tables::{TableError, TraceEvent, TracePacket, TraceRow, TraceWriter};
use fairlane_qdisc::Time;
use fairlane_scenario::Scenario;
use fairlane_sim::{Observer, PacketEvent, PacketKind, QueueEvent, link_name};

/// Writes a row for each event of a packet at a queue.
pub struct Trace {
    scenario: Scenario,
    flows: Vec<String>,
    /// The names of the queues that have been seen.
    queues: BTreeMap<u32, String>,
    writer: TraceWriter,
    /// The first error.
    failed: Option<TableError>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Trace {
    /// Begins the table that will be at `path`.
    ///
    /// # Errors
    /// As [`TraceWriter::create`].
    pub fn create(path: &Path, scenario: &Scenario) -> Result<Self, TableError> {
        Ok(Self::new(TraceWriter::create(path)?, scenario))
    }

    /// Begins a table that is kept in memory.
    #[cfg(feature = "parquet")]
    #[must_use]
    pub fn in_memory(scenario: &Scenario) -> Self {
        Self::new(TraceWriter::in_memory(), scenario)
    }

    fn new(writer: TraceWriter, scenario: &Scenario) -> Self {
        let flows = scenario.flow_names().collect();
        Self { flows, scenario: scenario.clone(), queues: BTreeMap::new(), writer, failed: None }
    }

    /// Returns true if a row could not be written.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the table and puts it into its [place](Extent::path), which is returned; after an error it is a part.
    ///
    /// # Errors
    /// The first row that could not be written, or the end of the file.
    pub fn finish(self, extent: Extent) -> Result<PathBuf, TableError> {
        self.failed.map_or_else(|| self.writer.finish(extent), Err)
    }

    /// Ends the table and returns it if it was kept in memory; none if it is a file.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    #[cfg(feature = "parquet")]
    pub fn into_batches(self) -> Result<Vec<RecordBatch>, TableError> {
        self.failed.map_or_else(|| self.writer.into_batches(), Err)
    }

    fn write(&mut self, event: &PacketEvent) -> Result<(), TableError> {
        let (what, sojourn_ns) = match event.queue_event {
            QueueEvent::Arrived => (TraceEvent::Arrived, None),
            QueueEvent::Departed { sojourn } => (TraceEvent::Departed, Some(sojourn.as_nanos())),
            QueueEvent::Dropped(reason) => (TraceEvent::Dropped(reason), None),
            QueueEvent::Marked(reason) => (TraceEvent::Marked(reason), None),
            QueueEvent::Lost => (TraceEvent::Lost, None),
        };
        let queue = self.queues.entry(event.link).or_insert_with(|| link_name(&self.scenario, event.link));
        self.writer.write(&TraceRow {
            time_ns: event.at.as_nanos(),
            queue,
            event: what,
            flow: event.flow,
            flow_name: self.flows.get(event.flow as usize).map_or("", String::as_str),
            packet: match event.kind {
                PacketKind::Data => TracePacket::Data,
                PacketKind::Ack => TracePacket::Ack,
                PacketKind::Syn => TracePacket::Syn,
                PacketKind::SynAck => TracePacket::SynAck,
                PacketKind::OpeningAck => TracePacket::OpeningAck,
            },
            seq: event.seq,
            bytes: event.bytes,
            sojourn_ns,
            backlog_packets: u32::try_from(event.backlog).unwrap_or(u32::MAX),
            avg: event.average,
        })
    }
}

impl Observer for Trace {
    fn packet(&mut self, event: &PacketEvent) {
        if self.failed.is_none() {
            self.failed = self.write(event).err();
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}
