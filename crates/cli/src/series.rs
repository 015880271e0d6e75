//! What flows and queues did in each interval, as tables.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use fairlane_outcome::tables::{FlowRow, QueueRow, SeriesWriter, TableError};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Scenario;
use fairlane_sim::{FlowSample, Observer, PacketEvent, QueueSample, link_name};

use crate::error::Failure;
use crate::trace::flow_names;

/// Writes a row for each flow and each queue after each interval.
pub(crate) struct Series {
    interval: Duration,
    flows: Vec<FlowState>,
    queues: BTreeMap<u32, QueueState>,
    scenario: Scenario,
    writer: SeriesWriter,
    /// The first thing that went wrong.
    failed: Option<TableError>,
}

/// A flow at the end of the interval before.
struct FlowState {
    name: String,
    at: Time,
    last: FlowSample,
}

/// A queue at the end of the interval before.
struct QueueState {
    name: String,
    at: Time,
    last: QueueSample,
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Series {
    /// Begins the tables of the series called `path`, which are replaced.
    pub(crate) fn create(path: &Path, interval: Duration, scenario: &Scenario) -> Result<Self, Failure> {
        let start = |name| FlowState { name, at: Time::ZERO, last: FlowSample::default() };
        Ok(Self {
            interval,
            flows: flow_names(scenario).into_iter().map(start).collect(),
            queues: BTreeMap::new(),
            scenario: scenario.clone(),
            writer: SeriesWriter::create(path).map_err(Failure::plain)?,
            failed: None,
        })
    }

    /// Whether a row could not be written.
    pub(crate) fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the tables.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.failed.map_or_else(|| self.writer.finish(), Err).map_err(Failure::plain)
    }

    fn write_flow(&mut self, at: Time, now: &FlowSample) -> Result<(), TableError> {
        let Some(FlowState { name, at: before, last }) = self.flows.get_mut(now.flow as usize) else { return Ok(()) };
        let seconds = at.since(*before).as_secs();
        self.writer.write_flow(&FlowRow {
            time_s: at.as_secs(),
            flow: now.flow,
            flow_name: name,
            sent: now.sent - last.sent,
            delivered: now.delivered - last.delivered,
            dropped: now.dropped - last.dropped,
            lost: now.lost - last.lost,
            retransmitted: now.retransmitted - last.retransmitted,
            timeouts: now.timeouts - last.timeouts,
            throughput_bps: bits(now.delivered_bytes - last.delivered_bytes) / seconds,
            goodput_bps: bits(now.unique_bytes - last.unique_bytes) / seconds,
            cwnd: now.cwnd,
            srtt_s: now.srtt.map(Duration::as_secs),
        })?;
        (*before, *last) = (at, *now);
        Ok(())
    }

    fn write_queue(&mut self, at: Time, now: &QueueSample) -> Result<(), TableError> {
        let start =
            || QueueState { name: link_name(&self.scenario, now.link), at: Time::ZERO, last: QueueSample::default() };
        let QueueState { name, at: before, last } = self.queues.entry(now.link).or_insert_with(start);
        let seconds = at.since(*before).as_secs();
        self.writer.write_queue(&QueueRow {
            time_s: at.as_secs(),
            queue: name,
            arrived: now.arrived.packets - last.arrived.packets,
            departed: now.departed.packets - last.departed.packets,
            dropped: now.dropped.packets - last.dropped.packets,
            marked: now.marked.packets - last.marked.packets,
            throughput_bps: bits(now.departed.bytes - last.departed.bytes) / seconds,
            backlog_packets: now.backlog.packets,
            backlog_bytes: now.backlog.bytes,
            avg: now.average,
            probability: now.probability,
        })?;
        (*before, *last) = (at, *now);
        Ok(())
    }
}

fn bits(bytes: u64) -> f64 {
    bytes as f64 * 8.0
}

impl Observer for Series {
    fn packet(&mut self, _event: &PacketEvent) {}

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}

    fn interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        if self.failed.is_none() {
            self.failed = self.write_flow(at, sample).err();
        }
    }

    fn queue(&mut self, at: Time, sample: &QueueSample) {
        if self.failed.is_none() {
            self.failed = self.write_queue(at, sample).err();
        }
    }
}
