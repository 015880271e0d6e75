//! Slow references of FQ-CoDel and FQ-PIE: the lists of RFC 8290, section 4.2, over plain lists of packets, with the
//! references of CoDel and PIE.

use fairlane_qdisc::{Reason, Seed, SimplePacket, Stream, Time};

use super::delay::{Limit, Queue, Slow, age, bytes};
use super::ties::Ties;
use super::{codel, pie};
use fairlane_qdisc::testing::Event;

/// A hash with two secrets: SplitMix64's finalizer applied twice.
pub(crate) struct Hash {
    secrets: [u64; 2],
}

impl Hash {
    pub(crate) fn new(seed: Seed) -> Self {
        let mut stream = seed.stream("hash");
        Self { secrets: [stream.bits(), stream.bits()] }
    }

    pub(crate) fn bits(&self, key: u64) -> u64 {
        self.secrets.iter().fold(key, |key, secret| {
            let mut z = key ^ secret;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        })
    }

    pub(crate) fn bin(&self, key: u64, bins: usize) -> usize {
        ((u128::from(self.bits(key) >> 32) * bins as u128) >> 32) as usize
    }
}

/// The lists of new and old queues of RFC 8290, and the queues' credits.
#[derive(Debug, Default)]
pub(crate) struct NewOldLists {
    pub(crate) new: Vec<usize>,
    pub(crate) old: Vec<usize>,
    pub(crate) credits: Vec<i64>,
}

impl NewOldLists {
    fn activate(&mut self, queue: usize, quantum: i64) {
        if !self.new.contains(&queue) && !self.old.contains(&queue) {
            self.new.push(queue);
            self.credits[queue] = quantum;
        }
    }

    /// Returns the queue whose turn it is, and tells whether it is new.
    fn next(&mut self, quantum: i64) -> Option<(usize, bool)> {
        loop {
            let new = !self.new.is_empty();
            let list = if new { &mut self.new } else { &mut self.old };
            let queue = *list.first()?;
            if self.credits[queue] > 0 {
                return Some((queue, new));
            }
            list.remove(0);
            self.credits[queue] += quantum;
            self.old.push(queue);
        }
    }

    /// Notes that `queue`, whose turn it is, is empty.
    fn exhausted(&mut self, queue: usize, new: bool) {
        if new {
            self.new.remove(0);
            self.old.push(queue);
        } else {
            self.old.remove(0);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Limit,
    pub(crate) memory: u64,
    pub(crate) flows: usize,
    pub(crate) quantum: i64,
    pub(crate) drop_batch: usize,
}

impl Settings {
    fn is_exceeded(&self, packets: usize, bytes: u64) -> bool {
        self.limit.is_exceeded(packets, bytes) || bytes > self.memory
    }
}

/// Returns the packets and the bytes in all `queues`.
fn total(queues: &[Queue]) -> (usize, u64) {
    (queues.iter().map(Vec::len).sum(), queues.iter().map(bytes).sum())
}

fn all(queues: &[Queue]) -> Vec<SimplePacket> {
    queues.iter().flatten().map(|(p, _)| *p).collect()
}

/// FQ-CoDel.
pub(crate) struct FqCodel {
    settings: Settings,
    codel: codel::Settings,
    hash: Hash,
    queues: Vec<Queue>,
    variables: Vec<codel::Variables>,
    lists: NewOldLists,
    ties: Ties,
    events: Vec<Event>,
}

impl FqCodel {
    pub(crate) fn new(settings: Settings, codel: codel::Settings, seed: Seed) -> Self {
        Self {
            settings,
            codel,
            hash: Hash::new(seed),
            queues: vec![Vec::new(); settings.flows],
            variables: vec![codel::Variables::default(); settings.flows],
            lists: NewOldLists { credits: vec![0; settings.flows], ..NewOldLists::default() },
            ties: Ties::new(seed),
            events: Vec::new(),
        }
    }

    fn drop_from_longest(&mut self) {
        let used = self.queues.iter().enumerate().filter(|(_, packets)| !packets.is_empty());
        let longest = self.ties.longest(used.map(|(queue, packets)| (queue as u64, bytes(packets).max(1))));
        let longest = longest.map_or(0, |queue| queue as usize);
        let before = bytes(&self.queues[longest]);
        for _ in 0..self.settings.drop_batch {
            if self.queues[longest].is_empty() {
                break;
            }
            let (p, _) = self.queues[longest].remove(0);
            self.variables[longest].count += 1;
            self.events.push(Event::Dropped(p.id, Reason::BufferSteal));
            if bytes(&self.queues[longest]) * 2 <= before {
                break;
            }
        }
        self.ties.changed(longest as u64, self.queues[longest].is_empty());
    }
}

impl Slow for FqCodel {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        if self.settings.is_exceeded(1, u64::from(p.bytes)) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        let queue = self.hash.bin(p.flow, self.settings.flows);
        self.queues[queue].push((p, now));
        self.ties.changed(queue as u64, false);
        self.lists.activate(queue, self.settings.quantum);
        while self.settings.is_exceeded(total(&self.queues).0, total(&self.queues).1) {
            self.drop_from_longest();
        }
    }

    fn dequeue(&mut self, now: Time) {
        while let Some((queue, new)) = self.lists.next(self.settings.quantum) {
            let p = self.variables[queue].dequeue(&self.codel, now, &mut self.queues[queue], &mut self.events);
            self.ties.changed(queue as u64, self.queues[queue].is_empty());
            if let Some(p) = p {
                self.lists.credits[queue] -= i64::from(p.bytes);
                self.events.push(Event::Departed(p.id));
                return;
            }
            self.lists.exhausted(queue, new);
        }
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        all(&self.queues)
    }
}

/// FQ-PIE, with an update of all queues at the end of each period.
pub(crate) struct FqPie {
    settings: Settings,
    pie: pie::Settings,
    hash: Hash,
    queues: Vec<Queue>,
    variables: Vec<pie::Variables>,
    lists: NewOldLists,
    timer: Option<Time>,
    rolls: Stream,
    events: Vec<Event>,
}

impl FqPie {
    pub(crate) fn new(settings: Settings, pie: pie::Settings, seed: Seed) -> Self {
        Self {
            settings,
            pie,
            hash: Hash::new(seed),
            queues: vec![Vec::new(); settings.flows],
            variables: vec![pie::Variables::new(&pie); settings.flows],
            lists: NewOldLists { credits: vec![0; settings.flows], ..NewOldLists::default() },
            timer: None,
            rolls: seed.stream("pie"),
            events: Vec::new(),
        }
    }

    fn run_timer(&mut self, now: Time) {
        for _ in 0..pie::periods(&mut self.timer, self.pie.tupdate, now) {
            for (queue, variables) in self.queues.iter().zip(&mut self.variables) {
                variables.update(&self.pie, bytes(queue));
            }
        }
    }
}

impl Slow for FqPie {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        self.run_timer(now);
        let queue = self.hash.bin(p.flow, self.settings.flows);
        let (packets, queued) = total(&self.queues);
        let variables = &mut self.variables[queue];
        if self.settings.is_exceeded(packets + 1, queued + u64::from(p.bytes)) {
            variables.overflow();
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        if variables.early(&self.pie, p.bytes, bytes(&self.queues[queue]), &mut self.rolls) {
            if self.pie.ecn && p.ecn_capable && variables.prob <= self.pie.ecn_prob {
                self.events.push(Event::Marked(p.id, Reason::Early));
            } else {
                self.events.push(Event::Dropped(p.id, Reason::Early));
                return;
            }
        }
        self.queues[queue].push((p, now));
        self.lists.activate(queue, self.settings.quantum);
    }

    fn dequeue(&mut self, now: Time) {
        self.run_timer(now);
        while let Some((queue, new)) = self.lists.next(self.settings.quantum) {
            if self.queues[queue].is_empty() {
                self.lists.exhausted(queue, new);
                continue;
            }
            let (p, arrived) = self.queues[queue].remove(0);
            self.variables[queue].departed(now, p.bytes, age(now, arrived), bytes(&self.queues[queue]));
            self.lists.credits[queue] -= i64::from(p.bytes);
            self.events.push(Event::Departed(p.id));
            return;
        }
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        all(&self.queues)
    }
}
