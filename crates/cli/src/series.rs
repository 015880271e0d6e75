//! What flows and queues did in each interval, as tables.

use std::fmt;
use std::path::Path;

use fairlane_outcome::tables::{SeriesWriter, TableError};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Scenario;
use fairlane_sim::{FlowSample, Intervals, Observer, PacketEvent, QueueSample};

use crate::error::Failure;

/// Writes a row for each flow and each queue after each interval.
pub(crate) struct Series {
    interval: Duration,
    intervals: Intervals,
    writer: SeriesWriter,
    /// The first thing that went wrong.
    failed: Option<TableError>,
}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Series {
    /// Begins the tables of the series called `path`, which are replaced.
    pub(crate) fn create(path: &Path, interval: Duration, scenario: &Scenario) -> Result<Self, Failure> {
        Ok(Self {
            interval,
            intervals: Intervals::new(scenario),
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
}

impl Observer for Series {
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
