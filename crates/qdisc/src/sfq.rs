//! Stochastic Fair Queueing: flows are hashed into queues, which are served in turn; the longest gives way.
//!
//! Flows that fall into different queues do not feel each other, whatever they send. When there is no room, the longest
//! queue loses a packet, so buffer space is shared fairly too. A hash that moves now and then (`perturb`) keeps two
//! flows from sharing a queue for ever.
//!
//! **Source.** McKenney, "Stochastic Fairness Queueing", INFOCOM 1990; quantum, perturbation and `headdrop` as in
//! tc-sfq(8), `admission = ns2` as in ns-2's `SFQ`.
//!
//! **Deviations.** A queue whose allotment is used up is passed at once; in Linux it is when its turn comes again, so a
//! queue that became busy meanwhile comes before it there. Of equally long queues the one of the lowest number gives
//! way. The hash moves at the first arrival after its time, and takes the queued packets along: each flow keeps its
//! order, as in Linux. A packet that would not fit even into the empty queue is dropped alone.
//!
//! **Cost.** A hash, and O(log n) for n busy queues to know the longest; a perturbation moves every queued packet.

use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use crate::buffer::MAX_PACKETS;
use crate::config::shared::{FLOWS, LIMIT, QUANTUM};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::flows::FlowQueues;
use crate::hash::FlowHash;
use crate::longest::Longest;
use crate::sfb::misclassified;
use crate::{Counters, Duration, Fate, Packet, Packets, Qdisc, Reason, Seed, Size, Time};
use ring::Ring;

pub(crate) mod ring;

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "sfq",
    summary: "serves hashed flows in turn and drops from the longest queue",
    source: "McKenney: Stochastic Fairness Queueing, INFOCOM 1990",
    year: Some(1990),
    needs: "a hash of the flow and `flows` queues",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT, SFQ_FLOWS, SFQ_QUANTUM, PERTURB, HEADDROP, ADMISSION],
};

const SFQ_FLOWS: Parameter = FLOWS.default("1024, as tc(8)'s divisor; ns-2 has 16");
const SFQ_QUANTUM: Parameter = Parameter {
    domain: Domain::Size,
    default: "1p, McKenney; tc(8) has the MTU",
    meaning: "what a queue may send in a turn: packets, or bytes, which it may exceed and then makes up for",
    ..QUANTUM
};
const PERTURB: Parameter = parameter(
    "perturb",
    Domain::Duration,
    "never, as tc(8)",
    "how often the hash moves, so that nobody shares a queue with the same flows for ever",
);
const HEADDROP: Parameter = parameter(
    "headdrop",
    Domain::Switch,
    "false, as McKenney and tc(8)",
    "the longest queue loses its oldest packet rather than its newest",
);
const ADMISSION: Parameter = parameter(
    "admission",
    Domain::Choice(&["steal", "ns2"]),
    "steal, as McKenney",
    "a packet without room takes that of the longest queue; or, as in ns-2, a queue may fill half of what is left, and \
     its share when less than a packet a queue is left, and nothing is taken",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    flows: u32,
    quantum: Size,
    perturb: Option<Duration>,
    headdrop: bool,
    /// Whether a packet without room takes another's.
    steals: bool,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let flows = r.take("flows", Origin::Default("tc(8)'s divisor"), 1024)?;
    let quantum = r.take("quantum", Origin::Default("McKenney"), Size::Packets(Packets::new(1)))?;
    let perturb = r.given::<Duration>("perturb")?;
    match perturb {
        Some(time) => r.note("perturb", time.to_string(), Origin::Given),
        None => r.note("perturb", "never".to_string(), Origin::Default("as tc(8)")),
    }
    let headdrop = r.take("headdrop", Origin::Default("as McKenney and tc(8)"), false)?;
    let steals = r.take("admission", Origin::Default("as McKenney"), "steal")? == "steal";
    if matches!(quantum, Size::Packets(packets) if packets.get() == 0)
        || matches!(quantum, Size::Bytes(bytes) if bytes.get() == 0)
    {
        let message = format!("{quantum} never sends anything: write for example 1p or 1514b");
        return Err(ParameterError::new("quantum", message));
    }
    if let (Size::Bytes(_), false) = (limit, steals) {
        let message = format!("ns2 counts packets and limit is {limit}: give the limit in packets, or write steal");
        return Err(ParameterError::new("admission", message));
    }
    if headdrop && !steals {
        r.warn("headdrop changes nothing with admission ns2, which drops arrivals only".to_string());
    }
    if matches!(limit, Size::Packets(limit) if !steals && limit.get() < flows) {
        r.warn(format!("limit {limit} is below flows {flows}: ns2's share of a queue is no packet"));
    }
    r.say(format!(
        "{:.2} % of the flows share their queue with one of ten others",
        100.0 * misclassified(1, flows, 10)
    ));
    Ok(Settings { limit, flows, quantum, perturb, headdrop, steals })
}

/// Stochastic Fair Queueing.
#[derive(Debug)]
pub struct Sfq<P> {
    /// The last one, which is not hashed to, holds packets while the hash moves.
    queues: FlowQueues<P>,
    ring: Ring,
    /// What each queue may still send in its turn, in `quantum`'s unit.
    allotments: Vec<i64>,
    longest: Longest,
    counters: Counters,
    settings: Settings,
    max_packets: usize,
    max_bytes: u64,
    /// Whole packets of the limit for each queue.
    share: usize,
    quantum: i64,
    hash: FlowHash,
    /// How often the hash has moved.
    moves: u64,
    moved: Time,
    seed: Seed,
}

impl<P: Packet> Sfq<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let (max_packets, max_bytes) = match settings.limit {
            Size::Packets(packets) => (packets.get().min(MAX_PACKETS), u64::MAX),
            Size::Bytes(bytes) => (MAX_PACKETS, bytes.get()),
        };
        let quantum = match settings.quantum {
            Size::Packets(packets) => i64::from(packets.get()),
            // A parameter is at most 2^40.
            Size::Bytes(bytes) => bytes.get() as i64,
        };
        Self {
            queues: FlowQueues::new(),
            ring: Ring::new(),
            allotments: vec![0; settings.flows as usize],
            longest: Longest::new(),
            counters: Counters::default(),
            settings,
            max_packets: max_packets as usize,
            max_bytes,
            share: (max_packets / settings.flows) as usize,
            quantum,
            hash: FlowHash::new(seed.numbered(0)),
            moves: 0,
            moved: Time::ZERO,
            seed,
        }
    }

    /// What `packet` takes of an allotment.
    fn price(&self, packet: &P) -> i64 {
        match self.settings.quantum {
            Size::Packets(_) => 1,
            Size::Bytes(_) => i64::from(packet.bytes()),
        }
    }

    /// Notes how long `queue` is now, where it matters.
    fn measure(&mut self, queue: usize) {
        if self.settings.steals {
            let length = match self.settings.limit {
                Size::Packets(_) => self.queues.packets_in(queue) as u64,
                Size::Bytes(_) => self.queues.bytes_in(queue),
            };
            self.longest.set(queue, length);
        }
    }

    /// The queue of the flow of `packet`.
    fn queue_of(&self, packet: &P) -> usize {
        self.hash.bin(packet.flow().get(), self.settings.flows) as usize
    }

    /// Appends `packet` to `queue`.
    fn push(&mut self, queue: usize, packet: P) {
        if self.queues.packets_in(queue) == 0 {
            self.ring.join(queue);
            self.allotments[queue] = self.quantum;
        }
        self.queues.push_back(queue, packet);
        self.measure(queue);
    }

    /// Notes that a packet left `queue`.
    fn shrink(&mut self, queue: usize) {
        if self.queues.packets_in(queue) == 0 {
            self.ring.leave(queue);
        }
        self.measure(queue);
    }

    /// Moves the hash if it is time, and every packet to its flow's new queue. Flows keep their order.
    fn perturb(&mut self, now: Time) {
        let Some(perturb) = self.settings.perturb else { return };
        if now.since(self.moved) < perturb {
            return;
        }
        self.moved = now;
        self.moves += 1;
        self.hash = FlowHash::new(self.seed.numbered(self.moves));
        let spare = self.settings.flows as usize;
        while let Some(queue) = self.ring.head() {
            while let Some(packet) = self.queues.pop_front(queue) {
                self.queues.push_back(spare, packet);
            }
            self.shrink(queue);
        }
        while let Some(packet) = self.queues.pop_front(spare) {
            self.push(self.queue_of(&packet), packet);
        }
    }

    /// The queue that sends now: the first that has something left of its allotment.
    fn next(&mut self) -> Option<usize> {
        let mut passed = 0;
        loop {
            let queue = self.ring.head()?;
            if self.allotments[queue] > 0 {
                return Some(queue);
            }
            if passed == self.ring.len() {
                self.skip_rounds();
                passed = 0;
            }
            self.end_turn(queue);
            passed += 1;
        }
    }

    /// Ends the turn of `queue`, which is at the head, and grants the next.
    fn end_turn(&mut self, queue: usize) {
        self.allotments[queue] += self.quantum;
        self.ring.pass();
    }

    /// Grants the rounds in which nobody could send yet, all at once.
    fn skip_rounds(&mut self) {
        let Self { ring, allotments, quantum, .. } = self;
        // None if somebody has something left after the last round.
        let rounds = ring.iter().map(|queue| -allotments[queue] / *quantum).min().unwrap_or(0).max(0);
        for queue in ring.iter() {
            allotments[queue] += rounds * *quantum;
        }
    }

    /// ns-2's rule: whether an arrival of `queue` is turned away.
    fn is_refused(&self, queue: usize) -> bool {
        let left = self.max_packets.saturating_sub(self.queues.packets());
        let used = self.queues.packets_in(queue);
        used >= left / 2 || (left < self.settings.flows as usize && used > self.share)
    }

    fn discard(&mut self, now: Time, packet: P, reason: Reason, fate: &mut impl Fate<P>) {
        self.counters.count_drop(reason, packet.bytes());
        fate.dropped(now, packet, reason);
    }

    /// Drops from the longest queue while there is no room. The newest packet of `arrived` is the arriving one.
    fn make_room(&mut self, now: Time, arrived: usize, fate: &mut impl Fate<P>) {
        let mut queued = true;
        while self.queues.packets() > self.max_packets || self.queues.bytes() > self.max_bytes {
            let Some((queue, _)) = self.longest.get() else { return };
            let head = self.settings.headdrop;
            let is_arrival = queued && queue == arrived && (!head || self.queues.packets_in(queue) == 1);
            queued &= !is_arrival;
            let victim = if head { self.queues.pop_front(queue) } else { self.queues.pop_back(queue) };
            let Some(victim) = victim else { return };
            self.shrink(queue);
            self.discard(now, victim, if is_arrival { Reason::Limit } else { Reason::BufferSteal }, fate);
        }
    }
}

impl<P: Packet> Qdisc<P> for Sfq<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.counters.arrived.add(packet.bytes());
        self.perturb(now);
        let never_fits = self.max_packets == 0 || u64::from(packet.bytes()) > self.max_bytes;
        let queue = self.queue_of(&packet);
        if never_fits || (!self.settings.steals && self.is_refused(queue)) {
            self.discard(now, packet, Reason::Limit, fate);
            return;
        }
        self.push(queue, packet);
        self.make_room(now, queue, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let queue = self.next()?;
        let packet = self.queues.pop_front(queue)?;
        self.allotments[queue] -= self.price(&packet);
        if self.allotments[queue] <= 0 {
            self.end_turn(queue);
        }
        self.shrink(queue);
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.queues.packets()
    }

    fn bytes(&self) -> u64 {
        self.queues.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests;
