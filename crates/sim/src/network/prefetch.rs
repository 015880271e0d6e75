//! Prefetching, for scenarios that are too large for the processor's caches.
//!
//! With many flows no data of an event are in a cache: the host's link, the flow, its counts at a queue and its
//! scoreboard each cost a cache miss of about a hundred nanoseconds. But most packets arrive in an order that is known.
//! So the data of a packet are prefetched [some packets](crate::schedule::upcoming) before its arrival, and are loaded
//! during other work. This changes the speed of a run and nothing else.
//!
//! With a million flows a run takes a quarter less time with it (`docs/notebook.md`). It costs instructions, so it acts
//! only from [so many flows](crate::Shortcuts::prefetch_from).

use std::mem;

use fairlane_qdisc::Time;
use fairlane_qdisc::prefetch::{is_available, prefetch};

use crate::measure::observer::Observer;
use crate::measure::queue_meter::Meter;
use crate::network::link::LinkQueue;
use crate::network::link_run::AtLink;
use crate::network::topology::Topology;
use crate::network::{FlowCache, Network, Receiver};
use crate::packet::{Flags, Packet};
use crate::sack_table::SackTable;
use crate::schedule::Schedule;
use crate::schedule::event_key::Target;
use crate::schedule::port::Port;
use crate::schedule::upcoming::{NEAR, Upcoming};

/// The events whose flows are prefetched together.
const EVENTS: usize = 32;

/// The departures that are kept until the hosts of all of them have been prefetched.
const TOGETHER: usize = 32;

/// A packet that a lazily processed link has begun to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    packet: Packet,
    /// When the link began to send it.
    begun: Time,
    /// When it reaches the far end.
    arrival: Time,
}

/// The state that prefetching reads.
struct Prefetcher<'n, R> {
    topology: &'n Topology,
    sacks: &'n SackTable,
    flows: &'n R,
}

impl<O: Observer> Network<O> {
    /// Returns true if prefetching pays.
    #[inline(always)]
    pub(crate) const fn prefetches(&self) -> bool {
        is_available() && self.topology.prefetches
    }

    #[inline(always)]
    fn prefetcher<'n, R>(&'n mut self, flows: &'n R) -> (Prefetcher<'n, R>, &'n mut Schedule) {
        (Prefetcher { topology: &self.topology, sacks: &self.records.sacks, flows }, &mut self.events)
    }

    /// Prefetches the counts of the next packets at the port of a link.
    #[inline(always)]
    pub(crate) fn prefetch_counts_at(&self, at: &AtLink<'_>, port: &mut Port) {
        let place = port.first().place();
        port.upcoming(place).announce(&mut |packet| {
            if let Some(meter) = &at.managed.meter {
                meter.prefetch(packet.flow);
                meter.prefetch_dropped(packet.flow);
            }
            prefetch(self.records.dropped.get(packet.flow as usize));
        });
    }

    /// Prefetches what the next packets at the port of a droptail link need behind it.
    #[inline(always)]
    pub(crate) fn prefetch_arrivals(&mut self, port: &mut Port, flows: &impl FlowCache) {
        let place = port.first().place();
        self.prefetcher(flows).0.advance(port.upcoming(place));
    }

    /// Prefetches what the next packets need that arrive at hosts at this place, [early](crate::flow::hosts)
    /// or in event order.
    #[inline(always)]
    pub(crate) fn prefetch_at_hosts(&mut self, place: u32, early: bool, flows: &impl FlowCache) {
        let (prefetcher, events) = self.prefetcher(flows);
        prefetcher.advance(if early { events.early() } else { events.hosts() }.upcoming(place));
    }

    /// Prefetches the flows of the next timers, once the last ones have fired.
    #[inline(never)]
    pub(crate) fn prefetch_timers(&mut self, flows: &impl FlowCache) {
        let (prefetcher, events) = self.prefetcher(flows);
        events.timers().announce(EVENTS, &mut |key, ()| match Target::decode(key) {
            Target::Source(flow) | Target::SenderTimer(flow) => prefetcher.acts(flow, true),
            Target::ReceiverTimer(flow) => prefetcher.acts(flow, false),
            _ => {}
        });
    }

    /// Keeps a packet that the link begins to send at `begun`, while its host is prefetched.
    #[inline(always)]
    pub(crate) fn depart_later(
        &mut self,
        (begun, arrival): (Time, Time),
        packet: &Packet,
        at: &mut AtLink<'_>,
        receiver: &mut impl Receiver<O>,
    ) {
        self.prefetcher(receiver).0.leaves(packet);
        if let Some(meter) = &at.managed.meter {
            meter.prefetch(packet.flow);
        }
        self.departures.push(Departure { packet: *packet, begun, arrival });
        if self.departures.len() == TOGETHER {
            self.depart_together(at.managed.meter.as_mut(), receiver);
        }
    }

    /// Counts all departures that were kept, and moves their packets on.
    #[inline(never)]
    pub(crate) fn depart_together(&mut self, mut meter: Option<&mut Meter>, receiver: &mut impl Receiver<O>) {
        let mut departures = mem::take(&mut self.departures);
        for (place, Departure { packet, begun, arrival }) in departures.iter().enumerate() {
            if let Some(near) = departures.get(place + NEAR) {
                self.prefetcher(receiver).0.leaves_soon(&near.packet);
            }
            if let Some(meter) = &mut meter {
                meter.departed(*begun, packet.flow, packet.bytes, packet.at);
            }
            self.travel(*arrival, packet, receiver);
        }
        departures.clear();
        self.departures = departures;
    }
}

impl<R: FlowCache> Prefetcher<'_, R> {
    /// Prefetches what the packets need that arrive soon.
    #[inline(never)]
    fn advance(&self, upcoming: &mut dyn Upcoming) {
        upcoming.announce(&mut |packet| self.arrives(packet));
        if let Some(packet) = upcoming.near() {
            self.is_near(packet);
        }
    }

    /// Prefetches what a packet needs that arrives at the next link of its route, or at its host.
    #[inline(always)]
    fn arrives(&self, packet: &Packet) {
        let step = &self.topology.table[packet.route as usize];
        let Some(link) = step.link(packet.flow) else { return self.reaches_host(packet) };
        let Some(link) = self.topology.links.get(link as usize) else { return };
        if step.is_droptail_host_link() {
            return prefetch(Some(link));
        }
        match &link.queue {
            LinkQueue::Managed(managed) => {
                if let Some(meter) = &managed.meter {
                    meter.prefetch(packet.flow);
                }
            }
            LinkQueue::Droptail(_) => self.leaves(packet),
        }
    }

    /// Prefetches the link of a host behind the link that a packet crosses, and the flow if its host takes packets
    /// early.
    #[inline(always)]
    fn leaves(&self, packet: &Packet) {
        let step = &self.topology.table[packet.route as usize + 1];
        let link = step.droptail_host_link(packet.flow);
        prefetch(link.and_then(|link| self.topology.links.get(link as usize)));
        if step.is_early() {
            self.reaches_host(packet);
        }
    }

    #[inline(always)]
    fn reaches_host(&self, packet: &Packet) {
        self.sacks.prefetch(packet.sack);
        self.acts(packet.flow, packet.flags.has(Flags::ACK));
    }

    /// Prefetches what the sender of `flow`, or else its receiver, needs to send.
    #[inline(always)]
    fn acts(&self, flow: u32, sender: bool) {
        self.flows.prefetch(flow);
        let routes = self.topology.routes_of(flow);
        let step = self.topology.table.get(if sender { routes.forward } else { routes.back } as usize);
        let link = step.and_then(|step| step.droptail_host_link(flow));
        prefetch(link.and_then(|link| self.topology.links.get(link as usize)));
    }

    /// Prefetches the scoreboard for a packet that reaches its host soon. By now the flow has been loaded.
    #[inline(always)]
    fn is_near(&self, packet: &Packet) {
        match self.topology.table[packet.route as usize].link(packet.flow) {
            None => self.flows.prefetch_scoreboard(packet.flow, packet.flags.has(Flags::ACK)),
            Some(link) if self.topology.is_droptail(link) => self.leaves_soon(packet),
            Some(_) => {}
        }
    }

    /// Prefetches the scoreboard for a packet that leaves its link soon, if its host takes packets early.
    #[inline(always)]
    fn leaves_soon(&self, packet: &Packet) {
        if self.topology.table[packet.route as usize + 1].is_early() {
            self.flows.prefetch_scoreboard(packet.flow, packet.flags.has(Flags::ACK));
        }
    }
}
