//! The counts of flows and queues in each interval, as tables.

use std::fmt;
use std::path::{Path, PathBuf};

use fairlane_outcome::Extent;
#[cfg(feature = "parquet")]
use fairlane_outcome::tables::RecordBatch;
use fairlane_outcome::tables::{SeriesWriter, TableError};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Scenario;
use fairlane_sim::{FlowSample, Intervals, Observer, PacketEvent, QueueSample};

/// Writes a row for each flow and each queue after each interval.
pub struct Series {
    interval: Duration,
    intervals: Intervals,
    writer: SeriesWriter,
    /// The first error.
    failed: Option<TableError>,
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Series {
    /// Begins the tables of the series called `path`.
    ///
    /// # Errors
    /// As [`SeriesWriter::create`].
    pub fn create(path: &Path, interval: Duration, scenario: &Scenario) -> Result<Self, TableError> {
        Ok(Self::new(SeriesWriter::create(path)?, interval, scenario))
    }

    /// Begins tables that are kept in memory.
    #[cfg(feature = "parquet")]
    #[must_use]
    pub fn in_memory(interval: Duration, scenario: &Scenario) -> Self {
        Self::new(SeriesWriter::in_memory(), interval, scenario)
    }

    fn new(writer: SeriesWriter, interval: Duration, scenario: &Scenario) -> Self {
        Self { interval, intervals: Intervals::new(scenario), writer, failed: None }
    }

    /// Adds a flow that is not the scenario's: its number is the next one.
    pub fn add_flow(&mut self, name: String) {
        self.intervals.add_flow(name);
    }

    /// As [`Observer::flow`], of a flow that had nothing to count before `since`: its row begins there.
    pub fn flow_since(&mut self, since: Time, at: Time, sample: &FlowSample) {
        if self.failed.is_none()
            && let Some(row) = self.intervals.flow_since(since, at, sample)
        {
            self.failed = self.writer.write_flow(&row).err();
        }
    }

    /// Returns true if a row could not be written.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the tables and puts them into their [places](Extent::path), which are returned; after an error they are
    /// parts.
    ///
    /// # Errors
    /// The first row that could not be written, or the end of the file.
    pub fn finish(self, extent: Extent) -> Result<[PathBuf; 2], TableError> {
        self.failed.map_or_else(|| self.writer.finish(extent), Err)
    }

    /// Ends the tables and returns those of flows and of queues that were kept in memory; none if they are files.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    #[cfg(feature = "parquet")]
    pub fn into_batches(self) -> Result<[Vec<RecordBatch>; 2], TableError> {
        self.failed.map_or_else(|| self.writer.into_batches(), Err)
    }
}

impl Observer for Series {
    /// Single packets are not observed.
    const ACTIVE: bool = false;

    fn packet(&mut self, _event: &PacketEvent) {}

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}

    fn interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        if self.failed.is_none()
            && let Some(row) = self.intervals.flow(at, sample)
        {
            self.failed = self.writer.write_flow(&row).err();
        }
    }

    fn queue(&mut self, at: Time, sample: &QueueSample) {
        if self.failed.is_none()
            && let Some(row) = self.intervals.queue(at, sample)
        {
            self.failed = self.writer.write_queue(&row).err();
        }
    }
}
