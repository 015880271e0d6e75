//! Reading of a link's impairments: varying rates, loss and jitter.

use std::ops::RangeInclusive;

use fairlane_link::Loss;
use fairlane_qdisc::{Duration, Rate};

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader};
use crate::key::{ANY_TIME, REQUIRED, TableKeys, Takes, key};
use crate::read::{DURATION, RATE, shaper, trace};
use crate::wire::{Aggregation, RateSteps, Wire};

/// A step may also be an outage.
const STEP: RangeInclusive<Rate> = Rate::from_bits_per_second(0)..=*RATE.end();
const PROBABILITY: RangeInclusive<f64> = 0.0..=1.0;

/// A rate, or a table of how it varies.
pub(crate) const RATES: Takes = Takes::Either(&Takes::Rate(RATE), &Takes::Table(&RATE_KEYS));
pub(crate) const RATE_KEYS: TableKeys = TableKeys {
    name: "rates",
    meaning: "a rate that varies",
    keys: &[
        key(
            "steps",
            Takes::List(&Takes::Pair(&[ANY_TIME, Takes::Rate(STEP)])),
            "",
            "each rate with the time from which it holds, the first at 0s; a rate of 0bit is an outage",
        ),
        key("trace", Takes::Text, "", "instead of `steps`: a file of times and rates (.csv), or a mahimahi trace"),
        key("every", Takes::Time(DURATION), "never; for a mahimahi trace, its length", "period of the steps"),
        key("opportunities", Takes::Switch, "false", "the link delivers at the moments of a mahimahi trace, exactly"),
    ],
};
const RATE_ELSEWHERE: Elsewhere = &[
    ("file", "a file of rates is called `trace`: trace = \"lte.trace\""),
    ("repeat", "the time after which all begins again is called `every`: every = \"10s\""),
];
const STEPS: &str = "[[\"0s\", \"10mbit\"], [\"5s\", \"2mbit\"]]";

/// A probability, or a table of bursty loss.
pub(crate) const LOSSES: Takes = Takes::Either(&Takes::Ratio(PROBABILITY), &Takes::Table(&LOSS_KEYS));
/// The keys are tc-netem's.
pub(crate) const LOSS_KEYS: TableKeys = TableKeys {
    name: "loss",
    meaning: "loss in bursts, as `loss gemodel` of tc-netem(8)",
    keys: &[
        key("p", Takes::Ratio(PROBABILITY), REQUIRED, "the probability to go from good to bad"),
        key("r", Takes::Ratio(PROBABILITY), REQUIRED, "the probability to go from bad to good"),
        key("1-h", Takes::Ratio(PROBABILITY), "1", "the probability of a loss in the bad state"),
        key("1-k", Takes::Ratio(PROBABILITY), "0", "the probability of a loss in the good state"),
    ],
};
const LOSS_ELSEWHERE: Elsewhere = &[
    ("h", "the probability of a loss in the bad state is called `1-h`: 1-h = 1.0"),
    ("k", "the probability of a loss in the good state is called `1-k`: 1-k = 0.0"),
    ("gemodel", "its parameters stand at once: loss = { p = 0.01, r = 0.3 }"),
];

pub(crate) const AGGREGATION_KEYS: TableKeys = TableKeys {
    name: "aggregation",
    meaning: "packets are sent in frames of several, as on Wi-Fi",
    keys: &[
        key("packets", Takes::count(&FRAME_PACKETS), REQUIRED, "the most packets of a frame"),
        key(
            "time",
            Takes::Time(FRAME_TIMES),
            "no limit",
            "a frame that takes this time or more takes no further packet",
        ),
        key("access", Takes::Time(ACCESS_TIMES), REQUIRED, "the wait for access to the medium before each frame"),
        key("thin_acks", Takes::Switch, "false", "of a flow's acknowledgements in a frame only the last one is sent"),
    ],
};
const AGGREGATION_ELSEWHERE: Elsewhere = &[
    ("frames", "the most packets of a frame are called `packets`: packets = 32"),
    ("txop", "the time after which a frame takes no further packet is called `time`: time = \"4ms\""),
];
const FRAME_PACKETS: RangeInclusive<u32> = 1..=10_000;
const FRAME_TIMES: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(1_000);
const ACCESS_TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_millis(1_000);

/// A rate, or the nominal one and how it varies.
pub(crate) fn rate(field: &Field<'_>) -> Result<(Rate, Option<RateSteps>), ScenarioError> {
    if !field.is_table() {
        return Ok((field.unit_in(&RATE)?, None));
    }
    let table = field.table()?.only(RATE_KEYS.keys, RATE_ELSEWHERE)?;
    if let Some(exact) = table.get("opportunities")
        && exact.switch()?
    {
        return opportunities(&table, &exact);
    }
    let (list, (steps, period)) = match (table.get("steps"), table.get("trace")) {
        (None, Some(trace)) => (trace.clone(), trace::steps(&trace)?),
        (_, None) => {
            let list = table.need("steps", STEPS)?;
            let steps = inline(&list)?;
            (list, (steps, None))
        }
        (Some(_), Some(trace)) => {
            return Err(trace.error("a rate has either `steps` or `trace`, and this one has both"));
        }
    };
    let given = table.get("every").map(|field| every(&field, steps.last().map(|(at, _)| *at))).transpose()?;
    let every = given.or(period);
    let sends = if every.is_some() { steps.iter().any(|(_, rate)| sending(*rate)) } else { sending_last(&steps) };
    if !sends {
        let error = list.error("the link stops for good: the rate stays zero");
        return Err(error.with_help("end in a rate above zero, or repeat the steps: every = \"10s\""));
    }
    let steps = RateSteps::new(steps, every);
    Ok((steps.nominal(), Some(steps)))
}

/// Reads a mahimahi trace whose lines are moments of delivery.
fn opportunities(table: &Reader<'_>, exact: &Field<'_>) -> Result<(Rate, Option<RateSteps>), ScenarioError> {
    let only =
        |message: &str| exact.error(message).with_help("write rate = { trace = \"lte.up\", opportunities = true }");
    let trace = match (table.get("trace"), table.get("steps")) {
        (Some(trace), None) if !trace::is_table(&trace)? => trace,
        _ => return Err(only("opportunities are lines of a mahimahi trace, and this rate has none")),
    };
    if table.get("every").is_some() {
        return Err(only("a trace of opportunities begins again at its last line: leave `every` out"));
    }
    let rates = trace::opportunities(&trace)?;
    Ok((rates.nominal(), Some(rates)))
}

/// The steps of a list.
fn inline(list: &Field<'_>) -> Result<Vec<(Duration, Rate)>, ScenarioError> {
    let mut steps: Vec<(Duration, Rate)> = Vec::new();
    for item in list.items(&format!("a list of times and rates, {STEPS},"))? {
        steps.push(step(&item, steps.last().map(|(at, _)| *at))?);
    }
    Ok(steps)
}

const fn sending(rate: Rate) -> bool {
    rate.bits_per_second() > 0
}

fn sending_last(steps: &[(Duration, Rate)]) -> bool {
    steps.last().is_some_and(|(_, rate)| sending(*rate))
}

/// `["5s", "2mbit"]`, after a step at `before`.
fn step(item: &Field<'_>, before: Option<Duration>) -> Result<(Duration, Rate), ScenarioError> {
    let pair = item.items("a time and a rate, [\"5s\", \"2mbit\"],")?;
    let [at_field, rate] = &*pair else {
        return Err(item.error(format!("{} is not a time and a rate: write [\"5s\", \"2mbit\"]", item.written())));
    };
    let at: Duration = at_field.unit()?;
    match before {
        None if at > Duration::ZERO => Err(at_field.error(format!("the first step is at \"0s\", not at {at}"))),
        Some(before) if at <= before => {
            Err(at_field.error(format!("{at} is not after the step before it, which is at {before}")))
        }
        _ => Ok((at, rate.unit_in(&STEP)?)),
    }
}

fn every(field: &Field<'_>, last: Option<Duration>) -> Result<Duration, ScenarioError> {
    let every = field.unit_in(&DURATION)?;
    match last {
        Some(last) if every <= last => {
            Err(field.error(format!("{every} is not after the last step, which is at {last}")))
        }
        _ => Ok(every),
    }
}

/// Reads the wire of a link with `delay` whose rate varies as `rates`.
pub(crate) fn wire(table: &Reader<'_>, delay: Duration, rates: Option<RateSteps>) -> Result<Wire, ScenarioError> {
    let loss = table.get("loss").map(|field| loss(&field)).transpose()?.flatten();
    let jitter = table.get("jitter").map_or(Ok(Duration::ZERO), |field| jitter(&field, delay))?;
    let reorder = table.get("reorder").map_or(Ok(false), |field| reorder(&field, jitter))?;
    let aggregation = table.get("aggregation").map(|field| aggregation(&field, rates.as_ref())).transpose()?;
    Ok(Wire { shaper: shaper::shaper(table)?, loss, jitter, reorder, rates, aggregation })
}

fn aggregation(field: &Field<'_>, rates: Option<&RateSteps>) -> Result<Aggregation, ScenarioError> {
    let table = field.table()?.only(AGGREGATION_KEYS.keys, AGGREGATION_ELSEWHERE)?;
    if rates.is_some_and(|rates| !rates.opportunities().is_empty()) {
        let error = field.error("this link delivers at the moments of its trace, not in frames");
        return Err(error.with_help("leave `aggregation` or `opportunities` out"));
    }
    Ok(Aggregation {
        packets: table.need("packets", "32")?.count32(&FRAME_PACKETS)?,
        time: table.get("time").map(|time| time.unit_in(&FRAME_TIMES)).transpose()?,
        access: table.need("access", "\"500us\"")?.unit_in(&ACCESS_TIMES)?,
        thin_acks: table.get("thin_acks").map_or(Ok(false), |thin| thin.switch())?,
    })
}

/// Reads a probability, or a table as of tc-netem(8); `None` if no loss is possible.
fn loss(field: &Field<'_>) -> Result<Option<Loss>, ScenarioError> {
    if !field.is_table() {
        let probability = field.ratio(&PROBABILITY)?;
        return Ok((probability > 0.0).then_some(Loss::independent(probability)));
    }
    let table = field.table()?.only(LOSS_KEYS.keys, LOSS_ELSEWHERE)?;
    let ratio = |key: &str, default: f64| table.get(key).map_or(Ok(default), |field| field.ratio(&PROBABILITY));
    let to_bad = table.need("p", "0.01")?.ratio(&PROBABILITY)?;
    let to_good = table.need("r", "0.3")?.ratio(&PROBABILITY)?;
    Ok(Some(Loss { to_bad, to_good, in_bad: ratio("1-h", 1.0)?, in_good: ratio("1-k", 0.0)? }))
}

fn jitter(field: &Field<'_>, delay: Duration) -> Result<Duration, ScenarioError> {
    let jitter: Duration = field.unit()?;
    if jitter > delay {
        let message =
            format!("a jitter of {jitter} is more than the delay of {delay}: packets would arrive before they went");
        return Err(field.error(message).with_help("lower `jitter` or raise `delay`"));
    }
    Ok(jitter)
}

fn reorder(field: &Field<'_>, jitter: Duration) -> Result<bool, ScenarioError> {
    let reorder = field.switch()?;
    if reorder && jitter == Duration::ZERO {
        return Err(field.error("without jitter nothing is reordered").with_help("add for example jitter = \"2ms\""));
    }
    Ok(reorder)
}
