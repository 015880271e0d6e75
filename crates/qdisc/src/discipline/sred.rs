//! Stabilized RED: estimates the number of flows by comparing each arrival with a remembered one.
//!
//! The zombie list remembers the flows of recent arrivals. Each arrival is compared with one entry, drawn at random. P
//! is the averaged frequency of hits, that is of comparisons with the same flow, and 1/P is about the number of active
//! flows. The probability of a signal depends on the instantaneous queue length in three steps, and falls with the
//! square of the number of flows below 256 of them, so that the queue settles in the same band for any number.
//! The `full` variant also signals an arrival that hits more than others.
//!
//! **Source.** Ott, Lakshman, Wong, "SRED: Stabilized RED", INFOCOM 1999: the list in section II, simple SRED in
//! section III, full SRED in section IV.
//!
//! **Deviations.** A limit in packets makes the steps thresholds in packets; the paper has bytes. While the list fills,
//! P is 0 and arrivals are tested for a signal all the same; the paper does not say. The count and the time of a
//! zombie, which the paper uses to look for misbehaving flows, affect no decision and are not kept.
//!
//! **Cost.** One random number and one cache line for the comparison, one random number when it fails, and, when the
//! queue is above a sixth of its limit, one more and a division.

use alloc::vec::Vec;

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::{
    Counters, DropSink, Fate, FlowKey, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time,
};

/// The largest number of zombies.
pub(crate) const MAX_ZOMBIES: u32 = 1 << 20;

/// The number of flows from which the probability is no longer lowered (the paper's constant).
pub(crate) const MANY_FLOWS: f64 = 256.0;

/// The configuration of [`Sred`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes (B). Default: 300 packets, the buffer of the CHOKe paper
    /// (section III).
    pub limit: Size,
    /// The probability of a signal while the queue is at or above a third of `limit` (p_max), above 0 and at most 1;
    /// from a sixth on it is a quarter of that. Default: 0.15, the paper.
    pub probability: f64,
    /// The recent arrivals whose flows are remembered (M), 1 to 2^20. Default: 1000, the paper.
    pub zombies: u32,
    /// The probability with which an arrival of another flow replaces the zombie that it was compared with (p), above 0
    /// and at most 1. Default: 0.25, the paper.
    pub overwrite: f64,
    /// The weight of a comparison in the frequency of hits (alpha), above 0 and at most 1. Default: 0.001, one over
    /// `zombies`, as the paper.
    pub weight: f64,
    /// The treatment of arrivals that hit. Default: [`SredVariant::Simple`].
    pub variant: SredVariant,
    /// Marks packets that can be marked instead of dropping them; the limit always drops. Default: `false`.
    pub ecn: bool,
}

/// The treatment of arrivals that hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SredVariant {
    /// Hits are signalled with the probability of all others (section III).
    #[default]
    Simple,
    /// Hits are signalled 1 + 1/P times as often (section IV).
    Full,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            probability: 0.15,
            zombies: 1000,
            overwrite: 0.25,
            weight: 0.001,
            variant: SredVariant::default(),
            ecn: false,
        }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::ratio("probability", self.probability)?;
        check::count("zombies", self.zombies, 1..=MAX_ZOMBIES)?;
        check::ratio("overwrite", self.overwrite)?;
        check::ratio("weight", self.weight)
    }
}

/// Stabilized RED over a FIFO.
#[derive(Debug)]
pub struct Sred<P> {
    config: Config,
    buffer: Buffer<P>,
    zombies: Vec<FlowKey>,
    /// The frequency of hits (P).
    frequency: f64,
    draws: Stream,
    rolls: Stream,
}

impl<P: Packet> Sred<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        Ok(Self {
            config,
            buffer: Buffer::new(config.limit),
            zombies: Vec::new(),
            frequency: 0.0,
            draws: seed.stream("zombie"),
            rolls: seed.stream("red"),
        })
    }

    /// Compares an arrival of `flow` with a zombie drawn at random, which it may replace; tells whether it hits.
    fn hits(&mut self, flow: FlowKey) -> bool {
        let Config { zombies, overwrite, .. } = self.config;
        if self.zombies.len() < zombies as usize {
            self.zombies.push(flow);
            return false;
        }
        let zombie = &mut self.zombies[self.draws.below(zombies) as usize];
        if *zombie == flow {
            return true;
        }
        if self.draws.chance(overwrite) {
            *zombie = flow;
        }
        false
    }

    /// Returns the probability that follows from the queue's length alone (p_sred).
    fn by_length(&self) -> f64 {
        let full = self.config.limit.number();
        let queued = match self.config.limit {
            Size::Packets(_) => self.buffer.fifo.packets() as u64,
            Size::Bytes(_) => self.buffer.fifo.bytes(),
        };
        if 3 * queued >= full {
            self.config.probability
        } else if 6 * queued >= full {
            0.25 * self.config.probability
        } else {
            0.0
        }
    }

    /// Returns the probability of a signal to an arrival (p_zap).
    fn signal_probability(&self, hit: bool) -> f64 {
        let length = self.by_length();
        if length == 0.0 {
            return 0.0;
        }
        // No arrival has hit yet, or there are many flows: the minimum of 1 and (256 P)^-2 is 1.
        let flows = MANY_FLOWS * self.frequency;
        let simple = if flows <= 1.0 { length } else { length / (flows * flows) };
        // After a hit the frequency is at least the weight of one.
        if hit && self.config.variant == SredVariant::Full { simple * (1.0 + 1.0 / self.frequency) } else { simple }
    }
}

impl<P: Packet> Qdisc<P> for Sred<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        let hit = self.hits(packet.flow());
        let sample = if hit { 1.0 } else { 0.0 };
        self.frequency += self.config.weight * (sample - self.frequency);
        let probability = self.signal_probability(hit);
        if probability > 0.0 && self.rolls.chance(probability) {
            if !(self.config.ecn && packet.ecn_capable()) {
                return self.buffer.discard(now, packet, Reason::Early, sink);
            }
            return self.buffer.admit(now, packet, Some(Reason::Early), sink);
        }
        self.buffer.admit(now, packet, None, sink)
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.buffer.depart_last()
    }

    fn status(&self) -> Status {
        // In the full variant arrivals that hit have another probability.
        let probability = (self.config.variant == SredVariant::Simple).then(|| self.signal_probability(false));
        Status { probability, ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// The paper's: 1000 zombies, a buffer of half a megabyte.
    fn paper() -> Config {
        Config { limit: Size::bytes(500_000), ..Config::default() }
    }

    fn queue(config: Config) -> Sred<SimplePacket> {
        Sred::new(config, Seed::new(5)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns a queue of `packets` packets of 1000 bytes.
    fn holding(config: Config, packets: u64) -> Sred<SimplePacket> {
        let mut queue = queue(config);
        for flow in 0..packets {
            queue.buffer.admit(Time::ZERO, SimplePacket::new(flow, 1000), None, &mut ());
        }
        queue
    }

    #[track_caller]
    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 2e-6, "{value} is not {expected}");
    }

    /// Would catch a range that the constructor does not check.
    #[test]
    fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
        for (config, key) in [
            (Config { zombies: 0, ..paper() }, "zombies"),
            (Config { overwrite: 0.0, ..paper() }, "overwrite"),
            (Config { weight: f64::INFINITY, ..paper() }, "weight"),
        ] {
            let refused = Sred::<SimplePacket>::new(config, Seed::new(1));
            assert!(refused.is_err_and(|error| error.key() == key), "{key}");
        }
        Ok(())
    }

    /// p_sred min(1, (256 P)^-2), and 1 + 1/P times that for a hit in the full variant: with P of 1/100 and a queue
    /// from a sixth to a third, 0.0375 / 2.56^2 and 101 times that. Would catch a status that tells another
    /// probability.
    #[test]
    fn the_probability_is_the_published_one() {
        let mut queue = holding(paper(), 100);
        queue.frequency = 0.01;
        close(queue.signal_probability(false), 0.005_722_05);
        close(queue.signal_probability(true), 0.005_722_05);
        assert_eq!(queue.status().probability, Some(queue.signal_probability(false)));
        queue.config.variant = SredVariant::Full;
        close(queue.signal_probability(false), 0.005_722_05);
        close(queue.signal_probability(true), 0.577_927);
        assert_eq!(queue.status().probability, None);
        let mut queue = holding(paper(), 200);
        queue.frequency = 1.0 / 300.0;
        close(queue.signal_probability(false), 0.15);
        queue.frequency = 0.0;
        close(queue.signal_probability(false), 0.15);
    }

    /// Would catch a step that begins above a sixth or a third of the limit instead of at it, in bytes or in packets.
    #[test]
    fn the_bands_begin_at_a_sixth_and_at_a_third() {
        for limit in [Size::bytes(600_000), Size::packets(600)] {
            for (packets, expected) in [(0, 0.0), (99, 0.0), (100, 0.0375), (199, 0.0375), (200, 0.15), (599, 0.15)] {
                assert_eq!(holding(Config { limit, ..paper() }, packets).by_length(), expected, "{packets}");
            }
        }
    }

    /// Section II: with N equal flows P settles at 1/N, within five standard deviations of the mean of independent
    /// trials, plus as much again for the list, in which a flow's share of the zombies varies about as much.
    #[test]
    fn the_frequency_of_hits_counts_the_flows() {
        for flows in [2_u32, 10, 40] {
            let mut queue = queue(paper());
            let mut chance = Seed::new(6).stream("arrivals");
            let mut sum = 0.0;
            for arrival in 0..400_000 {
                queue.enqueue(Time::ZERO, SimplePacket::new(u64::from(chance.below(flows)), 1000), &mut ());
                queue.dequeue(Time::ZERO, &mut ());
                sum += if arrival < 20_000 { 0.0 } else { queue.frequency };
            }
            let (measured, share) = (sum / 380_000.0, 1.0 / f64::from(flows));
            let deviation = libm::sqrt(share * (1.0 - share) / 380_000.0);
            assert!((measured - share).abs() < 10.0 * deviation, "{flows} flows: {measured}");
        }
    }

    /// Would catch a comparison before the list is full, and a replacement that is not made or adds to the list.
    #[test]
    fn the_list_fills_before_anything_is_compared() {
        let mut queue = queue(Config { zombies: 3, overwrite: 1.0, weight: 1.0, ..paper() });
        for _ in 0..3 {
            queue.enqueue(Time::ZERO, SimplePacket::new(7, 1000), &mut ());
            assert_eq!(queue.frequency, 0.0);
        }
        queue.enqueue(Time::ZERO, SimplePacket::new(7, 1000), &mut ());
        assert_eq!(queue.frequency, 1.0);
        queue.enqueue(Time::ZERO, SimplePacket::new(8, 1000), &mut ());
        assert_eq!(queue.frequency, 0.0);
        // The other flow replaced one zombie of three.
        let others = queue.zombies.iter().filter(|zombie| zombie.get() == 8).count();
        assert_eq!((others, queue.zombies.len()), (1, 3));
    }
}
