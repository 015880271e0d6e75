//! Prefetching, for scenarios that are too large for the processor's caches.
//!
//! With a million flows nothing that an event needs is in a cache: its link, the packet there and the packet's flow are
//! each found through the one before, and each costs a cache miss of about a hundred nanoseconds. So the data of the
//! next few dozen events is read together, one kind of object after the other, which lets the misses overlap. The
//! values read are not used, so this changes the speed of a run and nothing else.

use std::hint::black_box;

use crate::event::EventQueue;
use crate::flow::Flow;
use crate::link::LinkQueue;
use crate::numbered::Numbered;
use crate::packet::{Flags, Packet};
use crate::sack_table::SackTable;
use crate::target::Target;
use crate::topology::Topology;

/// The number of flows from which prefetching pays: fewer fit the caches.
const MIN_FLOWS: usize = 20_000;

/// A browser loads the program for each visit, and so many flows are no use there.
const READS_AHEAD: bool = !cfg!(target_family = "wasm");

/// Packets in a batch: their data must fit the smallest cache.
pub(crate) const BATCH: usize = 32;

/// Returns true if prefetching pays with this many flows.
#[inline(always)]
pub(crate) const fn pays(flows: usize) -> bool {
    READS_AHEAD && flows >= MIN_FLOWS
}

/// Packets that wait for their arrival.
pub(crate) trait ReadAhead {
    /// Calls `each` with the next `count` packets, or with those there are, and notes that they are being read; with none if packets that
    /// were read before are still to arrive.
    fn read_next(&mut self, count: usize, each: &mut dyn FnMut(&Packet));
}

/// Reads the host's link that a packet of `flow` crosses together with the plain link `next` of its `route`.
fn behind(topology: &Topology, next: u32, route: u32, flow: u32) -> u64 {
    let plain = matches!(topology.links[next as usize].queue, LinkQueue::Plain(_));
    let behind = topology.table[route as usize + 1].plain_host_link(flow).filter(|_| plain);
    behind.map_or(0, |link| topology.links[link as usize].carry)
}

/// Reads the data of the packets that arrive next.
#[derive(Debug)]
pub(crate) struct Prefetcher {
    enabled: bool,
    arriving: Vec<Packet>,
}

impl Prefetcher {
    /// Returns a prefetcher for a scenario of `flows` flows; it does nothing if there are few.
    pub(crate) fn new(flows: usize) -> Self {
        Self { enabled: pays(flows), arriving: Vec::with_capacity(BATCH) }
    }

    /// Returns true if there are so many flows that reading ahead pays. The constant lets a compiler leave out what a browser does not need.
    #[inline(always)]
    pub(crate) const fn is_enabled(&self) -> bool {
        READS_AHEAD && self.enabled
    }

    /// Reads what the next packets of `waiting` will need, once those of the last batch have arrived.
    #[inline(always)]
    pub(crate) fn advance(
        &mut self,
        waiting: &mut dyn ReadAhead,
        (topology, sacks): (&Topology, &SackTable),
        flows: &Numbered<Flow>,
    ) {
        if self.is_enabled() {
            self.read(waiting, (topology, sacks), flows);
        }
    }

    /// Reads the flows of the next events, once those of the last batch have happened.
    #[inline(always)]
    pub(crate) fn advance_events(&self, events: &mut EventQueue, flows: &Numbered<Flow>) {
        if self.is_enabled() {
            let mut read = 0;
            events.read_next(BATCH, &mut |target| {
                read ^= match target {
                    Target::Source(flow) | Target::SenderTimer(flow) => {
                        flows.get(flow).map_or(0, |of| of.prefetch(true))
                    }
                    Target::ReceiverTimer(flow) => flows.get(flow).map_or(0, |of| of.prefetch(false)),
                    _ => 0,
                };
            });
            black_box(read);
        }
    }

    #[inline(never)]
    fn read(
        &mut self,
        waiting: &mut dyn ReadAhead,
        (topology, sacks): (&Topology, &SackTable),
        flows: &Numbered<Flow>,
    ) {
        self.arriving.clear();
        waiting.read_next(BATCH, &mut |packet| self.arriving.push(*packet));
        if self.arriving.is_empty() {
            return;
        }
        let mut read = self.arriving.iter().fold(0, |read, packet| read ^ sacks.prefetch(packet.sack));
        for Packet { flow, route, flags, .. } in &self.arriving {
            read ^= match topology.table[*route as usize].link(*flow) {
                None => flows.get(*flow).map_or(0, |of| of.prefetch(flags.has(Flags::ACK))),
                Some(next) => topology.links[next as usize].prefetch(*flow) ^ behind(topology, next, *route, *flow),
            };
        }
        black_box(read ^ self.read_first_links(topology, flows));
    }

    /// Reads the first links of the packets that the flows whose packets arrive will send in turn.
    fn read_first_links(&self, topology: &Topology, flows: &Numbered<Flow>) -> u64 {
        self.arriving.iter().fold(0, |read, Packet { flow, route, flags, .. }| {
            let arrives = topology.table[*route as usize].link(*flow).is_none();
            let Some(of) = flows.get(*flow).filter(|_| arrives) else { return read };
            let first = topology.table[of.route(flags.has(Flags::ACK)) as usize].link(*flow);
            read ^ first.map_or(0, |link| topology.links[link as usize].carry)
        })
    }
}
