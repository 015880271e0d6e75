//! One run with an eye on it: `--pcap`, `--trace` and `--series`.

use std::path::PathBuf;

use fairlane_batch::machine::{Watch, peak_rss_bytes, thread_cpu_s};
use fairlane_batch::memory::Needs;
use fairlane_batch::{Done, Recorder, Series, Trace, check};
use fairlane_outcome::Outcome;
use fairlane_outcome::tables::SeriesWriter;
use fairlane_qdisc::{Duration, Time};
use fairlane_report::html::Course;
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, FlowSample, Observer, PacketEvent, QueueSample, run};

use crate::error::Failure;
use crate::pcap::Capture;
use crate::{output, progress};

/// The files that are asked for.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) pcap: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    /// With the interval.
    pub(crate) series: Option<(PathBuf, Duration)>,
    /// The page, which others write.
    pub(crate) page: Option<PathBuf>,
}

impl Files {
    /// Whether there are none that follow the run.
    pub(crate) const fn is_none(&self) -> bool {
        self.pcap.is_none() && self.trace.is_none() && self.series.is_none()
    }

    /// Makes sure that each can be written, and that no two are the same.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let series = self.series.as_ref().map_or_else(Vec::new, |(path, _)| SeriesWriter::files(path).to_vec());
        let named = [("--html", &self.page), ("--pcap", &self.pcap), ("--trace", &self.trace)];
        let named = named.into_iter().filter_map(|(option, path)| Some((option, path.clone()?)));
        let all: Vec<(&str, PathBuf)> = named.chain(series.into_iter().map(|path| ("--series", path))).collect();
        output::apart(&all)?;
        for (option, path) in &all {
            if ["--html", "--pcap"].contains(option) { output::file(path)? } else { output::table(path)? }
        }
        Ok(())
    }
}

/// A scenario and the files that are written of it.
#[derive(Debug)]
pub(crate) struct Watched {
    scenario: Scenario,
    capture: Option<Capture>,
    trace: Option<Trace>,
    series: Option<Series>,
    recorder: Option<Recorder>,
}

impl Watched {
    /// Checks the scenario, then begins the files.
    pub(crate) fn new(scenario: Scenario, files: &Files) -> Result<Self, Failure> {
        Needs::of([&scenario], 1, None).check()?;
        check(&scenario, "")?;
        files.check()?;
        let capture = files.pcap.as_ref().map(|path| Capture::create(path, &scenario)).transpose()?;
        let trace = files.trace.as_ref().map(|path| Trace::create(path, &scenario)).transpose()?;
        let series = files.series.as_ref().map(|(path, interval)| Series::create(path, *interval, &scenario));
        let recorder = files.page.as_ref().map(|_| Recorder::new(&scenario));
        Ok(Self { capture, trace, series: series.transpose()?, recorder, scenario })
    }

    /// Runs it once. What has been written is complete up to where it was interrupted.
    pub(crate) fn execute(self, control: &Control) -> Result<Done, Failure> {
        let Self { scenario, capture, trace, series, recorder } = self;
        let mut watchers = Watchers { capture, trace, series, recorder, control };
        let (watch, cpu_before) = (Watch::start(), thread_cpu_s());
        let result = progress::watched(control, 1, || run(&scenario, 0, control, &mut watchers));
        let course = watchers.finish()?;
        let mut run = result.map_err(Failure::plain)?;
        run.cost.cpu_s = thread_cpu_s() - cpu_before;
        run.cost.wall_s = watch.elapsed_s();
        run.cost.peak_rss_bytes = peak_rss_bytes();
        let interrupted = run.partial;
        let measured = !run.partial || run.to_s > run.from_s;
        let outcomes = if measured { Outcome::from_runs(&[run]).into_iter().collect() } else { Vec::new() };
        Ok(Done { outcomes, courses: vec![course], interrupted })
    }
}

struct Watchers<'c> {
    capture: Option<Capture>,
    trace: Option<Trace>,
    series: Option<Series>,
    recorder: Option<Recorder>,
    control: &'c Control,
}

impl Watchers<'_> {
    /// Ends the files, or says why one of them could not be written; gives what was recorded.
    fn finish(self) -> Result<Option<Course>, Failure> {
        self.capture.map_or(Ok(()), Capture::finish)?;
        self.trace.map_or(Ok(()), Trace::finish)?;
        self.series.map_or(Ok(()), Series::finish)?;
        Ok(self.recorder.map(Recorder::finish))
    }
}

impl Observer for Watchers<'_> {
    fn packet(&mut self, event: &PacketEvent) {
        self.capture.packet(event);
        self.trace.packet(event);
        // Without its file the rest of the run is for nothing.
        if self.capture.as_ref().is_some_and(Capture::failed) || self.trace.as_ref().is_some_and(Trace::failed) {
            self.control.stop();
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}

    fn interval(&self) -> Option<Duration> {
        self.series.interval().or_else(|| self.recorder.interval())
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        self.series.flow(at, sample);
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
