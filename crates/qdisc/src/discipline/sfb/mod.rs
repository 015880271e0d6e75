//! Stochastic Fair BLUE: identifies non-responsive flows with a few bins for all flows, and limits their rate.
//!
//! Each flow is hashed into one bin on each of several levels. A bin counts its packets in the queue and learns a
//! probability as BLUE does: up when it is full, down when it is empty. A flow is signalled with the lowest probability
//! of its bins. A flow that does not respond to signals drives all of its bins to 1 and pollutes them; a flow that
//! shares some of these, but not all, is hardly affected. Flows whose bins are all at 1 are identified as
//! non-responsive and share a small rate.
//!
//! **Source.** Feng, Shin, Kandlur, Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM ToN 10(4), 2002,
//! figure 14 and section IV; first published by the same authors as "Stochastic Fair Blue" at INFOCOM 2001.
//! `drop_on_over = all`, `harddrop` and the defaults follow tc-sfb(8).
//!
//! **Deviations.** The paper drops at any full bin, which affects all flows that share it; the default drops when all
//! are full, as Linux does, and `drop_on_over = any` is the paper's rule. The paper has one step, Delta, where this has
//! BLUE's two. The paper does not say how the next set of bins is warmed up: here each arrival of an identified flow
//! raises its next bins by `increment`. Linux raises them only when they are full, and only packets that pass the rate
//! limit fill them, so that they hardly ever are. All identified flows share one rate.
//!
//! **Cost.** The hashes, and a count for each level, on arrival and on departure; one random number an arrival.

use crate::error::check;
use crate::{
    Bytes, Counters, DropSink, Duration, Fate, Packet, Packets, ParameterError, Qdisc, Rate, Seed, Size, Status, Time,
};
use binned::{BinRule, Binned, MAX_BINS, MAX_LEVELS};

pub(crate) mod binned;

/// The configuration of [`Sfb`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The bins, the moving hash and the rate limit.
    pub bins: BinConfig,
    /// The step by which an arrival at a full bin raises the bin's probability, above 0 and at most 1. Default: 0.0005,
    /// as tc-sfb(8); the paper gives none.
    pub increment: f64,
    /// The step by which an empty bin lowers its probability, at the event `decrement_at`, above 0 and at most 1.
    /// Default: 0.00005, as tc-sfb(8).
    pub decrement: f64,
    /// The event that lowers the probability of an empty bin. Default: [`DecrementAt::Arrival`], as figure 14 and
    /// Linux.
    pub decrement_at: DecrementAt,
    /// The least time between two changes of one bin's probability, above 0. Default: `None`, no such time, as the
    /// paper and Linux.
    pub freeze: Option<Duration>,
    /// From a probability p of 1/2 on, drops a share 2p - 1 of all arrivals even if they could be marked. Default:
    /// `true`, as Linux.
    pub harddrop: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            bins: BinConfig::default(),
            increment: 0.0005,
            decrement: 0.000_05,
            decrement_at: DecrementAt::default(),
            freeze: None,
            harddrop: true,
        }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        self.bins.validate()?;
        check::ratio("increment", self.increment)?;
        check::ratio("decrement", self.decrement)?;
        self.freeze.map_or(Ok(()), |freeze| check::duration("freeze", freeze))
    }
}

/// The event that lowers the probability of an empty bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DecrementAt {
    /// Each arrival that finds the bin empty, queued or not (the paper's figure 14, Linux).
    #[default]
    Arrival,
    /// The departure that empties the bin ("if the number of packets drops to zero", the paper's section IV-A).
    Departure,
}

/// The bins, the moving hash and the rate limit of SFB and SFRED.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct BinConfig {
    /// The levels of bins, 1 to 16; a flow has one bin on each. Default: 8, as Linux; the paper has 2.
    pub levels: u32,
    /// The bins on each level, 1 to 4096. Default: 16, as Linux; the paper has 23.
    pub bins: u32,
    /// The packets in a bin above which it is full (tc's `target`). Default: 20 packets, as tc-sfb(8); the paper has
    /// 1.5 `limit` / `bins`.
    pub bin_size: Packets,
    /// The rule by which an arrival is dropped at full bins. Default: [`DropOnOver::All`] with 25 packets, as
    /// tc-sfb(8).
    pub drop_on_over: DropOnOver,
    /// The time after which the hash moves, so that no flow shares its bins with the same flows for ever; above 0.
    /// Default: 600 s, as tc-sfb(8); the paper has 2 s.
    pub rehash: Duration,
    /// Draws each time between two moves of the hash uniformly from 0.5 to 1.5 times `rehash`, so that no flow can
    /// foresee them. Default: `false`.
    pub jitter: bool,
    /// The time before the hash moves in which the next set of bins is warmed up with the identified flows (double
    /// buffering); above 0. Default: 60 s, tc-sfb(8)'s `db`.
    pub warmup: Duration,
    /// The rate that all identified flows share, above 0. Default: 80 kbit/s, tc-sfb(8)'s 10 packets a second of 1000
    /// bytes; the paper has 160 kbit/s.
    pub penalty_rate: Rate,
    /// The burst that all identified flows together may send, 1 byte to 16 MiB; larger packets of theirs never pass.
    /// Default: 20 kB, tc-sfb(8)'s 20 packets of 1000 bytes.
    pub penalty_burst: Bytes,
    /// Marks packets that can be marked instead of dropping them, for random signals; full bins, the rate limit and the
    /// limit always drop. Default: `false`.
    pub ecn: bool,
}

/// The rule by which an arrival is dropped at full bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum DropOnOver {
    /// Drops it if any of its bins holds more than `bin_size` packets, as the paper does.
    Any,
    /// Drops it if all of its bins are full, as Linux does.
    All {
        /// The packets in a bin from which it is full for this rule (tc's `max`), any number; should be above
        /// `bin_size`.
        bin_max: Packets,
    },
}

impl Default for BinConfig {
    fn default() -> Self {
        Self {
            levels: 8,
            bins: 16,
            bin_size: Packets::new(20),
            drop_on_over: DropOnOver::All { bin_max: Packets::new(25) },
            rehash: Duration::from_millis(600_000),
            jitter: false,
            warmup: Duration::from_millis(60_000),
            penalty_rate: Rate::from_bits_per_second(80_000),
            penalty_burst: Bytes::new(20_000),
            ecn: false,
        }
    }
}

impl BinConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::count("levels", self.levels, 1..=MAX_LEVELS)?;
        check::count("bins", self.bins, 1..=MAX_BINS)?;
        check::packets("bin_size", self.bin_size)?;
        check::duration("rehash", self.rehash)?;
        check::duration("warmup", self.warmup)?;
        check::rate("penalty_rate", self.penalty_rate)?;
        check::bytes("penalty_burst", self.penalty_burst)
    }
}

/// BLUE's rule for a bin.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BlueRule {
    bin_size: u32,
    increment: f64,
    decrement: f64,
    decrement_at: DecrementAt,
    freeze: Option<Duration>,
}

/// The state of a bin under BLUE's rule.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BlueBinState {
    /// The probability of a signal (p_m).
    probability: f64,
    /// The earliest time of the next change of the probability.
    frozen_until: Time,
}

impl BlueRule {
    /// Changes the probability to `changed`, unless it is frozen.
    fn change(&self, state: &mut BlueBinState, now: Time, changed: f64) {
        let Some(freeze) = self.freeze else {
            state.probability = changed;
            return;
        };
        if now >= state.frozen_until {
            *state = BlueBinState { probability: changed, frozen_until: now + freeze + Duration::from_nanos(1) };
        }
    }
}

impl BinRule for BlueRule {
    type BinState = BlueBinState;

    fn initial(&self) -> BlueBinState {
        BlueBinState { probability: 0.0, frozen_until: Time::ZERO }
    }

    fn arrive(&self, state: &mut BlueBinState, now: Time, queued: u32) {
        if queued > self.bin_size {
            self.change(state, now, (state.probability + self.increment).min(1.0));
        } else if queued == 0 && self.decrement_at == DecrementAt::Arrival {
            self.change(state, now, (state.probability - self.decrement).max(0.0));
        }
    }

    fn empty(&self, state: &mut BlueBinState, now: Time) {
        if self.decrement_at == DecrementAt::Departure {
            self.change(state, now, (state.probability - self.decrement).max(0.0));
        }
    }

    fn warm_up(&self, state: &mut BlueBinState) {
        state.probability = (state.probability + self.increment).min(1.0);
    }

    fn probability(&self, state: &BlueBinState) -> f64 {
        state.probability
    }

    fn pollution(&self, state: &BlueBinState) -> f64 {
        state.probability
    }
}

/// Stochastic Fair BLUE.
#[derive(Debug)]
pub struct Sfb<P> {
    queue: Binned<P, BlueRule>,
}

impl<P: Packet> Sfb<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, bins, increment, decrement, decrement_at, freeze, harddrop } = config;
        let rule = BlueRule { bin_size: bins.bin_size.get(), increment, decrement, decrement_at, freeze };
        Ok(Self { queue: Binned::new(limit, bins, rule, harddrop, seed) })
    }
}

impl<P: Packet> Qdisc<P> for Sfb<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.queue.enqueue(now, packet, sink)
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.queue.dequeue(now)
    }

    fn status(&self) -> Status {
        self.queue.status()
    }

    fn counters(&self) -> &Counters {
        self.queue.counters()
    }
}

#[cfg(test)]
mod tests;
