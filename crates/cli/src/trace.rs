//! Every packet's fate at every queue, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use fairlane_outcome::tables::{TableError, TraceEvent, TracePacket, TraceRow, TraceWriter};
use fairlane_qdisc::Time;
use fairlane_scenario::Scenario;
use fairlane_sim::{Happening, Observer, PacketEvent, PacketKind, link_name};

use crate::error::Failure;

/// Writes a row for each thing that happens to a packet at a queue.
pub(crate) struct Trace {
    scenario: Scenario,
    flows: Vec<String>,
    /// The names of the queues that have been seen.
    queues: BTreeMap<u32, String>,
    writer: TraceWriter,
    /// The first thing that went wrong.
    failed: Option<TableError>,
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Trace {
    /// Begins the table at `path`, which is replaced.
    pub(crate) fn create(path: &Path, scenario: &Scenario) -> Result<Self, Failure> {
        Ok(Self {
            flows: scenario.flow_names().collect(),
            scenario: scenario.clone(),
            queues: BTreeMap::new(),
            writer: TraceWriter::create(path).map_err(Failure::plain)?,
            failed: None,
        })
    }

    /// Whether a row could not be written.
    pub(crate) fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the table.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.failed.map_or_else(|| self.writer.finish(), Err).map_err(Failure::plain)
    }

    fn write(&mut self, event: &PacketEvent) -> Result<(), TableError> {
        let (what, sojourn_ns) = match event.happening {
            Happening::Arrived => (TraceEvent::Arrived, None),
            Happening::Departed { sojourn } => (TraceEvent::Departed, Some(sojourn.as_nanos())),
            Happening::Dropped(reason) => (TraceEvent::Dropped(reason), None),
            Happening::Marked(reason) => (TraceEvent::Marked(reason), None),
            Happening::Lost => (TraceEvent::Lost, None),
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
