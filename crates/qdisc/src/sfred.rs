//! SFRED: the bins of SFB, each of which learns as a self-configuring RED does.
//!
//! A bin keeps the average of its queue and a `max_p` that follows it: a third when the average falls below its range,
//! twice when it rises above. A flow is signalled with the least probability of its bins, and limited in rate when
//! `max_p` is 1 in all of them. The paper built it to show that it does not work well: moderate congestion drives
//! `max_p` to 1 too, so it does not tell who answers.
//!
//! **Source.** Feng, Kandlur, Saha, Shin, "Stochastic Fair Blue", INFOCOM 2001, section IV-A, which says no more than
//! that each bin keeps a `max_p`; the rule is that of Feng et al., "A Self-Configuring RED Gateway", INFOCOM 1999.
//!
//! **Deviations.** What the paper leaves open: the range of the average is 20 % to 80 % of `bin_size`; signals are not
//! spaced; a bin's average moves with its arrivals only, idle or not; a bin of the next set doubles its `max_p` for each
//! arrival of an identified flow. A bin starts below its range, so that what it learnt while it was warmed up lasts. Full
//! bins drop as in SFB.
//!
//! **Cost.** SFB's, and two multiplications a level.

use alloc::format;

use crate::config::shared::{LIMIT, PROBABILITY, WEIGHT};
use crate::config::{About, FlowState, Origin, Parameter, ParameterError, Resolver};
use crate::sfb::binned::{self, Binned, Law};
use crate::sfb::{
    BIN_MAX, BIN_SIZE, BINS, BINS_ECN, DROP_ON_OVER, LEVELS, PENALTY_BURST, PENALTY_RATE, REHASH, WARMUP, resolve_bins,
};
use crate::{Counters, Fate, Packet, Qdisc, Seed, Time};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "sfred",
    summary: "self-configuring RED in bins: limits the rate of flows whose bins all signal at most",
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
        SFRED_PROBABILITY,
        SFRED_WEIGHT,
        REHASH,
        WARMUP,
        PENALTY_RATE,
        PENALTY_BURST,
        BINS_ECN,
    ],
};

const SFRED_PROBABILITY: Parameter = Parameter {
    default: "0.1, as ns-2: where adaptation starts",
    meaning: "probability of a signal as a bin's average reaches 80 % of `bin_size` (max_p), at first",
    ..PROBABILITY
};
const SFRED_WEIGHT: Parameter =
    Parameter { default: "0.002, as ns-2", meaning: "weight of a sample in a bin's average (w_q)", ..WEIGHT };

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    bins: binned::Settings,
    law: Red,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit()?;
    let (bins, bin_size) = resolve_bins(r, limit)?;
    let probability = r.take("probability", Origin::Default("as ns-2"), 0.1)?;
    let weight = r.take("weight", Origin::Default("as ns-2"), 0.002)?;
    let (min, max) = (0.2 * f64::from(bin_size), 0.8 * f64::from(bin_size));
    r.say(format!("a bin signals from an average of {min} packets, and always from {max}"));
    // Where the thresholds are one the curve is a step and no average lies on the slope.
    let per_packet = if max > min { 1.0 / (max - min) } else { 0.0 };
    Ok(Settings { bins, law: Red { min, max, per_packet, probability, weight } })
}

/// RED's curve over a bin's average, and Feng's rule for its height.
#[derive(Clone, Copy, Debug)]
struct Red {
    min: f64,
    max: f64,
    /// One over the range of the average.
    per_packet: f64,
    probability: f64,
    weight: f64,
}

/// Where a bin's average was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Below,
    Between,
    Above,
}

/// A bin's average and `max_p`.
#[derive(Clone, Copy, Debug)]
struct Lesson {
    average: f64,
    max_p: f64,
    status: Status,
}

impl Law for Red {
    type Lesson = Lesson;

    fn fresh(&self) -> Lesson {
        // An empty bin is below; the first crossing changes `max_p`.
        Lesson { average: 0.0, max_p: self.probability, status: Status::Below }
    }

    fn arrive(&self, lesson: &mut Lesson, _now: Time, queued: u32) {
        lesson.average = (1.0 - self.weight) * lesson.average + self.weight * f64::from(queued);
        if lesson.average > self.max {
            if lesson.status != Status::Above {
                lesson.max_p = (2.0 * lesson.max_p).min(1.0);
            }
            lesson.status = Status::Above;
        } else if lesson.average < self.min {
            if lesson.status != Status::Below {
                lesson.max_p = (lesson.max_p * (1.0 / 3.0)).max(LEAST);
            }
            lesson.status = Status::Below;
        } else {
            lesson.status = Status::Between;
        }
    }

    fn warm(&self, lesson: &mut Lesson) {
        lesson.max_p = (2.0 * lesson.max_p).min(1.0);
    }

    fn probability(&self, lesson: &Lesson) -> f64 {
        if lesson.average < self.min {
            0.0
        } else if lesson.average < self.max {
            lesson.max_p * (lesson.average - self.min) * self.per_packet
        } else {
            1.0
        }
    }

    fn is_polluted(&self, lesson: &Lesson) -> bool {
        lesson.max_p >= 1.0
    }
}

/// `max_p` is not lowered below this, as in Feng's RED.
const LEAST: f64 = 1e-6;

/// Self-configuring RED in bins.
#[derive(Debug)]
pub struct Sfred<P> {
    queue: Binned<P, Red>,
}

impl<P: Packet> Sfred<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        Self { queue: Binned::new(settings.bins, settings.law, seed) }
    }
}

impl<P: Packet> Qdisc<P> for Sfred<P> {
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
