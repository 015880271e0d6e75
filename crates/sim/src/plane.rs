//! Packets on their way: everything between the end points.

use fairlane_qdisc::{Fate, Qdisc, Reason, Time};

use crate::event::{EventQueue, Target};
use crate::link::{Link, Managed, Queue, waiting};
use crate::meter::Meter;
use crate::network::{END, Network};
use crate::packet::{NO_SACK, Packet, PacketKind};
use crate::tcp::SackBlocks;
use crate::{Happening, Observer, PacketEvent};

/// The network at work.
pub(crate) struct Plane<'o, O> {
    pub(crate) events: EventQueue,
    pub(crate) network: Network,
    pub(crate) sacks: Sacks,
    /// Data packets dropped of each flow, at any queue.
    pub(crate) dropped: Vec<u64>,
    pub(crate) packet_hops: u64,
    /// Packets that hosts put into the network, and those that came out of it at a host.
    pub(crate) injected: u64,
    pub(crate) ejected: u64,
    pub(crate) dropped_from_wires: u64,
    pub(crate) observer: &'o mut O,
}

impl<'o, O: Observer> Plane<'o, O> {
    pub(crate) fn new(network: Network, events_per_second: f64, observer: &'o mut O) -> Self {
        let dropped = vec![0; network.routes.len()];
        Self {
            events: EventQueue::new(events_per_second),
            network,
            sacks: Sacks::default(),
            dropped,
            packet_hops: 0,
            injected: 0,
            ejected: 0,
            dropped_from_wires: 0,
            observer,
        }
    }

    /// Puts a packet on the first link of its route. Every route has a link: the engine refuses scenarios where one has not.
    pub(crate) fn inject(&mut self, now: Time, packet: &Packet) {
        self.injected += 1;
        self.enter(now, self.network.table[packet.route as usize], packet);
    }

    /// The packet at the head of `link`'s pipe reaches the other end; gives it back when that is its host.
    pub(crate) fn arrive(&mut self, now: Time, link: u32) -> Option<Packet> {
        let pipe = &mut self.network.links[link as usize].pipe;
        let taken = pipe.pop_front();
        if let Some(next) = pipe.front() {
            self.events.push(next.at, Target::Arrival(link));
        }
        let packet = taken?;
        self.packet_hops += 1;
        match self.network.table[packet.route as usize] {
            END => {
                self.ejected += 1;
                Some(packet)
            }
            next => {
                self.enter(now, next, &packet);
                None
            }
        }
    }

    /// `link` has sent its packet and may send the next.
    pub(crate) fn link_free(&mut self, now: Time, link: u32) {
        let state = &mut self.network.links[link as usize];
        if let Queue::Managed(managed) = &mut state.queue {
            managed.busy = false;
        }
        self.send_next(now, link);
    }

    fn enter(&mut self, now: Time, link: u32, packet: &Packet) {
        match &mut self.network.links[link as usize].queue {
            Queue::Wire { .. } => {
                if let Some(arrival) = self.pass_wire(now, link, packet) {
                    self.travel(arrival, link, packet);
                }
            }
            Queue::Managed(managed) => {
                let Managed { discipline, meter, busy, .. } = &mut **managed;
                let mut clerk = Clerk {
                    link,
                    meter: meter.as_mut(),
                    sacks: &mut self.sacks,
                    dropped: &mut self.dropped,
                    observer: self.observer,
                    backlog: discipline.packets(),
                    average: discipline.average(),
                };
                let packet = Packet { at: now, ..*packet };
                clerk.arrived(now, &packet);
                discipline.enqueue(now, packet, &mut clerk);
                if let Some(meter) = meter {
                    meter.averaged(discipline.average());
                }
                if !*busy {
                    self.send_next(now, link);
                }
            }
        }
    }

    /// Lets a link whose transmitter is free take a packet from its queue, if there is one.
    fn send_next(&mut self, now: Time, link: u32) {
        let Link { transmitter, delay, queue: Queue::Managed(managed), .. } = &mut self.network.links[link as usize]
        else {
            return;
        };
        let Managed { discipline, meter, busy, .. } = &mut **managed;
        let mut clerk = Clerk {
            link,
            meter: meter.as_mut(),
            sacks: &mut self.sacks,
            dropped: &mut self.dropped,
            observer: self.observer,
            backlog: discipline.packets(),
            average: None,
        };
        let Some(packet) = discipline.dequeue(now, &mut clerk) else { return };
        clerk.backlog = discipline.packets();
        clerk.average = discipline.average();
        clerk.departed(now, &packet);
        *busy = true;
        let sent = now + transmitter.next(packet.bytes);
        let arrival = sent + *delay;
        self.events.push(sent, Target::LinkFree(link));
        self.travel(arrival, link, &packet);
    }

    /// `packet` is on its way over `link` and will reach the other end at `arrival`.
    ///
    /// A host's wire is fed by one link alone, in order, and what becomes of a packet there depends on nothing that happens
    /// meanwhile. So the packet goes there at once, as of `arrival`, which saves an event.
    fn travel(&mut self, mut arrival: Time, mut link: u32, packet: &Packet) {
        let mut route = packet.route + 1;
        loop {
            let next = self.network.table[route as usize];
            if !self.network.is_host_wire(next) {
                break;
            }
            let Some(passed) = self.pass_wire(arrival, next, packet) else { return };
            self.packet_hops += 1;
            (arrival, link, route) = (passed, next, route + 1);
        }
        let pipe = &mut self.network.links[link as usize].pipe;
        if pipe.is_empty() {
            self.events.push(arrival, Target::Arrival(link));
        }
        // First the copy, then the changes: the other way round the processor would wait for them before it could copy.
        pipe.push_back(*packet);
        if let Some(packet) = pipe.back_mut() {
            packet.at = arrival;
            packet.route = route;
        }
    }

    /// When a packet that enters a wire at `now` will reach the other end; `None` if the wire drops it.
    fn pass_wire(&mut self, now: Time, link: u32, packet: &Packet) -> Option<Time> {
        let Link { pipe, transmitter, delay, queue } = &mut self.network.links[link as usize];
        let Queue::Wire { busy_until, limit } = queue else { return None };
        // Only a pipe longer than the limit can hold a queue that is full.
        if pipe.len() > *limit && waiting(pipe, *delay, now) >= *limit {
            self.drop_from_wire(now, link, *packet);
            return None;
        }
        *busy_until = now.max(*busy_until) + transmitter.next(packet.bytes);
        Some(*busy_until + *delay)
    }

    fn drop_from_wire(&mut self, now: Time, link: u32, packet: Packet) {
        self.dropped_from_wires += 1;
        let backlog = self.network.links[link as usize].pipe.len();
        let mut clerk = Clerk {
            link,
            meter: None,
            sacks: &mut self.sacks,
            dropped: &mut self.dropped,
            observer: self.observer,
            backlog,
            average: None,
        };
        clerk.dropped(now, packet, Reason::Limit);
    }
}

/// Keeps the books of one queue while a packet comes or goes.
struct Clerk<'p, O> {
    link: u32,
    meter: Option<&'p mut Meter>,
    sacks: &'p mut Sacks,
    dropped: &'p mut Vec<u64>,
    observer: &'p mut O,
    backlog: usize,
    average: Option<f64>,
}

impl<O: Observer> Clerk<'_, O> {
    fn arrived(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = &mut self.meter {
            meter.arrived(now, packet);
        }
        self.tell(now, packet, Happening::Arrived);
    }

    fn departed(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = &mut self.meter {
            meter.departed(now, packet);
        }
        self.tell(now, packet, Happening::Departed { sojourn: now - packet.at });
    }

    fn tell(&mut self, now: Time, packet: &Packet, happening: Happening) {
        if O::ACTIVE {
            self.observer.packet(&PacketEvent {
                at: now,
                link: self.link,
                happening,
                flow: packet.flow,
                kind: packet.kind(),
                seq: packet.seq,
                bytes: packet.bytes,
                ecn_capable: fairlane_qdisc::Packet::ecn_capable(packet),
                marked: packet.flags.has(crate::packet::Flags::CE),
                backlog: self.backlog,
                average: self.average,
            });
        }
    }
}

impl<O: Observer> Fate<Packet> for Clerk<'_, O> {
    fn dropped(&mut self, now: Time, packet: Packet, reason: Reason) {
        if let Some(meter) = &mut self.meter {
            meter.dropped(now, &packet, reason);
        }
        if packet.kind() == PacketKind::Data {
            self.dropped[packet.flow as usize] += 1;
        }
        self.sacks.forget(packet.sack);
        self.tell(now, &packet, Happening::Dropped(reason));
    }

    fn marked(&mut self, now: Time, packet: &Packet, reason: Reason) {
        if let Some(meter) = &mut self.meter {
            meter.marked(packet);
        }
        self.tell(now, packet, Happening::Marked(reason));
    }
}

/// The selective acknowledgements that are under way: most packets carry none, so packets only carry a place in this table.
#[derive(Debug, Default)]
pub(crate) struct Sacks {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl Sacks {
    /// Keeps `blocks` and tells where.
    pub(crate) fn keep(&mut self, blocks: SackBlocks) -> u32 {
        if blocks.is_empty() {
            return NO_SACK;
        }
        if let Some(place) = self.free.pop() {
            self.blocks[place as usize] = blocks;
            return place;
        }
        self.blocks.push(blocks);
        self.blocks.len() as u32 - 1
    }

    /// Gives out what was kept at `place`, which is free from then on.
    pub(crate) fn take(&mut self, place: u32) -> SackBlocks {
        if place == NO_SACK {
            return SackBlocks::default();
        }
        self.free.push(place);
        self.blocks[place as usize]
    }

    fn forget(&mut self, place: u32) {
        if place != NO_SACK {
            self.free.push(place);
        }
    }
}
