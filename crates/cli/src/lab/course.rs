//! What a lab did over time, told to those who follow a run of the simulator too.

use std::path::Path;

use fairlane_batch::{Recorder, Series};
use fairlane_linux::lab::Moment;
use fairlane_outcome::tables::TableError;
use fairlane_qdisc::{Duration, Time};
use fairlane_report::html::Course;
use fairlane_scenario::Scenario;
use fairlane_sim::Observer;

/// What of a run is kept.
#[derive(Debug, Default)]
pub(super) struct Followers {
    series: Option<Series>,
    recorder: Option<Recorder>,
}

impl Followers {
    /// Begins the tables of `series`, and what a page shows if there is `a_page`.
    pub(super) fn new(
        scenario: &Scenario,
        series: Option<&(impl AsRef<Path>, Duration)>,
        a_page: bool,
    ) -> Result<Self, TableError> {
        let create = |(path, every): &(_, Duration)| Series::create(AsRef::as_ref(path), *every, scenario);
        Ok(Self { series: series.map(create).transpose()?, recorder: a_page.then(|| Recorder::new(scenario)) })
    }

    /// After how long they want to be told, again and again; `None` if nobody does.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.series.interval().or_else(|| self.recorder.interval())
    }

    /// Takes in a run, and ends; what a page shows.
    pub(super) fn hear(mut self, moments: &[Moment]) -> Result<Option<Course>, TableError> {
        tell(moments, &mut self.series);
        tell(moments, &mut self.recorder);
        self.series.map_or(Ok(()), Series::finish)?;
        Ok(self.recorder.map(Recorder::finish))
    }
}

/// Tells `observer` as a run of the simulator would.
fn tell(moments: &[Moment], observer: &mut impl Observer) {
    for moment in moments {
        let at = Time::ZERO + moment.at;
        moment.flows.iter().for_each(|flow| observer.flow(at, flow));
        observer.queue(at, &moment.queue);
    }
}
