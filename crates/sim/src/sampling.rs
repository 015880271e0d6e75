//! Flows and queues as they stand after each interval.

use fairlane_qdisc::{Count, Duration, Qdisc, Time};

use crate::flow::Flow;
use crate::link::Queue;
use crate::packet::Packet;
use crate::plane::Plane;
use crate::{Observer, QueueSample};

/// When the observer is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    every: Duration,
    last: Time,
}

impl Sampling {
    /// As `observer` asks; none if it does not, or for an interval of no time.
    pub(crate) fn of(observer: &impl Observer) -> Option<Self> {
        let every = observer.interval().filter(|every| *every > Duration::ZERO)?;
        Some(Self { every, last: Time::ZERO })
    }

    /// When it is told next.
    pub(crate) fn next(self) -> Time {
        self.last + self.every
    }

    /// Whether it has been told of `now`.
    pub(crate) fn took(self, now: Time) -> bool {
        self.last == now
    }

    /// Tells it.
    pub(crate) fn take<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        flows: &[Flow],
        plane: &mut Plane<'_, O, D>,
    ) {
        self.last = now;
        for (id, flow) in flows.iter().enumerate() {
            let (dropped, lost) = (plane.dropped[id], plane.lost[id]);
            plane.observer.flow(now, &flow.sample(dropped, lost));
        }
        for (link, state) in plane.network.links.iter().enumerate() {
            let Queue::Managed(managed) = &state.queue else { continue };
            if managed.meter.is_none() {
                continue;
            }
            let (queue, counters) = (&managed.discipline, managed.discipline.counters());
            let sample = QueueSample {
                link: link as u32,
                arrived: counters.arrived,
                departed: counters.departed,
                dropped: counters.dropped_total(),
                marked: counters.marked_total(),
                backlog: Count { packets: queue.packets() as u64, bytes: queue.bytes() },
                average: queue.average(),
                probability: queue.probability(),
            };
            plane.observer.queue(now, &sample);
        }
    }
}
