//! A slow reference of DRR with drops from the longest queue, in plain lists, directly from its definition.

use fairlane_qdisc::{Reason, Seed, SimplePacket};

use super::ties::Ties;
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: u64,
    pub(crate) limit_in_bytes: bool,
    pub(crate) quantum: u64,
    /// Drops the oldest packet of the longest queue, not the newest.
    pub(crate) drop_front: bool,
    pub(crate) weighted: bool,
}

struct Flow {
    key: u64,
    packets: Vec<SimplePacket>,
    deficit: u64,
}

pub(crate) struct Reference {
    s: Settings,
    /// The flows that have packets; the first one has its turn.
    ring: Vec<Flow>,
    /// The turn of the first flow has begun: it has received its quantum.
    begun: bool,
    ties: Ties,
    pub(crate) events: Vec<Event>,
}

/// Returns the bytes in `packets`.
pub(crate) fn bytes(packets: &[SimplePacket]) -> u64 {
    packets.iter().map(|p| u64::from(p.bytes)).sum()
}

/// Returns the weight of a packet's flow, 1 to 4: the two highest bits of the class, plus one.
pub(crate) fn weight(weighted: bool, p: &SimplePacket) -> u64 {
    if weighted { 1 + u64::from(p.class) / 64 } else { 1 }
}

impl Reference {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self { s, ring: Vec::new(), begun: false, ties: Ties::new(seed), events: Vec::new() }
    }

    pub(crate) fn packets(&self) -> usize {
        self.ring.iter().map(|f| f.packets.len()).sum()
    }

    /// Returns the bytes in `packets`.
    pub(crate) fn bytes(&self) -> u64 {
        self.ring.iter().map(|f| bytes(&f.packets)).sum()
    }

    fn fits(&self, packets: u64, bytes: u64) -> bool {
        if self.s.limit_in_bytes { bytes <= self.s.limit } else { packets <= self.s.limit }
    }

    pub(crate) fn enqueue(&mut self, p: SimplePacket) {
        if !self.fits(1, u64::from(p.bytes)) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        match self.ring.iter_mut().find(|f| f.key == p.flow) {
            Some(f) => f.packets.push(p),
            None => self.ring.push(Flow { key: p.flow, packets: vec![p], deficit: 0 }),
        }
        self.ties.changed(p.flow, false);
        while !self.fits(self.packets() as u64, self.bytes()) {
            self.drop_from_longest(p.id);
        }
    }

    fn drop_from_longest(&mut self, arriving: u64) {
        let longest = self.ties.longest(self.ring.iter().map(|f| (f.key, bytes(&f.packets))));
        let Some(longest) = self.ring.iter().position(|f| Some(f.key) == longest) else { return };
        let packets = &mut self.ring[longest].packets;
        let p = if self.s.drop_front { packets.remove(0) } else { packets.remove(packets.len() - 1) };
        let reason = if p.id == arriving { Reason::Limit } else { Reason::BufferSteal };
        self.events.push(Event::Dropped(p.id, reason));
        self.shortened(longest);
    }

    /// Notes that the flow at `at` has lost a packet: it leaves if it has no other.
    fn shortened(&mut self, at: usize) {
        self.ties.changed(self.ring[at].key, self.ring[at].packets.is_empty());
        if self.ring[at].packets.is_empty() {
            self.ring.remove(at);
            if at == 0 {
                self.begun = false;
            }
        }
    }

    pub(crate) fn dequeue(&mut self) {
        while !self.ring.is_empty() {
            let first = &mut self.ring[0];
            let head = first.packets[0];
            if !self.begun {
                first.deficit += weight(self.s.weighted, &head) * self.s.quantum;
                self.begun = true;
            }
            if u64::from(head.bytes) <= first.deficit {
                first.deficit -= u64::from(head.bytes);
                first.packets.remove(0);
                self.events.push(Event::Departed(head.id));
                self.shortened(0);
                return;
            }
            self.ring.rotate_left(1);
            self.begun = false;
        }
    }
}
