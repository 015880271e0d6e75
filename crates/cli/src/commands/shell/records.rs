//! Records a link over time: a series, a file of flent, and the timeline of a page.

use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::{Extent, Timeline};
use fairlane_qdisc::{Duration, Time};
use fairlane_runner::{LinkRecorder, Series, write_link};
use fairlane_scenario::Scenario;
use fairlane_shell::{LabSample, LinkSample};

use super::top::StateSocket;
use crate::output;

/// The interval between lines of progress, and between states.
const PROGRESS: Duration = Duration::from_millis(1000);

/// The interval of samples for a page, and for a file of flent, whose own it is.
const PAGE: Duration = Duration::from_millis(100);
const FLENT: Duration = Duration::from_millis(200);

/// Moves to the start of the line and clears it (ECMA-48).
const CLEARED: &str = "\r\x1b[K";

/// The most values of a figure.
const VALUES: usize = 800;

/// The records of a link that are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// With its interval.
    pub(super) series: Option<(PathBuf, Duration)>,
    pub(super) flent: Option<PathBuf>,
    pub(super) page: bool,
    /// The socket for `fairlane top`.
    pub(super) top: Option<PathBuf>,
    /// Standard error is a terminal that shows the progress.
    pub(super) progress: bool,
}

/// The records of one run.
pub(super) struct LinkRecords<'a> {
    series: Option<Series>,
    flent: Option<&'a Path>,
    recorder: LinkRecorder,
    title: &'a str,
    progress: Option<Progress>,
    top: Option<StateSocket<'a>>,
}

/// A line of progress: its time, and the bytes that had left both queues then.
#[derive(Default)]
struct Progress {
    at: Duration,
    bytes: [u64; 2],
}

impl Asked {
    /// Returns the interval of samples; `None` if there are to be none.
    pub(super) fn interval(&self) -> Option<Duration> {
        let flent = self.flent.as_ref().map(|_| FLENT);
        self.series
            .as_ref()
            .map(|(_, every)| *every)
            .or(flent)
            .or(self.page.then_some(PAGE))
            .or((self.progress || self.top.is_some()).then_some(PROGRESS))
    }

    /// Begins the records of a run behind the link of `scenario`, whose own flows are no part of them.
    pub(super) fn begin<'a>(&'a self, scenario: &'a Scenario) -> Result<LinkRecords<'a>, Failure> {
        let link = Scenario { flows: Vec::new(), ..scenario.clone() };
        let create = |(path, every): &(PathBuf, Duration)| Series::create(path, *every, &link);
        let series = self.series.as_ref().map(create).transpose()?;
        let (flent, recorder) = (self.flent.as_deref(), LinkRecorder::new(&link));
        let progress = self.progress.then(Progress::default);
        let top = self.top.as_ref().map(|path| StateSocket::new(path, scenario)).transpose()?;
        Ok(LinkRecords { series, flent, recorder, title: &scenario.name, progress, top })
    }
}

impl LinkRecords<'_> {
    /// Records a sample.
    pub(super) fn hear(&mut self, sample: &LinkSample) {
        use fairlane_sim::Observer as _;

        self.top.iter_mut().for_each(|top| top.hear(sample));
        let LinkSample { counts: LabSample { at, queues, flows }, since, new_flows, .. } = sample;
        new_flows.iter().for_each(|flow| self.recorder.add_flow(&flow.group));
        self.recorder.sample(*at, queues, flows);
        if let (Some(progress), [down, up]) = (&mut self.progress, &queues[..]) {
            progress.tell(*at, [down.departed.bytes, up.departed.bytes]);
        }
        let Some(series) = &mut self.series else { return };
        let (since, at) = (Time::ZERO + *since, Time::ZERO + *at);
        new_flows.iter().for_each(|flow| series.add_flow(flow.name.clone()));
        flows.iter().for_each(|flow| series.flow_since(since, at, flow));
        queues.iter().for_each(|queue| series.queue(at, queue));
    }

    /// Ends the files, and returns the timeline for figures.
    pub(super) fn finish(self, extent: Extent) -> Result<Timeline, Failure> {
        if self.progress.is_some() {
            output::tell(CLEARED);
        }
        let series = self.series.map_or(Ok(()), |series| series.finish(extent).map(drop));
        let flent = self.flent.map(|path| write_link(path, self.title, &self.recorder.timeline(usize::MAX), extent));
        series?;
        flent.transpose()?;
        Ok(self.recorder.timeline(VALUES))
    }
}

impl Progress {
    /// Shows the throughput since the line before, if that is old enough.
    fn tell(&mut self, at: Duration, bytes: [u64; 2]) {
        let seconds = at.as_secs() - self.at.as_secs();
        if seconds < PROGRESS.as_secs() {
            return;
        }
        let mbit = |way: usize| (bytes[way] - self.bytes[way]) as f64 * 8.0 / seconds / 1e6;
        let line = format!("{:.0} s, down {:.2} Mbit/s, up {:.2} Mbit/s", at.as_secs(), mbit(0), mbit(1));
        output::tell(&format!("{CLEARED}{line}"));
        *self = Self { at, bytes };
    }
}
