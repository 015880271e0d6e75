//! CAKE: a shaper, tins for classes of traffic, and in each tin a queue for each flow, with fairness among hosts before
//! flows and a COBALT on each queue.
//!
//! The shaper keeps the backlog where it can be managed. Tins bound what a class can take from the others. Within a tin
//! flows take turns, sparse flows first, and the flows of a busy host share what a flow alone would get. When the limit
//! is reached, the longest queue loses its head.
//!
//! **Source.** Hoeiland-Joergensen, Taht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", IEEE LANMAN 2018; parameters and constants as tc-cake(8) and sch_cake.
//!
//! **Deviations.** There is no overhead compensation (a packet's size is that on the wire already),
//! no automatic rate, and no override of tins and flows by firewall marks or filters. Hosts are counted exactly, not in
//! 1024 hashed buckets. A host's quantum is divided to 1/65536 byte, where sch_cake rounds it at random. Without
//! `bandwidth` the link's rate gives quanta, targets and the limit, where sch_cake knows no rate. The filter of
//! acknowledgements is also asked for segments of a packet that was joined by offload, as for any packet, and does not
//! look into tunnels. `nat` is a matter of the host. Sizes of packets are counted, not the memory that they take.
//!
//! **Cost.** With `ack_filter`, a look at each packet of a queue to which a TCP packet comes. Otherwise a hash and at
//! most 16 tags compared, a push and a pop, COBALT's, and two look-ups of hosts a turn; to find the longest queue,
//! O(log n) for each queue that has changed since it was last sought.

use alloc::vec::Vec;

use crate::discipline::cobalt::CobaltVerdict;
use crate::flow::hash::FlowHash;
use crate::queue::flow_queues::FlowQueues;
use crate::queue::longest::Longest;
use crate::queue::room::Room;
use crate::queue::signal::{discard, mark};
use crate::queue::tagged::Stamped;
use crate::{Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Status, Stream, Time};

mod ack_filter;
mod config;
mod diffserv;
mod hosts;
mod shaper;
#[cfg(test)]
mod tests;
mod tin;

pub use ack_filter::AckFilter;
pub use config::{Config, Isolation, Preset};
pub use diffserv::Diffserv;

use shaper::ShaperClock;
use tin::Tin;

/// The number of queues of a tin.
const QUEUES: usize = 1024;

/// CAKE.
#[derive(Debug)]
pub struct Cake<P> {
    config: Config,
    room: Room,
    /// The shaper; without it nothing is held back.
    shaper: Option<ShaperClock>,
    hash: FlowHash,
    queues: FlowQueues<Stamped<P>>,
    longest: Longest,
    tins: Vec<Tin>,
    /// The tin whose turn it is where nothing is shaped.
    turn: usize,
    rolls: Stream,
    counters: Counters,
}

/// The result of a queue's turn.
enum Taken {
    /// The packet at this place leaves. It has been unlinked from its queue, and is moved last: then it is copied only
    /// once.
    Packet(u32),
    /// A packet was dropped in its place.
    Drop,
    /// The queue had no packet.
    Nothing,
}

impl<P: Packet> Cake<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let tin = |(number, settings)| Tin::new(settings, seed.named("tin").numbered(number));
        Ok(Self {
            room: Room::of(config.limit_at(config.bandwidth)),
            shaper: config.bandwidth.map(|rate| ShaperClock::new(rate, config.ingress)),
            hash: FlowHash::new(seed),
            queues: FlowQueues::new(),
            longest: Longest::new(seed),
            tins: (0..).zip(config.tins_at(config.bandwidth)).map(tin).collect(),
            turn: 0,
            rolls: seed.stream("blue"),
            counters: Counters::default(),
            config,
        })
    }

    /// Returns the hash of the flow of `packet`, as its tin defines flows.
    fn tag(&self, packet: &P) -> u64 {
        let hash = |key| self.hash.bits(key);
        match self.config.isolation {
            Isolation::FlowBlind => 0,
            Isolation::SrcHost => hash(packet.source_host()),
            Isolation::DstHost => hash(packet.destination_host()),
            Isolation::Hosts => hash(hash(packet.source_host()) ^ packet.destination_host()),
            Isolation::Flows | Isolation::DualSrcHost | Isolation::DualDstHost | Isolation::TripleIsolate => {
                hash(packet.flow().get())
            }
        }
    }

    /// Notes the length of `queue`.
    fn weigh(&mut self, queue: usize) {
        self.longest.set(queue, self.queues.length_of(queue));
    }

    /// Drops the head of the longest queue and notifies its COBALT.
    #[inline(never)]
    fn drop_from_longest(&mut self, now: Time, sink: &mut dyn DropSink<P>) {
        let Some(queue) = self.longest.get() else { return };
        let tin = &mut self.tins[queue / QUEUES];
        let settings = tin.cobalt();
        tin.core(queue % QUEUES).full(&settings, now);
        if let Some(stamped) = self.queues.pop_front(queue) {
            self.lose(now, queue, stamped.packet, Reason::BufferSteal, sink);
        }
        self.weigh(queue);
    }

    /// Drops an acknowledgement of `queue` that the packet which came last makes superfluous.
    fn filter_acks(&mut self, now: Time, queue: usize, sink: &mut dyn DropSink<P>) {
        let superfluous = ack_filter::superfluous(&self.queues, queue, self.config.ack_filter);
        if let Some(stamped) = superfluous.and_then(|place| self.queues.remove(queue, place)) {
            self.lose(now, queue, stamped.packet, Reason::AckFilter, sink);
        }
    }

    /// Drops `packet`, which has been taken from `queue` and not by its turn.
    fn lose(&mut self, now: Time, queue: usize, packet: P, reason: Reason, sink: &mut dyn DropSink<P>) {
        let tin = &mut self.tins[queue / QUEUES];
        tin.packets -= 1;
        if self.config.ingress {
            tin.advance(now, packet.bytes());
            self.shaper.iter_mut().for_each(|shaper| shaper.dropped(packet.bytes()));
        }
        discard(now, packet, reason, &mut self.counters, sink);
    }

    /// Chooses the tin that may send. Packets must be queued: then some tin is active.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if self.shaper.is_some() { self.choose_by_time(now) } else { Some(self.choose_by_turns()) }
    }

    /// Chooses the last tin that is within its share of the rate, or else the one that will be first.
    fn choose_by_time(&self, now: Time) -> Option<usize> {
        let mut chosen = None;
        let mut best = Time::MAX;
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
            if tin.next <= now || tin.next <= best {
                best = tin.next;
                chosen = Some(number);
            }
        }
        chosen
    }

    /// Chooses the tin whose turn it is by the quanta.
    fn choose_by_turns(&mut self) -> usize {
        let mut asked = 0;
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.is_active() && tin.deficit >= 0 {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.settings.tin_quantum;
            }
            self.turn = if self.turn + 1 == self.tins.len() { 0 } else { self.turn + 1 };
            asked += 1;
            if asked > self.tins.len() {
                self.skip_turns();
                asked = 0;
            }
        }
    }

    /// Adds the quanta of all the rounds before the first in which some tin may send.
    fn skip_turns(&mut self) {
        let waits = |tin: &Tin| {
            let (debt, quantum) = (-tin.deficit, tin.settings.tin_quantum);
            if debt <= 0 { 0 } else { (debt - 1) / quantum }
        };
        let rounds = self.tins.iter().filter(|tin| tin.is_active()).map(waits).min().unwrap_or(0);
        for tin in self.tins.iter_mut().filter(|tin| tin.deficit <= 0) {
            let quantum = tin.settings.tin_quantum;
            tin.deficit += rounds.min(-tin.deficit / quantum + 1) * quantum;
        }
    }

    /// Unlinks the packet that leaves `queue` of `tin`; the flow retires if there is none. With `ingress` a dropped
    /// packet uses up the flow's turn as a sent one does.
    fn take(&mut self, now: Time, tin: usize, queue: usize, sink: &mut dyn DropSink<P>) -> Taken {
        let place = tin * QUEUES + queue;
        let tin = &mut self.tins[tin];
        let taken = loop {
            let head = self.queues.front_place(place);
            let Some(stamped) = self.queues.front(place) else {
                tin.retire(queue, now);
                return Taken::Nothing;
            };
            let (waited, ecn_capable, bytes) = (stamped.sojourn(now), stamped.ecn_capable(), stamped.bytes());
            tin.packets -= 1;
            let settings = tin.cobalt();
            let verdict = tin.core(queue).test(&settings, now, waited, ecn_capable, &mut self.rolls);
            self.queues.unlink_front(place);
            // A flow's last packet may be marked, but is not dropped.
            if matches!(verdict, CobaltVerdict::Codel | CobaltVerdict::Blue) && self.queues.packets_in(place) > 0 {
                let reason = if verdict == CobaltVerdict::Codel { Reason::AqmDequeue } else { Reason::Early };
                if let Some(stamped) = self.queues.take(head) {
                    discard(now, stamped.packet, reason, &mut self.counters, sink);
                }
                if self.config.ingress {
                    tin.charge(now, queue, bytes);
                    self.shaper.iter_mut().for_each(|shaper| shaper.dropped(bytes));
                    break Taken::Drop;
                }
                continue;
            }
            tin.charge(now, queue, bytes);
            if verdict == CobaltVerdict::Mark || self.config.wash {
                self.mark_or_wash(now, head, verdict, sink);
            }
            break Taken::Packet(head);
        };
        self.weigh(place);
        taken
    }

    /// Removes and returns the packet at the place `node`, which is unlinked: it is sent.
    #[inline(always)]
    fn send(&mut self, node: u32) -> Option<P> {
        let bytes = self.queues.packet_mut(node)?.bytes();
        if let Some(shaper) = &mut self.shaper {
            shaper.sent(bytes);
        }
        self.counters.departed.add(bytes);
        self.queues.take(node).map(|stamped| stamped.packet)
    }

    /// Marks the packet at the place `node`, which leaves, if that is the verdict, and clears its class with `wash`.
    #[cold]
    fn mark_or_wash(&mut self, now: Time, node: u32, verdict: CobaltVerdict, sink: &mut dyn DropSink<P>) {
        let Some(stamped) = self.queues.packet_mut(node) else { return };
        if verdict == CobaltVerdict::Mark {
            mark(now, &mut stamped.packet, Reason::AqmDequeue, &mut self.counters, sink);
        }
        if self.config.wash {
            stamped.packet.clear_class();
        }
    }
}

impl<P: Packet> Qdisc<P> for Cake<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let bytes = packet.bytes();
        self.counters.arrived.add(bytes);
        if self.room.never_fits(bytes) {
            return discard(now, packet, Reason::Limit, &mut self.counters, sink);
        }
        if let Some(shaper) = self.shaper.as_mut().filter(|_| self.queues.packets() == 0) {
            shaper.wake(now);
        }
        let number = self.config.diffserv.tin_of(packet.class());
        let tag = self.tag(&packet);
        let tin = &mut self.tins[number];
        tin.wake(now);
        let queue = tin.find(tag, packet.source_host(), packet.destination_host());
        let place = number * QUEUES + queue;
        self.queues.push_back(place, Stamped::new(packet, now));
        tin.arrived(queue);
        self.filter_acks(now, place, sink);
        self.weigh(place);
        let mut fate = Fate::Queued;
        while self.room.is_exceeded(self.queues.packets(), self.queues.bytes()) {
            self.drop_from_longest(now, sink);
            // The arriving packet is the newest one of its queue.
            if self.queues.packets_in(place) == 0 {
                fate = Fate::Dropped(Reason::BufferSteal);
            }
        }
        fate
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        // Each call looks at one decaying flow first, so that all are forgotten in the end.
        let mut decaying_first = true;
        while self.queues.packets() > 0 && self.shaper.as_ref().is_none_or(|shaper| shaper.next() <= now) {
            let number = self.choose(now)?;
            let taken = loop {
                let queues = &self.queues;
                let has_packets = |queue| queues.packets_in(number * QUEUES + queue) > 0;
                let queue = self.tins[number].next(decaying_first, has_packets)?;
                decaying_first = false;
                let taken = self.take(now, number, queue, sink);
                if !matches!(taken, Taken::Drop) {
                    break taken;
                }
            };
            if let Taken::Packet(node) = taken {
                return self.send(node);
            }
        }
        None
    }

    fn status(&self) -> Status {
        let shaper = self.shaper.as_ref().filter(|_| self.queues.packets() > 0);
        Status {
            ready_at: shaper.map(ShaperClock::next),
            flows: Some(self.tins.iter().map(Tin::flows).sum()),
            ..Status::new(self.queues.packets(), self.queues.bytes())
        }
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Recalculates quanta, targets and the limit for `rate`, unless `bandwidth` was given.
    fn link_rate(&mut self, rate: Rate) {
        if self.config.bandwidth.is_some() {
            return;
        }
        let rate = Some(rate).filter(|rate| rate.bits_per_second() > 0);
        self.room = Room::of(self.config.limit_at(rate));
        for (tin, settings) in self.tins.iter_mut().zip(self.config.tins_at(rate)) {
            tin.settings = settings;
        }
    }
}
