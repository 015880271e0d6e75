//! Passes the samples of a lab to the observers of the simulator.

use std::path::Path;

use fairlane_lab::LabSample;
use fairlane_outcome::tables::TableError;
use fairlane_outcome::{Extent, Timeline};
use fairlane_qdisc::{Duration, Time};
use fairlane_runner::{Recorder, Series};
use fairlane_scenario::Scenario;
use fairlane_sim::Observer;

/// The observers of a run.
#[derive(Debug, Default)]
pub(super) struct Followers {
    series: Option<Series>,
    recorder: Option<Recorder>,
}

impl Followers {
    /// Begins the tables of `series`, and a timeline if there is `a_page`.
    pub(super) fn new(
        scenario: &Scenario,
        series: Option<&(impl AsRef<Path>, Duration)>,
        a_page: bool,
    ) -> Result<Self, TableError> {
        let create = |(path, every): &(_, Duration)| Series::create(AsRef::as_ref(path), *every, scenario);
        Ok(Self { series: series.map(create).transpose()?, recorder: a_page.then(|| Recorder::new(scenario)) })
    }

    /// Records the samples of a run, of which there may be a part, ends the tables, and returns the timeline.
    pub(super) fn hear(mut self, samples: &[LabSample], extent: Extent) -> Result<Option<Timeline>, TableError> {
        tell(samples, &mut self.series);
        tell(samples, &mut self.recorder);
        self.series.map_or(Ok(()), |series| series.finish(extent).map(drop))?;
        Ok(self.recorder.map(Recorder::finish))
    }
}

/// Calls `observer` as a run of the simulator would.
fn tell(samples: &[LabSample], observer: &mut impl Observer) {
    for sample in samples {
        let at = Time::ZERO + sample.at;
        sample.flows.iter().for_each(|flow| observer.flow(at, flow));
        sample.queues.iter().for_each(|queue| observer.queue(at, queue));
    }
}
