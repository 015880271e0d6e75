//! The events at a link: arrivals, ends of transmissions, and releases of packets that its discipline held back.

use std::mem;

use fairlane_qdisc::{Duration, Qdisc, Status, Time};

use crate::measure::accounting::QueueAccounting;
use crate::measure::observer::Observer;
use crate::network::droptail_link::DroptailLink;
use crate::network::impairments::Impairments;
use crate::network::link::{Link, LinkQueue, Managed, Medium};
use crate::network::shaper::ShapedPart;
use crate::network::{InOrder, Network, Receiver};
use crate::packet::Packet;
use crate::schedule::link_events::{LinkEvent, LinkEvents};

/// A link with a discipline while its events are handled. It is taken out of the network, so that the rest of that can
/// change beside it.
pub(crate) struct AtLink<'a> {
    pub(crate) link: u32,
    pub(crate) managed: &'a mut Managed,
    pub(crate) events: &'a mut LinkEvents,
    /// The link is processed lazily.
    lazy: bool,
}

impl<O: Observer> Network<O> {
    /// Handles the events at a link between nodes, and returns their number: of a lazily processed link all before `now`, of
    /// any other one the next, which is due at `now`.
    pub(crate) fn run_link(&mut self, now: Time, link: u32, receiver: &mut impl Receiver<O>) -> u64 {
        let (mut events, mut port) = self.events.take_out(link);
        let mut queue = self.take_queue(link);
        let lazy = events.lookahead > Duration::ZERO;
        let until = if lazy { now } else { now + Duration::from_nanos(1) };
        let prefetches = self.prefetches();
        let mut handled = 0;
        while let Some((at, event)) = events.next_before(until, port.first().at) {
            let arrival = if event == LinkEvent::Arrival { port.pop() } else { None };
            if let Some(packet) = &arrival {
                self.packet_hops += 1;
                if packet.flow as usize >= self.topology.flows {
                    self.topology.probe_passed(at, packet);
                }
            } else if event == LinkEvent::Arrival {
                continue;
            }
            handled += 1;
            if prefetches {
                self.prefetch_at_link(queue.as_deref(), &mut port, receiver);
            }
            match &mut queue {
                Some(managed) => {
                    let at_link = &mut AtLink { link, managed, events: &mut events, lazy };
                    self.serve(at, event, arrival, at_link, receiver);
                }
                None => self.cross_at_arrival(at, link, arrival, receiver),
            }
            if !lazy {
                break;
            }
        }
        if prefetches {
            self.depart_together(queue.as_mut().and_then(|managed| managed.meter.as_mut()), receiver);
        }
        let shaped = queue.as_ref().and_then(|managed| managed.part);
        self.put_queue_back(link, queue);
        self.events.put_back(link, events, port);
        self.hand_over(now, shaped);
        handled
    }

    /// Handles one event at a link that has no port, or into which a host without a link sends: `arrival` is the packet that
    /// arrives.
    #[inline(never)]
    pub(crate) fn handle_at_link(&mut self, now: Time, link: u32, event: LinkEvent, arrival: Option<Packet>) {
        let mut events = LinkEvents::new(Duration::ZERO);
        let mut queue = self.take_queue(link);
        match &mut queue {
            Some(managed) => {
                let at_link = &mut AtLink { link, managed, events: &mut events, lazy: false };
                self.serve(now, event, arrival, at_link, &mut InOrder);
            }
            None => self.cross_at_arrival(now, link, arrival, &mut InOrder),
        }
        let shaped = queue.as_ref().and_then(|managed| managed.part);
        self.put_queue_back(link, queue);
        self.events.schedule_link(link, events.free, events.release);
        self.hand_over(now, shaped);
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
    fn put_queue_back(&mut self, link: u32, queue: Option<Box<Managed>>) {
        if let Some(managed) = queue {
            self.topology.links[link as usize].queue = LinkQueue::Managed(managed);
        }
    }

    /// Moves the packet that arrives at a droptail link over it: it has no other events.
    #[inline(always)]
    fn cross_at_arrival(&mut self, now: Time, link: u32, arrival: Option<Packet>, receiver: &mut impl Receiver<O>) {
        if let Some(packet) = &arrival {
            self.cross_droptail_link(now, link, packet, receiver);
        }
    }

    /// Handles one event at a link with a discipline: a packet that arrives joins the queue, and a transmitter that is free
    /// takes the next packet.
    #[inline(always)]
    fn serve(
        &mut self,
        now: Time,
        event: LinkEvent,
        arrival: Option<Packet>,
        at: &mut AtLink<'_>,
        receiver: &mut impl Receiver<O>,
    ) {
        match event {
            LinkEvent::Arrival => {
                if let Some(packet) = arrival {
                    self.enqueue(now, packet, at);
                }
            }
            LinkEvent::Free => at.managed.busy = false,
            LinkEvent::Release if at.managed.release.fires(now) => {}
            LinkEvent::Release => return,
        }
        if !at.managed.busy {
            self.send_next(now, at, receiver);
        }
    }

    /// Passes a packet that arrives to the discipline.
    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: Packet, AtLink { link, managed, .. }: &mut AtLink<'_>) {
        let Managed { discipline, meter, part, .. } = &mut **managed;
        let buffered = matches!(part, Some(ShapedPart::Buffer(_))).then(|| discipline.packets());
        self.records.show(discipline);
        let mut accounting = QueueAccounting { link: *link, meter: meter.as_mut(), records: &mut self.records };
        accounting.arrived(now, &packet);
        let flow = packet.flow;
        discipline.enqueue(now, packet, &mut accounting);
        if O::ACTIVE {
            discipline.candidates(&mut |candidate| self.records.observer.compared(*link, candidate));
        }
        if let Some(meter) = meter {
            meter.averaged(discipline.average());
        }
        if let Some(ShapedPart::Buffer(shaper)) = part
            && buffered == Some(discipline.packets())
        {
            self.topology.overflowed(now, *shaper, flow);
        }
    }

    /// Sends the next packet of the queue, whose transmitter is free.
    #[inline(always)]
    fn send_next(&mut self, now: Time, at: &mut AtLink<'_>, receiver: &mut impl Receiver<O>) {
        if let Some(wire) = &mut at.managed.impairments {
            if let Some(free) = wire.hold(now, at.managed.discipline.packets() > 0) {
                (at.managed.busy, at.events.free) = (true, free);
                return;
            }
            if wire.frames.is_some() {
                return self.send_frame(now, at);
            }
        }
        let Some(packet) = self.dequeue(now, at) else { return };
        at.managed.busy = true;
        if at.managed.part.is_some() {
            return self.send_shaped(now, &packet, at);
        }
        if at.lazy && self.prefetches() {
            let arrival = self.transmit(now, &packet, at);
            return self.depart_later(now, arrival, &packet, at, receiver);
        }
        self.accounting(at).departed(now, &packet);
        self.send_off(now, &packet, at, receiver);
    }

    /// Returns the next packet of the discipline; if it holds its packets back, asks it again when it is ready.
    #[inline(always)]
    pub(crate) fn dequeue(&mut self, now: Time, at: &mut AtLink<'_>) -> Option<Packet> {
        let Managed { discipline, meter, release, .. } = &mut *at.managed;
        if O::ACTIVE {
            self.records.show_backlog(discipline.packets());
        }
        let mut accounting = QueueAccounting { link: at.link, meter: meter.as_mut(), records: &mut self.records };
        let packet = discipline.dequeue(now, &mut accounting);
        if packet.is_none() {
            let ready = retry_at(now, &discipline.status()).and_then(|ready| release.brought_forward(ready));
            at.events.release = ready.unwrap_or(at.events.release);
            return None;
        }
        self.records.show(discipline);
        packet
    }

    /// Returns what counts and reports the events at this queue.
    #[inline(always)]
    pub(crate) fn accounting<'p>(&'p mut self, at: &'p mut AtLink<'_>) -> QueueAccounting<'p, O> {
        QueueAccounting { link: at.link, meter: at.managed.meter.as_mut(), records: &mut self.records }
    }

    /// Transmits `packet`, which has left the queue, and moves it on.
    #[inline(always)]
    pub(crate) fn send_off(
        &mut self,
        now: Time,
        packet: &Packet,
        at: &mut AtLink<'_>,
        receiver: &mut impl Receiver<O>,
    ) {
        let arrival = self.transmit(now, packet, at);
        self.leave(now, arrival, packet, at, receiver);
    }

    /// Begins to transmit `packet`, and returns when it reaches the far end; `None` if it is lost on the way.
    #[inline(always)]
    fn transmit(&mut self, now: Time, packet: &Packet, at: &mut AtLink<'_>) -> Option<Time> {
        let Link { medium, carry, .. } = &mut self.topology.links[at.link as usize];
        let Medium { transmission, delay, .. } = &mut self.topology.media[*medium as usize];
        let sent = match &mut at.managed.impairments {
            None => now + transmission.next(carry, packet.bytes),
            Some(wire) => wire.finish(now, packet.bytes, || transmission.next(carry, packet.bytes)),
        };
        at.events.free = sent;
        if let Some(meter) = &mut at.managed.meter {
            meter.transmits(now, sent, packet.bytes);
        }
        match &mut at.managed.impairments {
            None => Some(sent + *delay),
            Some(wire) => wire.arrival(sent, *delay),
        }
    }

    /// Moves a packet on that reaches the far end at `arrival`, or counts it as lost.
    #[inline(always)]
    pub(crate) fn leave(
        &mut self,
        now: Time,
        arrival: Option<Time>,
        packet: &Packet,
        at: &mut AtLink<'_>,
        receiver: &mut impl Receiver<O>,
    ) {
        let late = at.managed.impairments.as_ref().is_some_and(Impairments::reorders);
        match arrival {
            Some(arrival) => self.travel(arrival, packet, late, receiver),
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

/// Returns when to ask a discipline again that returned no packet at `now`: `None` if it is empty, and always later
/// than `now`.
pub(crate) fn retry_at(now: Time, status: &Status) -> Option<Time> {
    let ready = status.ready_at.filter(|_| status.packets > 0)?;
    Some(ready.max(now + Duration::from_nanos(1)))
}

#[cfg(test)]
mod tests;
