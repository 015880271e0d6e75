//! The network during a run.
//!
//! TODO

pub(crate) mod aggregation;
pub(crate) mod boundary;
pub(crate) mod droptail_link;
pub(crate) mod impairments;
pub(crate) mod link;
pub(crate) mod link_rates;
pub(crate) mod link_run;
pub(crate) mod opportunities;
pub(crate) mod packet_path;
pub(crate) mod prefetch;
pub(crate) mod route;
pub(crate) mod shaper;
pub(crate) mod shaper_events;
pub(crate) mod topology;

use fairlane_qdisc::Time;

use crate::measure::accounting::Records;
use crate::measure::observer::Observer;
use crate::network::boundary::Boundary;
use crate::network::prefetch::Departure;
use crate::network::topology::Topology;
use crate::packet::Packet;
use crate::schedule::Schedule;

/// All links with their queues, and the packets and events that are on their way.
pub(crate) struct Network<O> {
    pub(crate) events: Schedule,
    pub(crate) topology: Topology,
    pub(crate) records: Records<O>,
    /// The links that packets have crossed, without the last one of those that reached their hosts early.
    pub(crate) packet_hops: u64,
    /// The timers of flows that fired before their turn, before an [early](crate::flow::hosts) packet.
    pub(crate) early_timers: u64,
    /// The packets that hosts have sent.
    pub(crate) injected: u64,
    /// The packets that have reached their hosts, without those that were delivered early.
    pub(crate) ejected: u64,
    /// Packets of either kind that droptail links have dropped.
    pub(crate) dropped_at_droptail_links: u64,
    /// Packets of either kind that were lost during transmission.
    pub(crate) lost_on_links: u64,
    /// The way to the other partitions of a divided run.
    pub(crate) boundary: Option<Box<Boundary>>,
    /// The packets that a link has begun to send and whose hosts are being [prefetched](crate::network::prefetch).
    pub(crate) departures: Vec<Departure>,
}

/// What takes packets at the ends of their routes.
pub(crate) trait Receiver<O>: FlowCache {
    /// Takes a packet that reaches its host at `now`.
    fn deliver(&mut self, now: Time, packet: &Packet, network: &mut Network<O>);

    /// Returns true if a packet that reaches its host at `at` may be delivered [early](crate::flow::hosts).
    fn takes_early(&self, at: Time) -> bool;

    /// Takes a packet early that reaches its host at `at`.
    fn deliver_early(&mut self, at: Time, packet: &Packet, network: &mut Network<O>);
}

/// Flows that can be [prefetched](crate::network::prefetch).
pub(crate) trait FlowCache {
    /// Prefetches a flow.
    fn prefetch(&self, flow: u32);

    /// Prefetches the scoreboard of the sender of a flow, or else of its receiver. The flow has been prefetched before.
    fn prefetch_scoreboard(&self, flow: u32, sender: bool);
}

/// No receiver: where events are handled in event order, no packet is delivered early.
pub(crate) struct InOrder;

impl<O> Receiver<O> for InOrder {
    fn deliver(&mut self, _now: Time, _packet: &Packet, _network: &mut Network<O>) {}

    fn takes_early(&self, _at: Time) -> bool {
        false
    }

    fn deliver_early(&mut self, _at: Time, _packet: &Packet, _network: &mut Network<O>) {}
}

impl FlowCache for InOrder {
    fn prefetch(&self, _flow: u32) {}

    fn prefetch_scoreboard(&self, _flow: u32, _sender: bool) {}
}

impl<O: Observer> Network<O> {
    pub(crate) fn new(topology: Topology, events_per_second: f64, observer: O) -> Self {
        Self {
            events: Schedule::new(&topology.ports, events_per_second),
            records: Records::new(observer, topology.flows + topology.probe_flows()),
            topology,
            packet_hops: 0,
            early_timers: 0,
            injected: 0,
            ejected: 0,
            dropped_at_droptail_links: 0,
            lost_on_links: 0,
            boundary: None,
            departures: Vec::new(),
        }
    }

    /// Returns the topology and each flow's packets that were dropped and that were lost, and frees everything else.
    pub(crate) fn close(self) -> (Topology, Vec<u64>, Vec<u64>) {
        (self.topology, self.records.dropped, self.records.lost)
    }
}
