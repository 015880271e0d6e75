//! The way of a packet: from its host, over the links of its route, to the other host.

use fairlane_qdisc::{Reason, Time};

use crate::measure::accounting::QueueAccounting;
use crate::measure::observer::{Observer, QueueEvent};
use crate::network::{InOrder, Network, Receiver};
use crate::packet::Packet;
use crate::schedule::Line;
use crate::schedule::link_events::LinkEvent;

impl<O: Observer> Network<O> {
    /// Puts a packet on the first link of its route. The engine refuses scenarios with a route without links. A browser
    /// loads the program for each visit, so there this is compiled once.
    #[inline(always)]
    pub(crate) fn inject(&mut self, now: Time, packet: &Packet) {
        self.injected += 1;
        let step = &self.topology.table[packet.route as usize];
        match step.droptail_host_link(packet.flow) {
            Some(link) => self.cross_droptail_link(now, link, packet, &mut InOrder),
            None => self.enter_first_link(now, *packet),
        }
    }

    /// Puts a packet on the first link of its route, which is not the droptail link of a host. Here and elsewhere a
    /// function that is not inlined takes the packet by value, so that the usual way needs no memory for it.
    #[inline(never)]
    fn enter_first_link(&mut self, now: Time, packet: Packet) {
        if let Some(link) = self.topology.table[packet.route as usize].link(packet.flow) {
            self.handle_at_link(now, link, LinkEvent::Arrival, Some(Packet { at: now, ..packet }));
        }
    }

    /// Handles an arrival in event order: `packet` has reached its host, or a link of its host.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, now: Time, packet: &Packet, receiver: &mut impl Receiver<O>) {
        self.packet_hops += 1;
        match self.topology.table[packet.route as usize].link(packet.flow) {
            None => {
                self.ejected += 1;
                receiver.deliver(now, packet, self);
            }
            Some(link) => self.handle_at_link(now, link, LinkEvent::Arrival, Some(*packet)),
        }
    }

    /// Moves `packet`, which reaches the far end of its link at `arrival`, on from there.
    #[inline(always)]
    pub(crate) fn travel(&mut self, arrival: Time, packet: &Packet, receiver: &mut impl Receiver<O>) {
        let line = self.topology.table[packet.route as usize].line;
        if line.is_none() {
            return self.cross_host_link(arrival, packet, receiver);
        }
        self.send(line, packet, (arrival, packet.route + 1));
    }

    /// Moves `packet`, which enters the droptail `link` of its route at `now`, over this link and on from there.
    /// Nothing that happens later changes a packet's passage.
    #[inline(always)]
    pub(crate) fn cross_droptail_link(
        &mut self,
        now: Time,
        link: u32,
        packet: &Packet,
        receiver: &mut impl Receiver<O>,
    ) {
        if let Some(arrival) = self.pass_droptail_link(now, link, packet) {
            self.travel(arrival, packet, receiver);
        }
    }

    /// Moves `packet`, which has crossed a link at `now`, over the droptail link of a host behind it. No other link of
    /// a host follows.
    #[inline(always)]
    fn cross_host_link(&mut self, now: Time, packet: &Packet, receiver: &mut impl Receiver<O>) {
        let step = self.topology.table[packet.route as usize + 1];
        let Some(link) = step.droptail_host_link(packet.flow) else { return };
        self.packet_hops += 1;
        let Some(arrival) = self.pass_droptail_link(now, link, packet) else { return };
        if step.is_early() && receiver.takes_early(arrival) {
            return receiver.deliver_early(arrival, packet, self);
        }
        self.send(step.line, packet, (arrival, packet.route + 2));
    }

    /// Returns when `packet`, which comes to this droptail link at `now`, reaches the far end; `None` if it is dropped.
    #[inline(always)]
    fn pass_droptail_link(&mut self, now: Time, link: u32, packet: &Packet) -> Option<Time> {
        #[cfg(debug_assertions)]
        {
            let last = std::mem::replace(&mut self.entered[link as usize], now);
            assert!(last <= now, "a packet enters droptail link {link} at {now:?}, after one at {last:?}");
        }
        let state = &mut self.topology.links[link as usize];
        let medium = &mut self.topology.media[state.medium as usize];
        let Some((begin, end)) = state.take(medium, now, packet.bytes) else {
            self.drop_at_droptail_link(now, link, *packet);
            return None;
        };
        let arrival = end + medium.delay;
        if O::ACTIVE && link < self.topology.first_host_link {
            let departed = QueueEvent::Departed { sojourn: begin - now };
            let event = self.records.event(begin, link, packet, departed);
            self.records.show_payload(packet);
            self.records.observer.passed(&event);
        }
        Some(arrival)
    }

    #[inline(never)]
    fn drop_at_droptail_link(&mut self, now: Time, link: u32, packet: Packet) {
        self.dropped_at_droptail_links += 1;
        let limit = self.topology.media[self.topology.links[link as usize].medium as usize].limit;
        self.records.show_backlog(limit);
        let mut accounting = QueueAccounting { link, meter: &mut None, records: &mut self.records };
        fairlane_qdisc::DropSink::dropped(&mut accounting, now, packet, Reason::Limit);
    }

    /// Schedules the arrival of a packet, here or in the partition of a divided run where it arrives.
    #[inline(always)]
    fn send(&mut self, line: Line, packet: &Packet, (at, route): (Time, u32)) {
        if self.boundary.is_some() {
            return self.send_over_boundary(line, Packet { at, route, ..*packet });
        }
        self.events.send(line, packet, (at, route));
    }

    #[inline(never)]
    fn send_over_boundary(&mut self, line: Line, packet: Packet) {
        let step = self.topology.table[packet.route as usize];
        if let Some(boundary) = &mut self.boundary {
            boundary.send((line, &packet), step, &mut self.events, &mut self.records.sacks);
        }
    }
}
