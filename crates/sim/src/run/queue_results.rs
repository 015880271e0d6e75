//! The results of queues.

use fairlane_outcome::QueueRun;
use fairlane_qdisc::Time;
use fairlane_scenario::Scenario;

use crate::build::names::link_name;
use crate::measure::queue_meter::Meter;
use crate::network::link::LinkQueue;
use crate::network::topology::Topology;

/// A queue whose packets were counted.
pub(crate) struct MeteredQueue {
    name: String,
    kind: &'static str,
    rate_bps: f64,
    edge_bytes: f64,
    meter: Meter,
}

impl MeteredQueue {
    /// Returns the measurements up to `now`.
    pub(crate) fn result(self, now: Time) -> QueueRun {
        let Self { name, kind, rate_bps, edge_bytes, meter } = self;
        let (flows, mean_avg) = (meter.flows(now), meter.mean_average());
        let mean_packets = flows.iter().map(|flow| flow.mean_packets).sum();
        QueueRun {
            name,
            kind: kind.into(),
            rate_bps,
            edge_bytes,
            mean_packets,
            mean_avg,
            delay_ns: meter.delay_ns(),
            flows,
        }
    }
}

impl Topology {
    /// Returns the metered queues in the scenario's order, measured from `from` to `to`.
    pub(crate) fn metered(self, scenario: &Scenario, (from, to): (Time, Time)) -> impl Iterator<Item = MeteredQueue> {
        let edge_bytes = |link: u32| match &self.links[link as usize].queue {
            LinkQueue::Managed(managed) => managed.meter.as_ref().map_or(0.0, |meter| meter.edge_bytes(to)),
            LinkQueue::Droptail(_) => 0.0,
        };
        let sent: Vec<(f64, f64)> = (0..self.first_host_link)
            .map(|link| self.sending(link))
            .map(|link| (self.mean_rate(link, from, to), edge_bytes(link)))
            .collect();
        self.links.into_iter().zip(sent).enumerate().filter_map(|(id, (link, (rate_bps, edge_bytes)))| {
            let LinkQueue::Managed(managed) = link.queue else { return None };
            let (name, kind) = (link_name(scenario, id as u32), managed.kind);
            Some(MeteredQueue { name, kind, rate_bps, edge_bytes, meter: managed.meter? })
        })
    }
}
