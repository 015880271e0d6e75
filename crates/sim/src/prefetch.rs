//! Prefetching, for scenarios that are too large for the processor's caches.
//!
//! With a million flows nothing that an event needs is in a cache: its link, the packet there and the packet's flow are
//! each found through the one before, and each costs a cache miss of about a hundred nanoseconds. So the data of the
//! next few dozen events is read together, one kind of object after the other, which lets the misses overlap. The
//! values read are not used, so this changes the speed of a run and nothing else.

use std::hint::black_box;

use crate::event::Target;
use crate::flow::Flow;
use crate::network::Network;
use crate::observer::Observer;
use crate::packet::Flags;
use crate::topology::END;

/// The number of flows from which prefetching pays: fewer fit the caches.
const MIN_FLOWS: usize = 20_000;

/// Events in a batch: their data must fit the smallest cache.
const BATCH: usize = 32;

/// Reads the data of upcoming events.
#[derive(Debug)]
pub(crate) struct Prefetcher {
    enabled: bool,
    /// The first slot of the event queue whose events have not been prefetched.
    until: u64,
    targets: Vec<Target>,
    /// The indices of the packets that will arrive.
    slots: Vec<u32>,
    /// The flow and the route of each of these packets, and true for an acknowledgement.
    arriving: Vec<(u32, u32, bool)>,
    /// The flows that will act; true for the sender, false for the receiver.
    acting: Vec<(u32, bool)>,
}

impl Prefetcher {
    /// Returns a prefetcher for a scenario of `flows` flows; it does nothing if there are few.
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            enabled: flows >= MIN_FLOWS,
            until: 0,
            targets: Vec::with_capacity(2 * BATCH),
            slots: Vec::with_capacity(2 * BATCH),
            arriving: Vec::with_capacity(2 * BATCH),
            acting: Vec::with_capacity(2 * BATCH),
        }
    }

    /// Prefetches the next batch once the events of the last one have been handled.
    pub(crate) fn advance<O: Observer>(&mut self, network: &Network<O>, flows: &[Flow]) {
        if !self.enabled || network.events.current_slot() < self.until {
            return;
        }
        self.targets.clear();
        self.slots.clear();
        self.arriving.clear();
        self.acting.clear();
        self.until = network.events.upcoming(BATCH, &mut self.targets);
        self.read_links(network);
        let mut read = self.read_packets(network);
        read ^= self.read_flows(flows);
        read ^= self.read_first_links(network, flows);
        black_box(read);
    }

    /// Reads the links where packets arrive.
    fn read_links<O: Observer>(&mut self, network: &Network<O>) {
        for target in &self.targets {
            match *target {
                Target::Arrival(link) => {
                    self.slots.extend(network.topology.links[link as usize].pipe.first());
                }
                Target::Source(flow) | Target::SenderTimer(flow) => self.acting.push((flow, true)),
                Target::ReceiverTimer(flow) => self.acting.push((flow, false)),
                Target::LinkFree(_) | Target::Release(_) | Target::ReorderedArrival(_) | Target::RateControl(_) => {}
            }
        }
    }

    /// Reads the arriving packets, the packets behind them, and the links that they enter next.
    fn read_packets<O: Observer>(&mut self, network: &Network<O>) -> u64 {
        for &slot in &self.slots {
            let packet = network.packets.get(slot);
            self.arriving.push((packet.flow, packet.route, packet.flags.has(Flags::ACK)));
        }
        let behind = |slot: &u32| network.packets.next(*slot).map_or(0, |packet| packet.at.as_nanos());
        let mut read = self.slots.iter().fold(0, |read, slot| read ^ behind(slot));
        for &(flow, route, ack) in &self.arriving {
            match network.topology.table[route as usize] {
                END if flow as usize >= network.topology.routes.len() => {}
                END => self.acting.push((flow, ack)),
                next => read ^= network.topology.links[next as usize].prefetch(flow),
            }
        }
        read
    }

    fn read_flows(&self, flows: &[Flow]) -> u64 {
        self.acting.iter().fold(0, |read, &(flow, sender)| read ^ flows[flow as usize].prefetch(sender))
    }

    /// Reads the first links of the packets that the acting flows will send.
    fn read_first_links<O: Observer>(&self, network: &Network<O>, flows: &[Flow]) -> u64 {
        self.acting.iter().fold(0, |read, &(flow, sender)| {
            let route = flows[flow as usize].route(sender);
            let link = network.topology.table[route as usize];
            read ^ network.topology.links[link as usize].pipe.len() as u64
        })
    }
}
