//! The counts of a link over time.

use std::collections::VecDeque;

use fairlane_lab::{Chain, LabSample, SampleTimes, Timeline};
use fairlane_linux::DelayHistogram;
use fairlane_outcome::{FlowSample, QueueSample};
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{Counters, Duration, Time};

use super::meter::Meter;
use crate::outcome::FlowName;

/// The counts of a link from its start to a sample time.
#[derive(Clone, Debug)]
pub struct LinkSample {
    /// The queue towards the command and that from it, and the flows that have had packets since the sample before.
    pub counts: LabSample,
    /// The counts of both queues by reason. As in the simulator, packets that a policer drops have arrived.
    pub counters: [Counters; 2],
    /// The times in both queues of the packets that have left them.
    pub delays: [DelayHistogram; 2],
    /// The time of the sample before.
    pub since: Duration,
    /// The flows that were not there at the sample before, by rising number.
    pub new_flows: Vec<FlowName>,
}

/// The samples of a direction.
pub(crate) struct Sampling {
    timeline: Timeline,
    times: SampleTimes,
    taken: VecDeque<DirectionSample>,
    /// The number of flows at the last sample.
    flows: usize,
}

/// The counts of a direction at a sample time. Flows are numbered in the direction.
struct DirectionSample {
    at: Time,
    queue: QueueSample,
    counters: Counters,
    delays: DelayHistogram,
    flows: Vec<FlowSample>,
    new_flows: Vec<Option<FlowId>>,
}

/// The numbers of the flows of both directions: in the order of the samples in which they were first.
#[derive(Debug, Default)]
pub(crate) struct FlowNumbers {
    /// By direction and the number in it.
    numbers: [Vec<u32>; 2],
    next: u32,
    sampled: Time,
}

impl Sampling {
    pub(crate) fn new(timeline: Timeline) -> Self {
        Self { times: timeline.sample_times(), timeline, taken: VecDeque::new(), flows: 0 }
    }

    /// Takes the samples that are due by `now`, each at its own time. All packets that arrived before are in the link.
    pub(crate) fn take(&mut self, now: Time, link: &mut Chain<Meter>) {
        while let Some(at) = self.times.take_due(now, &self.timeline) {
            link.advance(at);
            let (queue, counters) = (link.sample(), link.counters());
            let delays = *link.meter().delays();
            let flows = link.meter_mut().sample();
            let new_flows = link.meter().names()[self.flows..].to_vec();
            self.flows += new_flows.len();
            self.taken.push_back(DirectionSample { at, queue, counters, delays, flows, new_flows });
        }
    }

    /// Returns the time of the next sample; `None` if there is none.
    pub(crate) fn due(&self) -> Option<Time> {
        Some(self.times.next(&self.timeline)).filter(|next| *next < Time::MAX)
    }
}

impl FlowNumbers {
    /// Removes and returns the next sample that both directions have taken.
    pub(crate) fn join(&mut self, both: [&mut Sampling; 2]) -> Option<LinkSample> {
        if both.iter().any(|sampling| sampling.taken.is_empty()) {
            return None;
        }
        let mut sample = LinkSample {
            counts: LabSample::default(),
            counters: <[Counters; 2]>::default(),
            delays: [DelayHistogram::default(); 2],
            since: self.sampled.since(Time::ZERO),
            new_flows: Vec::new(),
        };
        let taken: Vec<DirectionSample> = both.into_iter().filter_map(|sampling| sampling.taken.pop_front()).collect();
        for (way, DirectionSample { at, queue, counters, delays, flows, new_flows }) in taken.into_iter().enumerate() {
            self.sampled = at;
            sample.counts.at = at.since(Time::ZERO);
            (sample.counters[way], sample.delays[way]) = (counters, delays);
            self.add(way, new_flows.len());
            sample.new_flows.extend(new_flows.iter().map(|name| FlowName::new(name.as_ref(), way)));
            sample.counts.queues.push(QueueSample { link: way as u32, ..queue });
            let number = |flow: FlowSample| FlowSample { flow: self.numbers[way][flow.flow as usize], ..flow };
            sample.counts.flows.extend(flows.into_iter().map(number));
        }
        sample.counts.flows.sort_unstable_by_key(|flow| flow.flow);
        Some(sample)
    }

    /// Numbers the flows of a direction that have no number yet: it has `flows` in all.
    pub(crate) fn complete(&mut self, way: usize, flows: usize) {
        self.add(way, flows - self.numbers[way].len());
    }

    /// Returns the numbers, by direction and the number in it.
    pub(crate) fn into_numbers(self) -> [Vec<u32>; 2] {
        self.numbers
    }

    fn add(&mut self, way: usize, flows: usize) {
        let from = self.next;
        self.next += flows as u32;
        self.numbers[way].extend(from..self.next);
    }
}
