//! Class-Based Queueing: classes of traffic, each with a share of the link, and who may have what others leave.
//!
//! A packet's class is its precedence. An estimator tells of each class whether it gets more than its share: it averages
//! by how much the times between the class's packets are longer than they need be, and a class is over its limit while
//! that average is below zero. First come the classes that are not, by priority and in turns by their shares. When only
//! classes over their limits have packets, those that may borrow go on, and the others are held back.
//!
//! **Source.** Floyd, Jacobson, "Link-sharing and resource management models for packet networks", IEEE/ACM ToN 3(4),
//! 1995, section 2 and appendix A; the estimator's gain and clock are those of ns-2's `cbq.cc`.
//!
//! **Deviations.** The minimal form: one level of classes under the link, so that whoever borrows borrows from the link,
//! and no borrowing can loop. Since nobody borrows while a class within its limit has packets, the formal link-sharing
//! rule holds: no class is kept unsatisfied by a borrower. The average forgets in 16 packets what a class had to wait for
//! others, so by itself it misses the shares by several per cent. So each class also has a schedule, one allotted time
//! after the other: a class that is behind it is within its limit whatever the average says, and a class that is held back
//! waits for its schedule, plus `extradelay`. Average and schedule are bound on both sides, by `maxburst`.
//!
//! **Cost.** O(classes) for a departure, of which there are at most 8; an arrival is a push.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::buffer::MAX_PACKETS;
use crate::config::shared::{AVPKT, BANDWIDTH, LIMIT};
use crate::config::{About, Domain, FlowState, Numbers, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::flows::FlowQueues;
use crate::{Bytes, Counters, Duration, Fate, Packet, Packets, Qdisc, Rate, Reason, Seed, Size, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "cbq",
    summary: "gives classes of traffic their shares of the link and lends what they leave",
    source: "Floyd, Jacobson: Link-sharing and Resource Management Models for Packet Networks, IEEE/ACM ToN 3(4)",
    year: Some(1995),
    needs: "the packets' class, and the link's rate",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[CLASS_LIMIT, SHARES, PRIO, BOUNDED, MAXBURST, EXTRADELAY, CLASS_AVPKT, CLASS_BANDWIDTH],
};

const CLASS_LIMIT: Parameter = Parameter { meaning: "hard limit of each class's queue", ..LIMIT };
const SHARES: Parameter = parameter(
    "shares",
    Domain::Numbers { min: 0.000_001, max: 1.0 },
    "0.125 each, one class for each precedence",
    "each class's share of the link, at most 1 in all; class k is precedence k (RFC 791), and the last class also has \
     all above it",
)
.elsewhere(&["rate", "allot", "allotment_", "share"]);
const PRIO: Parameter = parameter(
    "prio",
    Domain::Numbers { min: 1.0, max: 8.0 },
    "1",
    "each class's priority, or one for all: classes of a lower number go first while they are within their shares",
)
.elsewhere(&["priority", "priority_"]);
const BOUNDED: Parameter = parameter(
    "bounded",
    Domain::Numbers { min: 0.0, max: 7.0 },
    "none: every class may borrow",
    "the classes that never get more than their share, even if the link is idle otherwise",
)
.elsewhere(&["borrow", "okborrow_"]);
const MAXBURST: Parameter = parameter(
    "maxburst",
    Domain::Packets,
    "20p, as in tc-cbq(8)'s examples",
    "mean packets that a class may send at once when it has been idle: bounds the average; 1p..256p",
)
.elsewhere(&["maxidle_", "maxidle"]);
const EXTRADELAY: Parameter =
    parameter("extradelay", Domain::Duration, "none, as ns-2", "what a class that is held back waits in addition")
        .elsewhere(&["extradelay_", "offtime", "minburst"]);
const CLASS_AVPKT: Parameter = Parameter { meaning: "mean packet: the unit of `maxburst` and of the turns", ..AVPKT };
const CLASS_BANDWIDTH: Parameter = Parameter { meaning: "rate that the shares are of", ..BANDWIDTH };

/// What it is told.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    limit: Size,
    classes: Vec<ClassSettings>,
    extra_nanos: f64,
    byte_nanos: f64,
}

/// What it is told of a class.
#[derive(Clone, Copy, Debug)]
struct ClassSettings {
    /// Priorities as bits, so that the set of classes of one priority is found fast.
    prio: u8,
    may_borrow: bool,
    /// Nanoseconds that a byte takes at the class's share of the link.
    byte_nanos: f64,
    /// The most that the average may be: so many mean packets that are sent at once bring it to zero.
    max_idle: f64,
    /// The most that the class may be behind its schedule: as many mean packets at once make up for that.
    max_behind: f64,
    quantum: i64,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let shares = r.take("shares", Origin::Default("one class for each precedence"), Numbers::all(0.125, 8))?;
    let sum: f64 = shares.iter().sum();
    if sum > 1.0 + 1e-9 {
        let message = format!("{shares} are {sum} in all, and the link is only 1: write for example 0.6,0.4");
        return Err(ParameterError::new("shares", message));
    }
    let prio = priorities(r, shares.len())?;
    let bounded = bounded(r, shares.len())?;
    if sum < 1.0 - 1e-9 && bounded.iter().all(|&bounded| bounded) {
        r.warn(format!("every class is bounded, so at least {:.1} % of the link are idle", 100.0 * (1.0 - sum)));
    }
    let burst = maxburst(r)?;
    let extra = r.given::<Duration>("extradelay")?;
    match extra {
        Some(extra) => r.note("extradelay", extra.to_string(), Origin::Given),
        None => r.note("extradelay", "none".to_string(), Origin::Default("as ns-2")),
    }
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let bandwidth = r.bandwidth("its shares")?;
    say_shares(r, &shares, bandwidth);
    let byte_nanos = 8e9 / bandwidth.bits_per_second() as f64;
    let least = shares.iter().copied().fold(1.0, f64::min);
    let class = |index: usize, share: f64| {
        let surplus = avpkt.get() as f64 * byte_nanos * (1.0 / share - 1.0);
        ClassSettings {
            prio: prio[index],
            may_borrow: !bounded[index],
            byte_nanos: byte_nanos / share,
            max_idle: surplus * ((0..burst.get()).fold(1.0, |power, _| power * (16.0 / 15.0)) - 1.0),
            max_behind: surplus * f64::from(burst.get()),
            quantum: ((avpkt.get() as f64 * share / least) as i64).max(1),
        }
    };
    let classes = shares.iter().enumerate().map(|(index, &share)| class(index, share)).collect();
    Ok(Settings { limit, classes, extra_nanos: extra.map_or(0.0, |extra| extra.as_nanos() as f64), byte_nanos })
}

/// The priority of each of `classes` classes.
fn priorities(r: &mut Resolver<'_>, classes: usize) -> Result<[u8; Numbers::MOST], ParameterError> {
    let prio = r.take("prio", Origin::Default("no class before another"), Numbers::all(1.0, 1))?;
    if prio.len() != 1 && prio.len() != classes {
        let message =
            format!("it has {} numbers for {classes} classes: write one for each, or one for all", prio.len());
        return Err(ParameterError::new("prio", message));
    }
    if let Some(part) = prio.iter().find(|prio| **prio != f64::from(**prio as u8)) {
        let message = format!("{part} is no priority: write whole numbers, such as 1,2");
        return Err(ParameterError::new("prio", message));
    }
    let mut priorities = [prio[0] as u8; Numbers::MOST];
    for (priority, &given) in priorities.iter_mut().zip(prio.iter()) {
        *priority = given as u8;
    }
    Ok(priorities)
}

/// Which of `classes` classes are bounded.
fn bounded(r: &mut Resolver<'_>, classes: usize) -> Result<Vec<bool>, ParameterError> {
    let Some(given) = r.given::<Numbers>("bounded")? else {
        r.note("bounded", "none".to_string(), Origin::Default("every class may borrow"));
        return Ok(alloc::vec![false; classes]);
    };
    r.note("bounded", given.to_string(), Origin::Given);
    if let Some(class) = given.iter().find(|class| **class != f64::from(**class as u8) || **class >= classes as f64) {
        let message = format!("there is no class {class}: the classes are 0 to {}", classes - 1);
        return Err(ParameterError::new("bounded", message));
    }
    Ok((0..classes).map(|class| given.contains(&(class as f64))).collect())
}

fn maxburst(r: &mut Resolver<'_>) -> Result<Packets, ParameterError> {
    let burst = r.take("maxburst", Origin::Default("as in tc-cbq(8)'s examples"), Packets::new(20))?;
    if (1..=MAX_BURST).contains(&burst.get()) {
        return Ok(burst);
    }
    Err(ParameterError::new(
        "maxburst",
        format!("it cannot be {burst}: it is 1p to {MAX_BURST}p; write for example 20p"),
    ))
}

/// The average is bound by (16/15)^`maxburst`, so there is an end to it.
const MAX_BURST: u32 = 256;

fn say_shares(r: &mut Resolver<'_>, shares: &[f64], bandwidth: Rate) {
    for (class, share) in shares.iter().enumerate() {
        let rate = Rate::from_bits_per_second((share * bandwidth.bits_per_second() as f64) as u64);
        r.say(format!("class {class} has {rate}"));
    }
}

/// A class at work. Times are in nanoseconds.
#[derive(Debug)]
struct Class {
    settings: ClassSettings,
    /// By how much the times between its packets are longer than its share needs, in the mean.
    avg_idle: f64,
    /// When its last packet began to be sent, how long that took, and how much later its schedule has the next one;
    /// nothing before the first.
    last: Option<(Time, f64, f64)>,
    /// Bytes that it may send in this turn.
    credit: i64,
}

impl Class {
    /// When it is within its limit, with `extra` for a class that must wait.
    fn ready_at(&self, extra: f64) -> Time {
        match self.last {
            // A cast saturates, and cuts what is negative to 0.
            Some((began, _, ahead)) if self.avg_idle < 0.0 => {
                began + Duration::from_nanos(libm::ceil(ahead + extra) as u64)
            }
            _ => Time::ZERO,
        }
    }

    /// Notes that it begins to send `bytes` bytes at `now`, which takes the link `took`.
    fn send(&mut self, now: Time, bytes: u32, took: f64) {
        let ClassSettings { max_idle, max_behind, .. } = self.settings;
        let allotted = f64::from(bytes) * self.settings.byte_nanos;
        let (idle, ahead) = match self.last {
            Some((began, before, ahead)) => {
                let gap = now.since(began).as_nanos() as f64;
                (gap - before + took - allotted, (ahead - gap).max(-max_behind))
            }
            None => (f64::INFINITY, -max_behind),
        };
        // A packet beyond the mean may make a debt of its own size.
        let least = -max_idle.max(allotted - took);
        self.avg_idle = (self.avg_idle * (15.0 / 16.0) + idle * (1.0 / 16.0)).min(max_idle).max(least);
        self.last = Some((now, took, (ahead + allotted).min(max_behind.max(allotted))));
        self.credit -= i64::from(bytes);
    }
}

/// Class-Based Queueing.
#[derive(Debug)]
pub struct Cbq<P> {
    queues: FlowQueues<P>,
    classes: Vec<Class>,
    counters: Counters,
    max_packets: usize,
    max_bytes: u64,
    extra_nanos: f64,
    byte_nanos: f64,
    /// Whose turn it is, if it has any left.
    turn: usize,
}

impl<P: Packet> Cbq<P> {
    pub(crate) fn new(settings: Settings, _seed: Seed) -> Self {
        let Settings { limit, classes, extra_nanos, byte_nanos } = settings;
        let (max_packets, max_bytes) = match limit {
            Size::Packets(packets) => (packets.get().min(MAX_PACKETS), u64::MAX),
            Size::Bytes(bytes) => (MAX_PACKETS, bytes.get()),
        };
        let class = |settings: ClassSettings| Class { settings, avg_idle: settings.max_idle, last: None, credit: 0 };
        Self {
            queues: FlowQueues::new(),
            classes: classes.into_iter().map(class).collect(),
            counters: Counters::default(),
            max_packets: max_packets as usize,
            max_bytes,
            extra_nanos,
            byte_nanos,
            turn: 0,
        }
    }

    /// The class of `packet`: its precedence, or the last one.
    fn class_of(&self, packet: &P) -> usize {
        usize::from(packet.class() >> 5).min(self.classes.len() - 1)
    }

    /// When `class` may send its next packet without borrowing; nothing if it has none.
    fn class_ready_at(&self, class: usize) -> Option<Time> {
        (self.queues.packets_in(class) > 0).then(|| self.classes[class].ready_at(self.extra_nanos))
    }

    /// The classes that `may` send, as bits.
    fn set(&self, may: impl Fn(usize) -> bool) -> u8 {
        (0..self.classes.len()).filter(|&class| may(class)).fold(0, |set, class| set | 1 << class)
    }

    /// The classes that may send at `now`: those within their limits, or else those that may borrow.
    fn entitled(&self, now: Time) -> u8 {
        let within = self.set(|class| self.class_ready_at(class).is_some_and(|ready| ready <= now));
        if within != 0 {
            return within;
        }
        self.set(|class| self.classes[class].settings.may_borrow && self.queues.packets_in(class) > 0)
    }

    /// Those of `set` that come first.
    fn foremost(&self, set: u8) -> u8 {
        let prio = |class: usize| self.classes[class].settings.prio;
        let first = members(set).map(prio).min();
        self.set(|class| set & 1 << class != 0 && Some(prio(class)) == first)
    }

    /// The one of `set` whose turn it is.
    fn choose(&mut self, set: u8) -> Option<usize> {
        let next = self.in_turn(set);
        if next.is_some() || set == 0 {
            return next;
        }
        // All have had their turns: as many rounds begin as somebody needs to have credit again.
        let classes = &mut self.classes;
        let rounds = |class: usize| -classes[class].credit / classes[class].settings.quantum + 1;
        let least = members(set).map(rounds).min().unwrap_or(1);
        for class in members(set) {
            classes[class].credit += least * classes[class].settings.quantum;
        }
        self.in_turn(set)
    }

    /// The next one of `set` that has credit, from the one on whose turn it was.
    fn in_turn(&self, set: u8) -> Option<usize> {
        let count = self.classes.len();
        let row = (self.turn..count).chain(0..self.turn);
        row.into_iter().find(|&class| set & 1 << class != 0 && self.classes[class].credit > 0)
    }
}

/// The classes whose bits are set.
fn members(set: u8) -> impl Iterator<Item = usize> {
    (0..Numbers::MOST).filter(move |class| set & 1 << class != 0)
}

impl<P: Packet> Qdisc<P> for Cbq<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.counters.arrived.add(packet.bytes());
        let class = self.class_of(&packet);
        let bytes = self.queues.bytes_in(class) + u64::from(packet.bytes());
        if self.queues.packets_in(class) >= self.max_packets || bytes > self.max_bytes {
            self.counters.count_drop(Reason::Limit, packet.bytes());
            fate.dropped(now, packet, Reason::Limit);
            return;
        }
        self.queues.push_back(class, packet);
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let class = self.choose(self.foremost(self.entitled(now)))?;
        let packet = self.queues.pop_front(class)?;
        self.counters.departed.add(packet.bytes());
        self.turn = class;
        self.classes[class].send(now, packet.bytes(), f64::from(packet.bytes()) * self.byte_nanos);
        if self.queues.packets_in(class) == 0 {
            // What is left of a turn is not kept, what was overdrawn is.
            self.classes[class].credit = self.classes[class].credit.min(0);
        }
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

    fn ready_at(&self) -> Option<Time> {
        (0..self.classes.len()).filter_map(|class| self.class_ready_at(class)).min()
    }
}
