//! Slow implementations of the disciplines with plain lists, directly from their definitions. They share only the
//! random streams and the units with the code under test.

// More than 500 lines: one RED, on which every algorithm here builds, is easier to read in one piece.
use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Stream, Time};

use fairlane_qdisc::testing::Event;

mod choke;
mod successors;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    None,
    Count,
    Wait,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Algorithm {
    TailDrop,
    FrontDrop,
    RandomDrop,
    Red,
    Feng,
    Floyd { bottom: f64 },
    Choke { candidates: usize },
    Adaptive { regions: u32, twice: u32, less: u32 },
    Intermediate { thresholds: [f64; 2], twice: u32, less: u32 },
    Front { candidates: usize },
    Back { candidates: usize },
    Mloc { memory: usize },
    Xchoke { size: usize, cap: u32, age: Duration },
    Gchoke { maxcomp: u32 },
    Chokew { threshold: f64, increment: f64, decrement: f64, band: Option<f64>, most: f64 },
    Choked { most: u32 },
    Sac { interval: Duration, share: f64, hit_ratio: f64, most: u32 },
    Rechoke { size: usize, cap: u32, hits: u32, drops: u32, window: Duration },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) algorithm: Algorithm,
    pub(crate) limit: f64,
    pub(crate) limit_in_bytes: bool,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) in_bytes: bool,
    pub(crate) probability: f64,
    pub(crate) weight: f64,
    /// The weight of the filter of RED's probability, below 1 if there is one.
    pub(crate) filter: f64,
    pub(crate) gentle: bool,
    pub(crate) spacing: Spacing,
    pub(crate) spare: bool,
    pub(crate) byte_drop: bool,
    pub(crate) ecn: bool,
    pub(crate) harddrop: bool,
    pub(crate) compare_above_max: bool,
    pub(crate) linux: bool,
    pub(crate) replacement: bool,
    pub(crate) count_matches: bool,
    pub(crate) drop_bit: bool,
    /// Transmission time of the mean packet of 1000 bytes.
    pub(crate) slot: Duration,
}

/// A flow in xCHOKe's table.
struct Tabled {
    flow: u64,
    hits: u32,
    since: Time,
}

pub(crate) struct Reference {
    s: Settings,
    /// With holes: the place of a removed packet stays until it is the first or the last one, or until there are too
    /// many holes.
    queue: Vec<Option<SimplePacket>>,
    /// The number of places of the queue, at which it removes its holes or doubles.
    places: usize,
    avg: f64,
    filtered: f64,
    idle_since: Option<Time>,
    count: i64,
    bytes_since: f64,
    old: bool,
    max_p: f64,
    status: char,
    adapted: Time,
    remembered: Vec<u64>,
    /// The packets with the drop bit, by their ids.
    doomed: Vec<u64>,
    table: Vec<Tabled>,
    red: Stream,
    choke: Stream,
    tabled: Stream,
    drop: Stream,
    later: successors::State,
    pub(crate) events: Vec<Event>,
}

impl Reference {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self {
            s,
            queue: Vec::new(),
            places: 0,
            avg: 0.0,
            filtered: 0.0,
            idle_since: None,
            count: -1,
            bytes_since: 0.0,
            old: false,
            max_p: s.probability,
            status: 'a',
            adapted: Time::ZERO,
            remembered: Vec::new(),
            doomed: Vec::new(),
            table: Vec::new(),
            red: seed.stream("red"),
            choke: seed.stream("choke"),
            tabled: seed.stream("table"),
            drop: seed.stream("drop"),
            later: successors::State::new(seed),
            events: Vec::new(),
        }
    }

    pub(crate) fn average(&self) -> f64 {
        self.avg
    }

    pub(crate) fn live(&self) -> Vec<SimplePacket> {
        self.queue.iter().flatten().copied().collect()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.live().iter().map(|p| u64::from(p.bytes)).sum()
    }

    fn has_thresholds(&self) -> bool {
        use Algorithm::{Chokew, FrontDrop, Mloc, RandomDrop, TailDrop};
        !matches!(self.s.algorithm, TailDrop | FrontDrop | RandomDrop | Mloc { .. } | Chokew { .. })
    }

    // The queue with its holes.

    fn push(&mut self, p: SimplePacket) {
        if self.queue.len() == self.places {
            let holes = self.queue.iter().filter(|slot| slot.is_none()).count();
            if self.places == 0 || 4 * holes < self.places {
                self.places = (2 * self.places).max(16);
            }
            self.queue.retain(Option::is_some);
        }
        self.queue.push(Some(p));
    }

    fn tidy(&mut self) {
        while matches!(self.queue.first(), Some(None)) {
            self.queue.remove(0);
        }
        while matches!(self.queue.last(), Some(None)) {
            self.queue.pop();
        }
        let live = self.live().len();
        if self.queue.len() - live > live + 8 {
            self.queue.retain(Option::is_some);
        }
    }

    fn draw(&mut self, from_drop: bool) -> Option<usize> {
        if self.queue.is_empty() {
            return None;
        }
        let stream = if from_drop { &mut self.drop } else { &mut self.choke };
        let mut throws = 0;
        loop {
            let at = stream.below(self.queue.len() as u32) as usize;
            throws += 1;
            if self.queue[at].is_some() {
                return Some(at);
            }
            if self.s.linux && throws == 3 {
                return Some(0);
            }
        }
    }

    fn kill(&mut self, at: usize, reason: Reason) {
        if let Some(p) = self.queue[at].take() {
            self.events.push(Event::Dropped(p.id, reason));
        }
    }

    fn overflows(&self, p: &SimplePacket) -> bool {
        if self.s.limit_in_bytes {
            (self.bytes() + u64::from(p.bytes)) as f64 > self.s.limit
        } else {
            (self.live().len() + 1) as f64 > self.s.limit
        }
    }

    fn alone_overflows(&self, p: &SimplePacket) -> bool {
        if self.s.limit_in_bytes { f64::from(p.bytes) > self.s.limit } else { self.s.limit < 1.0 }
    }

    /// The hard limit is tested last.
    fn admit(&mut self, p: SimplePacket, mark: Option<Reason>) -> bool {
        if self.overflows(&p) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return false;
        }
        if let Some(reason) = mark {
            self.events.push(Event::Marked(p.id, reason));
        }
        self.push(p);
        true
    }

    // RED.

    fn update_average(&mut self, now: Time) {
        let w = self.s.weight;
        if let Some(since) = self.idle_since.take() {
            let m = now.since(since).as_nanos() / self.s.slot.as_nanos();
            self.avg *= libm::pow(1.0 - w, m as f64);
        }
        let q = if self.s.in_bytes { self.bytes() as f64 } else { self.live().len() as f64 };
        self.avg = (1.0 - w) * self.avg + w * q;
        if self.is_filtered() {
            self.filtered = (1.0 - self.s.filter) * self.filtered + self.s.filter * self.curve();
        }
    }

    fn is_filtered(&self) -> bool {
        self.s.filter < 1.0
    }

    fn p_b(&self) -> f64 {
        if self.is_filtered() { self.filtered } else { self.curve() }
    }

    fn curve(&self) -> f64 {
        let Settings { min, max, gentle, .. } = self.s;
        if self.avg < min {
            0.0
        } else if self.avg < max {
            // The order of operations matters: p_a jumps at 1, where other rounding would change the decision.
            self.max_p / (max - min) * (self.avg - min)
        } else if gentle && self.avg < 2.0 * max {
            self.max_p + (1.0 - self.max_p) / max * (self.avg - max)
        } else {
            1.0
        }
    }

    fn forced(&self) -> bool {
        self.avg >= if self.s.gentle { 2.0 * self.s.max } else { self.s.max }
    }

    fn red_signal(&mut self, p: &SimplePacket) -> Option<Reason> {
        let size = f64::from(p.bytes) * (1.0 / 1000.0);
        let silent = self.avg < self.s.min && self.filtered == 0.0;
        if silent || (self.s.spare && self.live().len() <= 1) {
            self.old = false;
            self.count = -1;
            self.bytes_since = 0.0;
            return None;
        }
        if self.forced() && !self.is_filtered() {
            self.count = 0;
            self.bytes_since = 0.0;
            return Some(Reason::Forced);
        }
        if self.s.spare && !self.old {
            self.old = true;
            self.count = 1;
            self.bytes_since = size;
            return None;
        }
        self.count += 1;
        self.bytes_since += size;
        let p_b = self.p_b();
        let x = p_b * if self.s.byte_drop { self.bytes_since } else { self.count as f64 };
        let mut p_a = match self.s.spacing {
            Spacing::None => p_b,
            Spacing::Count if x < 1.0 => p_b / (1.0 - x),
            Spacing::Wait if x < 1.0 => 0.0,
            Spacing::Wait if x < 2.0 => p_b / (2.0 - x),
            Spacing::Count | Spacing::Wait => 1.0,
        };
        if self.s.byte_drop && p_a < 1.0 {
            p_a *= size;
        }
        if self.red.unit() < p_a {
            self.count = 0;
            self.bytes_since = 0.0;
            return Some(Reason::Early);
        }
        None
    }

    fn red_stage(&mut self, p: SimplePacket) -> bool {
        match self.red_signal(&p) {
            None => self.admit(p, None),
            Some(reason) => self.signal(p, reason),
        }
    }

    fn signal(&mut self, p: SimplePacket, reason: Reason) -> bool {
        if self.s.ecn && p.ecn_capable && !(self.s.harddrop && reason == Reason::Forced) {
            return self.admit(p, Some(reason));
        }
        self.events.push(Event::Dropped(p.id, reason));
        false
    }

    fn adapt(&mut self, now: Time) {
        let Settings { min, max, .. } = self.s;
        match self.s.algorithm {
            Algorithm::Feng => {
                if min < self.avg && self.avg < max {
                    self.status = 'b';
                } else if self.avg < min && self.status != 'u' {
                    self.status = 'u';
                    self.max_p = (self.max_p / 3.0).max(1e-6);
                } else if self.avg > max && self.status != 'a' {
                    self.status = 'a';
                    self.max_p = (self.max_p * 2.0).min(1.0);
                }
            }
            Algorithm::Floyd { bottom } if now > self.adapted + Duration::from_millis(500) => {
                self.adapted = now;
                if self.avg < min + 0.4 * (max - min) && self.max_p > bottom {
                    self.max_p *= 0.9;
                } else if self.avg > max - 0.4 * (max - min) && self.max_p < 0.5 {
                    self.max_p += f64::min(0.01, self.max_p / 4.0);
                }
            }
            _ => {}
        }
    }

    // CHOKe.

    fn choke(&mut self, p: SimplePacket) -> bool {
        if self.avg > self.s.min && (self.s.compare_above_max || self.avg < self.s.max) && self.compare(&p) {
            self.events.push(Event::Dropped(p.id, Reason::MatchArrival));
            if self.s.count_matches && !matches!(self.s.algorithm, Algorithm::Choked { .. }) {
                self.count += 1;
                self.bytes_since += f64::from(p.bytes) * (1.0 / 1000.0);
            }
            return false;
        }
        self.red_stage(p)
    }

    /// Returns the hits of `flow` after ageing; the flow becomes the most recently used one.
    fn look_up(&mut self, now: Time, flow: u64) -> Option<u32> {
        let Algorithm::Xchoke { age, .. } = self.s.algorithm else { return None };
        let at = self.table.iter().position(|t| t.flow == flow)?;
        let mut tabled = self.table.remove(at);
        while now.since(tabled.since) >= age && tabled.hits > 0 {
            tabled.hits /= 2;
            tabled.since += age;
        }
        if tabled.hits == 0 {
            return None;
        }
        let hits = tabled.hits;
        self.table.push(tabled);
        Some(hits)
    }

    fn xchoke(&mut self, now: Time, p: SimplePacket, size: usize, cap: u32) -> bool {
        if self.avg <= self.s.min {
            return self.red_stage(p);
        }
        let hits = self.look_up(now, p.flow);
        if let Some(n) = hits {
            let p_star = (self.p_b() * libm::exp2(f64::from(n))).min(1.0);
            if self.tabled.unit() < p_star {
                self.events.push(Event::Dropped(p.id, Reason::Table));
                return false;
            }
        }
        if (self.s.compare_above_max || self.avg < self.s.max) && self.compare(&p) {
            match self.table.last_mut().filter(|_| hits.is_some()) {
                Some(tabled) => tabled.hits = (tabled.hits + 1).min(cap),
                None => {
                    if self.table.len() == size {
                        self.table.remove(0);
                    }
                    self.table.push(Tabled { flow: p.flow, hits: 1, since: now });
                }
            }
            self.events.push(Event::Dropped(p.id, Reason::MatchArrival));
            return false;
        }
        if hits.is_some() && !self.forced() { self.admit(p, None) } else { self.red_stage(p) }
    }

    // The two operations.

    pub(crate) fn enqueue(&mut self, now: Time, p: SimplePacket) {
        if self.has_thresholds() {
            self.update_average(now);
            self.adapt(now);
        }
        match self.s.algorithm {
            Algorithm::TailDrop => {
                self.admit(p, None);
            }
            Algorithm::FrontDrop | Algorithm::RandomDrop => {
                while self.overflows(&p) && !self.alone_overflows(&p) {
                    let at = if matches!(self.s.algorithm, Algorithm::FrontDrop) { Some(0) } else { self.draw(true) };
                    let Some(at) = at else { break };
                    self.kill(at, Reason::Limit);
                    self.tidy();
                }
                self.admit(p, None);
            }
            Algorithm::Red | Algorithm::Feng | Algorithm::Floyd { .. } => {
                self.red_stage(p);
            }
            Algorithm::Mloc { memory } => {
                if self.remembered.contains(&p.flow) {
                    self.events.push(Event::Dropped(p.id, Reason::MatchArrival));
                } else if self.admit(p, None) {
                    self.remembered.push(p.flow);
                    if self.remembered.len() > memory {
                        self.remembered.remove(0);
                    }
                }
            }
            Algorithm::Xchoke { size, cap, .. } => {
                self.xchoke(now, p, size, cap);
            }
            Algorithm::Chokew { .. } => self.chokew(p),
            Algorithm::Sac { .. } => self.sac(now, p),
            Algorithm::Rechoke { .. } => self.rechoke(now, p),
            _ => {
                self.choke(p);
            }
        }
    }

    pub(crate) fn dequeue(&mut self, now: Time) {
        if self.queue.is_empty() {
            self.idle_since.get_or_insert(now);
            return;
        }
        let departed = self.queue.remove(0);
        // The packets that are dropped at the head are reported before `dequeue` returns.
        self.drop_doomed_head();
        self.events.extend(departed.map(|p| Event::Departed(p.id)));
        self.tidy();
    }
}
