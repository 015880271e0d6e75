//! CHOKe steered by the delay as a slow reference: lists in place of rings, and PI2's controller as `pi2.rs` has it.

use fairlane_qdisc::testing::Event;
use fairlane_qdisc::{Packet, Reason, Seed, SimplePacket, Stream, Time};

use super::delay::{Limit, Slow};
use super::pi2::{self, Pi};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) pi: pi2::Settings,
    pub(crate) candidates: u32,
}

pub(crate) struct ChokeAuto {
    s: Settings,
    /// The ring, with its holes.
    slots: Vec<Option<(SimplePacket, Time)>>,
    places: usize,
    pi: Pi,
    /// The mean number of packets that a comparison with a pair, and with a single packet, drops.
    means: [f64; 2],
    draws: Stream,
    events: Vec<Event>,
}

impl ChokeAuto {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        let draws = seed.stream("choke-auto");
        Self { s, slots: Vec::new(), places: 0, pi: Pi::default(), means: [2.0; 2], draws, events: Vec::new() }
    }

    fn live(&self) -> Vec<(SimplePacket, Time)> {
        self.slots.iter().flatten().copied().collect()
    }

    fn full(&self, p: &SimplePacket) -> bool {
        let bytes: u64 = self.live().iter().map(|(q, _)| u64::from(q.bytes())).sum();
        self.s.pi.limit.is_exceeded(self.live().len() + 1, bytes + u64::from(p.bytes))
    }

    fn tidy(&mut self) {
        while matches!(self.slots.first(), Some(None)) {
            self.slots.remove(0);
        }
        while matches!(self.slots.last(), Some(None)) {
            self.slots.pop();
        }
        let live = self.live().len();
        if self.slots.len() - live > live + 8 {
            self.slots.retain(Option::is_some);
        }
    }

    fn push(&mut self, p: SimplePacket, now: Time) {
        if self.slots.len() == self.places {
            let holes = self.slots.iter().filter(|slot| slot.is_none()).count();
            if self.places == 0 || 4 * holes < self.places {
                self.places = (2 * self.places).max(16);
            }
            self.slots.retain(Option::is_some);
        }
        self.slots.push(Some((p, now)));
    }

    fn kill(&mut self, at: usize, reason: Reason) {
        if let Some((p, _)) = self.slots[at].take() {
            self.events.push(Event::Dropped(p.id, reason));
        }
        self.tidy();
    }

    fn one(&mut self) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        loop {
            let at = self.draws.below(self.slots.len() as u32) as usize;
            if self.slots[at].is_some() {
                return Some(at);
            }
        }
    }

    fn is_of(&self, at: usize, p: &SimplePacket) -> bool {
        self.slots[at].is_some_and(|(q, _)| q.flow == p.flow)
    }

    /// Draws `size` distinct packets, until one is not of the arrival's flow.
    fn matching(&mut self, size: usize, p: &SimplePacket) -> Option<usize> {
        let mut found: Vec<usize> = Vec::new();
        while found.len() < size {
            // A pair needs two packets.
            if found.len() == self.live().len() {
                return None;
            }
            let at = self.one()?;
            if !self.is_of(at, p) {
                return None;
            }
            if !found.contains(&at) {
                found.push(at);
            }
        }
        found.first().copied()
    }

    fn decide(&mut self, p: &SimplePacket) -> Option<Reason> {
        let most = f64::from(self.s.candidates);
        let mut wanted = self.pi.p * self.pi.p;
        if wanted == 0.0 || self.live().len() < 2 {
            return None;
        }
        let mut matched = false;
        for size in [2, 1] {
            let mean = self.means[2 - size];
            let trials = f64::min(wanted / mean, most);
            let count = trials.floor() as u32 + u32::from(self.draws.unit() < trials - trials.floor());
            for _ in 0..count {
                let found = self.matching(size, p);
                let mut dropped = 0.0;
                if let Some(at) = found {
                    self.kill(at, Reason::MatchVictim);
                    dropped = if matched { 1.0 } else { 2.0 };
                    matched = true;
                }
                self.means[2 - size] += (dropped - self.means[2 - size]) / 256.0;
            }
            if trials < most {
                return matched.then_some(Reason::MatchArrival);
            }
            wanted = f64::max(wanted - trials * mean, 0.0);
        }
        if matched {
            return Some(Reason::MatchArrival);
        }
        (self.draws.unit() < wanted).then_some(Reason::Early)
    }
}

impl Slow for ChokeAuto {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        let live = self.live();
        self.pi.run(&self.s.pi, now, &[&live]);
        let alone = self.s.pi.limit.is_exceeded(1, u64::from(p.bytes));
        let reason = if alone {
            Some(Reason::Limit)
        } else if self.full(&p) {
            let found = (0..self.s.candidates).find_map(|_| self.matching(2, &p));
            if let Some(at) = found {
                self.kill(at, Reason::MatchVictim);
            }
            found.map(|_| Reason::MatchArrival)
        } else {
            self.decide(&p)
        };
        if let Some(reason) = reason {
            self.events.push(Event::Dropped(p.id, reason));
            return;
        }
        while self.full(&p) {
            let Some(at) = self.one() else { break };
            self.kill(at, Reason::BufferSteal);
        }
        self.push(p, now);
    }

    fn dequeue(&mut self, now: Time) {
        let live = self.live();
        self.pi.run(&self.s.pi, now, &[&live]);
        if !self.slots.is_empty() {
            if let Some((p, _)) = self.slots.remove(0) {
                self.events.push(Event::Departed(p.id));
            }
            if self.slots.iter().any(Option::is_none) {
                self.tidy();
            }
        }
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        self.live().into_iter().map(|(p, _)| p).collect()
    }
}

/// Returns PI2's controller with its defaults and `limit`.
pub(crate) fn controller(limit: Limit, target: fairlane_qdisc::Duration) -> pi2::Settings {
    let tupdate = fairlane_qdisc::Duration::from_millis(16);
    pi2::Settings { limit, target, tupdate, alpha: 0.16, beta: 3.2, k: 2.0, drop_overload: true }
}
