//! A slow reference of WFQ, SCFQ and STFQ in plain lists, directly from their definitions.

use fairlane_qdisc::{Reason, Seed, SimplePacket, Time};

use super::drr::{bytes, weight};
use super::ties::Ties;
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Virtual time is that of the fluid server; the packet with the least finish is sent next.
    Wfq,
    /// Virtual time is the finish of the packet in service; the packet with the least finish is sent next.
    Scfq,
    /// Virtual time is the start of the packet in service; the packet with the least start is sent next.
    Stfq,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) clock: Clock,
    pub(crate) limit: u64,
    pub(crate) limit_in_bytes: bool,
    pub(crate) weighted: bool,
    /// The rate of the link in bit/s.
    pub(crate) rate: u64,
}

/// The units of virtual time per byte: 12 * 2^10.
const UNITS: u128 = 12 * 1024;

struct Queued {
    packet: SimplePacket,
    start: u128,
    finish: u128,
}

/// The state of a flow since the link was last idle.
struct Flow {
    key: u64,
    finish: u128,
    weight: u64,
    /// The flow is backlogged in the fluid server.
    fluid: bool,
}

pub(crate) struct Reference {
    s: Settings,
    /// In the order of arrival.
    queue: Vec<Queued>,
    flows: Vec<Flow>,
    virtual_time: u128,
    at: Time,
    /// The fluid server's work beyond the last whole unit, in 1/3 bit * ns.
    rest: u128,
    ties: Ties,
    /// The packets at the heads of the flows' queues, as flow and id, in the order in which they came there.
    heads: Vec<(u64, u64)>,
    pub(crate) events: Vec<Event>,
}

impl Reference {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self {
            s,
            queue: Vec::new(),
            flows: Vec::new(),
            virtual_time: 0,
            at: Time::ZERO,
            rest: 0,
            ties: Ties::new(seed),
            heads: Vec::new(),
            events: Vec::new(),
        }
    }

    pub(crate) fn packets(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.queue.iter().map(|q| u64::from(q.packet.bytes)).sum()
    }

    fn fits(&self, packets: u64, bytes: u64) -> bool {
        if self.s.limit_in_bytes { bytes <= self.s.limit } else { packets <= self.s.limit }
    }

    /// Advances virtual time at the link's rate over the sum of the weights of the flows backlogged in the fluid
    /// server.
    fn run_fluid(&mut self, now: Time) {
        let mut work = u128::from(now.since(self.at).as_nanos()) * u128::from(self.s.rate) * 3 + self.rest;
        if now == self.at {
            return;
        }
        self.at = now;
        // 3 * 8 * 10^9 for a byte, so 3 * 8 * 10^9 / UNITS for a unit.
        let per_unit = 3 * 8_000_000_000 / UNITS;
        loop {
            let active = self.flows.iter().filter(|f| f.fluid);
            let weights: u128 = active.clone().map(|f| u128::from(f.weight)).sum();
            let Some(end) = active.map(|f| f.finish).min() else { break };
            let needed = end.saturating_sub(self.virtual_time) * weights * per_unit;
            if work < needed {
                self.virtual_time += work / (weights * per_unit);
                self.rest = work % (weights * per_unit);
                return;
            }
            work -= needed;
            self.virtual_time = self.virtual_time.max(end);
            for f in self.flows.iter_mut().filter(|f| f.finish <= end) {
                f.fluid = false;
            }
        }
        self.rest = 0;
    }

    pub(crate) fn enqueue(&mut self, now: Time, p: SimplePacket) {
        if !self.fits(1, u64::from(p.bytes)) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        if self.s.clock == Clock::Wfq {
            self.run_fluid(now);
        }
        let weight = weight(self.s.weighted, &p);
        let known = self.flows.iter().find(|f| f.key == p.flow).map_or(0, |f| f.finish);
        let start = known.max(self.virtual_time);
        let finish = start + u128::from(p.bytes) * UNITS / u128::from(weight);
        self.flows.retain(|f| f.key != p.flow);
        self.flows.push(Flow { key: p.flow, finish, weight, fluid: true });
        self.queue.push(Queued { packet: p, start, finish });
        self.note_head(p.flow);
        self.ties.changed(p.flow, false);
        while !self.fits(self.packets() as u64, self.bytes()) {
            self.drop_from_longest(p.id);
        }
    }

    /// Drops the newest packet of the flow with the most bytes queued, and undoes its tag.
    fn drop_from_longest(&mut self, arriving: u64) {
        let length = |key| {
            let of: Vec<_> = self.queue.iter().filter(|q| q.packet.flow == key).map(|q| q.packet).collect();
            bytes(&of)
        };
        let lengths = self.queue.iter().map(|q| (q.packet.flow, length(q.packet.flow)));
        let Some(longest) = self.ties.longest(lengths) else { return };
        let Some(at) = self.queue.iter().rposition(|q| q.packet.flow == longest) else { return };
        let Queued { packet, start, .. } = self.queue.remove(at);
        self.shortened(longest);
        for f in self.flows.iter_mut().filter(|f| f.key == longest) {
            f.finish = start;
        }
        let reason = if packet.id == arriving { Reason::Limit } else { Reason::BufferSteal };
        self.events.push(Event::Dropped(packet.id, reason));
    }

    /// Notes that the queue of the flow `key` has lost a packet.
    fn shortened(&mut self, key: u64) {
        self.note_head(key);
        self.ties.changed(key, !self.queue.iter().any(|q| q.packet.flow == key));
    }

    /// Notes the packet at the head of the queue of the flow `key` if it has just come there.
    fn note_head(&mut self, key: u64) {
        let head = self.queue.iter().find(|q| q.packet.flow == key).map(|q| (key, q.packet.id));
        self.heads.retain(|&other| other.0 != key || Some(other) == head);
        if let Some(head) = head
            && !self.heads.contains(&head)
        {
            self.heads.push(head);
        }
    }

    /// Sends the packet with the least tag. Of equal tags, the one that has been at the head of its flow for the
    /// longest time is served first.
    pub(crate) fn dequeue(&mut self, now: Time) {
        let tag = |q: &Queued| if self.s.clock == Clock::Stfq { q.start } else { q.finish };
        let since = |q: &Queued| self.heads.iter().position(|head| head.0 == q.packet.flow);
        let next = (0..self.queue.len()).min_by_key(|&i| (tag(&self.queue[i]), since(&self.queue[i]), i));
        let Some(next) = next else {
            // The link is idle: everything restarts.
            self.flows.clear();
            (self.virtual_time, self.at, self.rest) = (0, now, 0);
            return;
        };
        let Queued { packet, start, finish } = self.queue.remove(next);
        self.shortened(packet.flow);
        match self.s.clock {
            Clock::Wfq => {}
            Clock::Scfq => self.virtual_time = finish,
            Clock::Stfq => self.virtual_time = start,
        }
        self.events.push(Event::Departed(packet.id));
    }
}
