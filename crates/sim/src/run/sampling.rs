//! Samples of all flows and queues at intervals.

use fairlane_outcome::QueueSample;
use fairlane_qdisc::{Count, Duration, Qdisc, Time};

use crate::flow::Flow;
use crate::flow::numbered::Numbered;
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::link::{Link, LinkQueue};

/// The times at which the observer gets samples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    every: Duration,
    last: Time,
}

impl Sampling {
    /// Returns the sampling that `observer` asks for; `None` if it asks for none, or for an interval of zero.
    pub(crate) fn of(observer: &impl Observer) -> Option<Self> {
        let every = observer.interval().filter(|every| *every > Duration::ZERO)?;
        Some(Self { every, last: Time::ZERO })
    }

    /// Returns the time of the next samples.
    pub(crate) fn next(self) -> Time {
        self.last + self.every
    }

    /// Returns true if the samples of `now` have been taken.
    pub(crate) fn took(self, now: Time) -> bool {
        self.last == now
    }

    /// Passes samples of all flows and queues to the observer.
    pub(crate) fn take<O: Observer>(&mut self, now: Time, flows: &Numbered<Flow>, network: &mut Network<O>) {
        self.last = now;
        for (id, flow) in flows.iter().enumerate() {
            let (dropped, lost) = (network.records.dropped[id], network.records.lost[id]);
            network.records.observer.flow(now, &flow.sample(dropped, lost));
        }
        for (number, link) in network.topology.links.iter().enumerate() {
            if let Some(sample) = queue_sample(number as u32, link) {
                network.records.observer.queue(now, &sample);
            }
        }
    }
}

/// Returns the counts and the state of the queue of `link`; `None` if it is in no outcome.
pub(crate) fn queue_sample(number: u32, link: &Link) -> Option<QueueSample> {
    let LinkQueue::Managed(managed) = &link.queue else { return None };
    managed.meter.as_ref()?;
    let (status, counters) = (managed.discipline.status(), managed.counters());
    Some(QueueSample {
        link: number,
        arrived: counters.arrived,
        departed: counters.departed,
        dropped: counters.dropped_total(),
        marked: counters.marked_total(),
        backlog: Count { packets: status.packets as u64, bytes: status.bytes },
        average: status.average,
        probability: status.probability,
    })
}
