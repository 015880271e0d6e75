//! CAKE: a shaper, tins for classes of traffic, and in each tin a queue for each flow, with hosts sharing before flows and
//! COBALT on each queue.
//!
//! The shaper keeps the backlog where it can be managed. Tins bound what a class can take from the others. Within a tin
//! flows take turns, those that are sparse first, and the flows of a busy host share what a flow alone would get. When all
//! is full, the longest queue loses its head.
//!
//! **Source.** Hoeiland-Joergensen, Taht, Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home
//! Gateways", IEEE LANMAN 2018; parameters and constants as tc-cake(8) and sch_cake.
//!
//! **Deviations.** There is no filter for ACKs, no overhead compensation (a packet's size is that on the wire already), no
//! ingress mode and no automatic rate. Hosts are counted exactly, not in 1024 hashed buckets. A host's quantum is divided to
//! 1/65536 byte, where sch_cake rounds it at random. Without `bandwidth` the link's rate gives quanta and thresholds, where
//! sch_cake knows none. Sizes of packets are counted, not the memory that they take.
//!
//! **Cost.** A hash and at most 16 looks at tags, a push and a pop, COBALT's, two look-ups of hosts a turn, and two changes
//! of a heap.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::cobalt::{CobaltSettings, Verdict};
use crate::config::shared::{BANDWIDTH, LIMIT};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::delay::Room;
use crate::flows::FlowQueues;
use crate::hash::FlowHash;
use crate::link_clock::{LinkClock, Pace};
use crate::longest::Longest;
use crate::signal::{discard, mark};
use crate::tagged::Stamped;
use crate::{Bytes, Counters, Duration, Fate, Packet, Qdisc, Rate, Reason, Seed, Size, Stream, Time};

mod hosts;
#[cfg(test)]
mod tests;
mod tin;

use tin::{Isolation, QUEUES, Tin, TinSettings};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "cake",
    summary: "a shaper, classes, fairness among hosts and then flows, and COBALT on each flow's queue",
    source: "Hoeiland-Joergensen, Taht, Morton: Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways, \
             IEEE LANMAN 2018",
    year: Some(2018),
    needs: "a table of 1024 queues a tin, each packet's time of arrival, hosts and class",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[CAKE_LIMIT, CAKE_BANDWIDTH, DIFFSERV, ISOLATION, PRESET, RTT],
};

const CAKE_LIMIT: Parameter = LIMIT
    .default("four times what `bandwidth` carries in `rtt`, at least 4194304b, as sch_cake")
    .elsewhere(&["memlimit"]);
const CAKE_BANDWIDTH: Parameter = Parameter {
    default: "the link's rate, without a shaper",
    meaning: "rate to which packets are held back; tins' thresholds, quanta and the least target follow from it",
    ..BANDWIDTH
};
const DIFFSERV: Parameter = parameter(
    "diffserv",
    Domain::Choice(&["diffserv3", "besteffort"]),
    "diffserv3, as tc(8)",
    "tins: bulk (CS1, LE), best effort and voice (CS6, CS7, EF, VA, TOS4), or one for all",
);
const ISOLATION: Parameter = parameter(
    "isolation",
    Domain::Choice(&["triple-isolate", "dual-srchost", "dual-dsthost", "flows"]),
    "triple-isolate, as tc(8)",
    "whose flows share what a single flow would get: those of both hosts, of the sender, of the receiver, or nobody's",
);
const PRESET: Parameter = parameter(
    "preset",
    Domain::Choice(&["internet", "datacentre", "lan", "metro", "regional", "oceanic", "satellite"]),
    "internet, as tc(8)",
    "network: says what `rtt` is, 100ms, 100us, 1ms, 10ms, 30ms, 300ms or 1s",
);
const RTT: Parameter = parameter(
    "rtt",
    Domain::Duration,
    "by `preset`",
    "round-trip time that is common: COBALT's interval, and twenty times its target",
)
.elsewhere(&["interval"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    room: Room,
    rate: Rate,
    shaped: bool,
    rtt: Duration,
    tins: &'static [Share],
    isolation: Isolation,
}

/// A tin's share: of the rate, and of the turns when nothing is shaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    rate_shift: u32,
    quantum: i64,
}

/// Best effort, bulk, voice. A tin that comes later goes first while it is within its share of the rate.
const DIFFSERV3: &[Share] = &[
    Share { rate_shift: 0, quantum: 1024 },
    Share { rate_shift: 4, quantum: 64 },
    Share { rate_shift: 2, quantum: 512 },
];
const BESTEFFORT: &[Share] = &[Share { rate_shift: 0, quantum: 65_535 }];

/// The tin of `class` among [`DIFFSERV3`]'s.
const fn diffserv3(class: u8) -> usize {
    match class >> 2 {
        // LE and CS1.
        1 | 8 => 1,
        // TOS4, VA, EF, CS6 and CS7.
        4 | 44 | 46 | 48 | 56 => 2,
        _ => 0,
    }
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let shaped = r.given::<Rate>("bandwidth")?.is_some();
    let rate = r.bandwidth("its quanta and thresholds")?;
    let tins = match r.take("diffserv", Origin::Default("as tc(8)"), "diffserv3")? {
        "besteffort" => BESTEFFORT,
        _ => DIFFSERV3,
    };
    let isolation = isolation(r.take("isolation", Origin::Default("as tc(8)"), "triple-isolate")?);
    let preset = r.take("preset", Origin::Default("as tc(8)"), "internet")?;
    let rtt = r.take("rtt", Origin::Derived("by preset, as tc(8)"), rtt_of(preset))?;
    let limit = limit(r, rate, rtt)?;
    judge(r, rate, shaped);
    for (share, name) in tins.iter().zip(["best effort", "bulk", "voice"]) {
        let tin = tin_settings(rate, rtt, *share, isolation);
        let (target, quantum) = (1e3 * tin.cobalt.target.as_secs(), tin.flow_quantum);
        r.say(format!("{name}: target {target:.3} ms, {quantum} bytes a flow's turn"));
    }
    Ok(Settings { room: Room::new(limit, u64::MAX), rate, shaped, rtt, tins, isolation })
}

fn isolation(name: &str) -> Isolation {
    Isolation {
        source: matches!(name, "triple-isolate" | "dual-srchost"),
        destination: matches!(name, "triple-isolate" | "dual-dsthost"),
    }
}

/// tc(8)'s round-trip times.
fn rtt_of(preset: &str) -> Duration {
    Duration::from_nanos(match preset {
        "datacentre" => 100_000,
        "lan" => 1_000_000,
        "metro" => 10_000_000,
        "regional" => 30_000_000,
        "oceanic" => 300_000_000,
        "satellite" => 1_000_000_000,
        _ => 100_000_000,
    })
}

fn limit(r: &mut Resolver<'_>, rate: Rate, rtt: Duration) -> Result<Size, ParameterError> {
    let in_rtt = u128::from(rate.bits_per_second()) * u128::from(rtt.as_nanos()) / 8_000_000_000;
    // No queue may be larger than 2^40 bytes.
    let bytes = (4 * in_rtt).clamp(4 << 20, 1 << 40) as u64;
    let origin = Origin::Derived("four times what bandwidth carries in rtt, at least 4 MiB, as sch_cake");
    r.limit_or(origin, Size::Bytes(Bytes::new(bytes)))
}

/// Says what looks wrong.
fn judge(r: &mut Resolver<'_>, rate: Rate, shaped: bool) {
    if shaped && r.rate().bits_per_second() > 0 && rate >= r.rate() {
        let link = r.rate().to_string();
        r.warn(format!("bandwidth {rate} is not below the link's {link}: the link paces the packets, not the shaper"));
    }
    if !shaped {
        r.say("bandwidth was not given: packets are not held back".into());
    }
}

/// What a tin is told: COBALT's target is at least the time of a packet and a half.
fn tin_settings(rate: Rate, rtt: Duration, share: Share, isolation: Isolation) -> TinSettings {
    let bits = (rate.bits_per_second() >> share.rate_shift).max(1);
    let pace = Pace::new(Rate::from_bits_per_second(bits));
    let packet = pace.duration(MTU).as_nanos();
    let wanted = (rtt.as_nanos() / 20).max(1);
    let target = wanted.max(packet.saturating_add(packet / 2));
    let interval = rtt.as_nanos().saturating_add(target - wanted).max(target.saturating_mul(2));
    let cobalt = CobaltSettings {
        target: Duration::from_nanos(target),
        interval: Duration::from_nanos(interval),
        floor: Duration::from_nanos(packet.saturating_mul(4)),
        blue_threshold: Duration::from_nanos(u64::MAX),
        ecn: true,
    };
    let flow_quantum = ((bits / 8) >> 12).clamp(300, u64::from(MTU));
    TinSettings { cobalt, flow_quantum, pace, tin_quantum: share.quantum, isolation }
}

/// The largest packet that thresholds are made for: an Ethernet frame.
const MTU: u32 = 1514;

/// CAKE.
#[derive(Debug)]
pub struct Cake<P> {
    room: Room,
    /// The shaper; nothing is held back without.
    shaper: Option<LinkClock>,
    hash: FlowHash,
    queues: FlowQueues<Stamped<P>>,
    longest: Longest,
    tins: Vec<Tin>,
    /// The tin whose turn it is when nothing is shaped.
    turn: usize,
    rolls: Stream,
    counters: Counters,
}

impl<P: Packet> Cake<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { room, rate, shaped, rtt, tins, isolation } = settings;
        let tin = |(number, share): (usize, &Share)| {
            Tin::new(tin_settings(rate, rtt, *share, isolation), seed.named("tin").numbered(number as u64))
        };
        Self {
            room,
            shaper: shaped.then(|| LinkClock::new(rate)),
            hash: FlowHash::new(seed),
            queues: FlowQueues::new(),
            longest: Longest::new(),
            tins: tins.iter().enumerate().map(tin).collect(),
            turn: 0,
            rolls: seed.stream("blue"),
            counters: Counters::default(),
        }
    }

    /// Notes how long `queue` is. Packets without bytes count as one, or their queue would not be found.
    fn weigh(&mut self, queue: usize) {
        let least = u64::from(self.queues.packets_in(queue) > 0);
        self.longest.set(queue, self.queues.bytes_in(queue).max(least));
    }

    /// The longest queue loses its head, and its COBALT hears of it.
    fn drop_from_longest(&mut self, now: Time, fate: &mut impl Fate<P>) {
        let Some((queue, _)) = self.longest.get() else { return };
        let tin = &mut self.tins[queue / QUEUES];
        let (core, settings) = tin.cobalt(queue % QUEUES);
        core.full(settings, now);
        if let Some(stamped) = self.queues.pop_front(queue) {
            tin.packets -= 1;
            discard(now, stamped.packet, Reason::BufferSteal, &mut self.counters, fate);
        }
        self.weigh(queue);
    }

    /// The tin that may send.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        if self.shaper.is_some() { self.choose_by_time(now) } else { Some(self.choose_by_turns()) }
    }

    /// The last tin that is within its share of the rate, or else the one that will be first.
    fn choose_by_time(&self, now: Time) -> Option<usize> {
        let mut chosen = None;
        let mut best = Time::MAX;
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
            if tin.next <= now || tin.next <= best {
                best = tin.next;
                chosen = Some(number);
            }
        }
        chosen
    }

    /// The tin whose turn it is: they take turns by their quanta.
    fn choose_by_turns(&mut self) -> usize {
        let mut asked = 0;
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.is_active() && tin.deficit >= 0 {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.settings.tin_quantum;
            }
            self.turn = if self.turn + 1 == self.tins.len() { 0 } else { self.turn + 1 };
            asked += 1;
            if asked > self.tins.len() {
                self.skip_turns();
                asked = 0;
            }
        }
    }

    /// Nobody may send for some rounds yet: they all pass at once.
    fn skip_turns(&mut self) {
        let waits = |tin: &Tin| {
            let (debt, quantum) = (-tin.deficit, tin.settings.tin_quantum);
            if debt <= 0 { 0 } else { (debt - 1) / quantum }
        };
        let rounds = self.tins.iter().filter(|tin| tin.is_active()).map(waits).min().unwrap_or(0);
        for tin in self.tins.iter_mut().filter(|tin| tin.deficit <= 0) {
            let quantum = tin.settings.tin_quantum;
            tin.deficit += rounds.min(-tin.deficit / quantum + 1) * quantum;
        }
    }

    /// What leaves `queue` of `tin`; the flow retires if that is nothing.
    fn take(&mut self, now: Time, tin: usize, queue: usize, fate: &mut impl Fate<P>) -> Option<P> {
        let place = tin * QUEUES + queue;
        let tin = &mut self.tins[tin];
        let mut taken = None;
        while let Some(stamped) = self.queues.pop_front(place) {
            tin.packets -= 1;
            let waited = stamped.sojourn(now);
            let mut packet = stamped.packet;
            let (core, settings) = tin.cobalt(queue);
            let verdict = core.test(settings, now, waited, packet.ecn_capable(), &mut self.rolls);
            // A flow's last packet may be marked, but is not dropped.
            let reason = match verdict {
                Verdict::Codel => Reason::AqmDequeue,
                _ => Reason::Early,
            };
            if matches!(verdict, Verdict::Codel | Verdict::Blue) && self.queues.packets_in(place) > 0 {
                discard(now, packet, reason, &mut self.counters, fate);
                continue;
            }
            if verdict == Verdict::Mark {
                mark(now, &mut packet, Reason::AqmDequeue, &mut self.counters, fate);
            }
            tin.charge(queue, packet.bytes());
            tin.spend(now, packet.bytes());
            taken = Some(packet);
            break;
        }
        if taken.is_none() {
            tin.retire(queue, now);
        }
        self.weigh(place);
        taken
    }
}

impl<P: Packet> Qdisc<P> for Cake<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        let bytes = packet.bytes();
        self.counters.arrived.add(bytes);
        if self.room.never_fits(bytes) {
            discard(now, packet, Reason::Limit, &mut self.counters, fate);
            return;
        }
        if self.queues.packets() == 0
            && let Some(shaper) = &mut self.shaper
        {
            shaper.wake(now);
        }
        let number = if self.tins.len() > 1 { diffserv3(packet.class()) } else { 0 };
        let tin = &mut self.tins[number];
        tin.wake(now);
        let tag = self.hash.bits(packet.flow().get());
        let queue = tin.find(tag, packet.source_host(), packet.destination_host());
        self.queues.push_back(number * QUEUES + queue, Stamped::new(packet, now));
        tin.arrived(queue);
        self.weigh(number * QUEUES + queue);
        while self.room.is_exceeded(self.queues.packets(), self.queues.bytes()) {
            self.drop_from_longest(now, fate);
        }
    }

    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        // One that is empty and still remembered is looked at each time, so that it is forgotten in the end.
        let mut decaying_first = true;
        while self.queues.packets() > 0 && self.shaper.is_none_or(|shaper| shaper.next() <= now) {
            let number = self.choose(now)?;
            let queues = &self.queues;
            let queue =
                self.tins[number].next(decaying_first, |queue| queues.packets_in(number * QUEUES + queue) > 0)?;
            decaying_first = false;
            if let Some(packet) = self.take(now, number, queue, fate) {
                if let Some(shaper) = &mut self.shaper {
                    shaper.advance(packet.bytes());
                }
                self.counters.departed.add(packet.bytes());
                return Some(packet);
            }
        }
        None
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
        let shaper = self.shaper.as_ref()?;
        (self.queues.packets() > 0).then(|| shaper.next())
    }
}
