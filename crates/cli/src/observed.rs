//! One run that is recorded in files: `--pcap`, `--trace`, `--series`, `--flent` and `--mahimahi`.

use std::path::PathBuf;

use fairlane_console::Failure;
use fairlane_outcome::{Extent, Outcome, Timeline};
use fairlane_qdisc::{Duration, Time};
use fairlane_runner::machine::CostMeter;
use fairlane_runner::memory::Needs;
use fairlane_runner::{BatchResult, Recorder, Series, Trace, check};
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, FlowSample, Observer, PacketEvent, QueueSample, run};

use crate::files::Outputs;
use crate::flent::FlentFile;
use crate::mahimahi::LinkLog;
use crate::pcap::PacketCapture;
use crate::progress;

/// The requested files.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) pcap: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    /// The file and its interval.
    pub(crate) series: Option<(PathBuf, Duration)>,
    pub(crate) flent: Option<PathBuf>,
    pub(crate) mahimahi: Option<PathBuf>,
    /// The file of the page, for which the run is recorded.
    pub(crate) page: Option<PathBuf>,
}

impl Files {
    /// Returns true if the run is not recorded in any file.
    pub(crate) const fn is_none(&self) -> bool {
        self.pcap.is_none()
            && self.trace.is_none()
            && self.series.is_none()
            && self.flent.is_none()
            && self.mahimahi.is_none()
    }

    /// Returns the files with their options.
    pub(crate) fn outputs(&self) -> Outputs {
        let outputs = Outputs::default().file("--html", self.page.as_deref()).file("--pcap", self.pcap.as_deref());
        let outputs = outputs.table("--trace", self.trace.as_deref()).series(self.series.as_ref());
        let files = self.mahimahi.iter().flat_map(|path| LinkLog::files(path));
        let outputs = outputs.file("--flent", self.flent.as_deref());
        files.fold(outputs, |outputs, file| outputs.file("--mahimahi", Some(&file)))
    }
}

/// A scenario and the files that record its run.
#[derive(Debug)]
pub(crate) struct ObservedRun {
    scenario: Scenario,
    capture: Option<PacketCapture>,
    trace: Option<Trace>,
    series: Option<Series>,
    flent: Option<FlentFile>,
    mahimahi: Option<LinkLog>,
    recorder: Option<Recorder>,
}

impl ObservedRun {
    /// Checks the scenario, then begins the files.
    pub(crate) fn new(scenario: Scenario, files: &Files) -> Result<Self, Failure> {
        Needs::of([&scenario], 1, None).check()?;
        check(&scenario, "")?;
        let capture = files.pcap.as_ref().map(|path| PacketCapture::create(path, &scenario)).transpose()?;
        let trace = files.trace.as_ref().map(|path| Trace::create(path, &scenario)).transpose()?;
        let series = files.series.as_ref().map(|(path, interval)| Series::create(path, *interval, &scenario));
        let interval = files.series.as_ref().map(|(_, interval)| *interval);
        let flent = files.flent.as_ref().map(|path| FlentFile::new(path, interval, &scenario));
        let mahimahi = files.mahimahi.as_ref().map(|path| LinkLog::new(path, &scenario)).transpose()?;
        let recorder = (files.page.is_some() || files.series.is_some()).then(|| Recorder::new(&scenario));
        Ok(Self { capture, trace, series: series.transpose()?, flent, mahimahi, recorder, scenario })
    }

    /// Runs it once. After an interruption or an error the files are parts, complete up to that moment.
    pub(crate) fn execute(self, control: &Control) -> Result<BatchResult, Failure> {
        let Self { scenario, capture, trace, series, flent, mahimahi, recorder } = self;
        let mut observers = Observers { capture, trace, series, flent, mahimahi, recorder, control };
        let meter = CostMeter::start();
        let result = progress::watched(control, 1, || run(&scenario, 0, control, &mut observers));
        let partial = result.as_ref().map_or(true, |run| run.partial);
        let timeline = observers.finish(Extent::of(partial));
        let mut run = result.map_err(Failure::plain)?;
        let timeline = timeline?;
        meter.measure(&mut run.cost);
        let interrupted = run.partial;
        let measured = !run.partial || run.to_s > run.from_s;
        let outcomes = if measured { Outcome::from_runs([run]).into_iter().collect() } else { Vec::new() };
        let jobs = (0..outcomes.len()).collect();
        Ok(BatchResult { jobs, outcomes, timelines: vec![timeline], interrupted })
    }
}

struct Observers<'c> {
    capture: Option<PacketCapture>,
    trace: Option<Trace>,
    series: Option<Series>,
    flent: Option<FlentFile>,
    mahimahi: Option<LinkLog>,
    recorder: Option<Recorder>,
    control: &'c Control,
}

impl Observers<'_> {
    /// Ends the files and returns the timeline, or the reason why a file could not be written.
    fn finish(self, extent: Extent) -> Result<Option<Timeline>, Failure> {
        // If one failed, the run ended there, and the others are parts too.
        let extent = if self.failed() { Extent::Partial } else { extent };
        let capture = self.capture.map_or(Ok(()), |capture| capture.finish(extent));
        let trace = self.trace.map_or(Ok(()), |trace| trace.finish(extent).map(drop));
        let series = self.series.map_or(Ok(()), |series| series.finish(extent).map(drop));
        let flent = self.flent.map_or(Ok(()), |flent| flent.finish(extent));
        let mahimahi = self.mahimahi.map_or(Ok(()), |log| log.finish(extent));
        capture.and(trace.map_err(Failure::from)).and(series.map_err(Failure::from)).and(flent).and(mahimahi)?;
        Ok(self.recorder.map(Recorder::finish))
    }

    fn failed(&self) -> bool {
        let files = [
            self.capture.as_ref().is_some_and(PacketCapture::failed),
            self.trace.as_ref().is_some_and(Trace::failed),
            self.series.as_ref().is_some_and(Series::failed),
        ];
        files.contains(&true)
    }
}

impl Observer for Observers<'_> {
    fn packet(&mut self, event: &PacketEvent) {
        self.capture.packet(event);
        self.trace.packet(event);
        self.flent.packet(event);
        self.mahimahi.packet(event);
        // Without its file the rest of the run is of no use.
        if self.failed() {
            self.control.stop();
        }
    }

    fn passed(&mut self, event: &PacketEvent) {
        self.capture.passed(event);
    }

    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        self.flent.delivered(at, flow, seq);
    }

    fn interval(&self) -> Option<Duration> {
        self.series.interval().or_else(|| self.flent.interval()).or_else(|| self.recorder.interval())
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        self.series.flow(at, sample);
        self.flent.flow(at, sample);
        self.recorder.flow(at, sample);
    }

    fn queue(&mut self, at: Time, sample: &QueueSample) {
        self.series.queue(at, sample);
        self.recorder.queue(at, sample);
        if self.series.as_ref().is_some_and(Series::failed) {
            self.control.stop();
        }
    }
}
