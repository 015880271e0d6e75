//! Class-Based Queueing: gives each class of traffic a share of the link, and lends what a class leaves to others.
//!
//! A packet's class is its precedence. For each class an estimator tells whether it gets more than its share: it
//! averages by how much the times between the class's packets exceed those that the share allots, and a class is over
//! its limit while the average is below zero. Classes within their limits are served first, by priority and in turns by
//! their shares. When only classes over their limits have packets, those that may borrow are served, and the others are
//! held back.
//!
//! **Source.** Floyd, Jacobson, "Link-sharing and resource management models for packet networks", IEEE/ACM ToN 3(4),
//! 1995, section 2 and appendix A; the estimator's gain and clock are those of ns-2's `cbq.cc`.
//!
//! **Deviations.** The minimal form: one level of classes under the link, so that every class borrows from the link and
//! no borrowing can loop. Since no class borrows while a class within its limit has packets, the formal link-sharing
//! rule holds: a borrower never leaves another class unsatisfied. The average forgets within 16 packets how long a
//! class waited for others, so by itself it misses the shares by several per cent. So each class also has a schedule,
//! one allotted time after the other: a class that is behind it is within its limit at any average, and a
//! class that is held back waits for its schedule, plus `extradelay`. Average and schedule are bounded on both sides by
//! `maxburst`.
//!
//! **Cost.** O(classes) for a departure, of which there are at most 8; an arrival is a push.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::error::check;
use crate::queue::flow_queues::FlowQueues;
use crate::queue::room::Room;
use crate::{
    Bytes, Counters, DropSink, Duration, Fate, Packet, Packets, ParameterError, Qdisc, Rate, Reason, Seed, Size,
    Status, Time,
};

/// The configuration of [`Cbq`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that each class's queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper
    /// (section III).
    pub limit: Size,
    /// The classes, 1 to 8: class k has the packets of precedence k (RFC 791), and the last class also all above it.
    /// The shares sum to at most 1. Default: one class for each precedence, with 0.125 each.
    pub classes: Vec<ClassConfig>,
    /// The number of mean packets that a class may send at once after it was idle, 1 to 256. Default: 20 packets, as in
    /// tc-cbq(8)'s examples.
    pub maxburst: Packets,
    /// The time that a class which is held back waits in addition. Default: zero, as ns-2.
    pub extradelay: Duration,
    /// The mean packet: the unit of `maxburst` and of the turns. Default: 1000 bytes.
    pub avpkt: Bytes,
    /// The rate that the shares are parts of. Default: `None`, the link's rate ([`Qdisc::link_rate`]); as long as that
    /// is not known, no class is over its limit, and classes are served by priority and in turns by their shares.
    pub bandwidth: Option<Rate>,
}

/// The configuration of a class of [`Cbq`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct ClassConfig {
    /// The class's share of the link, 0.000001 to 1. Default: 0.125.
    pub share: f64,
    /// The class's priority, 1 to 8: classes with a lower number are served first while they are within their limits.
    /// Default: 1.
    pub priority: u8,
    /// The class never gets more than its share, even if the link is otherwise idle. Default: `false`.
    pub bounded: bool,
}

impl Default for ClassConfig {
    fn default() -> Self {
        Self { share: 0.125, priority: 1, bounded: false }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            classes: vec![ClassConfig::default(); MOST_CLASSES],
            maxburst: Packets::new(20),
            extradelay: Duration::ZERO,
            avpkt: Bytes::new(1000),
            bandwidth: None,
        }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        if !(1..=MOST_CLASSES).contains(&self.classes.len()) {
            let message = format!("they are for {} classes, and there can be 1 to {MOST_CLASSES}", self.classes.len());
            return Err(ParameterError::new("shares", message));
        }
        for class in &self.classes {
            check::number("shares", class.share, 0.000_001..=1.0)?;
            check::count("prio", u32::from(class.priority), 1..=8)?;
        }
        let shares: Vec<f64> = self.classes.iter().map(|class| class.share).collect();
        check_shares(&shares)?;
        check_maxburst(self.maxburst)?;
        check::bytes("avpkt", self.avpkt)?;
        self.bandwidth.map_or(Ok(()), |rate| check::rate("bandwidth", rate))
    }

    /// Returns the limits of each class on a link where a byte takes `byte_nanos` nanoseconds.
    fn class_limits(&self, byte_nanos: f64) -> impl Iterator<Item = ClassLimits> {
        let (avpkt, burst) = (self.avpkt.get() as f64, self.maxburst.get());
        let least = self.classes.iter().map(|class| class.share).fold(1.0, f64::min);
        self.classes.iter().map(move |&ClassConfig { share, priority, bounded }| {
            let surplus = avpkt * byte_nanos * (1.0 / share - 1.0);
            ClassLimits {
                priority,
                may_borrow: !bounded,
                byte_nanos: byte_nanos / share,
                max_idle: surplus * ((0..burst).fold(1.0, |power, _| power * (16.0 / 15.0)) - 1.0),
                max_behind: surplus * f64::from(burst),
                quantum: ((avpkt * share / least) as i64).max(1),
            }
        })
    }
}

/// Checks that `shares` are not more than the link; returns their sum.
pub(crate) fn check_shares(shares: &[f64]) -> Result<f64, ParameterError> {
    let sum: f64 = shares.iter().sum();
    if sum > 1.0 + 1e-9 {
        let shares = shares.iter().map(f64::to_string).collect::<Vec<String>>().join(",");
        let message = format!("{shares} are {sum} in all, and the link is only 1: write for example 0.6,0.4");
        return Err(ParameterError::new("shares", message));
    }
    Ok(sum)
}

/// Checks the range of `maxburst`: the average is bounded by (16/15)^`maxburst`.
pub(crate) fn check_maxburst(maxburst: Packets) -> Result<(), ParameterError> {
    if (1..=MOST_BURST).contains(&maxburst.get()) {
        return Ok(());
    }
    let message = format!("it cannot be {maxburst}: it is 1p to {MOST_BURST}p; write for example 20p");
    Err(ParameterError::new("maxburst", message))
}

/// The most classes: one for each precedence.
const MOST_CLASSES: usize = 8;

/// The largest `maxburst`, in packets.
const MOST_BURST: u32 = 256;

/// The limits of a class on a link of a certain rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ClassLimits {
    priority: u8,
    may_borrow: bool,
    /// The nanoseconds that a byte takes at the class's share of the link.
    byte_nanos: f64,
    /// The highest average: after it, `maxburst` mean packets that are sent at once bring the average to zero.
    max_idle: f64,
    /// The most that the class may be behind its schedule: `maxburst` mean packets that are sent at once make up for
    /// it.
    max_behind: f64,
    /// The bytes that the class may send in a turn.
    quantum: i64,
}

/// The state of a class. Times are in nanoseconds.
#[derive(Debug)]
struct Class {
    limits: ClassLimits,
    /// The average of the time between its packets minus the time that its share allots.
    avg_idle: f64,
    /// The time at which its last packet began to be sent, how long that takes, and how much later its schedule has the
    /// next packet; `None` before the first.
    last: Option<(Time, f64, f64)>,
    /// The bytes that it may still send in this turn.
    credit: i64,
}

impl Class {
    /// Returns the time from which it is within its limit; `extra` is added for a class that must wait.
    fn ready_at(&self, extra: f64) -> Time {
        match self.last {
            // A cast saturates: a negative time becomes 0.
            Some((began, _, ahead)) if self.avg_idle < 0.0 => {
                began + Duration::from_nanos(libm::ceil(ahead + extra) as u64)
            }
            _ => Time::ZERO,
        }
    }

    /// Updates average, schedule and credit for a packet of `bytes` bytes that begins to be sent at `now` and takes
    /// `took`.
    fn send(&mut self, now: Time, bytes: u32, took: f64) {
        let ClassLimits { max_idle, max_behind, byte_nanos, .. } = self.limits;
        let allotted = f64::from(bytes) * byte_nanos;
        let (idle, ahead) = match self.last {
            Some((began, before, ahead)) => {
                let gap = now.since(began).as_nanos() as f64;
                (gap - before + took - allotted, (ahead - gap).max(-max_behind))
            }
            None => (f64::INFINITY, -max_behind),
        };
        // A packet larger than the mean may make a debt as large as itself.
        let least = -max_idle.max(allotted - took);
        self.avg_idle = (self.avg_idle * (15.0 / 16.0) + idle * (1.0 / 16.0)).min(max_idle).max(least);
        self.last = Some((now, took, (ahead + allotted).min(max_behind.max(allotted))));
        self.credit -= i64::from(bytes);
    }
}

/// Class-Based Queueing.
#[derive(Debug)]
pub struct Cbq<P> {
    config: Config,
    queues: FlowQueues<P>,
    classes: Vec<Class>,
    counters: Counters,
    /// The room of each class's queue.
    room: Room,
    extra_nanos: f64,
    /// The nanoseconds that a byte takes on the link; 0 while its rate is not known.
    byte_nanos: f64,
    /// The class served last, whose turn goes on if it has credit.
    turn: usize,
    /// The classes with packets, as bits.
    backlogged: u8,
}

impl<P: Packet> Cbq<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or the shares are more than 1 in all.
    pub fn new(config: Config, _seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let byte_nanos = config.bandwidth.map_or(0.0, byte_nanos);
        let class = |limits: ClassLimits| Class { limits, avg_idle: limits.max_idle, last: None, credit: 0 };
        Ok(Self {
            queues: FlowQueues::new(),
            classes: config.class_limits(byte_nanos).map(class).collect(),
            counters: Counters::default(),
            room: Room::of(config.limit),
            extra_nanos: config.extradelay.as_nanos() as f64,
            byte_nanos,
            turn: 0,
            backlogged: 0,
            config,
        })
    }

    /// Returns the class of `packet`: its precedence, or the last class.
    fn class_of(&self, packet: &P) -> usize {
        usize::from(packet.class() >> 5).min(self.classes.len() - 1)
    }

    /// Returns the classes that may send at `now`: those within their limits, or else those that may borrow.
    fn entitled(&self, now: Time) -> u8 {
        let may_borrow = |class: usize| self.classes[class].limits.may_borrow;
        // A class without rivals that may borrow need not be within its limit.
        if self.backlogged.is_power_of_two() && may_borrow(self.backlogged.trailing_zeros() as usize) {
            return self.backlogged;
        }
        let within = filter(self.backlogged, |class| self.classes[class].ready_at(self.extra_nanos) <= now);
        if within != 0 { within } else { filter(self.backlogged, may_borrow) }
    }

    /// Returns the classes of `set` with the first priority.
    fn foremost(&self, set: u8) -> u8 {
        if set.count_ones() <= 1 {
            return set;
        }
        let priority = |class: usize| self.classes[class].limits.priority;
        let first = members(set).map(priority).min();
        filter(set, |class| Some(priority(class)) == first)
    }

    /// Returns the class of `set` whose turn it is.
    fn choose(&mut self, set: u8) -> Option<usize> {
        let next = self.in_turn(set);
        if next.is_some() || set == 0 {
            return next;
        }
        // All have used their turns: as many rounds begin as are needed until one of them has credit.
        let classes = &mut self.classes;
        let rounds = |class: usize| -classes[class].credit / classes[class].limits.quantum + 1;
        let least = members(set).map(rounds).min().unwrap_or(1);
        for class in members(set) {
            classes[class].credit += least * classes[class].limits.quantum;
        }
        self.in_turn(set)
    }

    /// Returns the next class of `set` that has credit, beginning with the one served last.
    fn in_turn(&self, set: u8) -> Option<usize> {
        let from_turn = set & (u8::MAX << self.turn);
        members(from_turn).chain(members(set & !from_turn)).find(|&class| self.classes[class].credit > 0)
    }
}

/// Returns the nanoseconds that a byte takes at `rate`; 0 if the rate is 0.
fn byte_nanos(rate: Rate) -> f64 {
    if rate.bits_per_second() == 0 { 0.0 } else { 8e9 / rate.bits_per_second() as f64 }
}

/// Returns the classes whose bits are set.
fn members(mut set: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let class = set.trailing_zeros() as usize;
        let lowest = set & set.wrapping_neg();
        set ^= lowest;
        (lowest != 0).then_some(class)
    })
}

/// Returns the classes of `set` for which `keeps` is true.
fn filter(set: u8, keeps: impl Fn(usize) -> bool) -> u8 {
    members(set).filter(|&class| keeps(class)).fold(0, |kept, class| kept | 1 << class)
}

impl<P: Packet> Qdisc<P> for Cbq<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        let class = self.class_of(&packet);
        let bytes = self.queues.bytes_in(class) + u64::from(packet.bytes());
        if self.room.is_exceeded(self.queues.packets_in(class) + 1, bytes) {
            self.counters.count_drop(Reason::Limit, packet.bytes());
            sink.dropped(now, packet, Reason::Limit);
            return Fate::Dropped(Reason::Limit);
        }
        self.backlogged |= 1 << class;
        self.queues.push_back(class, packet);
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let class = self.choose(self.foremost(self.entitled(now)))?;
        let bytes = self.queues.front(class)?.bytes();
        self.counters.departed.add(bytes);
        self.turn = class;
        self.classes[class].send(now, bytes, f64::from(bytes) * self.byte_nanos);
        if self.queues.packets_in(class) == 1 {
            self.backlogged &= !(1 << class);
            // The rest of a turn is lost, a debt is kept.
            self.classes[class].credit = self.classes[class].credit.min(0);
        }
        self.queues.pop_front(class)
    }

    fn status(&self) -> Status {
        Status {
            ready_at: members(self.backlogged).map(|class| self.classes[class].ready_at(self.extra_nanos)).min(),
            ..Status::new(self.queues.packets(), self.queues.bytes())
        }
    }

    fn packets(&self) -> usize {
        self.queues.packets()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A class that is held back keeps the time until which it waits.
    fn link_rate(&mut self, rate: Rate) {
        if self.config.bandwidth.is_none() {
            self.byte_nanos = byte_nanos(rate);
            for (class, limits) in self.classes.iter_mut().zip(self.config.class_limits(self.byte_nanos)) {
                class.limits = limits;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// Would catch shares that do not follow the link's rate, and a division by an unknown rate: one bounded class with
    /// half of the link gets half of what the link carries, or everything while the rate is not known.
    #[test]
    fn the_shares_follow_the_link() {
        let classes = vec![ClassConfig { share: 0.5, bounded: true, ..ClassConfig::default() }];
        let mut queue = Cbq::new(Config { classes, ..Config::default() }, Seed::new(1)).unwrap();
        let mut now = Time::ZERO;
        for (megabits, expected) in [(None, 1000), (Some(8), 500), (Some(4), 250), (Some(0), 1000)] {
            megabits.into_iter().for_each(|rate| queue.link_rate(Rate::from_bits_per_second(1_000_000 * rate)));
            let before = queue.counters().departed.packets;
            // A link that asks for a packet of 1000 bytes each millisecond, for a second.
            for _ in 0..1000 {
                now += Duration::from_millis(1);
                queue.enqueue(now, SimplePacket::new(1, 1000), &mut ());
                queue.dequeue(now, &mut ());
            }
            let departed = queue.counters().departed.packets - before;
            // The burst of 20 packets, and the wait that the rate before has left.
            assert!(departed.abs_diff(expected) <= 25, "{megabits:?}: {departed}");
        }
    }

    /// Would catch a value out of its range, and shares above 1 in all, that are accepted.
    #[test]
    fn invalid_configs_are_refused() {
        let class = ClassConfig::default();
        for (key, classes) in [
            ("shares", vec![]),
            ("shares", vec![class; 9]),
            ("shares", vec![ClassConfig { share: 0.6, ..class }; 2]),
            ("prio", vec![ClassConfig { priority: 0, ..class }]),
        ] {
            let error = Cbq::<SimplePacket>::new(Config { classes, ..Config::default() }, Seed::new(1)).unwrap_err();
            assert_eq!(error.key(), key);
        }
        let config = Config { maxburst: Packets::new(257), ..Config::default() };
        assert_eq!(Cbq::<SimplePacket>::new(config, Seed::new(1)).unwrap_err().key(), "maxburst");
    }
}
