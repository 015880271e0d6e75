//! CHOKe: compares each arriving packet with one drawn at random from the queue, and drops both when they belong to the
//! same flow.
//!
//! A flow that fills the queue is found there most often, so it loses packets in proportion to the room that it takes,
//! without a table of flows. Arrivals that do not match go on to RED. This is the CHOKe of the papers; `path.rs` has
//! the way of an arrival:
//!
//! | kind | where candidates come from ([`Draw`]) | how many ([`Candidates`]) |
//! |---|---|---|
//! | choke | uniformly from the queue | one, or `candidates` |
//! | choke-adaptive | uniformly from the queue | more the longer the average queue |
//! | front-choke | the packet that leaves next | one, or the first `candidates` |
//! | back-choke | the packet that came last | one, or the last `candidates` |
//! | gchoke | uniformly from the queue | one after another while they match, at most `maxcomp` |
//!
//! Later members of the family have separate files in this folder.
//!
//! **Source.** Pan, Prabhakar, Psounis, "CHOKe, A stateless active queue management scheme for approximating fair
//! bandwidth allocation", INFOCOM 2000, section II-A (the algorithm), III (several candidates) and IV (front and back
//! CHOKe). gCHOKe: Eshete, Jiang, "Generalizing the CHOKe flow protection", arXiv 1202.0789, 2012.
//!
//! **Deviations.** Candidates are exactly uniform over the packets in the queue, and distinct unless
//! [`Draw::WithReplacement`] is chosen; the papers leave that open. Candidates that match leave the queue at once, and
//! their room is free at once; with [`Config::drop_bit`] they stay until they are the head, as the paper proposes.
//!
//! **Cost.** RED's, and one random number and one cache line per candidate.

use alloc::format;

use crate::discipline::red::{self, Red, RedCore};
use crate::error::check;
use crate::{Counters, DropSink, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Seed, Size, Status, Stream, Time};

#[cfg(feature = "delay")]
pub mod auto;
mod candidates;
#[cfg(feature = "experimental")]
pub mod choked;
#[cfg(feature = "experimental")]
pub mod choker;
#[cfg(feature = "experimental")]
pub mod chokew;
mod drop_bits;
pub mod mloc;
mod path;
#[cfg(feature = "experimental")]
pub mod rechoke;
#[cfg(feature = "experimental")]
pub mod sac;
#[cfg(feature = "experimental")]
pub mod xchoke;

use candidates::Drawn;
use drop_bits::DropBits;

/// The largest number of candidates that an arrival may be compared with at once.
pub(crate) const MAX_CANDIDATES: u32 = 64;

/// The largest number of regions of the average.
pub(crate) const MAX_REGIONS: u32 = 32;

/// The most intermediate thresholds between the two of RED.
pub(crate) const MAX_INTERMEDIATE: usize = 8;

/// The configuration of [`Choke`].
///
/// The default is the router of the paper's section III: room for 300 packets, thresholds of 100 and 200, and one
/// candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets.
    pub limit: Size,
    /// RED's part: the average, the thresholds and the drop probability. Default: thresholds of 100 and 200 packets.
    pub red: red::RedParameters,
    /// Where drop candidates come from. Default: [`Draw::Random`].
    pub draw: Draw,
    /// With how many candidates an arrival is compared. Default: one.
    pub candidates: Candidates,
    /// Compares arrivals while the average is at or above the upper threshold, too. Default: `true`, as the paper (end
    /// of section II-A) and Linux; `false` is the technical report of 1999.
    pub compare_above_max: bool,
    /// Counts an arrival that matched among the packets since RED's last signal, so that the next signal comes earlier.
    /// Default: `true`, as ns-2, whose RED counts every arrival; `false` is Linux.
    pub count_matches: bool,
    /// Marks a queued packet that matches, and drops it when it is the head (section II-A, last paragraph: the drop
    /// bit). Until then it counts in the average and under the limit, and it can be drawn again: a match with it drops
    /// the arrival, and ends gCHOKe's draws. Default: `false`, it leaves the queue at once.
    pub drop_bit: bool,
}

/// Where drop candidates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Draw {
    /// Uniformly from all packets of the queue; several candidates are distinct.
    Random,
    /// Uniformly from all packets of the queue, each time anew: several candidates can be one packet, which is dropped
    /// once.
    WithReplacement,
    /// As Linux's `sch_choke`: three throws over the ring with its holes, then the head.
    Linux,
    /// The packets that leave next: front CHOKe.
    Front,
    /// The packets that came last: back CHOKe.
    Back,
}

/// With how many candidates an arrival is compared. All that are of its flow are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Candidates {
    /// The same number for each arrival, 1 to 64: the paper's m (section II-A, paragraph 4). All candidates of the
    /// arrival's flow are dropped.
    Fixed(u32),
    /// More candidates the longer the average queue (section II-A, paragraph 4): k regions R_1 … R_k of equal width
    /// between min_th and max_th, each with its own m.
    Regions {
        /// The number of regions, 1 to 32; the paper's k.
        regions: u32,
        /// The number of candidates in each region.
        rule: Rule,
    },
    /// The same with the regions that intermediate thresholds make, the paper's int_th: k - 1 thresholds between min_th
    /// and max_th make k regions.
    Intermediate {
        /// The thresholds, ascending, in the unit of min_th and max_th; an average at one of them belongs to the region
        /// above it. The `None`s come last.
        thresholds: [Option<Size>; MAX_INTERMEDIATE],
        /// The number of candidates in each region.
        rule: Rule,
    },
    /// One candidate after another while they match, at most so many: gCHOKe's maxcomp. At least 1; `u32::MAX` means
    /// without bound.
    WhileMatching(u32),
}

/// The number of candidates in region R_i, for i = 1 … k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Rule {
    /// 2i, the paper's proposal for region R_i (section II-A, paragraph 4).
    Double,
    /// 2i - 1, the reading of the paper's section III in which the arrival counts as one of the drops.
    DoubleLessOne,
    /// i. With two regions it is the paper's example of an intermediate threshold int_th: m is 1 below it and 2 above.
    Linear,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            red: red::RedParameters::default(),
            draw: Draw::Random,
            candidates: Candidates::Fixed(1),
            compare_above_max: true,
            count_matches: true,
            drop_bit: false,
        }
    }
}

impl Config {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        match self.candidates {
            Candidates::Fixed(count) => check::count("candidates", count, 1..=MAX_CANDIDATES),
            Candidates::Regions { regions, .. } => check::count("regions", regions, 1..=MAX_REGIONS),
            Candidates::Intermediate { thresholds, .. } => self.validate_intermediate(&thresholds),
            Candidates::WhileMatching(most) => check::count("maxcomp", most, 1..=u32::MAX),
        }
    }

    fn validate_intermediate(&self, thresholds: &[Option<Size>]) -> Result<(), ParameterError> {
        let mut below = self.red.min;
        for threshold in thresholds.iter().flatten() {
            if !threshold.has_unit_of(below) {
                let message = format!("it is {threshold} and min is {below}: both must be packets or both bytes");
                return Err(ParameterError::new("int_th", message));
            }
            if threshold.number() <= below.number() || threshold.number() >= self.red.max.number() {
                let message = format!(
                    "{threshold} is not between {below} and max, which is {}: intermediate thresholds ascend from min to max",
                    self.red.max
                );
                return Err(ParameterError::new("int_th", message));
            }
            below = *threshold;
        }
        let count = thresholds.iter().flatten().count();
        if thresholds[..count].contains(&None) {
            return Err(ParameterError::new(
                "int_th",
                "a threshold follows one that is missing: write them in a row".into(),
            ));
        }
        Ok(())
    }
}

impl Candidates {
    /// Returns the number of candidates for an arrival at the average of `red`.
    fn count(&self, red: &RedCore) -> u32 {
        match *self {
            Self::Fixed(count) | Self::WhileMatching(count) => count,
            Self::Regions { regions, rule } => rule.candidates(region(red, regions)),
            Self::Intermediate { ref thresholds, rule } => rule.candidates(region_above(red, thresholds)),
        }
    }

    /// Returns the most candidates that are compared at once.
    const fn most_at_once(&self) -> u32 {
        match *self {
            Self::Fixed(count) => count,
            Self::Regions { regions, rule } => rule.candidates(regions),
            Self::Intermediate { ref thresholds, rule } => rule.candidates(1 + thresholds.len() as u32),
            Self::WhileMatching(_) => 1,
        }
    }
}

impl Rule {
    /// Returns the number of candidates in `region`, which counts from 1.
    pub(crate) const fn candidates(self, region: u32) -> u32 {
        match self {
            Self::Double => 2 * region,
            Self::DoubleLessOne => 2 * region - 1,
            Self::Linear => region,
        }
    }
}

/// Returns the region of the average, from 1 to `regions`; above the upper threshold it is the last one.
fn region(red: &RedCore, regions: u32) -> u32 {
    let (min, max) = red.thresholds();
    let (above, width) = (red.average() - min, max - min);
    // The division comes last: with a factor for it some averages at a region's lower end would fall into the region
    // below. The cast saturates, truncates, and makes 0 of a NaN.
    ((f64::from(regions) * above / width) as u32).min(regions - 1) + 1
}

/// Returns the region of the average among `thresholds`, counted from 1.
fn region_above(red: &RedCore, thresholds: &[Option<Size>]) -> u32 {
    let reached = thresholds.iter().flatten().filter(|threshold| red.average() >= threshold.number() as f64);
    1 + reached.count() as u32
}

/// The CHOKe of the papers.
#[derive(Debug)]
pub struct Choke<P> {
    red: Red<P>,
    draw: Draw,
    candidates: Candidates,
    /// The most candidates of an arrival that are drawn one by one, each if the one before matched and has left; `None`
    /// if they are drawn at once, or have drop bits.
    one_by_one: Option<u32>,
    /// An arrival's first candidate is drawn uniformly, alone, and has no drop bit.
    is_plain: bool,
    compare_above_max: bool,
    count_matches: bool,
    /// `None`: packets that match leave the queue at once.
    drop_bits: Option<DropBits>,
    draws: Stream,
    /// The candidates of the last arrival, of those that are drawn one by one the last.
    drawn: Drawn,
}

impl<P: Packet> Choke<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or the thresholds contradict each other.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, red, draw, candidates, compare_above_max, count_matches, drop_bit } = config;
        let one_by_one = match candidates {
            Candidates::Fixed(1) => Some(1),
            Candidates::WhileMatching(most) => Some(most),
            Candidates::Fixed(_) | Candidates::Regions { .. } | Candidates::Intermediate { .. } => None,
        };
        Ok(Self {
            red: Red::new(red::Config { limit, red, ..red::Config::default() }, seed)?,
            draw,
            candidates,
            one_by_one: one_by_one.filter(|_| !drop_bit),
            is_plain: one_by_one.is_some() && !drop_bit && draw == Draw::Random,
            compare_above_max,
            count_matches,
            drop_bits: drop_bit.then(DropBits::default),
            draws: seed.stream("choke"),
            drawn: Drawn::with_room_for(candidates.most_at_once()),
        })
    }

    /// Compares an arrival of `flow` with candidates that are drawn at once, and drops those of the same flow; tells
    /// whether there were any.
    #[inline(never)]
    fn drop_matches(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> bool {
        if self.drop_bits.is_some() {
            return self.mark_matches(now, flow, sink);
        }
        let Self { red: Red { buffer, core }, draw, draws, drawn, .. } = self;
        let drawn = drawn.from(&buffer.fifo);
        candidates::several(&buffer.fifo, *draw, self.candidates.count(core), flow, draws, drawn)
            && candidates::drop_all_matches(buffer, now, drawn, flow, sink, |_, _| ())
    }

    /// Does the same with drop bits. Few have them, so it stands outside of the packet path.
    #[cold]
    fn mark_matches(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> bool {
        let Self { red: Red { buffer, core }, draw, draws, drawn, drop_bits: Some(bits), .. } = self else {
            return false;
        };
        let count = self.candidates.count(core);
        let matched = match self.candidates {
            Candidates::WhileMatching(_) => {
                let mut next = || candidates::one(&buffer.fifo, *draw, draws);
                bits.set_while_matching(&buffer.fifo, count, flow, &mut next)
            }
            Candidates::Fixed(_) | Candidates::Regions { .. } | Candidates::Intermediate { .. } => {
                let drawn = drawn.from(&buffer.fifo);
                candidates::several(&buffer.fifo, *draw, count, flow, draws, drawn)
                    && bits.set_matches(&buffer.fifo, drawn, flow)
            }
        };
        bits.drop_head(now, buffer, sink);
        matched
    }

    /// Does [`Qdisc::dequeue`] with drop bits, and drops the packets behind the one that leaves whose bit is set.
    #[cold]
    fn dequeue_unmarked(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = self.red.dequeue(now, sink);
        if let Some(bits) = &mut self.drop_bits {
            bits.popped();
            bits.drop_head(now, &mut self.red.buffer, sink);
        }
        packet
    }
}

impl<P: Packet> Qdisc<P> for Choke<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.take(now, packet, sink)
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        if self.drop_bits.is_some() { self.dequeue_unmarked(now, sink) } else { self.red.dequeue(now, sink) }
    }

    fn status(&self) -> Status {
        self.red.status()
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        self.red.link_rate(rate);
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.drawn.tell(&self.red.buffer.fifo, each);
    }
}

#[cfg(test)]
mod tests;
