//! One run that is recorded in files.

use fairlane_outcome::{Extent, Outcome, Timeline};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, Decision, FlowSample, Observer, PacketEvent, QueueSample, run};

use crate::machine::CostMeter;
use crate::{Error, FlentFile, LinkLog, PacketCapture, Recorder, Series, Trace};

/// The records of one run, in addition to its outcome; none by default.
#[derive(Debug, Default)]
pub struct Records {
    /// The packets between nodes, as a packet capture.
    pub pcap: Option<PacketCapture>,
    /// The events of every packet at every queue, as a table.
    pub trace: Option<Trace>,
    /// The counts of flows and queues in each interval, as tables.
    pub series: Option<Series>,
    /// The flows, as a data file of flent.
    pub flent: Option<FlentFile>,
    /// The bottleneck, as a log of mahimahi.
    pub mahimahi: Option<LinkLog>,
    /// The timeline. Its moments are those of the series or of flent's file, if there is one.
    pub timeline: Option<Recorder>,
}

/// A run that was recorded.
#[derive(Debug)]
pub struct RecordedRun {
    /// The outcome; `None` if the run was interrupted before anything was measured.
    pub outcome: Option<Outcome>,
    /// The timeline, if it was recorded.
    pub timeline: Option<Timeline>,
    /// The run was interrupted.
    pub interrupted: bool,
}

/// Records a run.
#[derive(Debug)]
pub struct RecordsObserver<'r> {
    records: &'r mut Records,
    control: &'r Control,
}

impl Records {
    /// Runs `scenario` once, with these records and another observer, `beside`, and ends the files. After an
    /// interruption or an error they are [parts](Extent::path), complete up to that moment.
    ///
    /// # Errors
    /// The simulator cannot run the scenario, or a file cannot be written.
    pub fn run(
        mut self,
        scenario: &Scenario,
        beside: &mut impl Observer,
        control: &Control,
    ) -> Result<RecordedRun, Error> {
        let meter = CostMeter::start();
        let result = run(scenario, 0, control, &mut (beside, self.observer(control)));
        let timeline = self.finish(Extent::of(result.as_ref().map_or(true, |run| run.partial)));
        let mut run = result.map_err(Error::plain)?;
        let timeline = timeline?;
        meter.measure(&mut run.cost);
        let interrupted = run.partial;
        let measured = !run.partial || run.to_s > run.from_s;
        let outcome = if measured { Outcome::from_runs([run]) } else { None };
        Ok(RecordedRun { outcome, timeline, interrupted })
    }

    /// Returns the observer of a run, which ends the run by `control` when a record cannot be written: without its file
    /// the rest is of no use.
    pub fn observer<'r>(&'r mut self, control: &'r Control) -> RecordsObserver<'r> {
        RecordsObserver { records: self, control }
    }

    /// Ends the files and returns the timeline. If a record could not be written, the run ended there, and the others
    /// are [parts](Extent::path) too.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(self, extent: Extent) -> Result<Option<Timeline>, Error> {
        let extent = if self.failed() { Extent::Partial } else { extent };
        // All of them are ended, even if one fails.
        let pcap = self.pcap.map_or(Ok(()), |capture| capture.finish(extent));
        let trace = self.trace.map_or(Ok(()), |trace| trace.finish(extent).map(drop));
        let series = self.series.map_or(Ok(()), |series| series.finish(extent).map(drop));
        let flent = self.flent.map_or(Ok(()), |file| file.finish(extent));
        let mahimahi = self.mahimahi.map_or(Ok(()), |log| log.finish(extent));
        pcap.and(trace.map_err(Error::from)).and(series.map_err(Error::from)).and(flent).and(mahimahi)?;
        Ok(self.timeline.map(Recorder::finish))
    }

    fn failed(&self) -> bool {
        let failed = [
            self.pcap.as_ref().is_some_and(PacketCapture::failed),
            self.trace.as_ref().is_some_and(Trace::failed),
            self.series.as_ref().is_some_and(Series::failed),
        ];
        failed.contains(&true)
    }

    /// Returns all records as one observer.
    fn each(&mut self) -> impl Observer {
        let Self { pcap, trace, series, flent, mahimahi, timeline } = self;
        ((pcap, trace), ((series, flent), (mahimahi, timeline)))
    }
}

impl RecordsObserver<'_> {
    fn stop_if_failed(&self) {
        if self.records.failed() {
            self.control.stop();
        }
    }
}

impl Observer for RecordsObserver<'_> {
    fn packet(&mut self, event: &PacketEvent) {
        self.records.each().packet(event);
        self.stop_if_failed();
    }

    fn passed(&mut self, event: &PacketEvent) {
        self.records.each().passed(event);
    }

    fn payload(&mut self, payload: &[u8]) {
        self.records.each().payload(payload);
    }

    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        self.records.each().delivered(at, flow, seq);
    }

    fn interval(&self) -> Option<Duration> {
        let Records { series, flent, timeline, .. } = &*self.records;
        series.interval().or_else(|| flent.interval()).or_else(|| timeline.interval())
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        self.records.each().flow(at, sample);
    }

    fn queue(&mut self, at: Time, sample: &QueueSample) {
        self.records.each().queue(at, sample);
        self.stop_if_failed();
    }

    fn decided(&mut self, link: u32, decision: &Decision) {
        self.records.each().decided(link, decision);
    }
}
