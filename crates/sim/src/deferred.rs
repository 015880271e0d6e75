//! What happens at the links between nodes that are [looked at later](crate::inlet).

use std::hint::black_box;
use std::mem;

use fairlane_qdisc::{Qdisc, Time};

use crate::accounting::QueueAccounting;
use crate::inlet::AtLink;
use crate::link::{LinkQueue, Managed};
use crate::meter::Meter;
use crate::network::{Network, retry_at};
use crate::observer::Observer;
use crate::packet::Packet;
use crate::plain::PlainLink;
use crate::prefetch::{BATCH, MIN_FLOWS};
use crate::schedule::Schedule;

/// A packet that a link has begun to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    packet: Packet,
    /// When the link began to send it.
    begun: Time,
    /// When it reaches the far end.
    arrival: Time,
}

impl<O: Observer> Network<O> {
    /// Handles what happens at `link` before `until`, and returns the number of events. `before_arrival` is called before each arrival.
    pub(crate) fn run_link(&mut self, until: Time, link: u32, before_arrival: impl FnMut(&mut Self)) -> u64 {
        let queue = &mut self.topology.links[link as usize].queue;
        let handled = match queue {
            LinkQueue::Plain(_) => self.run_plain(until, link, before_arrival),
            LinkQueue::Managed(_) => {
                // It is taken out, so that the rest of the network can be changed beside it.
                let mut taken = mem::replace(queue, LinkQueue::Plain(PlainLink::default()));
                let handled = match &mut taken {
                    LinkQueue::Managed(managed) => self.run_managed(until, link, managed, before_arrival),
                    LinkQueue::Plain(_) => 0,
                };
                self.topology.links[link as usize].queue = taken;
                handled
            }
        };
        self.events.defer(link);
        handled
    }

    fn run_plain(&mut self, until: Time, link: u32, mut before_arrival: impl FnMut(&mut Self)) -> u64 {
        let mut handled = 0;
        let arrival = |events: &mut Schedule| events.next_at_link(until, link, events.first_arrival(link));
        while let Some((now, AtLink::Arrival(line))) = arrival(&mut self.events) {
            let Some(packet) = self.events.pop_at_link(link, line) else { break };
            before_arrival(self);
            self.cross_plain_links(now, link, packet.route, &packet);
            handled += 1;
        }
        self.packet_hops += handled;
        handled
    }

    fn run_managed(
        &mut self,
        until: Time,
        link: u32,
        managed: &mut Managed,
        mut before_arrival: impl FnMut(&mut Self),
    ) -> u64 {
        let Managed { discipline, meter, busy, release, .. } = managed;
        let mut handled = 0;
        // What the link sends arrives here later, if ever.
        let mut first = self.events.first_arrival(link);
        while let Some((now, what)) = self.events.next_at_link(until, link, first) {
            handled += 1;
            match what {
                AtLink::Arrival(line) => {
                    let Some(packet) = self.events.pop_at_link(link, line) else { break };
                    first = self.events.first_arrival(link);
                    before_arrival(self);
                    self.packet_hops += 1;
                    let mut accounting = self.accounting(link, meter.as_mut());
                    accounting.arrived(now, &packet);
                    discipline.enqueue(now, packet, &mut accounting);
                    if let Some(meter) = meter {
                        meter.averaged(discipline.average());
                    }
                }
                AtLink::Free => *busy = false,
                AtLink::Release if release.fires(now) => {}
                AtLink::Release => continue,
            }
            if *busy {
                continue;
            }
            let mut accounting = self.accounting(link, meter.as_mut());
            let Some(packet) = discipline.dequeue(now, &mut accounting) else {
                if let Some(at) = retry_at(now, &discipline.status()).and_then(|at| release.brought_forward(at)) {
                    self.events.release_at(at, link);
                }
                continue;
            };
            *busy = true;
            let state = &mut self.topology.links[link as usize];
            let medium = &mut self.topology.media[state.medium as usize];
            let sent = now + medium.transmission.next(&mut state.carry, packet.bytes);
            let arrival = sent + medium.delay;
            if let Some(meter) = meter {
                meter.transmits(now, sent, packet.bytes);
            }
            self.events.free_at_later(sent, link);
            let departure = Departure { packet, begun: now, arrival };
            if !self.reads_ahead() {
                self.depart(&departure, meter.as_mut());
                continue;
            }
            self.departures.push(departure);
            if self.departures.len() == BATCH {
                self.depart_together(meter.as_mut());
            }
        }
        self.depart_together(meter.as_mut());
        handled
    }

    /// Counts a departure and moves its packet on.
    #[inline(always)]
    fn depart(&mut self, departure: &Departure, meter: Option<&mut Meter>) {
        let Departure { packet, begun, arrival } = departure;
        if let Some(meter) = meter {
            meter.departed(*begun, packet.flow, packet.bytes, packet.at);
        }
        self.travel(*arrival, packet);
    }

    /// Does so for all that have not been moved on, after it has read what they need.
    #[inline(never)]
    fn depart_together(&mut self, mut meter: Option<&mut Meter>) {
        let mut departures = mem::take(&mut self.departures);
        let topology = &self.topology;
        let read = departures.iter().fold(0, |read, Departure { packet, .. }| {
            let next = topology.table[packet.route as usize + 1].plain_host_link(packet.flow);
            let link = next.map_or(0, |link| topology.links[link as usize].carry);
            read ^ link ^ meter.as_ref().map_or(0, |meter| meter.arrivals(packet.flow))
        });
        black_box(read);
        for departure in departures.drain(..) {
            self.depart(&departure, meter.as_deref_mut());
        }
        self.departures = departures;
    }

    /// Returns true if there are so many flows that the data of several packets are read together.
    #[inline(always)]
    const fn reads_ahead(&self) -> bool {
        self.topology.flows >= MIN_FLOWS
    }

    /// Returns what counts the packets at the queue of `link`, which nobody observes.
    #[inline(always)]
    fn accounting<'a>(&'a mut self, link: u32, meter: Option<&'a mut Meter>) -> QueueAccounting<'a, O> {
        QueueAccounting {
            link,
            meter,
            sacks: &mut self.sacks,
            dropped: &mut self.dropped,
            observer: &mut self.observer,
            backlog: 0,
            average: None,
        }
    }
}
