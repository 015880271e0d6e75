//! A look ahead, for scenarios that are too large for the processor's caches.
//!
//! With a million flows nothing that an event needs is in a cache: its link, the packet there, the packet's flow, one found by the
//! other, each a wait of a hundred nanoseconds. So the next few dozen events are looked at together, one kind of thing after the
//! other: the waits of a kind then overlap. What is read is not used, and changes nothing but when the results come.

use std::hint::black_box;

use fairlane_qdisc::Qdisc;

use crate::Observer;
use crate::event::Target;
use crate::flow::Flow;
use crate::network::END;
use crate::packet::{Flags, Packet};
use crate::plane::Plane;

/// From this many flows on a look ahead is worth its time: about what the caches hold.
const FLOWS: usize = 20_000;

/// Events in a look: what they need must fit the smallest cache.
const EVENTS: usize = 32;

/// Who looks ahead.
#[derive(Debug)]
pub(crate) struct Lookahead {
    on: bool,
    /// The stretch of time up to which was looked.
    until: u64,
    targets: Vec<Target>,
    /// Where the packets that will arrive are kept.
    places: Vec<u32>,
    /// Those packets: flow, route, and whether it is an acknowledgement.
    arriving: Vec<(u32, u32, bool)>,
    /// The flows that will act, and whether the sender does.
    acting: Vec<(u32, bool)>,
}

impl Lookahead {
    /// Looks ahead if there are many flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            on: flows >= FLOWS,
            until: 0,
            targets: Vec::with_capacity(2 * EVENTS),
            places: Vec::with_capacity(2 * EVENTS),
            arriving: Vec::with_capacity(2 * EVENTS),
            acting: Vec::with_capacity(2 * EVENTS),
        }
    }

    /// Looks, if the events of the last look are over.
    pub(crate) fn look<O: Observer, D: Qdisc<Packet>>(&mut self, plane: &Plane<'_, O, D>, flows: &[Flow]) {
        if !self.on || plane.events.stretch() < self.until {
            return;
        }
        self.targets.clear();
        self.places.clear();
        self.arriving.clear();
        self.acting.clear();
        self.until = plane.events.upcoming(EVENTS, &mut self.targets);
        self.links(plane);
        let mut read = self.packets(plane);
        read ^= self.flows(flows);
        read ^= self.answers(plane, flows);
        black_box(read);
    }

    /// The links where packets arrive.
    fn links<O: Observer, D: Qdisc<Packet>>(&mut self, plane: &Plane<'_, O, D>) {
        for target in &self.targets {
            match *target {
                Target::Arrival(link) => {
                    self.places.extend(plane.network.links[link as usize].pipe.first());
                }
                Target::Source(flow) | Target::SenderTimer(flow) => self.acting.push((flow, true)),
                Target::ReceiverTimer(flow) => self.acting.push((flow, false)),
                Target::LinkFree(_) | Target::Release(_) | Target::Overtaking(_) => {}
            }
        }
    }

    /// The packets that arrive, those behind them, and where they go on.
    fn packets<O: Observer, D: Qdisc<Packet>>(&mut self, plane: &Plane<'_, O, D>) -> u64 {
        for &place in &self.places {
            let packet = plane.store.at(place);
            self.arriving.push((packet.flow, packet.route, packet.flags.has(Flags::ACK)));
        }
        let behind = |place: &u32| plane.store.after(*place).map_or(0, |packet| packet.at.as_nanos());
        let mut read = self.places.iter().fold(0, |read, place| read ^ behind(place));
        for &(flow, route, ack) in &self.arriving {
            match plane.network.table[route as usize] {
                END => self.acting.push((flow, ack)),
                next => read ^= plane.network.links[next as usize].counted(flow),
            }
        }
        read
    }

    fn flows(&self, flows: &[Flow]) -> u64 {
        self.acting.iter().fold(0, |read, &(flow, sends)| read ^ flows[flow as usize].glance(sends))
    }

    /// The links by which the flows that act will send.
    fn answers<O: Observer, D: Qdisc<Packet>>(&self, plane: &Plane<'_, O, D>, flows: &[Flow]) -> u64 {
        self.acting.iter().fold(0, |read, &(flow, sends)| {
            let route = flows[flow as usize].route(sends);
            let link = plane.network.table[route as usize];
            read ^ plane.network.links[link as usize].pipe.len() as u64
        })
    }
}
