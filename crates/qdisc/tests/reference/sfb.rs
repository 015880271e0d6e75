//! A slow reference of SFB and SFRED: the packets in a bin are counted in the list of packets each time they are
//! needed.

use std::collections::HashMap;

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Stream, Time};

use super::{Room, Slow};
use fairlane_qdisc::testing::Event;

/// The rule by which a bin adapts its probability.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Blue { increment: f64, decrement: f64, at_departure: bool, freeze: Option<Duration> },
    Red { weight: f64, probability: f64 },
}

/// The configuration of SFB or SFRED.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sfb {
    pub(crate) limit: Room,
    pub(crate) levels: u64,
    pub(crate) bins: u64,
    pub(crate) bin_size: usize,
    /// With `None` any full bin drops.
    pub(crate) bin_max: Option<usize>,
    pub(crate) rule: Rule,
    pub(crate) rehash: Duration,
    pub(crate) jitter: bool,
    pub(crate) warmup: Duration,
    /// In bits per second.
    pub(crate) penalty_rate: u64,
    pub(crate) penalty_burst: u64,
    pub(crate) ecn: bool,
    pub(crate) harddrop: bool,
}

/// The numbers of a set, a level and a bin.
type BinPlace = (u64, u64, u64);

/// The state of a bin: BLUE's probability or RED's `max_p`, RED's average, and its position relative to its range.
#[derive(Clone, Copy)]
struct BinState {
    p: f64,
    until: Option<Time>,
    average: f64,
    position: char,
}

/// SFB or SFRED with a plain list of packets and the bins that each was counted in.
pub(crate) struct SlowSfb {
    s: Sfb,
    seed: Seed,
    queue: Vec<(SimplePacket, Vec<BinPlace>)>,
    states: HashMap<BinPlace, BinState>,
    set: u64,
    moved: Time,
    rehash: Duration,
    rehashes: Stream,
    /// In 10^-9 bits.
    tokens: u128,
    paid: Time,
    rolls: Stream,
}

impl SlowSfb {
    pub(crate) fn new(s: Sfb, seed: Seed) -> Self {
        let tokens = u128::from(s.penalty_burst) * 8_000_000_000;
        let (set, moved, paid, rolls) = (0, Time::ZERO, Time::ZERO, seed.stream("sfb"));
        let rehashes = seed.stream("rehash");
        let (queue, states) = (Vec::new(), HashMap::new());
        let mut slow = Self { s, seed, queue, states, set, moved, rehash: s.rehash, rehashes, tokens, paid, rolls };
        slow.draw();
        slow
    }

    /// Draws the time until the hash moves.
    fn draw(&mut self) {
        if self.s.jitter {
            let part = 0.5 + self.rehashes.unit();
            self.rehash = Duration::from_nanos(((self.s.rehash.as_nanos() as f64 * part) as u64).max(1));
        }
    }

    fn places(&self, set: u64, flow: u64) -> Vec<BinPlace> {
        let place = |level: u64| {
            let mut secrets = self.seed.numbered(set).numbered(level / 3).stream("hash");
            let hash = mix(mix(flow.min(u64::MAX - 1) ^ secrets.bits()) ^ secrets.bits());
            (set, level, ((hash >> (21 * (level % 3))) % (1 << 21)) * self.s.bins / (1 << 21))
        };
        (0..self.s.levels).map(place).collect()
    }

    fn queued(&self, place: &BinPlace) -> usize {
        self.queue.iter().filter(|(_, places)| places.contains(place)).count()
    }

    fn state(&mut self, place: BinPlace) -> &mut BinState {
        let p = if let Rule::Red { probability, .. } = self.s.rule { probability } else { 0.0 };
        self.states.entry(place).or_insert(BinState { p, until: None, average: 0.0, position: 'b' })
    }

    /// Updates the bin for an arrival, or for a departure that left it empty.
    fn update(&mut self, now: Time, place: BinPlace, departs: bool) {
        let (queued, size, rule) = (self.queued(&place), self.s.bin_size, self.s.rule);
        let state = self.state(place);
        match rule {
            Rule::Blue { increment, decrement, at_departure, freeze } => {
                if queued == 0 && at_departure != departs {
                    return;
                }
                if (queued <= size && queued > 0) || (freeze.is_some() && state.until.is_some_and(|until| now <= until))
                {
                    return;
                }
                state.p = if queued > size { state.p + increment } else { state.p - decrement }.clamp(0.0, 1.0);
                state.until = freeze.map(|freeze| now + freeze);
            }
            Rule::Red { .. } if departs => {}
            Rule::Red { weight, .. } => {
                state.average = (1.0 - weight) * state.average + weight * queued as f64;
                let (min, max) = (0.2 * size as f64, 0.8 * size as f64);
                let position = match state.average {
                    average if average > max => 'a',
                    average if average < min => 'b',
                    _ => '-',
                };
                if position != state.position && position == 'a' {
                    state.p = (state.p * 2.0).min(1.0);
                }
                if position != state.position && position == 'b' {
                    state.p = (state.p / 3.0).max(1e-6);
                }
                state.position = position;
            }
        }
    }

    fn probability(&mut self, place: BinPlace) -> f64 {
        let (size, rule) = (self.s.bin_size as f64, self.s.rule);
        let state = *self.state(place);
        match rule {
            Rule::Blue { .. } => state.p,
            Rule::Red { .. } if state.average < 0.2 * size => 0.0,
            Rule::Red { .. } if state.average >= 0.8 * size => 1.0,
            Rule::Red { .. } => state.p * (state.average - 0.2 * size) / (0.6 * size),
        }
    }

    /// Pays for `bytes` bytes; tells whether the rate limit lets them pass.
    fn pay(&mut self, now: Time, bytes: u32) -> bool {
        let earned = u128::from(now.since(self.paid).as_nanos()) * u128::from(self.s.penalty_rate);
        self.tokens = (self.tokens + earned).min(u128::from(self.s.penalty_burst) * 8_000_000_000);
        self.paid = now;
        let price = u128::from(bytes) * 8_000_000_000;
        let pays = self.tokens >= price;
        self.tokens -= if pays { price } else { 0 };
        pays
    }

    fn push(&mut self, mut p: SimplePacket, places: Vec<BinPlace>, mark: Option<Reason>, events: &mut Vec<Event>) {
        let backlog = self.backlog();
        if !self.s.limit.holds(&backlog, Some(&p)) {
            events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        if let Some(reason) = mark {
            p.marked = true;
            events.push(Event::Marked(p.id, reason));
        }
        self.queue.push((p, places));
    }
}

impl Slow for SlowSfb {
    fn enqueue(&mut self, now: Time, p: SimplePacket, events: &mut Vec<Event>) {
        if now.since(self.moved) >= self.rehash {
            self.moved = now;
            self.set += 1;
            self.draw();
        }
        let mut places = self.places(self.set, p.flow);
        for &place in &places {
            self.update(now, place, false);
        }
        let queued: Vec<usize> = places.iter().map(|place| self.queued(place)).collect();
        let over = match self.s.bin_max {
            None => queued.iter().any(|&queued| queued > self.s.bin_size),
            Some(most) => queued.iter().all(|&queued| queued >= most),
        };
        if over {
            events.push(Event::Dropped(p.id, Reason::BinFull));
            return;
        }
        if places.iter().all(|&place| self.state(place).p >= 1.0) {
            if now.since(self.moved) + self.s.warmup >= self.rehash {
                let next = self.places(self.set + 1, p.flow);
                let rule = self.s.rule;
                for &place in &next {
                    let state = self.state(place);
                    state.p = match rule {
                        Rule::Blue { increment, .. } => state.p + increment,
                        Rule::Red { .. } => state.p * 2.0,
                    }
                    .min(1.0);
                }
                places.extend(next);
            }
            if self.pay(now, p.bytes) {
                self.push(p, places, None, events);
            } else {
                events.push(Event::Dropped(p.id, Reason::RatePenalty));
            }
            return;
        }
        let least = places.iter().map(|&place| self.probability(place)).fold(1.0, f64::min);
        let reason = if least == 1.0 { Reason::Forced } else { Reason::Early };
        let roll = self.rolls.unit();
        let hard = self.s.harddrop && least > 0.5 && roll < (least - 0.5) * 2.0;
        if roll < least && (hard || !self.s.ecn || !p.ecn_capable) {
            events.push(Event::Dropped(p.id, reason));
        } else {
            self.push(p, places, (roll < least).then_some(reason), events);
        }
    }

    fn dequeue(&mut self, now: Time, events: &mut Vec<Event>) {
        if !self.queue.is_empty() {
            let (packet, places) = self.queue.remove(0);
            events.push(Event::Departed(packet.id));
            for place in places {
                if place.0 >= self.set && self.queued(&place) == 0 {
                    self.update(now, place, true);
                }
            }
        }
    }

    fn backlog(&self) -> Vec<SimplePacket> {
        self.queue.iter().map(|(p, _)| *p).collect()
    }
}

/// Applies the finalizer of SplitMix64.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
