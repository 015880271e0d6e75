//! Packets on their way: everything between the end points.

use fairlane_qdisc::{Duration, Fate, Qdisc, Reason, Time};

use crate::event::{EventQueue, Target};
use crate::link::{Link, Managed, Medium, Queue};
use crate::meter::Meter;
use crate::network::{END, Network};
use crate::packet::{NO_SACK, Packet, PacketKind};
use crate::pipe::Store;
use crate::tcp::SackBlocks;
use crate::wire::Carried;
use crate::{Happening, Observer, PacketEvent};

/// The network at work.
pub(crate) struct Plane<'o, O, D> {
    pub(crate) events: EventQueue,
    pub(crate) network: Network<D>,
    /// The packets on the links.
    pub(crate) store: Store,
    pub(crate) sacks: Sacks,
    /// Data packets dropped of each flow, at any queue.
    pub(crate) dropped: Vec<u64>,
    /// Data packets of each flow that wires lost.
    pub(crate) lost: Vec<u64>,
    pub(crate) packet_hops: u64,
    /// Packets that hosts put into the network, and those that came out of it at a host.
    pub(crate) injected: u64,
    pub(crate) ejected: u64,
    pub(crate) dropped_from_wires: u64,
    pub(crate) lost_on_wires: u64,
    pub(crate) observer: &'o mut O,
}

impl<'o, O: Observer, D: Qdisc<Packet>> Plane<'o, O, D> {
    pub(crate) fn new(network: Network<D>, events_per_second: f64, observer: &'o mut O) -> Self {
        let none = vec![0; network.routes.len()];
        Self {
            events: EventQueue::new(events_per_second),
            network,
            store: Store::new(),
            sacks: Sacks::default(),
            dropped: none.clone(),
            lost: none,
            packet_hops: 0,
            injected: 0,
            ejected: 0,
            dropped_from_wires: 0,
            lost_on_wires: 0,
            observer,
        }
    }

    /// The end: the network, and each flow's dropped and lost packets. What was under way goes.
    pub(crate) fn close(self) -> (Network<D>, Vec<u64>, Vec<u64>) {
        (self.network, self.dropped, self.lost)
    }

    /// Puts a packet on the first link of its route. Every route has a link: the engine refuses scenarios where one has not.
    pub(crate) fn inject(&mut self, now: Time, packet: &Packet) {
        self.injected += 1;
        self.enter(now, self.network.table[packet.route as usize], packet);
    }

    /// The packet at the head of `link`'s pipe reaches the other end; gives it back when that is its host.
    pub(crate) fn arrive(&mut self, now: Time, link: u32) -> Option<Packet> {
        let pipe = &mut self.network.links[link as usize].pipe;
        let taken = pipe.pop(&mut self.store);
        if let Some(at) = pipe.next_arrival(&self.store) {
            self.events.push(at, Target::Arrival(link));
        }
        taken.and_then(|packet| self.reach(now, packet))
    }

    /// The next of the packets on `link` that may overtake each other reaches the other end; gives it back when that is its host.
    pub(crate) fn overtake(&mut self, now: Time, link: u32) -> Option<Packet> {
        let Queue::Managed(managed) = &mut self.network.links[link as usize].queue else { return None };
        let packet = managed.wire.as_mut()?.take()?;
        self.reach(now, packet)
    }

    /// `packet` has come to the end of a link.
    fn reach(&mut self, now: Time, packet: Packet) -> Option<Packet> {
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

    /// `link`'s queue may give out what it held back, unless an earlier event has overtaken this one.
    pub(crate) fn release(&mut self, now: Time, link: u32) {
        if let Queue::Managed(managed) = &mut self.network.links[link as usize].queue
            && managed.release.rings(now)
            && !managed.busy
        {
            self.send_next(now, link);
        }
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
        let Link { medium, carry, queue: Queue::Managed(managed), .. } = &mut self.network.links[link as usize] else {
            return;
        };
        let Managed { discipline, meter, busy, release, wire, .. } = &mut **managed;
        let mut clerk = Clerk {
            link,
            meter: meter.as_mut(),
            sacks: &mut self.sacks,
            dropped: &mut self.dropped,
            observer: self.observer,
            backlog: discipline.packets(),
            average: None,
        };
        let Some(packet) = discipline.dequeue(now, &mut clerk) else {
            release.set(held_until(now, discipline), Target::Release(link), &mut self.events);
            return;
        };
        clerk.backlog = discipline.packets();
        clerk.average = discipline.average();
        clerk.departed(now, &packet);
        *busy = true;
        let Medium { pace, delay, .. } = &mut self.network.media[*medium as usize];
        let Some(wire) = wire else {
            let sent = now + pace.next(carry, packet.bytes);
            let arrival = sent + *delay;
            self.events.push(sent, Target::LinkFree(link));
            return self.travel(arrival, link, &packet);
        };
        let Carried { sent, arrival } = wire.carry(now, packet.bytes, || pace.next(carry, packet.bytes), *delay);
        self.events.push(sent, Target::LinkFree(link));
        match arrival {
            None => self.lose(now, link, &packet),
            Some(arrival) if wire.overtakes() => {
                wire.keep(&packet, arrival, packet.route + 1);
                self.events.push(arrival, Target::Overtaking(link));
            }
            Some(arrival) => self.travel(arrival, link, &packet),
        }
    }

    /// `packet`, which `link` has begun to send at `now`, will not reach the other end.
    fn lose(&mut self, now: Time, link: u32, packet: &Packet) {
        self.lost_on_wires += 1;
        if packet.kind() == PacketKind::Data {
            self.lost[packet.flow as usize] += 1;
        }
        self.sacks.forget(packet.sack);
        let Queue::Managed(managed) = &mut self.network.links[link as usize].queue else { return };
        let (backlog, average) = (managed.discipline.packets(), managed.discipline.average());
        let (meter, sacks, dropped) = (managed.meter.as_mut(), &mut self.sacks, &mut self.dropped);
        Clerk { link, meter, sacks, dropped, observer: self.observer, backlog, average }.lost(now, packet);
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
        pipe.push(&mut self.store, packet, arrival, route);
    }

    /// When a packet that enters a wire at `now` will reach the other end; `None` if the wire drops it.
    fn pass_wire(&mut self, now: Time, link: u32, packet: &Packet) -> Option<Time> {
        let Link { pipe, medium, carry, queue } = &mut self.network.links[link as usize];
        let Queue::Wire { busy_until } = queue else { return None };
        let Medium { pace, delay, limit } = &mut self.network.media[*medium as usize];
        // Only a pipe longer than the limit can hold a queue that is full. Of what has not gone one packet is being sent.
        if pipe.len() > *limit && pipe.after(&self.store, now + *delay) > *limit {
            self.drop_from_wire(now, link, *packet);
            return None;
        }
        *busy_until = now.max(*busy_until) + pace.next(carry, packet.bytes);
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

/// When to ask `discipline` again, which gave nothing at `now`: never when it is empty, and never at once.
pub(crate) fn held_until<P: fairlane_qdisc::Packet>(now: Time, discipline: &impl Qdisc<P>) -> Option<Time> {
    let ready = discipline.ready_at().filter(|_| discipline.packets() > 0)?;
    Some(ready.max(now + Duration::from_nanos(1)))
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
            meter.arrived(now, packet.flow);
        }
        self.tell(now, packet, Happening::Arrived);
    }

    fn departed(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = &mut self.meter {
            meter.departed(now, packet.flow, packet.bytes, packet.at);
        }
        self.tell(now, packet, Happening::Departed { sojourn: now - packet.at });
    }

    fn lost(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = &mut self.meter {
            meter.lost(packet.flow);
        }
        self.tell(now, packet, Happening::Lost);
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
            meter.dropped(now, packet.flow, reason);
        }
        if packet.kind() == PacketKind::Data {
            self.dropped[packet.flow as usize] += 1;
        }
        self.sacks.forget(packet.sack);
        self.tell(now, &packet, Happening::Dropped(reason));
    }

    fn marked(&mut self, now: Time, packet: &Packet, reason: Reason) {
        if let Some(meter) = &mut self.meter {
            meter.marked(packet.flow);
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use fairlane_qdisc::Counters;

    use super::*;
    use crate::event::Alarm;
    use crate::packet::Flags;

    const GAP: Duration = Duration::from_millis(10);

    /// Gives out one packet a gap, whatever the link could do.
    struct Pacer {
        waiting: VecDeque<Packet>,
        next: Time,
        counters: Counters,
    }

    impl Qdisc<Packet> for Pacer {
        fn enqueue(&mut self, _now: Time, packet: Packet, _fate: &mut impl Fate<Packet>) {
            self.waiting.push_back(packet);
        }
        fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<Packet>) -> Option<Packet> {
            if now < self.next {
                return None;
            }
            let packet = self.waiting.pop_front()?;
            self.next = now + GAP;
            Some(packet)
        }
        fn packets(&self) -> usize {
            self.waiting.len()
        }
        fn bytes(&self) -> u64 {
            0
        }
        fn counters(&self) -> &Counters {
            &self.counters
        }
        fn ready_at(&self) -> Option<Time> {
            Some(self.next)
        }
    }

    fn packet(now: Time) -> Packet {
        let flags = Flags::default();
        Packet { sent: now, at: now, flow: 0, seq: 0, bytes: 1, route: 0, sack: NO_SACK, flags, class: 0 }
    }

    /// A queue that holds back is asked when it is ready, once, however many arrivals have asked before; an empty one
    /// is not asked at all.
    #[test]
    fn a_queue_that_holds_back_is_asked_when_it_is_ready() {
        let mut pacer = Pacer { waiting: VecDeque::new(), next: Time::ZERO, counters: Counters::default() };
        let (mut alarm, mut events) = (Alarm::off(), EventQueue::new(1e3));
        let mut left = Vec::new();
        let mut ask = |pacer: &mut Pacer, alarm: &mut Alarm, events: &mut EventQueue, now: Time| {
            while pacer.dequeue(now, &mut ()).is_some() {
                left.push(now);
            }
            alarm.set(held_until(now, pacer), Target::Release(3), events);
        };
        for arrival in 0..5 {
            let now = Time::ZERO + Duration::from_millis(arrival);
            pacer.enqueue(now, packet(now), &mut ());
            ask(&mut pacer, &mut alarm, &mut events, now);
        }
        let mut woken = 0;
        while let Some((now, target)) = events.pop_before(Time::MAX) {
            assert_eq!(target, Target::Release(3));
            assert!(alarm.rings(now));
            woken += 1;
            ask(&mut pacer, &mut alarm, &mut events, now);
        }
        let gaps: Vec<Time> = (0..5).map(|n| Time::ZERO + Duration::from_millis(10 * n)).collect();
        assert_eq!((left, woken), (gaps, 4));
    }

    /// Would catch a simulation that stands still because a discipline names a time that is past.
    #[test]
    fn time_goes_on_although_the_queue_says_now() {
        let now = Time::from_nanos(50);
        let waiting = VecDeque::from([packet(now)]);
        let pacer = Pacer { waiting, next: Time::ZERO, counters: Counters::default() };
        assert_eq!(held_until(now, &pacer), Some(Time::from_nanos(51)));
    }
}
