//! The keys of a group of UDP flows: its source.

use std::ops::RangeInclusive;

use fairlane_qdisc::{Bytes, Duration, Rate};

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader};
use crate::key::{Key, REQUIRED, SourceKeys, Takes, key, names};
use crate::read::{GROUP_KEYS, PACKET, RATE, packets};
use crate::source::{OnOff, PacketSizes, Periods, Source, Ssmp, Udp};

const ELSEWHERE: Elsewhere = &[
    ("cc", "UDP has no congestion control: `cc` is for kind = \"tcp\""),
    ("window", "UDP has no window: `window` is for kind = \"tcp\""),
    ("tcp", "the table `tcp` is for kind = \"tcp\""),
    ("delay", "it belongs to the group's hosts: access = { delay = \"10ms\" }"),
    ("jitter", "`jitter` is for source = \"cbr\""),
    ("on", "on and off periods are for source = \"exponential\" and \"pareto\""),
    ("off", "on and off periods are for source = \"exponential\" and \"pareto\""),
    ("shape", "`shape` is for source = \"pareto\""),
    ("slot", "slots are for source = \"geometric\" and \"ssmp\""),
    ("probability", "a probability is for source = \"geometric\" and \"ssmp\"; the others have a `rate` alone"),
    ("states", "`states` is for source = \"ssmp\""),
    ("a", "`a` is for source = \"ssmp\""),
    ("hurst", "`hurst` is for source = \"ssmp\""),
    ("trace", "a trace of packets is for source = \"trace\""),
    ("sizes", "a trace says how large each packet is"),
    ("size", "UDP sends without end: `size` is for kind = \"tcp\" with source = \"transfers\""),
    ("think", "`think` is for kind = \"tcp\" with source = \"transfers\""),
    ("burst_time", "the mean length of an on period is called `on`"),
    ("idle_time", "the mean length of an off period is called `off`"),
];

#[derive(Clone, Copy)]
enum SourceKind {
    Cbr,
    Poisson,
    Exponential,
    Pareto,
    Geometric,
    Ssmp,
    Trace,
}

const KINDS: [(&str, SourceKind); 7] = [
    ("cbr", SourceKind::Cbr),
    ("poisson", SourceKind::Poisson),
    ("exponential", SourceKind::Exponential),
    ("pareto", SourceKind::Pareto),
    ("geometric", SourceKind::Geometric),
    ("ssmp", SourceKind::Ssmp),
    ("trace", SourceKind::Trace),
];

impl SourceKind {
    /// The keys of a source in addition to `source` and `ecn`.
    const fn keys(self) -> &'static [Key] {
        match self {
            Self::Cbr => &[RATE_KEY, SIZES_KEY, JITTER_KEY],
            Self::Poisson => &[RATE_KEY, SIZES_KEY],
            Self::Exponential => &[RATE_KEY, SIZES_KEY, ON, OFF],
            Self::Pareto => &[RATE_KEY, SIZES_KEY, ON, OFF, SHAPE_KEY],
            Self::Geometric => &[MEAN_RATE, SIZES_KEY, SLOT, PROBABILITY],
            Self::Ssmp => &[MEAN_RATE, SIZES_KEY, SLOT, PROBABILITY, STATES_KEY, A, HURST],
            Self::Trace => &[TRACE],
        }
    }

    /// The keys of a group that has it.
    fn group_keys(self) -> Vec<Key> {
        [GROUP_KEYS, COMMON_KEYS, self.keys()].concat()
    }
}

/// The keys of each source.
pub(crate) fn sources() -> Vec<SourceKeys> {
    KINDS.iter().map(|(name, kind)| (*name, kind.group_keys())).collect()
}

const COMMON_KEYS: &[Key] = &[
    key("source", Takes::Choice(|| names(&KINDS)), "cbr", "times of sending"),
    key("ecn", Takes::Switch, "false", "the packets are ECN-capable"),
];
pub(crate) const RATE_KEY: Key =
    key("rate", Takes::Rate(RATE), REQUIRED, "rate on the wire; of on periods if there are any");
const MEAN_RATE: Key = key("rate", Takes::Rate(RATE), "", "mean rate on the wire: this or `probability`");
const SIZES_KEY: Key =
    key("sizes", Takes::Choice(|| names(&SIZES)), "fixed", "packets have the size `packet`, or that mean");
const JITTER_KEY: Key = key(
    "jitter",
    Takes::Ratio(JITTER),
    "0",
    "each gap is drawn uniformly from 1 − jitter to 1 + jitter times the mean",
);
pub(crate) const ON: Key = key("on", Takes::Time(TIMES), REQUIRED, "mean length of an on period");
pub(crate) const OFF: Key = key("off", Takes::Time(TIMES), REQUIRED, "mean length of an off period");
pub(crate) const SHAPE_KEY: Key = key("shape", Takes::Ratio(SHAPES), "1.5", "index of the Pareto tail");
const SLOT: Key = key("slot", Takes::Time(TIMES), REQUIRED, "length of a slot");
const PROBABILITY: Key =
    key("probability", Takes::Ratio(PROBABILITIES), "", "packets a slot in the mean: this or `rate`");
const STATES_KEY: Key = key("states", Takes::count(&STATES), "8", "states of the chain");
const A: Key = key("a", Takes::Ratio(BASES), "10", "the chain's base");
const HURST: Key = key("hurst", Takes::Ratio(HURSTS), "0.8", "the Hurst parameter H");
const TRACE: Key = key("trace", Takes::Text, REQUIRED, "the recorded packets: a table (.csv) or a capture");
const SIZES: [(&str, PacketSizes); 2] = [("fixed", PacketSizes::Fixed), ("geometric", PacketSizes::Geometric)];
/// The largest mean of geometric sizes: one in 10^14 is above the 65,535 bytes that a packet has at the most.
const GEOMETRIC_MEAN: Bytes = Bytes::new(2000);
const JITTER: RangeInclusive<f64> = 0.0..=1.0;
const TIMES: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(1_000_000);
/// Below the first the shortest period is less than a hundredth of the mean.
const SHAPES: RangeInclusive<f64> = 1.01..=100.0;
/// The shape of ns-2's Pareto sources.
const SHAPE: f64 = 1.5;
/// A rarer packet would keep the simulator busy with empty slots.
const PROBABILITIES: RangeInclusive<f64> = 0.000_001..=1.0;
const STATES: RangeInclusive<u32> = 2..=32;
const BASES: RangeInclusive<f64> = 2.0..=1000.0;
const HURSTS: RangeInclusive<f64> = 0.5..=0.99;
/// Over scales of up to 10^5 slots its traffic measures 0.81.
const CHAIN: Ssmp = Ssmp { states: 8, a: 10.0, hurst: 0.8 };

/// Reads the UDP source of `group`, with packets of `packet`.
pub(crate) fn udp(group: Reader<'_>, packet: Bytes) -> Result<Udp, ScenarioError> {
    let kind = group.get("source").map_or(Ok(SourceKind::Cbr), |field| field.choice("source of UDP", &KINDS, &[]))?;
    let group = group.only(&kind.group_keys(), ELSEWHERE)?;
    let ecn = group.get("ecn").map_or(Ok(false), |field| field.switch())?;
    let sizes = sizes(&group, packet)?;
    let (rate, source) = match kind {
        SourceKind::Cbr => {
            let jitter = group.get("jitter").map_or(Ok(0.0), |field| field.ratio(&JITTER))?;
            (rate(&group, packet)?, Source::Cbr { jitter })
        }
        SourceKind::Poisson => (rate(&group, packet)?, Source::Poisson),
        SourceKind::Exponential => bursts(&group, packet, on_off(&group, Periods::Exponential)?)?,
        SourceKind::Pareto => bursts(&group, packet, pareto(&group)?)?,
        SourceKind::Geometric => {
            let slotted = Slotted::read(&group, packet, 1.0)?;
            (slotted.rate, Source::Geometric { slot: slotted.slot, probability: slotted.probability })
        }
        SourceKind::Ssmp => {
            let chain = chain(&group)?;
            let Slotted { rate, slot, probability } = Slotted::read(&group, packet, chain.activity())?;
            (rate, Source::Ssmp { slot, probability, chain })
        }
        SourceKind::Trace => {
            let (rate, trace) = packets::recorded(&group)?;
            (rate, Source::Trace(trace))
        }
    };
    Ok(Udp { rate, source, sizes, ecn })
}

/// Reads the distribution of packet sizes whose mean is `packet`.
fn sizes(group: &Reader<'_>, packet: Bytes) -> Result<PacketSizes, ScenarioError> {
    let Some(field) = group.get("sizes") else { return Ok(PacketSizes::Fixed) };
    let sizes = field.choice("distribution of sizes", &SIZES, &[])?;
    if sizes == PacketSizes::Geometric && packet > GEOMETRIC_MEAN {
        let message =
            format!("geometric sizes of a mean of {packet} would exceed what a packet holds, {}", PACKET.end());
        let error = group.get("packet").map_or_else(|| field.error(&message), |packet| packet.error(&message));
        return Err(error.with_help(format!("{GEOMETRIC_MEAN} is the largest mean")));
    }
    Ok(sizes)
}

pub(crate) fn rate(group: &Reader<'_>, packet: Bytes) -> Result<Rate, ScenarioError> {
    let field = group.need("rate", "\"2mbit\"")?;
    let rate: Rate = field.unit_in(&RATE)?;
    if rate.transmission(packet.get()) == Duration::ZERO {
        let message = format!("packets of {packet} at {} would be less than a nanosecond apart", field.written());
        return Err(field.error(message).with_help("lower the rate or enlarge `packet`"));
    }
    Ok(rate)
}

/// On and off periods of `group`.
pub(crate) fn on_off(group: &Reader<'_>, periods: Periods) -> Result<OnOff, ScenarioError> {
    let on = group.need("on", "\"500ms\"")?.unit_in(&TIMES)?;
    let off = group.need("off", "\"500ms\"")?.unit_in(&TIMES)?;
    Ok(OnOff { on, off, periods })
}

/// The same with lengths after Pareto.
pub(crate) fn pareto(group: &Reader<'_>) -> Result<OnOff, ScenarioError> {
    on_off(group, Periods::Pareto { shape: shape(group)? })
}

/// The index of a Pareto tail.
pub(crate) fn shape(group: &Reader<'_>) -> Result<f64, ScenarioError> {
    group.get("shape").map_or(Ok(SHAPE), |field| field.ratio(&SHAPES))
}

/// The source of `on_off` at the rate of `group`. On periods with less than one packet in the mean are refused.
fn bursts(group: &Reader<'_>, packet: Bytes, on_off: OnOff) -> Result<(Rate, Source), ScenarioError> {
    let (rate, on) = (rate(group, packet)?, on_off.on);
    let lasts = rate.transmission(packet.get());
    if on >= lasts {
        return Ok((rate, Source::OnOff(on_off)));
    }
    let message = format!("a packet of {packet} takes {lasts} at {rate}, which is longer than an on period, {on}");
    let error = group.get("on").map_or_else(|| group.error(&message), |field| field.error(&message));
    Err(error.with_help("lengthen `on` or raise the rate"))
}

fn chain(group: &Reader<'_>) -> Result<Ssmp, ScenarioError> {
    let mut chain = CHAIN;
    if let Some(states) = group.get("states") {
        chain.states = states.count32(&STATES)?;
    }
    if let Some(a) = group.get("a") {
        chain.a = a.ratio(&BASES)?;
    }
    if let Some(hurst) = group.get("hurst") {
        chain.hurst = hurst.ratio(&HURSTS)?;
    }
    Ok(chain)
}

/// A packet or none in each slot.
struct Slotted {
    rate: Rate,
    slot: Duration,
    probability: f64,
}

impl Slotted {
    /// Reads `slot` and either `rate` or `probability`, at most `most` packets a slot.
    fn read(group: &Reader<'_>, packet: Bytes, most: f64) -> Result<Self, ScenarioError> {
        let slot: Duration = group.need("slot", "\"1ms\"")?.unit_in(&TIMES)?;
        let bits = 8.0 * packet.get() as f64;
        match (group.get("rate"), group.get("probability")) {
            (Some(_), Some(field)) => {
                Err(field.error("a group has either `rate` or `probability`, and this one has both"))
            }
            (Some(field), None) => {
                let rate: Rate = field.unit_in(&RATE)?;
                let probability = rate.bits_per_second() as f64 * slot.as_secs() / bits;
                within(&field, probability, most)?;
                Ok(Self { rate, slot, probability })
            }
            (None, Some(field)) => {
                let probability = field.ratio(&PROBABILITIES)?;
                within(&field, probability, most)?;
                let rate = Rate::from_bits_per_second((probability * bits / slot.as_secs()).max(1.0) as u64);
                if !RATE.contains(&rate) {
                    let message = format!("{} would be {rate}, and {} is the most", field.written(), RATE.end());
                    return Err(field.error(message).with_help("lower it, lengthen `slot` or make `packet` smaller"));
                }
                Ok(Self { rate, slot, probability })
            }
            (None, None) => {
                let error = group.error("it is not said how much it sends: `rate` or `probability` is missing");
                Err(error.with_help("write for example probability = 0.1 or rate = \"1mbit\""))
            }
        }
    }
}

/// Refuses a rate that the slots do not hold, and one that leaves next to all of them empty.
fn within(field: &Field<'_>, probability: f64, most: f64) -> Result<(), ScenarioError> {
    if probability > most {
        let message = format!("{} would be {probability} packets a slot, and {most} is the most", field.written());
        return Err(field.error(message).with_help("lower it, shorten `slot` or enlarge `packet`"));
    }
    if probability < *PROBABILITIES.start() {
        let message = format!(
            "{} would be {probability} packets a slot, and {} is the least",
            field.written(),
            PROBABILITIES.start()
        );
        return Err(field.error(message).with_help("lengthen `slot`"));
    }
    Ok(())
}
