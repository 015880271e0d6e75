//! The events at a link: arrivals, ends of transmissions, and releases of packets that its discipline held back.
//!
//! # Lazily processed links
//!
//! An event at a link between nodes has no effect elsewhere before a packet has been transmitted and the link's delay
//! has passed: that is its lookahead. So its events wait that long, and [`Network::run_link`] handles all of them
//! together, in their order: no other event has to be compared with them, and the link stays in the caches. A link
//! without a lookahead is handled in event order, one event after the other, by the same functions.
//!
//! Without it an event takes 51 to 90 % more instructions (`bench/budgets.csv`).

use std::mem;

use fairlane_qdisc::{DropSink, Duration, Qdisc, Reason, Time};
use fairlane_traffic::TransmissionTime;

use crate::measure::accounting::QueueAccounting;
use crate::measure::observer::Observer;
use crate::network::droptail_link::DroptailLink;
use crate::network::link::{Link, LinkQueue, Managed, Medium};
use crate::network::shaper::ShapedPart;
use crate::network::{InOrder, Network, Receiver};
use crate::packet::Packet;
use crate::schedule::link_events::{LinkEvent, LinkEvents};
use crate::schedule::port::Port;

/// How a link transmits, while its events are handled.
pub(crate) struct WireTiming {
    transmission: TransmissionTime,
    carry: u64,
    pub(crate) delay: Duration,
}

impl WireTiming {
    /// Returns the time that the next packet takes.
    #[inline(always)]
    pub(crate) fn next(&mut self, bytes: u32) -> Duration {
        self.transmission.next(&mut self.carry, bytes)
    }
}

/// A link with a discipline while its events are handled. The link is taken out of the network, so that the rest of the
/// network can change meanwhile.
pub(crate) struct AtLink<'a> {
    pub(crate) link: u32,
    pub(crate) managed: &'a mut Managed,
    pub(crate) events: &'a mut LinkEvents,
    pub(crate) transmitter: WireTiming,
    /// Packets are kept until their hosts have been [prefetched](crate::network::prefetch).
    keeps: bool,
}

impl<O: Observer> Network<O> {
    /// Handles the events at a link between nodes, and returns their number: of a lazily processed link all before
    /// `now`, of any other one the next, which is due at `now`.
    pub(crate) fn run_link(&mut self, now: Time, link: u32, receiver: &mut impl Receiver<O>) -> u64 {
        if self.events.is_in_order(link) {
            return u64::from(self.handle_next(now, link));
        }
        let (mut events, mut port) = self.events.take_out(link);
        let handled = match self.take_queue(link) {
            Some(mut managed) => {
                let (transmitter, keeps) = (self.transmitter(link), self.prefetches());
                let mut at = AtLink { link, managed: &mut managed, events: &mut events, transmitter, keeps };
                let handled = self.run_managed(now, &mut at, &mut port, receiver);
                self.put_queue_back(link, at.transmitter.carry, managed);
                handled
            }
            None => self.run_droptail(now, link, &mut port, receiver),
        };
        self.events.put_back(link, events, port);
        handled
    }

    /// Handles the next event at a link between nodes in event order; returns false if none is due at `now`.
    fn handle_next(&mut self, now: Time, link: u32) -> bool {
        let Some((event, arrival)) = self.events.pop_at_link(link, now) else { return false };
        if let Some(packet) = &arrival {
            self.packet_hops += 1;
            self.topology.probe_passed(now, packet);
        }
        self.handle_at_link(now, link, event, arrival);
        true
    }

    /// Handles all events before `until` at a lazily processed link with a discipline, and returns their number.
    #[inline(always)]
    fn run_managed(
        &mut self,
        until: Time,
        at: &mut AtLink<'_>,
        port: &mut Port,
        receiver: &mut impl Receiver<O>,
    ) -> u64 {
        let (mut handled, mut arrived) = (0, 0);
        while let Some((now, event)) = at.events.next_before(until, port.first().at) {
            if event == LinkEvent::Arrival {
                if at.keeps {
                    self.prefetch_counts_at(at, port);
                }
                let Some(packet) = port.front() else { continue };
                arrived += 1;
                self.enqueue(now, packet, at);
                port.remove_first();
            }
            handled += 1;
            self.serve(now, event, at, receiver);
        }
        self.packet_hops += arrived;
        if at.keeps {
            self.depart_together(at.managed.meter.as_mut(), receiver);
        }
        handled
    }

    /// Handles all arrivals before `until` at a lazily processed droptail link, which has no other events, and returns
    /// their number.
    #[inline(always)]
    fn run_droptail(&mut self, until: Time, link: u32, port: &mut Port, receiver: &mut impl Receiver<O>) -> u64 {
        let mut arrived = 0;
        while port.first().at < until {
            if self.prefetches() {
                self.prefetch_arrivals(port, receiver);
            }
            let at = port.first().at;
            let Some(packet) = port.front() else { continue };
            arrived += 1;
            self.cross_droptail_link(at, link, packet, receiver);
            port.remove_first();
        }
        self.packet_hops += arrived;
        arrived
    }

    /// Handles one event at a link in event order: `arrival` is the packet that arrives.
    #[inline(never)]
    pub(crate) fn handle_at_link(&mut self, now: Time, link: u32, event: LinkEvent, arrival: Option<Packet>) {
        let Some(mut managed) = self.take_queue(link) else {
            if let Some(packet) = &arrival {
                self.cross_droptail_link(now, link, packet, &mut InOrder);
            }
            return self.events.schedule_link(link, Time::MAX, Time::MAX);
        };
        let (mut events, transmitter) = (LinkEvents::new(Duration::ZERO), self.transmitter(link));
        let mut at = AtLink { link, managed: &mut managed, events: &mut events, transmitter, keeps: false };
        if let Some(packet) = &arrival {
            self.enqueue(now, packet, &mut at);
        }
        self.serve(now, event, &mut at, &mut InOrder);
        let (part, carry) = (at.managed.part, at.transmitter.carry);
        self.put_queue_back(link, carry, managed);
        self.events.schedule_link(link, events.free, events.release);
        self.hand_over(now, part);
    }

    #[inline(always)]
    fn transmitter(&self, link: u32) -> WireTiming {
        let Link { medium, carry, .. } = &self.topology.links[link as usize];
        let Medium { transmission, delay, .. } = &self.topology.media[*medium as usize];
        WireTiming { transmission: transmission.clone(), carry: *carry, delay: *delay }
    }

    /// Takes the discipline of `link` and its transmitter out; `None` for a droptail link.
    #[inline(always)]
    fn take_queue(&mut self, link: u32) -> Option<Box<Managed>> {
        let queue = &mut self.topology.links[link as usize].queue;
        if matches!(queue, LinkQueue::Droptail(_)) {
            return None;
        }
        match mem::replace(queue, LinkQueue::Droptail(DroptailLink::default())) {
            LinkQueue::Managed(managed) => Some(managed),
            LinkQueue::Droptail(_) => None,
        }
    }

    #[inline(always)]
    fn put_queue_back(&mut self, link: u32, carry: u64, managed: Box<Managed>) {
        let state = &mut self.topology.links[link as usize];
        (state.carry, state.queue) = (carry, LinkQueue::Managed(managed));
    }

    /// Handles one event at a link with a discipline, whose queue the packet that arrives has joined: a transmitter
    /// that is free takes the next packet.
    #[inline(always)]
    fn serve(&mut self, now: Time, event: LinkEvent, at: &mut AtLink<'_>, receiver: &mut impl Receiver<O>) {
        let is_idle = match event {
            LinkEvent::Arrival => !at.managed.busy,
            LinkEvent::Free => true,
            LinkEvent::Release => at.managed.release.fires(now) && !at.managed.busy,
        };
        if is_idle {
            at.managed.busy = false;
            self.send_next(now, at, receiver);
        }
    }

    /// Passes a packet that arrives to the discipline.
    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: &Packet, at: &mut AtLink<'_>) {
        let Managed { discipline, meter, policing, .. } = &mut *at.managed;
        self.records.show(discipline);
        let mut accounting = QueueAccounting { link: at.link, meter, records: &mut self.records };
        accounting.arrived(now, packet);
        if policing.as_mut().is_some_and(|policing| policing.drops(now, packet.bytes)) {
            return accounting.dropped(now, *packet, Reason::Policed);
        }
        discipline.enqueue(now, *packet, &mut accounting);
        if O::ACTIVE {
            discipline.candidates(&mut |candidate| self.records.observer.compared(at.link, candidate));
        }
        if let Some(meter) = meter {
            meter.averaged(discipline.average());
        }
    }

    /// Sends the next packet of the queue, whose transmitter is free.
    #[inline(always)]
    fn send_next(&mut self, now: Time, at: &mut AtLink<'_>, receiver: &mut impl Receiver<O>) {
        if at.managed.is_special {
            return self.send_specially(now, at);
        }
        let dequeued = self.dequeue(now, at);
        let Some(packet) = &dequeued else { return };
        at.managed.busy = true;
        let sent = now + at.transmitter.next(packet.bytes);
        let arrival = sent + at.transmitter.delay;
        self.transmits((now, sent), packet, at);
        if at.keeps {
            return self.depart_later((now, arrival), packet, at, receiver);
        }
        self.accounting(at).departed(now, packet);
        self.travel(arrival, packet, receiver);
    }

    /// Sends the next packet of the queue of a link with impairments or a shaper.
    #[inline(never)]
    fn send_specially(&mut self, now: Time, at: &mut AtLink<'_>) {
        if let Some(wire) = &mut at.managed.impairments {
            if let Some(free) = wire.hold(now, at.managed.discipline.packets() > 0) {
                (at.managed.busy, at.events.free) = (true, free);
                return;
            }
            if wire.frame().is_some() {
                return self.send_frame(now, at);
            }
        }
        let Some(packet) = self.dequeue(now, at) else { return };
        at.managed.busy = true;
        if at.managed.part.is_some() {
            return self.send_shaped(now, &packet, at);
        }
        self.accounting(at).departed(now, &packet);
        self.send_off(now, &packet, at);
    }

    /// Returns the next packet of the discipline; if it holds its packets back, asks it again when it is ready.
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, now: Time, at: &mut AtLink<'_>) -> Option<Packet> {
        let Managed { discipline, meter, release, .. } = &mut *at.managed;
        if O::ACTIVE {
            self.records.show_backlog(discipline.packets());
        }
        let mut accounting = QueueAccounting { link: at.link, meter, records: &mut self.records };
        let packet = discipline.dequeue(now, &mut accounting);
        if packet.is_some() {
            self.records.show(discipline);
        } else if let Some(ready) = discipline.status().retry_at(now).and_then(|at| release.brought_forward(at)) {
            at.events.release = ready;
        }
        packet
    }

    /// Returns what counts and reports the events at this queue.
    #[inline(always)]
    pub(crate) fn accounting<'p>(&'p mut self, at: &'p mut AtLink<'_>) -> QueueAccounting<'p, O> {
        QueueAccounting { link: at.link, meter: &mut at.managed.meter, records: &mut self.records }
    }

    /// Notes that the link transmits `packet` from `begun` to `sent`.
    #[inline(always)]
    pub(crate) fn transmits(&mut self, (begun, sent): (Time, Time), packet: &Packet, at: &mut AtLink<'_>) {
        at.events.free = sent;
        if let Some(meter) = &mut at.managed.meter {
            meter.transmits(begun, sent, packet.bytes);
        }
    }

    /// Transmits `packet`, which has left the queue of a link with impairments or a shaper, and moves it on.
    pub(crate) fn send_off(&mut self, now: Time, packet: &Packet, at: &mut AtLink<'_>) {
        let AtLink { managed, transmitter, .. } = at;
        let delay = transmitter.delay;
        let (sent, arrival) = match &mut managed.impairments {
            None => {
                let sent = now + transmitter.next(packet.bytes);
                (sent, Some(sent + delay))
            }
            Some(wire) => {
                let sent = wire.finish(now, packet.bytes, || transmitter.next(packet.bytes));
                (sent, wire.arrival(sent, delay))
            }
        };
        self.transmits((now, sent), packet, at);
        self.leave(now, arrival, packet, at);
    }

    /// Moves a packet on that reaches the far end at `arrival`, or counts it as lost.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: Time, arrival: Option<Time>, packet: &Packet, at: &mut AtLink<'_>) {
        match arrival {
            Some(arrival) => self.travel(arrival, packet, &mut InOrder),
            None => self.lose(now, packet, at),
        }
    }

    /// Counts `packet`, which the link has begun to send, as lost during transmission.
    #[inline(never)]
    pub(crate) fn lose(&mut self, now: Time, packet: &Packet, at: &mut AtLink<'_>) {
        self.lost_on_links += 1;
        self.records.show(&at.managed.discipline);
        self.accounting(at).lost(now, packet);
        if let Some(ShapedPart::Buffer(shaper)) = at.managed.part {
            self.topology.lost_behind(shaper, packet.flow);
        }
    }
}
