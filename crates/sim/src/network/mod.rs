//! The model: links with their queues, and packets on their way from host to host.
//!
//! # Where a packet is
//!
//! * **In the queue of a discipline** at a link ([`link`]).
//! * **At a port**, with the time of its arrival there: on a line of the [`Port`](crate::schedule::port::Port), or in
//!   its calendar. Each link between nodes has a port. All hosts share two: one for packets in event order, also those
//!   to hosts' links with a discipline, and one for packets that hosts take early.
//! * **In a mailbox**, in a divided run ([`boundary`]).
//!
//! A link that only drops from the tail holds no packets ([`droptail_link`]): when one enters, the time at which it
//! reaches the far end is calculated, and the packet goes to the next port. A host takes a packet at its arrival, and
//! what it sends enters the first link of the route at once. Within one call a packet may also be in `departures`, or
//! between a shaper and its buffer.
//!
//! # What happens next
//!
//! The [`Schedule`] decides. It knows four sorts of events: a packet arrives, a link ends a transmission, a discipline
//! releases a packet that it held back, and a timer fires; sources and controllers have timers, too.
//! [`EventLoop`](crate::event_loop::EventLoop) asks it for the next one and calls [`Network::run_link`],
//! [`Network::arrive`] or the flow. `packet_path` moves packets from link to link: a packet knows its place in the
//! table of routes ([`route`]). `link_run` handles the events at a link. The network does not know what sends and
//! receives: it hands packets to a [`Receiver`].
//!
//! # What is handled out of order
//!
//! Three [shortcuts](crate::Shortcuts) skip work and change no result:
//! * A link between nodes is **processed lazily**: its events wait, and are handled together ([`link_run`]). This is
//!   sound: a packet that it sends arrives at least its *lookahead* later, the link's delay and its shortest
//!   transmission (invariant 4).
//! * A host takes packets **early**, when the link sends them ([`hosts`](crate::flow::hosts)). This is sound: nothing
//!   but its packets and timers changes such a host (invariant 5).
//! * In large runs, what the next packets need is **prefetched** ([`prefetch`]), which changes no state.
//!
//! # Invariants
//!
//! A *step* is the time until which a caller advances a run, or a partition goes on at once. Checks are those of debug
//! builds.
//!
//! 1. Events are totally ordered: by time, kind, and a tie-break hash of the link or flow; of packets of a flow at one
//!    place, that in the calendar comes first. *Checked: a unit test of the schedule draws events of equal times.*
//! 2. A droptail link never reorders: packets enter it in the order of time. *Checked: `packet_path`.*
//! 3. The packets of a line come from one link, or from hosts whose links take the same time. A packet that is further
//!    out of order than a line reaches goes to the calendar. *Checked: a line's packets leave in order
//!    ([`DelayLine`](crate::schedule::delay_line::DelayLine)).*
//! 4. Nobody reads the state of a lazily processed link as of a time up to which it has not been processed, and all
//!    catch up at the end of a step. *Checked: no packet is sent to a time that has passed ([`Schedule`]).*
//! 5. An early host reads nothing that others write, and takes no packets that arrive at or after the end of the step.
//!    *Checked: [`hosts`](crate::flow::hosts), and `tests/unobserved.rs`.*
//! 6. Injected packets = delivered + dropped + lost + inside. *Checked at the end of a run (`run/engine.rs`).*
//! 7. A change of a rate can only shorten a lookahead. *[`Schedule::shorten`] sees to that.*
//! 8. A partition of a divided run posts its mail before it publishes its clock. *Checked by 4 at the other partition.*
//!
//! # A new kind of link
//!
//! Effects of the wire, such as loss or jitter, belong in [`Impairments`](fairlane_traffic::Impairments), and drops in
//! front of the queue in [`policer`]. Another way of taking packets from the queue belongs in a file next to
//! [`aggregation`] and [`shaper_events`]; `link_run::send_specially` chooses it. A queue is a discipline of
//! `fairlane-qdisc`.
//! [`build`](crate::build) makes the link (`build/topology.rs`) and decides whether it can be processed lazily
//! (`build/routes.rs`), and `parallel/partition.rs` whether a run with it can be divided.

pub(crate) mod aggregation;
pub(crate) mod boundary;
pub(crate) mod droptail_link;
pub(crate) mod link;
pub(crate) mod link_rates;
pub(crate) mod link_run;
pub(crate) mod packet_path;
pub(crate) mod policer;
pub(crate) mod prefetch;
pub(crate) mod route;
pub(crate) mod shaper;
pub(crate) mod shaper_events;
pub(crate) mod topology;

use fairlane_qdisc::Time;

use crate::endpoint::EndpointError;
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
    /// The first error of an [endpoint](crate::endpoint), after which none is called.
    pub(crate) failure: Option<Box<EndpointError>>,
    /// When a packet last entered each link that only drops from the tail.
    #[cfg(debug_assertions)]
    entered: Vec<Time>,
}

/// The receiver of packets at the ends of their routes.
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
    fn deliver(&mut self, _now: Time, _packet: &Packet, _network: &mut Network<O>) {
        debug_assert!(false, "a packet reaches no host where none receives");
    }

    fn takes_early(&self, _at: Time) -> bool {
        false
    }

    fn deliver_early(&mut self, _at: Time, _packet: &Packet, _network: &mut Network<O>) {
        debug_assert!(false, "no packet is delivered early in event order");
    }
}

impl FlowCache for InOrder {
    fn prefetch(&self, _flow: u32) {}

    fn prefetch_scoreboard(&self, _flow: u32, _sender: bool) {}
}

impl<O: Observer> Network<O> {
    pub(crate) fn new(topology: Topology, events_per_second: f64, observer: O) -> Self {
        Self {
            events: Schedule::new(&topology.ports, events_per_second),
            #[cfg(debug_assertions)]
            entered: vec![Time::ZERO; topology.links.len()],
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
            failure: None,
        }
    }

    /// Returns the topology and each flow's packets that were dropped and that were lost, and frees everything else.
    pub(crate) fn close(self) -> (Topology, Vec<u64>, Vec<u64>) {
        (self.topology, self.records.dropped, self.records.lost)
    }
}
