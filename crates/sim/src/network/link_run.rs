//! What happens at the links between nodes that are [looked at later](crate::schedule::link_port).

use std::mem;

use fairlane_qdisc::prefetch::prefetch;
use fairlane_qdisc::{DropSink, Duration, Qdisc, Reason, Time};
use fairlane_traffic::TransmissionTime;

use crate::flow::hosts::Hosts;
use crate::measure::accounting::QueueAccounting;
use crate::measure::observer::Observer;
use crate::measure::queue_meter::Meter;
use crate::network::droptail_link::PlainLink;
use crate::network::link::{Link, LinkQueue, Managed, Medium};
use crate::network::prefetch::NEAR;
use crate::network::{Network, Passage, retry_at};
use crate::packet::Packet;
use crate::schedule::link_port::{AtLink, Inlet};

/// A packet that a link has begun to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    packet: Packet,
    /// When the link began to send it.
    begun: Time,
    /// When it reaches the far end.
    arrival: Time,
}

/// How a link sends packets, while it is looked at.
#[derive(Debug)]
struct Sending {
    transmission: TransmissionTime,
    carry: u64,
    delay: Duration,
}

/// The number of packets that are kept, so that what they need is loaded meanwhile.
const TOGETHER: usize = 32;

impl<O: Observer> Network<O> {
    /// Handles what happens at `link` before `until`, and returns the number of events there.
    pub(crate) fn run_link(&mut self, until: Time, link: u32, hosts: &mut Hosts) -> u64 {
        let Some(mut inlet) = self.events.take_out(link) else { return 0 };
        let queue = &mut self.topology.links[link as usize].queue;
        let handled = match queue {
            LinkQueue::Plain(_) => self.run_plain(until, link, &mut inlet, hosts),
            LinkQueue::Managed(_) => {
                // It is taken out, so that the rest of the network can be changed beside it.
                let mut taken = mem::replace(queue, LinkQueue::Plain(PlainLink::default()));
                let handled = match &mut taken {
                    LinkQueue::Managed(managed) => self.run_managed(until, (link, managed), &mut inlet, hosts),
                    LinkQueue::Plain(_) => 0,
                };
                self.topology.links[link as usize].queue = taken;
                handled
            }
        };
        self.events.put_back(link, inlet);
        handled
    }

    fn run_plain(&mut self, until: Time, link: u32, inlet: &mut Inlet, hosts: &mut Hosts) -> u64 {
        // They are taken out, so that they need not be read and written for each packet.
        let number = self.topology.links[link as usize].medium;
        let idle = Link::new(number, LinkQueue::Plain(PlainLink::default()));
        let mut taken = mem::replace(&mut self.topology.links[link as usize], idle);
        let mut medium = self.topology.media[number as usize].clone();
        let mut handled = 0;
        let mut coming = inlet.coming();
        while coming.at < until {
            if let Some((prefetcher, _)) = self.prefetcher(hosts) {
                prefetcher.advance(inlet.waiting(coming));
            }
            let Some(packet) = inlet.packet(coming) else { break };
            handled += 1;
            match taken.take(&mut medium, coming.at, packet.bytes) {
                Some((begin, end)) => {
                    let passage = Passage { begin, arrival: end + medium.delay };
                    self.go_on(coming.at, &passage, packet, Some(hosts));
                }
                None => self.drop_at_plain_link(coming.at, link, *packet),
            }
            coming = inlet.pass(coming);
        }
        inlet.next = coming.at;
        self.topology.media[number as usize] = medium;
        self.topology.links[link as usize] = taken;
        self.packet_hops += handled;
        handled
    }

    fn run_managed(
        &mut self,
        until: Time,
        (link, managed): (u32, &mut Managed),
        inlet: &mut Inlet,
        hosts: &mut Hosts,
    ) -> u64 {
        let Managed { discipline, meter, busy, release, .. } = managed;
        let mut meter = meter.as_mut();
        let (mut handled, mut arrived) = (0, 0);
        let mut sending = self.sending(link);
        // What the link sends arrives here later, if ever.
        let mut coming = inlet.coming();
        while let Some((now, what)) = inlet.next_before(until, coming) {
            handled += 1;
            match what {
                AtLink::Arrival => {
                    if self.prefetches() {
                        inlet
                            .waiting(coming)
                            .announce(&mut |packet| self.prefetch_counts(packet.flow, meter.as_deref()));
                    }
                    let Some(packet) = inlet.packet(coming).copied() else { break };
                    coming = inlet.pass(coming);
                    arrived += 1;
                    if let Some(meter) = &mut meter {
                        meter.arrived(now, packet.flow);
                    }
                    discipline.enqueue(now, packet, &mut Losses { network: self, link, meter: meter.as_deref_mut() });
                    if let Some(meter) = &mut meter {
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
            let mut losses = Losses { network: self, link, meter: meter.as_deref_mut() };
            let dequeued = discipline.dequeue(now, &mut losses);
            let Some(packet) = &dequeued else {
                if let Some(at) = retry_at(now, &discipline.status()).and_then(|at| release.brought_forward(at)) {
                    inlet.release = at;
                }
                continue;
            };
            *busy = true;
            let sent = now + sending.transmission.next(&mut sending.carry, packet.bytes);
            inlet.free = sent;
            if let Some(meter) = &mut meter {
                meter.transmits(now, sent, packet.bytes);
            }
            self.depart((now, sent + sending.delay), packet, meter.as_deref_mut(), hosts);
        }
        self.packet_hops += arrived;
        if self.prefetches() {
            self.depart_together(meter, hosts);
        }
        self.topology.links[link as usize].carry = sending.carry;
        handled
    }

    /// Returns how `link` sends.
    fn sending(&self, link: u32) -> Sending {
        let Link { medium, carry, .. } = &self.topology.links[link as usize];
        let Medium { transmission, delay, .. } = &self.topology.media[*medium as usize];
        Sending { transmission: transmission.clone(), carry: *carry, delay: *delay }
    }

    /// [Asks for](crate::network::prefetch) the counts of `flow` at a link, which has this `meter`.
    #[inline(always)]
    fn prefetch_counts(&self, flow: u32, meter: Option<&Meter>) {
        if let Some(meter) = meter {
            meter.prefetch(flow);
            meter.prefetch_dropped(flow);
        }
        prefetch(self.dropped.get(flow as usize));
    }

    /// Moves on a packet that the link begins to send at `begun` and that reaches the far end at `arrival`, or asks for what it needs and keeps it
    /// meanwhile.
    #[inline(always)]
    fn depart(
        &mut self,
        (begun, arrival): (Time, Time),
        packet: &Packet,
        meter: Option<&mut Meter>,
        hosts: &mut Hosts,
    ) {
        let Some((prefetcher, _)) = self.prefetcher(hosts) else {
            return self.move_on((begun, arrival), packet, meter, hosts);
        };
        prefetcher.leaves(packet);
        if let Some(meter) = &meter {
            meter.prefetch(packet.flow);
        }
        self.departures.push(Departure { packet: *packet, begun, arrival });
        if self.departures.len() == TOGETHER {
            self.depart_together(meter, hosts);
        }
    }

    /// Counts a departure and moves its packet on.
    #[inline(always)]
    fn move_on(
        &mut self,
        (begun, arrival): (Time, Time),
        packet: &Packet,
        meter: Option<&mut Meter>,
        hosts: &mut Hosts,
    ) {
        if let Some(meter) = meter {
            meter.departed(begun, packet.flow, packet.bytes, packet.at);
        }
        self.travel(arrival, packet, Some(hosts));
    }

    /// Counts all departures that were kept, and moves their packets on.
    #[inline(never)]
    fn depart_together(&mut self, mut meter: Option<&mut Meter>, hosts: &mut Hosts) {
        let mut departures = mem::take(&mut self.departures);
        for (place, Departure { packet, begun, arrival }) in departures.iter().enumerate() {
            if let Some((near, (prefetcher, _))) = departures.get(place + NEAR).zip(self.prefetcher(hosts)) {
                prefetcher.leaves_soon(&near.packet);
            }
            self.move_on((*begun, *arrival), packet, meter.as_deref_mut(), hosts);
        }
        departures.clear();
        self.departures = departures;
    }
}

/// Takes what the discipline of `link` drops and marks. It is made for each packet, and most packets need no more of it.
struct Losses<'a, O> {
    network: &'a mut Network<O>,
    link: u32,
    meter: Option<&'a mut Meter>,
}

impl<O: Observer> Losses<'_, O> {
    /// Returns what counts the packets at the queue, which nobody observes.
    fn accounting(&mut self) -> QueueAccounting<'_, O> {
        QueueAccounting {
            link: self.link,
            meter: self.meter.as_deref_mut(),
            sacks: &mut self.network.sacks,
            dropped: &mut self.network.dropped,
            observer: &mut self.network.observer,
            backlog: 0,
            average: None,
        }
    }
}

impl<O: Observer> DropSink<Packet> for Losses<'_, O> {
    fn dropped(&mut self, now: Time, packet: Packet, reason: Reason) {
        self.accounting().dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Time, packet: &Packet, reason: Reason) {
        self.accounting().marked(now, packet, reason);
    }
}
