//! What a lab did over time, told to those who follow a run of the simulator too.

use std::path::Path;

use fairlane_batch::{Recorder, Series};
use fairlane_linux::lab::Moment;
use fairlane_outcome::tables::TableError;
use fairlane_qdisc::{Duration, Time};
use fairlane_report::html::Course;
use fairlane_scenario::Scenario;
use fairlane_sim::{FlowSample, Observer, QueueSample};

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

    /// Takes in a run of `scenario`, and ends; what a page shows.
    pub(super) fn hear(mut self, scenario: &Scenario, moments: &[Moment]) -> Result<Option<Course>, TableError> {
        tell(scenario, moments, &mut self.series);
        tell(scenario, moments, &mut self.recorder);
        self.series.map_or(Ok(()), Series::finish)?;
        Ok(self.recorder.map(Recorder::finish))
    }
}

/// Tells `observer` as a run of the simulator would.
fn tell(scenario: &Scenario, moments: &[Moment], observer: &mut impl Observer) {
    let groups = scenario.flows.iter();
    let packets: Vec<u64> = groups.flat_map(|group| (0..group.count).map(|_| group.packet.get())).collect();
    for moment in moments {
        let at = Time::ZERO + moment.at;
        for ((flow, number), packet) in moment.flows.iter().zip(0..).zip(&packets) {
            let sample = FlowSample {
                flow: number,
                sent: flow.sent,
                delivered: flow.delivered,
                delivered_bytes: flow.delivered * packet,
                unique_bytes: flow.unique_bytes,
                dropped: flow.dropped,
                lost: 0,
                retransmitted: flow.retransmitted,
                timeouts: flow.timeouts,
                cwnd: flow.cwnd,
                srtt: flow.srtt,
            };
            observer.flow(at, &sample);
        }
        let queue = &moment.queue;
        let sample = QueueSample {
            // The lab has one.
            link: 0,
            arrived: queue.arrived,
            departed: queue.departed,
            dropped: queue.dropped,
            marked: queue.marked,
            backlog: queue.backlog,
            average: queue.average,
            probability: queue.probability,
        };
        observer.queue(at, &sample);
    }
}
