//! The network during a run: packets in queues and on links.

use fairlane_autorate::{Decision, PROBE_INTERVAL};
use fairlane_qdisc::{DropSink, Duration, Qdisc, Reason, Status, Time};

use crate::accounting::{self, QueueAccounting};
use crate::border::Border;
use crate::flow::Browser;
use crate::link::{Link, LinkQueue, Managed, Medium};
use crate::numbered::Numbered;
use crate::observer::{Observer, QueueEvent};
use crate::packet::{Packet, PacketKind};
use crate::sack_table::SackTable;
use crate::schedule::Schedule;
use crate::shaper::ShapedPart;
use crate::target::Target;
use crate::topology::Topology;

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
    pub(crate) packet_hops: u64,
    /// The packets that hosts have sent.
    pub(crate) injected: u64,
    /// The packets that have reached their hosts.
    pub(crate) ejected: u64,
    /// Packets of either kind that plain links have dropped.
    pub(crate) dropped_at_plain_links: u64,
    /// Packets of either kind that were lost during transmission.
    pub(crate) lost_on_links: u64,
    pub(crate) observer: O,
    /// The way to the other parts of a divided run.
    pub(crate) border: Option<Box<Border>>,
}

impl<O: Observer> Network<O> {
    pub(crate) fn new(topology: Topology, events_per_second: f64, observer: O) -> Self {
        let zeros = vec![0; topology.routes.len() + topology.probe_flows()];
        Self {
            events: Schedule::new(topology.lines as usize, topology.first_host_link as usize, events_per_second),
            topology,
            sacks: SackTable::default(),
            browsers: Numbered::new(0, Vec::new()),
            dropped: zeros.clone(),
            lost: zeros,
            packet_hops: 0,
            injected: 0,
            ejected: 0,
            dropped_at_plain_links: 0,
            lost_on_links: 0,
            observer,
            border: None,
        }
    }

    /// Returns the topology and the dropped and lost packets of each flow, and frees everything else.
    pub(crate) fn close(self) -> (Topology, Vec<u64>, Vec<u64>) {
        (self.topology, self.dropped, self.lost)
    }

    /// Puts a packet on the first link of its route. The engine refuses scenarios with a route without links.
    pub(crate) fn inject(&mut self, now: Time, packet: &Packet) {
        self.injected += 1;
        if let Some(link) = self.topology.table[packet.route as usize].link() {
            self.enter(now, link, packet);
        }
    }

    /// Handles the next arrival on a `link` that reorders packets. Returns the packet if its host is at the far end.
    pub(crate) fn arrive_reordered(&mut self, now: Time, link: u32) -> Option<Packet> {
        let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue else { return None };
        let packet = managed.impairments.as_mut()?.take()?;
        self.leave_link(now, packet)
    }

    /// Handles the arrival of `packet` at the far end of a link: passes it on to the next link of its route, or returns it if it has
    /// reached its host.
    #[inline]
    pub(crate) fn leave_link(&mut self, now: Time, packet: Packet) -> Option<Packet> {
        self.packet_hops += 1;
        match self.topology.table[packet.route as usize].link() {
            None => {
                self.ejected += 1;
                Some(packet)
            }
            Some(next) => {
                if packet.flow as usize >= self.topology.routes.len() {
                    self.topology.probe_passed(now, &packet);
                }
                self.enter(now, next, &packet);
                None
            }
        }
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

    fn enter(&mut self, now: Time, link: u32, packet: &Packet) {
        match &mut self.topology.links[link as usize].queue {
            LinkQueue::Plain(_) => self.cross_plain_links(now, link, packet.route, packet),
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
            release.set(retry_at(now, &discipline.status()), Target::Release(link), &mut self.events);
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
    #[inline]
    fn transmit(&mut self, now: Time, link: u32, packet: &Packet) {
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
            return self.travel(arrival, link, packet);
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
            Some(arrival) => self.travel(arrival, link, packet),
        }
    }

    /// Passes on `packet`, which has left a part of the queue of a link with a shaper.
    #[cold]
    fn send_shaped(&mut self, now: Time, link: u32, part: ShapedPart, packet: &Packet) {
        let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue else { return };
        let (backlog, average) = observed::<O>(&managed.discipline);
        let (sacks, dropped, observer) = (&mut self.sacks, &mut self.dropped, &mut self.observer);
        let meter = managed.meter.as_mut();
        let mut accounting = QueueAccounting { link, meter, sacks, dropped, observer, backlog, average };
        match part {
            ShapedPart::Queue(shaper) => {
                accounting.handed_over(now, packet);
                self.hand_over(now, shaper, packet);
            }
            ShapedPart::Buffer(shaper) => {
                accounting.departed(now, packet);
                self.topology.left_buffer(now, shaper, packet);
                self.transmit(now, link, packet);
            }
        }
    }

    /// Hands `packet`, which has left its discipline, over to the buffer of the link behind `shaper`.
    fn hand_over(&mut self, now: Time, shaper: u32, packet: &Packet) {
        let bytes = self.topology.handed_over(shaper);
        let state = &mut self.topology.shapers[shaper as usize];
        let (queue, buffer) = (state.queue, state.buffer);
        self.events.free_at(now + state.hand_over(packet), queue);
        let mut packet = Packet { route: packet.route + 1, ..*packet };
        if state.control.as_mut().is_some_and(|control| control.left(now, &packet, bytes)) {
            packet.sent = now;
        }
        self.enter(now, buffer, &packet);
    }

    /// Schedules the first observation of each controller.
    pub(crate) fn start_controllers(&mut self) {
        for (number, shaper) in self.topology.shapers.iter().enumerate() {
            if shaper.control.is_some() {
                self.events.push(Time::ZERO, Target::RateControl(number as u32));
            }
        }
    }

    /// Shows the traffic to the controller of `shaper`, and sends its next probe.
    pub(crate) fn control_rate(&mut self, now: Time, shaper: u32) {
        self.events.push(now + PROBE_INTERVAL, Target::RateControl(shaper));
        let bytes = self.topology.handed_over(shaper);
        let Some(control) = &mut self.topology.shapers[shaper as usize].control else { return };
        let decision = control.autorate.traffic(now, bytes);
        let probe = control.probe(now);
        self.decided(shaper, &decision);
        self.inject(now, &probe);
    }

    /// Tells the controller that its probe was answered.
    pub(crate) fn probe_answered(&mut self, now: Time, packet: &Packet) {
        let Some(number) = self.topology.shaper_of(packet) else { return };
        let bytes = self.topology.handed_over(number);
        let Some(control) = &mut self.topology.shapers[number as usize].control else { return };
        if let Some(decision) = control.answered(now, packet, bytes) {
            self.decided(number, &decision);
        }
    }

    /// Applies a decision about the rate of `shaper`.
    fn decided(&mut self, shaper: u32, decision: &Decision) {
        let link = self.topology.shapers[shaper as usize].queue;
        if decision.changes() {
            self.topology.set_shaper_rate(shaper, decision.rate);
        }
        self.observer.decided(link, decision);
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

    /// Moves `packet`, which has left the queue of `link` and reaches its far end at `arrival`, on from there.
    #[inline]
    pub(crate) fn travel(&mut self, arrival: Time, link: u32, packet: &Packet) {
        let route = packet.route + 1;
        if let Some(next) = self.topology.table[route as usize].plain_host_link() {
            return self.cross_plain_links(arrival, next, route, packet);
        }
        let line = self.topology.media[self.topology.links[link as usize].medium as usize].line;
        self.send(line, Packet { at: arrival, route, ..*packet }, false);
    }

    /// Schedules the arrival of a packet as [`Schedule::send`] does, or passes it to the part of the run where it arrives.
    #[inline]
    fn send(&mut self, line: u32, packet: Packet, waited: bool) {
        match &mut self.border {
            None => self.events.send(line, packet, waited),
            Some(border) => {
                let step = self.topology.table[packet.route as usize];
                border.send((line, packet, waited), step, &mut self.events, &mut self.sacks);
            }
        }
    }

    /// Moves `packet`, which enters the plain `link` of its `route` at `now`, over this link.
    ///
    /// A plain link to or from a host carries the packets of one other link only, in order, so nothing that happens later changes a
    /// packet's passage. The packet is moved over such links at once, as of its arrival there, which saves events.
    fn cross_plain_links(&mut self, mut now: Time, mut link: u32, mut route: u32, packet: &Packet) {
        loop {
            let Link { medium, carry, queue } = &mut self.topology.links[link as usize];
            let LinkQueue::Plain(plain) = queue else { return };
            let Medium { transmission, delay, limit, line, .. } = &mut self.topology.media[*medium as usize];
            let Some((begin, end)) = plain.take((now, packet.bytes), *limit, transmission, carry) else {
                return self.drop_at_plain_link(now, link, *packet);
            };
            let (arrival, line) = (end + *delay, *line);
            if O::ACTIVE && link < self.topology.first_host_link {
                let departed = QueueEvent::Departed { sojourn: begin - now };
                self.observer.passed(&accounting::event(begin, link, packet, departed, &self.sacks));
            }
            route += 1;
            match self.topology.table[route as usize].plain_host_link() {
                None => {
                    return self.send(
                        line,
                        Packet { at: arrival, route, ..*packet },
                        begin.since(now) > end.since(begin),
                    );
                }
                Some(next) => (now, link) = (arrival, next),
            }
            self.packet_hops += 1;
        }
    }

    fn drop_at_plain_link(&mut self, now: Time, link: u32, packet: Packet) {
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
    use crate::timer::Timer;

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
        let (mut timer, mut events) = (Timer::off(), Schedule::new(0, 0, 1e3));
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
        while let Some((now, next)) = events.pop_before(Time::MAX) {
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
