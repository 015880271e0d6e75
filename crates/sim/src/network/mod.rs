//! The network during a run: packets in queues and on links.

pub(crate) mod aggregation;
pub(crate) mod droptail_link;
pub(crate) mod impairments;
pub(crate) mod link;
pub(crate) mod link_rates;
pub(crate) mod link_run;
pub(crate) mod opportunities;
pub(crate) mod prefetch;
pub(crate) mod route;
pub(crate) mod shaper;
pub(crate) mod shaper_events;
pub(crate) mod topology;

use fairlane_qdisc::{DropSink, Duration, Qdisc, Reason, Status, Time};

use crate::flow::Browser;
use crate::flow::hosts::Hosts;
use crate::flow::numbered::Numbered;
use crate::measure::accounting::{self, QueueAccounting};
use crate::measure::observer::{Observer, QueueEvent};
use crate::network::link::{Link, LinkQueue, Managed, Medium};
use crate::network::link_run::Departure;
use crate::network::shaper::ShapedPart;
use crate::network::topology::Topology;
use crate::packet::{Packet, PacketKind};
use crate::parallel::mailbox::Border;
use crate::sack_table::SackTable;
use crate::schedule::Schedule;
use crate::schedule::delay_line::NO_LINE;
use crate::schedule::event_key::Target;

/// All links with their queues, and the packets and events that are on their way.
pub(crate) struct Network<O> {
    pub(crate) events: Schedule,
    pub(crate) topology: Topology,
    pub(crate) sacks: SackTable,
    /// The pages that groups of connections load.
    pub(crate) browsers: Numbered<Browser>,
    /// The data packets of each flow that queues have dropped.
    pub(crate) dropped: Vec<u64>,
    /// The data packets of each flow that were lost during transmission.
    pub(crate) lost: Vec<u64>,
    /// The links that packets have crossed, without the last one of those that reached their hosts ahead of their time.
    pub(crate) packet_hops: u64,
    /// The timers of flows that fired [ahead of their time](crate::flow::hosts).
    pub(crate) fired_ahead: u64,
    /// The packets that hosts have sent.
    pub(crate) injected: u64,
    /// The packets that have reached their hosts in their turn.
    pub(crate) ejected: u64,
    /// Packets of either kind that plain links have dropped.
    pub(crate) dropped_at_plain_links: u64,
    /// Packets of either kind that were lost during transmission.
    pub(crate) lost_on_links: u64,
    pub(crate) observer: O,
    /// The way to the other parts of a divided run.
    pub(crate) border: Option<Box<Border>>,
    /// The packets that a link has begun to send and that are kept while [what they need](crate::network::prefetch) is loaded.
    pub(crate) departures: Vec<Departure>,
}

impl<O: Observer> Network<O> {
    pub(crate) fn new(topology: Topology, events_per_second: f64, observer: O) -> Self {
        let zeros = vec![0; topology.flows + topology.probe_flows()];
        // Observers see all events in their order.
        let eager = vec![None; topology.deferred.len()];
        let links = if O::ACTIVE { &eager } else { &topology.deferred };
        Self {
            events: Schedule::new(&topology.lines, links, events_per_second),
            topology,
            sacks: SackTable::default(),
            browsers: Numbered::new(0, Vec::new()),
            dropped: zeros.clone(),
            lost: zeros,
            packet_hops: 0,
            fired_ahead: 0,
            injected: 0,
            ejected: 0,
            dropped_at_plain_links: 0,
            lost_on_links: 0,
            observer,
            border: None,
            departures: Vec::new(),
        }
    }

    /// Returns the topology and each flow's packets that were dropped and that were lost, and frees everything else.
    pub(crate) fn close(self) -> (Topology, Vec<u64>, Vec<u64>) {
        (self.topology, self.dropped, self.lost)
    }

    /// Puts a packet on the first link of its route. The engine refuses scenarios with a route without links. A browser loads the program for each
    /// visit, so there this is compiled once.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    #[cfg_attr(target_family = "wasm", inline(never))]
    pub(crate) fn inject(&mut self, now: Time, packet: &Packet) {
        self.injected += 1;
        let step = &self.topology.table[packet.route as usize];
        let Some(link) = step.plain_host_link(packet.flow) else { return self.inject_at_node(now, *packet) };
        let line = step.line;
        let Some(passage) = self.pass_plain_link(now, link, packet) else { return };
        if line == NO_LINE {
            return self.cross_second_host_link(passage.arrival, *packet);
        }
        self.send(line, packet, (passage.arrival, packet.route + 1), passage.waits(now));
    }

    /// Puts a packet on the first link of its route, which is not the plain link of a host. Here and elsewhere what is apart takes packets by value,
    /// so that the usual way needs no memory for them.
    #[inline(never)]
    fn inject_at_node(&mut self, now: Time, packet: Packet) {
        if let Some(link) = self.topology.table[packet.route as usize].link(packet.flow) {
            self.enter(now, link, &packet);
        }
    }

    /// Removes and returns the next arrival on a `link` that reorders packets.
    pub(crate) fn take_reordered(&mut self, link: u32) -> Option<Packet> {
        let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue else { return None };
        managed.impairments.as_mut()?.take()
    }

    /// Handles the arrival of `packet` at the far end of a link: returns true if it has reached its host, or passes it on to the next link of
    /// its route.
    #[inline]
    pub(crate) fn leave_link(&mut self, now: Time, packet: &Packet) -> bool {
        self.packet_hops += 1;
        let Some(next) = self.topology.table[packet.route as usize].link(packet.flow) else {
            self.ejected += 1;
            return true;
        };
        if packet.flow as usize >= self.topology.flows {
            self.topology.probe_passed(now, packet);
        }
        self.enter(now, next, packet);
        false
    }

    /// Handles the end of a transmission: `link` may send its next packet.
    pub(crate) fn link_free(&mut self, now: Time, link: u32) {
        let state = &mut self.topology.links[link as usize];
        if let LinkQueue::Managed(managed) = &mut state.queue {
            managed.busy = false;
        }
        self.send_next(now, link);
    }

    /// Handles the release timer of `link`, whose discipline held packets back.
    pub(crate) fn release(&mut self, now: Time, link: u32) {
        if let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue
            && managed.release.fires(now)
            && !managed.busy
        {
            self.send_next(now, link);
        }
    }

    #[inline(never)]
    pub(crate) fn enter(&mut self, now: Time, link: u32, packet: &Packet) {
        match &mut self.topology.links[link as usize].queue {
            LinkQueue::Plain(_) => self.enter_plain(now, link, packet),
            LinkQueue::Managed(managed) => {
                let Managed { discipline, meter, busy, part, .. } = &mut **managed;
                // The shaper before a buffer, and the packets that the buffer holds.
                let before = match part {
                    Some(ShapedPart::Buffer(shaper)) => Some((*shaper, discipline.packets())),
                    Some(ShapedPart::Queue(_)) | None => None,
                };
                let busy = *busy;
                let (backlog, average) = observed::<O>(discipline);
                let mut accounting = QueueAccounting {
                    link,
                    meter: meter.as_mut(),
                    sacks: &mut self.sacks,
                    dropped: &mut self.dropped,
                    observer: &mut self.observer,
                    backlog,
                    average,
                };
                let packet = Packet { at: now, ..*packet };
                accounting.arrived(now, &packet);
                discipline.enqueue(now, packet, &mut accounting);
                if O::ACTIVE {
                    discipline.candidates(&mut |candidate| self.observer.compared(link, candidate));
                }
                if let Some(meter) = meter {
                    meter.averaged(discipline.average());
                }
                if let Some((shaper, packets)) = before
                    && discipline.packets() == packets
                {
                    self.topology.overflowed(now, shaper, packet.flow);
                }
                if !busy {
                    self.send_next(now, link);
                }
            }
        }
    }

    #[inline(never)]
    fn enter_plain(&mut self, now: Time, link: u32, packet: &Packet) {
        self.cross_plain_link(now, link, packet);
    }

    /// Sends the next packet of the queue of `link`, whose transmitter is free.
    fn send_next(&mut self, now: Time, link: u32) {
        let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue else { return };
        let Managed { discipline, meter, busy, release, part, impairments, .. } = &mut **managed;
        if let Some(at) = impairments.as_mut().and_then(|wire| wire.hold(now, discipline.packets() > 0)) {
            *busy = true;
            return self.events.free_at(at, link);
        }
        if impairments.as_ref().is_some_and(|wire| wire.frames.is_some()) {
            return self.send_frame(now, link);
        }
        let mut accounting = QueueAccounting {
            link,
            meter: meter.as_mut(),
            sacks: &mut self.sacks,
            dropped: &mut self.dropped,
            observer: &mut self.observer,
            backlog: if O::ACTIVE { discipline.packets() } else { 0 },
            average: None,
        };
        let Some(packet) = discipline.dequeue(now, &mut accounting) else {
            if let Some(at) = retry_at(now, &discipline.status()).and_then(|at| release.brought_forward(at)) {
                self.events.release_at(at, link);
            }
            return;
        };
        (accounting.backlog, accounting.average) = observed::<O>(discipline);
        *busy = true;
        if let Some(part) = *part {
            return self.send_shaped(now, link, part, &packet);
        }
        accounting.departed(now, &packet);
        self.transmit(now, link, &packet);
    }

    /// Transmits `packet`, which has left the queue of `link`.
    #[inline(never)]
    pub(crate) fn transmit(&mut self, now: Time, link: u32, packet: &Packet) {
        let Link { medium, carry, queue: LinkQueue::Managed(managed), .. } = &mut self.topology.links[link as usize]
        else {
            return;
        };
        let Medium { transmission, delay, .. } = &mut self.topology.media[*medium as usize];
        let Some(impairments) = &mut managed.impairments else {
            let sent = now + transmission.next(carry, packet.bytes);
            if let Some(meter) = &mut managed.meter {
                meter.transmits(now, sent, packet.bytes);
            }
            let arrival = sent + *delay;
            self.events.free_at(sent, link);
            return self.travel(arrival, packet, None);
        };
        let transmitted = impairments.transmit(now, packet.bytes, || transmission.next(carry, packet.bytes), *delay);
        self.events.free_at(transmitted.sent, link);
        if let Some(meter) = &mut managed.meter {
            meter.transmits(now, transmitted.sent, packet.bytes);
        }
        match transmitted.arrival {
            None => self.lose(now, link, packet),
            Some(arrival) if impairments.reorders() => {
                impairments.keep(packet, arrival, packet.route + 1);
                self.events.push(arrival, Target::ReorderedArrival(link));
            }
            Some(arrival) => self.travel(arrival, packet, None),
        }
    }

    /// Counts `packet`, which `link` has begun to send, as lost during transmission.
    pub(crate) fn lose(&mut self, now: Time, link: u32, packet: &Packet) {
        self.lost_on_links += 1;
        if packet.kind() == PacketKind::Data {
            self.lost[packet.flow as usize] += 1;
        }
        self.sacks.forget(packet.sack);
        let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue else { return };
        let (backlog, average) = observed::<O>(&managed.discipline);
        let (meter, sacks, dropped) = (managed.meter.as_mut(), &mut self.sacks, &mut self.dropped);
        QueueAccounting { link, meter, sacks, dropped, observer: &mut self.observer, backlog, average }
            .lost(now, packet);
        if let Some(ShapedPart::Buffer(shaper)) = managed.part {
            self.topology.lost_behind(shaper, packet.flow);
        }
    }

    /// Moves `packet`, which has left the queue of its link and reaches the far end at `arrival`, on from there: with `hosts` also to its host, if
    /// that takes it [ahead of its time](crate::flow::hosts).
    #[inline(always)]
    pub(crate) fn travel(&mut self, arrival: Time, packet: &Packet, hosts: Option<&mut Hosts>) {
        let step = self.topology.table[packet.route as usize];
        if step.line != NO_LINE {
            return self.send(step.line, packet, (arrival, packet.route + 1), false);
        }
        self.cross_host_link(arrival, packet, hosts);
    }

    /// Schedules the arrival of a packet as [`Schedule::send`] does, or passes it to the part of the run where it arrives.
    #[inline(always)]
    fn send(&mut self, line: u32, packet: &Packet, (at, route): (Time, u32), waited: bool) {
        if self.border.is_some() {
            return self.send_over_border(line, Packet { at, route, ..*packet }, waited);
        }
        self.events.send(line, packet, (at, route), waited);
    }

    #[inline(never)]
    fn send_over_border(&mut self, line: u32, packet: Packet, waited: bool) {
        let step = self.topology.table[packet.route as usize];
        if let Some(border) = &mut self.border {
            border.send((line, &packet, waited), step, &mut self.events, &mut self.sacks);
        }
    }

    /// Moves `packet`, which enters the plain `link` of its route at `now`, over this link, and over the plain link of a host behind it. Such a link
    /// carries the packets of one other link only, in order, so nothing that happens later changes a packet's passage.
    #[inline(always)]
    pub(crate) fn cross_plain_link(&mut self, now: Time, link: u32, packet: &Packet) {
        if let Some(passage) = self.pass_plain_link(now, link, packet) {
            self.go_on(now, &passage, packet, None);
        }
    }

    /// Moves `packet`, which came to the plain link of its route at `now`, on from there, as [`travel`](Self::travel) does.
    #[inline(always)]
    pub(crate) fn go_on(&mut self, now: Time, passage: &Passage, packet: &Packet, hosts: Option<&mut Hosts>) {
        let step = &self.topology.table[packet.route as usize];
        if step.line == NO_LINE {
            return self.cross_host_link(passage.arrival, packet, hosts);
        }
        self.send(step.line, packet, (passage.arrival, packet.route + 1), passage.waits(now));
    }

    /// Moves `packet`, which has crossed a link at `now`, over the plain link of a host behind it. No other link of a host follows.
    #[inline(always)]
    fn cross_host_link(&mut self, now: Time, packet: &Packet, hosts: Option<&mut Hosts>) {
        let step = self.topology.table[packet.route as usize + 1];
        let Some(link) = step.plain_host_link(packet.flow) else { return };
        self.packet_hops += 1;
        let Some(passage) = self.pass_plain_link(now, link, packet) else { return };
        if let Some(hosts) = hosts
            && step.is_ahead()
            && hosts.may_handle(passage.arrival)
        {
            return hosts.deliver_ahead(passage.arrival, packet, self);
        }
        self.send(step.line, packet, (passage.arrival, packet.route + 2), passage.waits(now));
    }

    /// As [`cross_host_link`](Self::cross_host_link), between two hosts.
    #[inline(never)]
    fn cross_second_host_link(&mut self, now: Time, packet: Packet) {
        self.cross_host_link(now, &packet, None);
    }

    /// Returns the passage of `packet`, which comes to this plain link at `now`; `None` if it is dropped.
    #[inline(always)]
    fn pass_plain_link(&mut self, now: Time, link: u32, packet: &Packet) -> Option<Passage> {
        let state = &mut self.topology.links[link as usize];
        let medium = &mut self.topology.media[state.medium as usize];
        let Some((begin, end)) = state.take(medium, now, packet.bytes) else {
            self.drop_at_plain_link(now, link, *packet);
            return None;
        };
        let arrival = end + medium.delay;
        if O::ACTIVE && link < self.topology.first_host_link {
            let departed = QueueEvent::Departed { sojourn: begin - now };
            self.observer.passed(&accounting::event(begin, link, packet, departed, &self.sacks));
        }
        Some(Passage { begin, arrival })
    }

    #[inline(never)]
    pub(crate) fn drop_at_plain_link(&mut self, now: Time, link: u32, packet: Packet) {
        self.dropped_at_plain_links += 1;
        let backlog = self.topology.media[self.topology.links[link as usize].medium as usize].limit;
        let mut accounting = QueueAccounting {
            link,
            meter: None,
            sacks: &mut self.sacks,
            dropped: &mut self.dropped,
            observer: &mut self.observer,
            backlog,
            average: None,
        };
        accounting.dropped(now, packet, Reason::Limit);
    }
}

/// How a packet crosses a plain link: its transmission begins at `begin`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) begin: Time,
    pub(crate) arrival: Time,
}

impl Passage {
    /// Returns true if a packet that came at `now` waits for its link.
    #[inline(always)]
    fn waits(&self, now: Time) -> bool {
        self.begin > now
    }
}

/// Returns the backlog and the average that an observer is shown; the discipline is not asked if nobody observes.
pub(crate) fn observed<O: Observer>(discipline: &impl Qdisc<Packet>) -> (usize, Option<f64>) {
    if !O::ACTIVE {
        return (0, None);
    }
    let status = discipline.status();
    (status.packets, status.average)
}

/// Returns when to ask a discipline again that returned no packet at `now`: `None` if it is empty, and always later
/// than `now`.
pub(crate) fn retry_at(now: Time, status: &Status) -> Option<Time> {
    let ready = status.ready_at.filter(|_| status.packets > 0)?;
    Some(ready.max(now + Duration::from_nanos(1)))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use fairlane_qdisc::Counters;

    use super::*;
    use crate::packet::{Flags, NO_SACK};
    use crate::schedule::Next;
    use crate::schedule::timer::Timer;

    const GAP: Duration = Duration::from_millis(10);

    /// Releases one packet every `GAP`.
    struct Shaper {
        queue: VecDeque<Packet>,
        next: Time,
        counters: Counters,
    }

    impl Qdisc<Packet> for Shaper {
        fn enqueue(&mut self, _now: Time, packet: Packet, _sink: &mut dyn DropSink<Packet>) {
            self.queue.push_back(packet);
        }
        fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<Packet>) -> Option<Packet> {
            if now < self.next {
                return None;
            }
            let packet = self.queue.pop_front()?;
            self.next = now + GAP;
            Some(packet)
        }
        fn status(&self) -> Status {
            let mut status = Status::new(self.queue.len(), 0);
            status.ready_at = Some(self.next);
            status
        }
        fn counters(&self) -> &Counters {
            &self.counters
        }
    }

    fn packet(now: Time) -> Packet {
        let flags = Flags::default();
        Packet { sent: now, at: now, flow: 0, seq: 0, bytes: 1, route: 0, sack: NO_SACK, flags, class: 0 }
    }

    /// Would catch a shaper that is asked more than once, or not at the moment it named, however many arrivals there were
    /// before; and an empty one that is asked at all.
    #[test]
    fn a_shaper_is_asked_when_it_is_ready() {
        let mut shaper = Shaper { queue: VecDeque::new(), next: Time::ZERO, counters: Counters::default() };
        let (mut timer, mut events) = (Timer::off(), Schedule::new(&[], &[], 1e3));
        let mut left = Vec::new();
        let mut ask = |shaper: &mut Shaper, timer: &mut Timer, events: &mut Schedule, now: Time| {
            while shaper.dequeue(now, &mut ()).is_some() {
                left.push(now);
            }
            timer.set(retry_at(now, &shaper.status()), Target::Release(3), events);
        };
        for arrival in 0..5 {
            let now = Time::ZERO + Duration::from_millis(arrival);
            shaper.enqueue(now, packet(now), &mut ());
            ask(&mut shaper, &mut timer, &mut events, now);
        }
        let mut fired = 0;
        while let Some((now, next)) = events.next_before(Time::MAX) {
            assert!(matches!(next, Next::Event(Target::Release(3))));
            assert!(timer.fires(now));
            fired += 1;
            ask(&mut shaper, &mut timer, &mut events, now);
        }
        let gaps: Vec<Time> = (0..5).map(|n| Time::ZERO + Duration::from_millis(10 * n)).collect();
        assert_eq!((left, fired), (gaps, 4));
    }

    /// Would catch a simulation whose time does not advance because a discipline returns a time in the past.
    #[test]
    fn time_advances_although_the_queue_is_ready_now() {
        let now = Time::from_nanos(50);
        let queue = VecDeque::from([packet(now)]);
        let shaper = Shaper { queue, next: Time::ZERO, counters: Counters::default() };
        assert_eq!(retry_at(now, &shaper.status()), Some(Time::from_nanos(51)));
    }
}
