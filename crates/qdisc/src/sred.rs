//! Stabilized RED: compares each arrival with a remembered one, and so estimates how many flows there are.
//!
//! A list of zombies remembers flows of recent arrivals. Each arrival is compared with one of them, drawn at random. How
//! often they are of the same flow, averaged, is P, and 1/P is about the number of active flows. The probability of a
//! signal depends on the queue's length of the moment in three steps, and falls with the square of P when there are
//! fewer than 256 flows, so that the queue settles in the same band whatever their number. The `full` variant also
//! signals a flow that was just hit more than others.
//!
//! **Source.** Ott, Lakshman, Wong, "SRED: Stabilized RED", INFOCOM 1999: the list in section II, simple SRED in
//! section III, full SRED in section IV.
//!
//! **Deviations.** A limit in packets makes the bands ones of packets; the paper has bytes. While the list fills, P is 0
//! and the signal is tried all the same; the paper does not say. A zombie's count and time, by which the paper looks for
//! misbehaving flows, decide nothing and are not kept.
//!
//! **Cost.** One random number and one cache line for the comparison, one random number when it fails, and, when the
//! queue is above a sixth of its limit, one more and a division.

use alloc::format;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::config::shared::{ECN, LIMIT};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Counters, Fate, FlowKey, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "sred",
    summary: "RED whose probability follows the number of flows, estimated from a list of recent arrivals",
    source: "Ott, Lakshman, Wong: SRED: Stabilized RED, INFOCOM 1999",
    year: Some(1999),
    needs: "the flows of `zombies` recent arrivals",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT, PROBABILITY, ZOMBIES, OVERWRITE, WEIGHT, VARIANT, ECN],
};

const PROBABILITY: Parameter = parameter(
    "probability",
    Domain::Ratio,
    "0.15, the paper",
    "probability of a signal while the queue is above a third of `limit`; from a sixth on it is a quarter of that (p_max)",
)
.elsewhere(&["max_p", "maxp", "p_max"]);
const ZOMBIES: Parameter = parameter(
    "zombies",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "1000, the paper",
    "flows of recent arrivals that are remembered",
)
.elsewhere(&["M", "flows"]);
const OVERWRITE: Parameter = parameter(
    "overwrite",
    Domain::Ratio,
    "0.25, the paper",
    "probability that an arrival of another flow takes the place of the one that it was compared with (p)",
)
.elsewhere(&["p"]);
const WEIGHT: Parameter = parameter(
    "weight",
    Domain::Ratio,
    "1 / zombies, the paper",
    "weight of a comparison in the frequency of hits (alpha)",
)
.elsewhere(&["alpha"]);
const VARIANT: Parameter = parameter(
    "variant",
    Domain::Choice(&["simple", "full"]),
    "simple",
    "whether an arrival that hits is signalled more than the others: by the factor 1 + 1/P",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    probability: f64,
    zombies: u32,
    overwrite: f64,
    weight: f64,
    full: bool,
    ecn: bool,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let paper = Origin::Default("the paper");
    let probability = r.take("probability", paper.clone(), 0.15)?;
    let zombies: u32 = r.take("zombies", paper.clone(), 1000)?;
    let overwrite = r.take("overwrite", paper, 0.25)?;
    let weight = r.take("weight", Origin::Derived("1 / zombies"), 1.0 / f64::from(zombies))?;
    let full = r.take("variant", Origin::Default("the simpler of the two"), "simple")? == "full";
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    r.say(format!(
        "signals begin at a sixth of {limit} with a probability of {}, and at a third of it with {probability}; below \
         {FLOWS} flows both fall with the square of their number",
        probability / 4.0
    ));
    if zombies < FLOWS as u32 {
        r.warn(format!("zombies {zombies} are too few to tell {FLOWS} flows from fewer"));
    }
    Ok(Settings { limit, probability, zombies, overwrite, weight, full, ecn })
}

/// Stabilized RED over a FIFO.
#[derive(Debug)]
pub struct Sred<P> {
    settings: Settings,
    buffer: Buffer<P>,
    zombies: Vec<FlowKey>,
    /// How often an arrival hits its zombie (P).
    frequency: f64,
    draws: Stream,
    rolls: Stream,
}

impl<P: Packet> Sred<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self {
            settings,
            buffer: Buffer::new(settings.limit),
            zombies: Vec::new(),
            frequency: 0.0,
            draws: seed.stream("zombie"),
            rolls: seed.stream("red"),
        }
    }

    /// Whether an arrival of `flow` hits a zombie drawn at random; else it may take its place.
    fn hits(&mut self, flow: FlowKey) -> bool {
        let Settings { zombies, overwrite, .. } = self.settings;
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

    /// The probability that the queue's length alone gives (p_sred).
    fn by_length(&self) -> f64 {
        let full = match self.settings.limit {
            Size::Packets(packets) => u64::from(packets.get()),
            Size::Bytes(bytes) => bytes.get(),
        };
        let queued = match self.settings.limit {
            Size::Packets(_) => self.buffer.fifo.packets() as u64,
            Size::Bytes(_) => self.buffer.fifo.bytes(),
        };
        if 3 * queued >= full {
            self.settings.probability
        } else if 6 * queued >= full {
            0.25 * self.settings.probability
        } else {
            0.0
        }
    }

    /// The probability of a signal (p_zap).
    fn probability(&self, hit: bool) -> f64 {
        let length = self.by_length();
        if length == 0.0 {
            return 0.0;
        }
        // Nobody was hit yet, or there are many flows: the minimum is 1.
        let flows = FLOWS * self.frequency;
        let simple = if flows <= 1.0 { length } else { length / (flows * flows) };
        // After a hit the frequency is at least the weight of one.
        if self.settings.full && hit { simple * (1.0 + 1.0 / self.frequency) } else { simple }
    }
}

impl<P: Packet> Qdisc<P> for Sred<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        let hit = self.hits(packet.flow());
        let sample = if hit { 1.0 } else { 0.0 };
        self.frequency += self.settings.weight * (sample - self.frequency);
        let probability = self.probability(hit);
        if probability > 0.0 && self.rolls.chance(probability) {
            if !(self.settings.ecn && packet.ecn_capable()) {
                self.buffer.discard(now, packet, Reason::Early, fate);
                return;
            }
            self.buffer.admit(now, packet, Some(Reason::Early), fate);
            return;
        }
        self.buffer.admit(now, packet, None, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.buffer.depart()
    }

    fn packets(&self) -> usize {
        self.buffer.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.buffer.fifo.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}

/// Flows beyond which the probability is no longer lowered.
const FLOWS: f64 = 256.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Packets, SimplePacket};

    /// The paper's: 1000 zombies, the link's buffer of half a megabyte.
    const SETTINGS: Settings = Settings {
        limit: Size::Bytes(Bytes::new(500_000)),
        probability: 0.15,
        zombies: 1000,
        overwrite: 0.25,
        weight: 0.001,
        full: false,
        ecn: false,
    };

    fn queue(settings: Settings) -> Sred<SimplePacket> {
        Sred::new(settings, Seed::new(5))
    }

    /// A queue of `packets` packets of 1000 bytes.
    fn holding(settings: Settings, packets: u64) -> Sred<SimplePacket> {
        let mut queue = queue(settings);
        for flow in 0..packets {
            queue.buffer.admit(Time::ZERO, SimplePacket::new(flow, 1000), None, &mut ());
        }
        queue
    }

    #[track_caller]
    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 2e-6, "{value} is not {expected}");
    }

    /// SPEC appendix D.
    #[test]
    fn the_probability_is_the_published_one() {
        let mut queue = holding(SETTINGS, 100);
        queue.frequency = 0.01;
        close(queue.probability(false), 0.005_722_05);
        close(queue.probability(true), 0.005_722_05);
        queue.settings.full = true;
        close(queue.probability(false), 0.005_722_05);
        close(queue.probability(true), 0.577_927);
        let mut queue = holding(SETTINGS, 200);
        queue.frequency = 1.0 / 300.0;
        close(queue.probability(false), 0.15);
        queue.frequency = 0.0;
        close(queue.probability(false), 0.15);
    }

    /// The bands are closed below and open above, in bytes and in packets.
    #[test]
    fn the_bands_begin_at_a_sixth_and_at_a_third() {
        for limit in [Size::Bytes(Bytes::new(600_000)), Size::Packets(Packets::new(600))] {
            for (packets, expected) in [(0, 0.0), (99, 0.0), (100, 0.0375), (199, 0.0375), (200, 0.15), (599, 0.15)] {
                assert_eq!(holding(Settings { limit, ..SETTINGS }, packets).by_length(), expected, "{packets}");
            }
        }
    }

    /// SPEC 5: with N equal flows P settles at 1/N, within five standard deviations of an average with the weight
    /// 0.001 of independent trials, plus that of the list, in which a flow's share of the zombies wanders about as much.
    #[test]
    fn the_frequency_of_hits_counts_the_flows() {
        for flows in [2_u32, 10, 40] {
            let mut queue = queue(SETTINGS);
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

    /// While the list fills, nobody is hit and the signal is what the queue alone says.
    #[test]
    fn the_list_fills_before_anything_is_compared() {
        let mut queue = queue(Settings { zombies: 3, overwrite: 1.0, weight: 1.0, ..SETTINGS });
        for _ in 0..3 {
            queue.enqueue(Time::ZERO, SimplePacket::new(7, 1000), &mut ());
            assert_eq!(queue.frequency, 0.0);
        }
        queue.enqueue(Time::ZERO, SimplePacket::new(7, 1000), &mut ());
        assert_eq!(queue.frequency, 1.0);
        queue.enqueue(Time::ZERO, SimplePacket::new(8, 1000), &mut ());
        assert_eq!(queue.frequency, 0.0);
        // The stranger took one place of three.
        let strangers = queue.zombies.iter().filter(|zombie| zombie.get() == 8).count();
        assert_eq!((strangers, queue.zombies.len()), (1, 3));
    }
}
