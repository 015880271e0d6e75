//! Stochastic Fair BLUE: finds the flows that do not answer, and limits their rate, with a few bins for all flows.
//!
//! Each flow is hashed into one bin on each of several levels. A bin counts its queued packets and learns a
//! probability as BLUE does: up when it is full, down when it is empty. A flow is signalled with the least probability
//! of its bins. A flow that never answers drives all of its bins to 1; one that shares some of them, but not all, is
//! hardly touched. Who has only bins at 1 shares a small rate with all such flows.
//!
//! **Source.** Feng, Kandlur, Saha, Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness",
//! INFOCOM 2001, figure 14 and section IV-D; `drop_on_over = all`, `harddrop` and the defaults as in tc-sfb(8).
//!
//! **Deviations.** The paper drops at any full bin, which hits all who share it; the default drops when all are full,
//! as Linux does, and `drop_on_over = any` is the paper. The paper steps by one Delta; here it is BLUE's two. How the
//! next bins are warmed up the paper leaves open: each arrival of an identified flow raises them by `increment`. Linux
//! lets only what passes the rate limit raise them, which that limit prevents. All identified flows share one rate.
//!
//! **Cost.** Hashes and counts for each level at an arrival and at a departure; one random number an arrival.

use alloc::format;
use alloc::string::ToString;

use crate::config::shared::{ECN, HARDDROP, LIMIT};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Counters, Duration, Fate, Packet, Packets, Qdisc, Rate, Seed, Size, Time};
use binned::{Binned, DropOnOver, Law, MAX_BINS, MAX_LEVELS};

pub(crate) mod binned;
mod penalty;

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "sfb",
    summary: "BLUE in bins: limits the rate of flows that answer in none of theirs",
    source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness, \
             INFOCOM 2001",
    year: Some(2001),
    needs: "`levels` hashes of the flow and two sets of `levels` times `bins` bins",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[
        LIMIT,
        LEVELS,
        BINS,
        BIN_SIZE,
        DROP_ON_OVER,
        BIN_MAX,
        INCREMENT,
        DECREMENT,
        FREEZE,
        REHASH,
        WARMUP,
        PENALTY_RATE,
        PENALTY_BURST,
        BINS_ECN,
        SFB_HARDDROP,
    ],
};

pub(crate) const LEVELS: Parameter = parameter(
    "levels",
    Domain::Count { min: 1, max: MAX_LEVELS, infinite: false },
    "8, as Linux; the paper has 2",
    "levels of bins: a flow has a bin on each",
)
.elsewhere(&["L"]);
pub(crate) const BINS: Parameter = parameter(
    "bins",
    Domain::Count { min: 1, max: MAX_BINS, infinite: false },
    "16, as Linux; the paper has 23",
    "bins on each level",
)
.elsewhere(&["N", "B"]);
pub(crate) const BIN_SIZE: Parameter = parameter(
    "bin_size",
    Domain::Packets,
    "20p, as tc(8); the paper has 1.5 limit / bins",
    "packets in a bin above which it is full (tc's target)",
)
.elsewhere(&["target", "binsize"]);
pub(crate) const DROP_ON_OVER: Parameter = parameter(
    "drop_on_over",
    Domain::Choice(&["all", "any"]),
    "all, as Linux; any is the paper",
    "an arrival is dropped when all of its bins hold `bin_max`, or when any of them is full",
);
pub(crate) const BIN_MAX: Parameter = parameter(
    "bin_max",
    Domain::Packets,
    "1.25 bin_size, as tc(8); unused with `drop_on_over = any`",
    "packets in each bin of a flow at which its arrivals are dropped (tc's max)",
)
.elsewhere(&["max"]);
const INCREMENT: Parameter = parameter(
    "increment",
    Domain::Ratio,
    "0.005; the paper says none",
    "what an arrival at a full bin adds to the bin's probability",
)
.elsewhere(&["d1", "delta", "Delta"]);
const DECREMENT: Parameter = parameter(
    "decrement",
    Domain::Ratio,
    "0.0005, a tenth of the default increment as in BLUE",
    "what an arrival at an empty bin takes from its probability",
)
.elsewhere(&["d2"]);
const FREEZE: Parameter = parameter(
    "freeze",
    Domain::Duration,
    "none, as the paper and Linux",
    "least time between two changes of a bin's probability, as BLUE has it",
)
.elsewhere(&["freeze_time"]);
pub(crate) const REHASH: Parameter = parameter(
    "rehash",
    Domain::Duration,
    "600s, as tc(8); the paper has 2s",
    "how often the hash moves, so that nobody shares bins with the same flows for ever",
);
pub(crate) const WARMUP: Parameter = parameter(
    "warmup",
    Domain::Duration,
    "60s, as tc(8)'s db",
    "how long before the hash moves the next bins learn of the flows that are identified (double buffering)",
)
.elsewhere(&["db", "double_buffering"]);
pub(crate) const PENALTY_RATE: Parameter = parameter(
    "penalty_rate",
    Domain::Rate,
    "80kbit, tc(8)'s 10 packets a second of 1000 bytes; the paper has 160kbit",
    "rate that all identified flows share",
);
pub(crate) const PENALTY_BURST: Parameter = parameter(
    "penalty_burst",
    Domain::Bytes,
    "20kb, tc(8)'s 20 packets of 1000 bytes",
    "what identified flows may send at once",
);
pub(crate) const BINS_ECN: Parameter = Parameter {
    meaning: "signals mark packets that can be marked; full bins, the rate limit and the limit always drop",
    ..ECN
};
const SFB_HARDDROP: Parameter = Parameter {
    default: "true, as Linux",
    meaning: "from a probability p of 1/2 on, a share 2p - 1 of all arrivals is dropped even if it could be marked",
    ..HARDDROP
};

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    bins: binned::Settings,
    law: Blue,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let (bins, bin_size) = resolve_bins(r, limit)?;
    let increment = r.take("increment", Origin::Default("the paper says none"), 0.005)?;
    let decrement = r.take("decrement", Origin::Default("a tenth of the default increment, as in BLUE"), 0.0005)?;
    let freeze = r.given::<Duration>("freeze")?;
    match freeze {
        Some(time) => r.note("freeze", time.to_string(), Origin::Given),
        None => r.note("freeze", "none".to_string(), Origin::Default("as the paper and Linux")),
    }
    let harddrop = r.take("harddrop", Origin::Default("as Linux"), true)?;
    if decrement > increment {
        r.warn(format!("decrement {decrement} is above increment {increment}: bins forget faster than they learn"));
    }
    Ok(Settings { bins: binned::Settings { harddrop, ..bins }, law: Blue { bin_size, increment, decrement, freeze } })
}

/// What the bins are told whatever they learn, and their size in packets.
pub(crate) fn resolve_bins(r: &mut Resolver<'_>, limit: Size) -> Result<(binned::Settings, u32), ParameterError> {
    let levels = r.take("levels", Origin::Default("as Linux"), 8)?;
    let bins = r.take("bins", Origin::Default("as Linux"), 16)?;
    let bin_size = r.take("bin_size", Origin::Default("tc(8)'s target"), Packets::new(20))?;
    let drop_on_over = match r.take("drop_on_over", Origin::Default("as Linux"), "all")? {
        "any" => {
            r.note("bin_max", "unused".to_string(), Origin::Derived("drop_on_over is any"));
            DropOnOver::Any(bin_size.get())
        }
        _ => {
            // At least one more than `bin_size`: a bin of that many packets is not full yet.
            let derived = bin_size.get() + (bin_size.get() / 4).max(1);
            let most = r.take("bin_max", Origin::Derived("1.25 bin_size, as tc(8)"), Packets::new(derived))?;
            if most <= bin_size || 2 * u64::from(most.get()) > 3 * u64::from(bin_size.get()).max(2) {
                r.warn(format!("bin_max {most} should be above bin_size {bin_size}, and at most 1.5 times as much"));
            }
            DropOnOver::All(most.get())
        }
    };
    let rehash = r.take("rehash", Origin::Default("as tc(8)"), Duration::from_millis(600_000))?;
    let warmup = r.take("warmup", Origin::Default("tc(8)'s db"), Duration::from_millis(60_000))?;
    let penalty_rate =
        r.take("penalty_rate", Origin::Default("tc(8)'s 10 packets a second"), Rate::from_bits_per_second(80_000))?;
    let penalty_burst = r.take("penalty_burst", Origin::Default("tc(8)'s 20 packets"), Bytes::new(20_000))?.get();
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    if matches!(limit, Size::Packets(limit) if limit <= bin_size) {
        r.warn(format!("bin_size {bin_size} is not below limit {limit}: no bin is ever full"));
    }
    if penalty_burst < ETHERNET {
        r.warn(format!("penalty_burst is below {ETHERNET}b: larger packets of identified flows never pass"));
    }
    r.say(format!(
        "{:.2} % of the flows that answer share all of their bins with ten that do not",
        100.0 * misclassified(levels, bins, 10)
    ));
    let settings = binned::Settings {
        limit,
        levels,
        bins,
        drop_on_over,
        rehash,
        warmup,
        penalty_rate,
        penalty_burst,
        ecn,
        harddrop: false,
    };
    Ok((settings, bin_size.get()))
}

/// The paper's equation 1: the probability that each bin of a flow is shared with one of `polluters` flows.
pub(crate) fn misclassified(levels: u32, bins: u32, polluters: u32) -> f64 {
    let clean = (0..polluters).fold(1.0, |clean, _| clean * (1.0 - 1.0 / f64::from(bins)));
    (0..levels).fold(1.0, |all, _| all * (1.0 - clean))
}

/// A full Ethernet frame's packet, in bytes.
const ETHERNET: u64 = 1500;

/// BLUE's rule for a bin.
#[derive(Clone, Copy, Debug)]
struct Blue {
    bin_size: u32,
    increment: f64,
    decrement: f64,
    freeze: Option<Duration>,
}

/// A bin's probability.
#[derive(Clone, Copy, Debug)]
struct Lesson {
    probability: f64,
    /// It may change from this moment on.
    thaws: Time,
}

impl Law for Blue {
    type Lesson = Lesson;

    fn fresh(&self) -> Lesson {
        Lesson { probability: 0.0, thaws: Time::ZERO }
    }

    fn arrive(&self, lesson: &mut Lesson, now: Time, queued: u32) {
        let changed = if queued > self.bin_size {
            (lesson.probability + self.increment).min(1.0)
        } else if queued == 0 {
            (lesson.probability - self.decrement).max(0.0)
        } else {
            return;
        };
        let Some(freeze) = self.freeze else {
            lesson.probability = changed;
            return;
        };
        if now >= lesson.thaws {
            *lesson = Lesson { probability: changed, thaws: now + freeze + Duration::from_nanos(1) };
        }
    }

    fn warm(&self, lesson: &mut Lesson) {
        lesson.probability = (lesson.probability + self.increment).min(1.0);
    }

    fn probability(&self, lesson: &Lesson) -> f64 {
        lesson.probability
    }

    fn is_polluted(&self, lesson: &Lesson) -> bool {
        lesson.probability >= 1.0
    }
}

/// Stochastic Fair BLUE.
#[derive(Debug)]
pub struct Sfb<P> {
    queue: Binned<P, Blue>,
}

impl<P: Packet> Sfb<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self { queue: Binned::new(settings.bins, settings.law, seed) }
    }
}

impl<P: Packet> Qdisc<P> for Sfb<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.queue.enqueue(now, packet, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.queue.dequeue()
    }

    fn packets(&self) -> usize {
        self.queue.packets()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn counters(&self) -> &Counters {
        self.queue.counters()
    }
}

#[cfg(test)]
mod tests;
