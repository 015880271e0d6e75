//! Prefetching, for scenarios that are too large for the processor's caches.
//!
//! With many flows nothing that an event needs is in a cache: the host's link, the flow, its counts at a queue and its scoreboard each cost a
//! cache miss of about a hundred nanoseconds. But most packets arrive in an order that is known, so the processor [is asked](prefetch) for what
//! a packet needs some packets before its turn, and loads it beside other work. This changes the speed of a run and nothing else.

use fairlane_qdisc::prefetch::{is_available, prefetch};

use crate::flow::Flow;
use crate::flow::hosts::Hosts;
use crate::flow::numbered::Numbered;
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::link::LinkQueue;
use crate::network::topology::Topology;
use crate::packet::{Flags, Packet};
use crate::sack_table::SackTable;
use crate::schedule::Schedule;
use crate::schedule::event_key::Target;
use crate::schedule::timing_wheel::EventQueue;

/// The number of flows from which prefetching pays: fewer fit the caches.
const MIN_FLOWS: usize = 20_000;

/// How many packets ahead it asks for what a packet needs, if the address is known by then. What so many packets need must fit the smallest
/// cache.
pub(crate) const FAR: usize = 24;

/// How many packets ahead it asks for what the flow of a packet points to. By then the flow itself is loaded.
pub(crate) const NEAR: usize = 8;

/// The events whose flows are asked for at once.
const EVENTS: usize = 32;

/// Packets that wait for their arrival.
pub(crate) trait Waiting {
    /// Calls `each` with those of the next [`FAR`] packets that it has not had yet.
    fn announce(&mut self, each: &mut dyn FnMut(&Packet));

    /// Returns the packet that arrives after [`NEAR`] others; `None` if there is none, or if it has not been announced.
    fn near(&self) -> Option<&Packet>;
}

/// Asks for what packets and events need.
pub(crate) struct Prefetcher<'n> {
    topology: &'n Topology,
    sacks: &'n SackTable,
    flows: &'n Numbered<Flow>,
}

impl<O: Observer> Network<O> {
    /// Returns true if prefetching pays.
    #[inline(always)]
    pub(crate) const fn prefetches(&self) -> bool {
        is_available() && self.topology.flows >= MIN_FLOWS
    }

    /// Returns the prefetcher, and the schedule whose packets and events it looks at; `None` if prefetching does not pay.
    #[inline(always)]
    pub(crate) const fn prefetcher<'n>(&'n mut self, hosts: &'n Hosts) -> Option<(Prefetcher<'n>, &'n mut Schedule)> {
        if !self.prefetches() {
            return None;
        }
        let Self { events, topology, sacks, .. } = self;
        Some((Prefetcher { topology, sacks, flows: &hosts.flows }, events))
    }
}

impl Prefetcher<'_> {
    /// Asks for what the packets need that arrive soon.
    #[inline(never)]
    pub(crate) fn advance(&self, waiting: &mut dyn Waiting) {
        waiting.announce(&mut |packet| self.arrives(packet));
        if let Some(packet) = waiting.near() {
            self.is_near(packet);
        }
    }

    /// Asks for what those of these packets need that arrive soon after the one at `place`.
    pub(crate) fn advance_within(&self, packets: &[Packet], place: usize) {
        if let Some(packet) = packets.get(place + FAR) {
            self.arrives(packet);
        }
        if let Some(packet) = packets.get(place + NEAR) {
            self.is_near(packet);
        }
    }

    /// Asks for what a packet needs that arrives at the next link of its route, or at its host.
    #[inline(always)]
    fn arrives(&self, packet: &Packet) {
        let step = &self.topology.table[packet.route as usize];
        let Some(link) = step.link(packet.flow) else { return self.reaches_host(packet) };
        let Some(link) = self.topology.links.get(link as usize) else { return };
        if step.is_plain_host_link() {
            return prefetch(Some(link));
        }
        match &link.queue {
            LinkQueue::Managed(managed) => {
                if let Some(meter) = &managed.meter {
                    meter.prefetch(packet.flow);
                }
            }
            LinkQueue::Plain(_) => self.leaves(packet),
        }
    }

    /// Asks for the link of a host behind the link that a packet crosses, and for the flow if its host takes packets [ahead](crate::flow::hosts).
    #[inline(always)]
    pub(crate) fn leaves(&self, packet: &Packet) {
        let step = &self.topology.table[packet.route as usize + 1];
        let link = step.plain_host_link(packet.flow);
        prefetch(link.and_then(|link| self.topology.links.get(link as usize)));
        if step.is_ahead() {
            self.reaches_host(packet);
        }
    }

    #[inline(always)]
    fn reaches_host(&self, packet: &Packet) {
        self.sacks.prefetch(packet.sack);
        self.acts(packet.flow, packet.flags.has(Flags::ACK));
    }

    /// Asks for what the sender of `flow`, or else its receiver, needs to send.
    #[inline(always)]
    fn acts(&self, flow: u32, sender: bool) {
        prefetch(self.flows.get(flow));
        let routes = self.topology.routes_of(flow);
        let step = self.topology.table.get(if sender { routes.forward } else { routes.back } as usize);
        let link = step.and_then(|step| step.plain_host_link(flow));
        prefetch(link.and_then(|link| self.topology.links.get(link as usize)));
    }

    /// If a packet that arrives soon reaches its host then, asks for what its flow points to. By now the flow has been loaded.
    #[inline(always)]
    fn is_near(&self, packet: &Packet) {
        match self.topology.table[packet.route as usize].link(packet.flow) {
            None => self.prefetch_scoreboard(packet),
            Some(link) if self.topology.is_plain(link) => self.leaves_soon(packet),
            Some(_) => {}
        }
    }

    /// If a packet that leaves its link soon reaches its host then, asks for what its flow points to.
    #[inline(always)]
    pub(crate) fn leaves_soon(&self, packet: &Packet) {
        if self.topology.table[packet.route as usize + 1].is_ahead() {
            self.prefetch_scoreboard(packet);
        }
    }

    #[inline(always)]
    fn prefetch_scoreboard(&self, packet: &Packet) {
        if let Some(flow) = self.flows.get(packet.flow) {
            flow.prefetch_scoreboard(packet.flags.has(Flags::ACK));
        }
    }

    /// Asks for the flows of the next events, once those of the last ones have happened.
    #[inline(never)]
    pub(crate) fn advance_events(&self, events: &mut EventQueue) {
        events.announce(EVENTS, &mut |target| match target {
            Target::Source(flow) | Target::SenderTimer(flow) => self.acts(flow, true),
            Target::ReceiverTimer(flow) => self.acts(flow, false),
            _ => {}
        });
    }
}
