//! A slow ECHO, from the law in `docs/echo.md`: lists and divisions. The roundings of the discipline's numbers
//! are part of the law.

use fairlane_qdisc::{Duration, Rate, Reason, Seed, SimplePacket, Size, Stream, Time};

use crate::line::{Line, Slow};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Size,
    pub(crate) target: Duration,
    /// `None`: by the rate of the link.
    pub(crate) tags: Option<usize>,
    pub(crate) ecn: bool,
    pub(crate) link: Rate,
    pub(crate) lane: bool,
}

pub(crate) struct Echo {
    s: Settings,
    line: Line,
    /// When each packet of the line arrived.
    arrivals: Vec<Time>,
    /// How many packets at the head of the line went ahead of the others, and the quarters of bytes that more may have.
    ahead: usize,
    credit: u128,
    tags: Vec<u64>,
    /// log2 T in units of 2^-32.
    level: i128,
    /// T in units of 2^-16, since the last update.
    t: u128,
    copies: u128,
    /// 256 times the mean of K + 1/4 of flows that are no floods, and T over the mean, both in units of 2^-16.
    mean: u128,
    gain: u128,
    /// Bytes per second.
    rate: u128,
    /// The rate and the largest packet at the last update, which the distance of samples follows.
    apart: u128,
    largest: u128,
    window: Option<(Time, u128)>,
    idle: bool,
    /// Since the last update: all arrivals, and those that the law dropped.
    arrived: u128,
    dropped: u128,
    /// The nanoseconds of the updates with a flood since the queue was last within its target, 4 seconds at most.
    late: u128,
    last: Time,
    q_before: i128,
    twice_target: u128,
    secrets: [u64; 2],
    draws: Stream,
}

const ONE: u128 = 1 << 16;
const SECOND: u128 = 1_000_000_000;
/// log2 e in units of 2^-32.
const E: i128 = 6_196_328_019;

/// 2^x for an x in units of 2^-32, digit by digit, in units of 2^-16.
fn exp2(x: i128) -> u128 {
    let mut power = 1_u128 << 31;
    for digit in 1..=16 {
        if (x >> (32 - digit)) & 1 == 1 {
            let factor = libm::floor(libm::exp2(libm::exp2(-f64::from(digit)) + 31.0)) as u128;
            power = power * factor / (1 << 31);
        }
    }
    // The whole part is from -16 to 31.
    (power << 32 >> (32 + 15 - (x >> 32)) as u32).max(1)
}

/// SplitMix64's finalizer.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Echo {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        let gigabits = s.link.bits_per_second().div_ceil(1_000_000_000).clamp(1, 16);
        let size = s.tags.unwrap_or(256 * gigabits.next_power_of_two() as usize);
        let mut hash = seed.stream("hash");
        let mut echo = Self {
            s,
            line: Line::new(s.limit),
            arrivals: Vec::new(),
            ahead: 0,
            credit: 0,
            tags: vec![0; size],
            level: i128::from(size.ilog2()) << 32,
            t: 0,
            copies: ONE,
            mean: 0,
            gain: ONE,
            rate: u128::from(s.link.bits_per_second() / 8),
            apart: 0,
            largest: 0,
            window: None,
            idle: false,
            arrived: 0,
            dropped: 0,
            late: 0,
            last: Time::ZERO,
            q_before: 0,
            twice_target: u128::MAX,
            secrets: [hash.bits(), hash.bits()],
            draws: seed.stream("echo"),
        };
        echo.set_t();
        echo
    }

    fn set_t(&mut self) {
        self.t = exp2(self.level);
        let rare = self.rare();
        let spread = self.rate * 200_000_000 / SECOND / self.tags.len() as u128;
        self.apart = (spread.max(self.largest) * rare / ONE).max(self.largest).max(1);
        self.gain = (self.t * ONE / (self.mean / 256).max(1)).clamp(ONE, 3 * ONE);
    }

    fn rare(&self) -> u128 {
        (self.t / 4).clamp(ONE / 2, ONE)
    }

    fn control(&mut self, now: Time) {
        let (queued, limit) = match self.s.limit {
            Size::Packets(limit) => (self.line.queue.len() as u128, u128::from(limit.get())),
            Size::Bytes(limit) => (u128::from(self.line.bytes()), u128::from(limit.get())),
        };
        let bytes = u128::from(self.line.bytes());
        let passed = u128::from(now.since(self.last).as_nanos());
        let flood = bytes > self.twice_target || 2 * queued > limit;
        if passed < if flood { 1_000_000 } else { 16_000_000 } {
            return;
        }
        let most = 4 * SECOND;
        let dt = passed.min(most) as i128;
        let time = |bytes: u128| (bytes * SECOND).checked_div(self.rate).unwrap_or(0);
        let target = u128::from(self.s.target.as_nanos()).max(time(4 * self.largest)).min(most);
        let age = self.arrivals.get(self.ahead).map_or(0, |arrival| u128::from(now.since(*arrival).as_nanos()));
        let q = age.max(time(bytes)).max(4 * queued * target / limit.max(1)).min(most);
        let growth = q as i128 - self.q_before;
        if q <= target {
            self.late = 0;
        } else if 5 * self.dropped >= self.arrived {
            self.late = (self.late + dt as u128).min(most);
        }
        let far = ((q * ONE / (4 * target)).pow(2) / ONE).max(ONE);
        let long = (2 * ((self.late * ONE / SECOND).pow(2) / ONE)).max(ONE);
        let hurry = if growth * 10 < -dt { ONE } else { (far * long / ONE).min(64 * ONE) };
        let second = SECOND as i128;
        let error = q as i128 - target as i128;
        let wanted = target as i128;
        self.level -= 3 * E / 10 * hurry as i128 * error * dt / (ONE as i128 * second * wanted);
        self.level -= 3 * E / 10 * growth / wanted;
        if self.idle && 2 * q < target {
            self.level += if self.dropped > 0 { 4 * E * dt / second } else { 4 * E / 10 * dt / second };
            self.level += 40 * E * (dt - 100_000_000).max(0) / second;
        }
        self.level = self.level.clamp(-4 * E, i128::from(self.tags.len().ilog2()) << 32);
        self.copies = (q * ONE / (2 * target)).clamp(ONE, 4 * ONE);
        self.twice_target = if self.rate == 0 { u128::MAX } else { self.rate * 2 * target / SECOND };
        self.q_before = q as i128;
        self.idle = false;
        self.arrived = 0;
        self.dropped = 0;
        self.last = now;
        self.set_t();
    }

    fn tag(&self, flow: u64) -> u64 {
        (mix(mix(flow ^ self.secrets[0]) ^ self.secrets[1]) >> 48).max(1)
    }

    /// Tells whether a packet goes ahead: one of a flow of `k` tags, where those that wait behind the ones ahead have
    /// none with the lower seven bits of its tag, or none with the seven above.
    fn goes_ahead(&self, p: &SimplePacket, tag: u64, k: u128) -> bool {
        let waiting = || self.line.queue[self.ahead..].iter().map(|other| self.tag(other.flow));
        let like_it = waiting().any(|other| other % 128 == tag % 128)
            && waiting().any(|other| other >> 7 & 127 == tag >> 7 & 127);
        let sparse = 2 * (k + 1) * ONE <= self.t;
        sparse && !like_it && self.credit >= 4 * u128::from(p.bytes)
    }

    /// Puts an arrival of `tag`, of which there are `k`, into the sample with its probability.
    fn sample(&mut self, tag: u64, k: u128, bytes: u128, draw: u128) {
        // Of 2^48, and rounded down: for a byte, for an unknown flow, for the whole arrival.
        let byte = (1 << 48) / self.apart;
        let chance = bytes * if k == 0 { byte * self.rare() / ONE } else { byte };
        let thinned = k * ONE > self.t;
        if if thinned { draw * ONE * k * ONE < chance * self.t } else { draw * ONE < chance } {
            if k * ONE <= 2 * self.t + ONE {
                self.mean = self.mean - self.mean / 256 + k * ONE + ONE / 4;
            }
            let mut places = self.draws.bits();
            let copies = (self.copies + u128::from(places >> 48)) / ONE;
            for _ in 0..copies {
                let size = self.tags.len() as u64;
                self.tags[(places % size) as usize] = tag;
                places /= 4096;
            }
        }
    }
}

impl Slow for Echo {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        let bytes = u128::from(p.bytes);
        self.largest = self.largest.max(bytes);
        self.arrived += 1;
        self.control(now);
        let tag = self.tag(p.flow);
        let k = self.tags.iter().filter(|&&entry| entry == tag).count() as u128;
        let ahead = self.s.lane && self.goes_ahead(&p, tag, k);
        let draw = u128::from(self.draws.bits());
        self.sample(tag, k, bytes, draw >> 32);
        let u = (((k * ONE + ONE / 4) * ((1 << 62) / self.t)) >> 46).clamp(ONE, 256 * ONE);
        let w = ((u * u / ONE - ONE) * self.gain / ONE).min((1 << 32) - 1);
        let (above, whole) = (w * w, ONE * ONE + ONE * w + w * w);
        let near = self.line.queue.is_empty() && 2 * k * ONE <= 3 * self.t;
        let signalled = (draw & 0xffff_ffff) * whole < above << 32 && !near;
        let markable = self.s.ecn && p.ecn_capable && 5 * above < whole;
        let size = if matches!(self.s.limit, Size::Packets(_)) { 1.0 } else { f64::from(p.bytes) };
        let (queued, limit) = self.line.fill();
        if queued + size > limit {
            self.line.drop(p, Reason::Limit);
        } else if signalled && !markable {
            self.dropped += 1;
            self.line.drop(p, Reason::Label);
        } else {
            self.line.admit(p, signalled.then_some(Reason::Label));
            self.arrivals.push(now);
            if ahead {
                self.credit -= 4 * u128::from(p.bytes);
                let last = self.arrivals.len() - 1;
                self.line.queue[self.ahead..=last].rotate_right(1);
                self.arrivals[self.ahead..=last].rotate_right(1);
                self.ahead += 1;
            }
        }
    }

    fn dequeue(&mut self, now: Time) {
        let Some(p) = self.line.pop() else {
            self.idle = true;
            self.window = None;
            return;
        };
        self.arrivals.remove(0);
        self.ahead = self.ahead.saturating_sub(1);
        let most = if self.twice_target == u128::MAX { 0 } else { self.twice_target / 2 };
        self.credit = (self.credit + u128::from(p.bytes)).min(4 * most);
        if let Some((since, bytes)) = self.window {
            let time = u128::from(now.since(since).as_nanos());
            if time >= 16_000_000 {
                let rate = bytes * SECOND / time;
                let step = if self.rate == 0 { rate as i128 } else { (rate as i128 - self.rate as i128) / 10 };
                self.rate = (self.rate as i128 + step) as u128;
                self.window = None;
            }
        }
        let (since, bytes) = self.window.unwrap_or((now, 0));
        let more = !self.line.queue.is_empty();
        self.window = more.then_some((since, bytes + u128::from(p.bytes)));
    }

    fn line(&self) -> &Line {
        &self.line
    }
}
