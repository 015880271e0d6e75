//! Slow references of CHOKe's successors: CHOKeW, CHOKeR, CHOKeD, SAC and RECHOKe.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Stream, Time};

use super::{Algorithm, Reference};
use fairlane_qdisc::testing::Event;

/// A count for each flow, halved every window; the least recently used flow makes room.
struct History(Vec<(u64, u32, Time)>);

impl History {
    fn look_up(&mut self, now: Time, flow: u64, window: Duration) -> u32 {
        let Some(at) = self.0.iter().position(|known| known.0 == flow) else { return 0 };
        let (_, mut count, mut since) = self.0.remove(at);
        while count > 0 && now.since(since) >= window {
            count /= 2;
            since += window;
        }
        if count > 0 {
            self.0.push((flow, count, since));
        }
        count
    }

    fn add(&mut self, now: Time, flow: u64, window: Duration, size: usize, cap: u32) {
        if self.look_up(now, flow, window) > 0 {
            if let Some(newest) = self.0.last_mut() {
                newest.1 = (newest.1 + 1).min(cap);
            }
            return;
        }
        if self.0.len() == size {
            self.0.remove(0);
        }
        self.0.push((flow, 1, now));
    }
}

/// The state that they have in addition to RED's.
pub(super) struct State {
    factor: f64,
    candidates: u32,
    acted: Time,
    compared: u32,
    matched: u32,
    hits: History,
    drops: History,
    rolls: Stream,
}

impl State {
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            factor: 0.0,
            candidates: 1,
            acted: Time::ZERO,
            compared: 0,
            matched: 0,
            hits: History(Vec::new()),
            drops: History(Vec::new()),
            rolls: seed.stream("factor"),
        }
    }
}

impl Reference {
    /// CHOKeW and CHOKeR, as `docs/qdiscs/chokew.md` and `docs/qdiscs/choker.md` describe them.
    pub(super) fn chokew(&mut self, p: SimplePacket) {
        let Algorithm::Chokew { threshold, increment, decrement, band, most } = self.s.algorithm else { return };
        let queue = if self.s.in_bytes { self.bytes() as f64 } else { self.live().len() as f64 };
        if queue < self.s.min {
            self.later.factor = f64::max(0.0, self.later.factor - decrement);
        }
        if queue > self.s.max {
            let steps = match band {
                None => 1,
                Some(band) if queue <= self.s.max + band => 1,
                Some(band) if queue <= self.s.max + 2.0 * band => 2,
                Some(band) if queue <= self.s.max + 3.0 * band => 3,
                Some(_) => 4,
            };
            self.later.factor = f64::min(most, self.later.factor + f64::from(steps) * increment);
        }
        if queue > threshold {
            let weight = 1 + p.class / 64;
            let draws = self.later.factor * (1.0 / f64::from(weight));
            let extra = self.later.rolls.unit() < draws - draws.floor();
            for _ in 0..draws.floor() as u32 + u32::from(extra) {
                let Some(at) = self.draw(false) else { continue };
                if self.queue[at].is_some_and(|v| v.flow == p.flow) {
                    self.kill(at, Reason::MatchVictim);
                    self.tidy();
                    self.events.push(Event::Dropped(p.id, Reason::MatchArrival));
                    return;
                }
            }
        }
        self.admit(p, None);
    }

    /// CHOKeD, as `docs/qdiscs/choked.md` describes it: m = avg / (max - min) sqrt(B), from the rear half and then from
    /// the front half.
    pub(super) fn choked_candidates(&mut self, most: u32) -> Vec<usize> {
        let buffer = if self.s.limit_in_bytes { self.s.limit / 1000.0 } else { self.s.limit };
        let m = (self.avg * (buffer.sqrt() / (self.s.max - self.s.min))).round().min(f64::from(most)) as usize;
        let live: Vec<usize> = (0..self.queue.len()).filter(|&at| self.queue[at].is_some()).collect();
        let (front, rear) = live.split_at(live.len() / 2);
        let middle = rear.first().copied().unwrap_or(0);
        let mut chosen = self.choose(rear, m, middle, self.queue.len());
        chosen.extend(self.choose(front, m - chosen.len(), 0, middle));
        chosen
    }

    /// Draws distinct packets of the range `from`: the given number, or all if there are fewer.
    fn choose(&mut self, from: &[usize], wanted: usize, start: usize, end: usize) -> Vec<usize> {
        if wanted >= from.len() {
            return from.to_vec();
        }
        let mut chosen = Vec::new();
        while chosen.len() < wanted {
            let at = start + self.choke.below((end - start) as u32) as usize;
            if from.contains(&at) && !chosen.contains(&at) {
                chosen.push(at);
            }
        }
        chosen
    }

    /// SAC, as `docs/qdiscs/sac.md` describes it.
    pub(super) fn sac(&mut self, now: Time, p: SimplePacket) {
        let Algorithm::Sac { interval, share, hit_ratio, most } = self.s.algorithm else { return };
        if now.since(self.later.acted) >= interval {
            let live = self.live();
            let unresponsive = live.iter().filter(|p| !p.responsive).count() as f64;
            let State { compared, matched, .. } = self.later;
            if unresponsive > share * live.len() as f64 && self.later.candidates < most {
                self.later.candidates += 1;
            }
            if f64::from(matched) < hit_ratio * f64::from(compared) && self.later.candidates > 1 {
                self.later.candidates -= 1;
            }
            (self.later.acted, self.later.compared, self.later.matched) = (now, 0, 0);
        }
        if !p.responsive && self.avg > self.s.min {
            let matched = self.compare(&p);
            self.later.compared += 1;
            self.later.matched += u32::from(matched);
            if matched {
                self.events.push(Event::Dropped(p.id, Reason::MatchArrival));
                return;
            }
        }
        self.red_stage(p);
    }

    pub(super) fn sac_candidates(&self) -> usize {
        self.later.candidates as usize
    }

    /// RECHOKe, as `docs/qdiscs/rechoke.md` describes it.
    pub(super) fn rechoke(&mut self, now: Time, p: SimplePacket) {
        let Algorithm::Rechoke { size, cap, hits, drops, window } = self.s.algorithm else { return };
        if self.avg > self.s.min {
            if let Some(at) = self.draw(false)
                && self.queue[at].is_some_and(|v| v.flow == p.flow)
            {
                self.later.hits.add(now, p.flow, window, size, cap);
            }
            let n = self.later.hits.look_up(now, p.flow, window);
            let signalled = self.later.drops.look_up(now, p.flow, window);
            if n >= hits && signalled >= drops {
                if self.tabled.unit() < (self.p_b() * libm::exp2(f64::from(n))).min(1.0) {
                    self.events.push(Event::Dropped(p.id, Reason::Table));
                    return;
                }
                if !self.forced() {
                    self.admit(p, None);
                    return;
                }
            }
        }
        match self.red_signal(&p) {
            None => {
                self.admit(p, None);
            }
            Some(reason) => {
                self.later.drops.add(now, p.flow, window, size, cap);
                self.signal(p, reason);
            }
        }
    }
}
