//! Records a link over time: a series, a file of flent, and the timeline of a page.

use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::{Extent, Timeline};
use fairlane_qdisc::{Duration, Time};
use fairlane_runner::{LinkRecorder, Series, write_link};
use fairlane_scenario::Scenario;
use fairlane_shell::{LabSample, LinkSample};

/// The interval of samples for a page, and for a file of flent, whose own it is.
const PAGE: Duration = Duration::from_millis(100);
const FLENT: Duration = Duration::from_millis(200);

/// The most values of a figure.
const VALUES: usize = 800;

/// The records of a link that are asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    /// With its interval.
    pub(super) series: Option<(PathBuf, Duration)>,
    pub(super) flent: Option<PathBuf>,
    pub(super) page: bool,
}

/// The records of one run.
pub(super) struct LinkRecords<'a> {
    series: Option<Series>,
    flent: Option<&'a Path>,
    recorder: LinkRecorder,
    title: &'a str,
}

impl Asked {
    /// Returns the interval of samples; `None` if there are to be none.
    pub(super) fn interval(&self) -> Option<Duration> {
        let flent = self.flent.as_ref().map(|_| FLENT);
        self.series.as_ref().map(|(_, every)| *every).or(flent).or(self.page.then_some(PAGE))
    }

    /// Begins the records of a run behind the link of `scenario`, whose own flows are no part of them.
    pub(super) fn begin<'a>(&'a self, scenario: &'a Scenario) -> Result<LinkRecords<'a>, Failure> {
        let link = Scenario { flows: Vec::new(), ..scenario.clone() };
        let create = |(path, every): &(PathBuf, Duration)| Series::create(path, *every, &link);
        let series = self.series.as_ref().map(create).transpose()?;
        let (flent, recorder) = (self.flent.as_deref(), LinkRecorder::new(&link));
        Ok(LinkRecords { series, flent, recorder, title: &scenario.name })
    }
}

impl LinkRecords<'_> {
    /// Records a sample.
    pub(super) fn hear(&mut self, sample: &LinkSample) {
        use fairlane_sim::Observer as _;

        let LinkSample { counts: LabSample { at, queues, flows }, since, new_flows } = sample;
        new_flows.iter().for_each(|flow| self.recorder.add_flow(&flow.group));
        self.recorder.sample(*at, queues, flows);
        let Some(series) = &mut self.series else { return };
        let (since, at) = (Time::ZERO + *since, Time::ZERO + *at);
        new_flows.iter().for_each(|flow| series.add_flow(flow.name.clone()));
        flows.iter().for_each(|flow| series.flow_since(since, at, flow));
        queues.iter().for_each(|queue| series.queue(at, queue));
    }

    /// Ends the files, and returns the timeline for figures.
    pub(super) fn finish(self, extent: Extent) -> Result<Timeline, Failure> {
        let series = self.series.map_or(Ok(()), |series| series.finish(extent).map(drop));
        let flent = self.flent.map(|path| write_link(path, self.title, &self.recorder.timeline(usize::MAX), extent));
        series?;
        flent.transpose()?;
        Ok(self.recorder.timeline(VALUES))
    }
}
