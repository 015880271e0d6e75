//! Reading of a link's policer and its impairments: varying rates, loss and jitter.

use std::ops::RangeInclusive;

use fairlane_link::Loss;
use fairlane_qdisc::{Bytes, Duration, Rate};

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader};
use crate::key::{ANY_TIME, REQUIRED, TableKeys, Takes, key};
use crate::read::{DURATION, RATE, shaper, trace};
use crate::wire::{Aggregation, Policer, RateSteps, Steps, Wire};

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
const STEPS: Example = Example {
    value: "rate",
    values: "rates",
    list: "[[\"0s\", \"10mbit\"], [\"5s\", \"2mbit\"]]",
    step: "[\"5s\", \"2mbit\"]",
};

/// A time, or a table of how it varies.
pub(crate) const DELAY: Takes = Takes::Either(&Takes::Time(DELAYS), &Takes::Table(&DELAY_KEYS));
pub(crate) const DELAYS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_millis(1_000_000);
const DELAY_KEYS: TableKeys = TableKeys {
    name: "delays",
    meaning: "a delay that varies; it holds at the end of a packet's transmission",
    keys: &[
        key(
            "steps",
            Takes::List(&Takes::Pair(&[ANY_TIME, Takes::Time(DELAYS)])),
            "",
            "each delay with the time from which it holds, the first at 0s",
        ),
        key("trace", Takes::Text, "", "instead of `steps`: a file of times and delays (.csv)"),
        key("every", Takes::Time(DURATION), "never", "period of the steps"),
    ],
};
const DELAY_STEPS: Example = Example {
    value: "delay",
    values: "delays",
    list: "[[\"0s\", \"20ms\"], [\"5s\", \"80ms\"]]",
    step: "[\"5s\", \"80ms\"]",
};

/// The words for steps in errors.
#[derive(Clone, Copy)]
struct Example {
    value: &'static str,
    values: &'static str,
    list: &'static str,
    step: &'static str,
}

/// A probability, or a table of bursty loss.
pub(crate) const LOSSES: Takes = Takes::Either(
    &Takes::Ratio(PROBABILITY),
    &Takes::Either(&Takes::Table(&LOSS_KEYS), &Takes::Table(&LOSS_STEP_KEYS)),
);
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
const LOSS_STEP_KEYS: TableKeys = TableKeys {
    name: "losses",
    meaning: "loss by time",
    keys: &[
        key(
            "steps",
            Takes::List(&Takes::Pair(&[ANY_TIME, Takes::Ratio(PROBABILITY)])),
            REQUIRED,
            "each probability of a loss with the time from which it holds, the first at 0s",
        ),
        key("every", Takes::Time(DURATION), "never", "period of the steps"),
    ],
};
const LOSS_STEPS: Example = Example {
    value: "probability",
    values: "probabilities",
    list: "[[\"0s\", 0.0], [\"5s\", 0.02]]",
    step: "[\"5s\", 0.02]",
};
const LOSS_STEP_ELSEWHERE: Elsewhere =
    &[("p", "losses are either by `steps` or by `p` and `r`"), ("r", "losses are either by `steps` or by `p` and `r`")];
const LOSS_ELSEWHERE: Elsewhere = &[
    ("h", "the probability of a loss in the bad state is called `1-h`: 1-h = 1.0"),
    ("k", "the probability of a loss in the good state is called `1-k`: 1-k = 0.0"),
    ("every", "it is the period of `steps`"),
    ("gemodel", "its parameters stand at once: loss = { p = 0.01, r = 0.3 }"),
];

/// The keys are tc-police's.
pub(crate) const POLICER_KEYS: TableKeys = TableKeys {
    name: "policer",
    meaning: "a policer in front of the queue: a token bucket that drops the packets for which it has no tokens",
    keys: &[
        key("rate", Takes::Rate(RATE), REQUIRED, "the rate at which the bucket is filled"),
        key("burst", Takes::Bytes(BURSTS), REQUIRED, "the size of the bucket, which is full at the start"),
    ],
};
const POLICER_ELSEWHERE: Elsewhere = &[
    ("bucket", "the size of the bucket is called `burst`: burst = \"100kb\""),
    ("buffer", "a policer has no queue; the size of its bucket is called `burst`: burst = \"100kb\""),
    ("conform-exceed", "what exceeds is dropped, and there is no other action"),
    ("limit", "a policer has no queue; the size of its bucket is called `burst`: burst = \"100kb\""),
    ("mtu", "packets are no larger than `packet` of their group"),
    ("peakrate", "a policer has one rate; a second one is a policer of another link"),
];
const BURSTS: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(1 << 40);

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
            let list = table.need("steps", STEPS.list)?;
            let steps = inline(&list, STEPS, |rate| rate.unit_in(&STEP))?;
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

/// The steps of a list, whose values `read` reads.
fn inline<T>(
    list: &Field<'_>,
    example: Example,
    read: impl Fn(&Field<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<(Duration, T)>, ScenarioError> {
    let Example { values, list: written, .. } = example;
    let mut steps: Vec<(Duration, T)> = Vec::new();
    for item in list.items(&format!("a list of times and {values}, {written},"))? {
        let (at, value) = step(&item, example, steps.last().map(|(at, _)| *at))?;
        steps.push((at, read(&value)?));
    }
    match steps.is_empty() {
        true => Err(list.error("there are no steps").with_help(format!("write for example steps = {written}"))),
        false => Ok(steps),
    }
}

/// A delay, or the least one and how it varies.
pub(crate) fn delay(field: &Field<'_>) -> Result<(Duration, Option<Steps<Duration>>), ScenarioError> {
    if !field.is_table() {
        return Ok((field.unit_in(&DELAYS)?, None));
    }
    let table = field.table()?.only(DELAY_KEYS.keys, RATE_ELSEWHERE)?;
    let steps = match (table.get("steps"), table.get("trace")) {
        (None, Some(trace)) => trace::delays(&trace, &DELAYS)?,
        (_, None) => inline(&table.need("steps", DELAY_STEPS.list)?, DELAY_STEPS, |delay| delay.unit_in(&DELAYS))?,
        (Some(_), Some(trace)) => {
            return Err(trace.error("a delay has either `steps` or `trace`, and this one has both"));
        }
    };
    let steps = repeated(&table, steps)?;
    let least = steps.steps().iter().map(|(_, delay)| *delay).min().unwrap_or_default();
    Ok((least, Some(steps)))
}

/// The steps with the period of `table`.
fn repeated<T: Copy>(table: &Reader<'_>, steps: Vec<(Duration, T)>) -> Result<Steps<T>, ScenarioError> {
    let last = steps.last().map(|(at, _)| *at);
    let every = table.get("every").map(|field| every(&field, last)).transpose()?;
    Ok(Steps::new(steps, every))
}

const fn sending(rate: Rate) -> bool {
    rate.bits_per_second() > 0
}

fn sending_last(steps: &[(Duration, Rate)]) -> bool {
    steps.last().is_some_and(|(_, rate)| sending(*rate))
}

/// The time and the value of `["5s", "2mbit"]`, after a step at `before`.
fn step<'a>(
    item: &Field<'a>,
    example: Example,
    before: Option<Duration>,
) -> Result<(Duration, Field<'a>), ScenarioError> {
    let Example { value, step, .. } = example;
    let pair = item.items(&format!("a time and a {value}, {step},"))?;
    let [at_field, value] = &*pair else {
        return Err(item.error(format!("{} is not a time and a {value}: write {step}", item.written())));
    };
    let at: Duration = at_field.unit()?;
    match before {
        None if at > Duration::ZERO => Err(at_field.error(format!("the first step is at \"0s\", not at {at}"))),
        Some(before) if at <= before => {
            Err(at_field.error(format!("{at} is not after the step before it, which is at {before}")))
        }
        _ => Ok((at, value.clone())),
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

/// Reads the wire of a link with `delay`, which varies as `delays`, whose rate varies as `rates`.
pub(crate) fn wire(
    table: &Reader<'_>,
    (delay, delays): (Duration, Option<Steps<Duration>>),
    rates: Option<RateSteps>,
) -> Result<Wire, ScenarioError> {
    let (loss, losses) = table.get("loss").map(|field| loss(&field)).transpose()?.unwrap_or_default();
    let jitter = table.get("jitter").map_or(Ok(Duration::ZERO), |field| jitter(&field, delay))?;
    let varies = jitter > Duration::ZERO || delays.is_some();
    let reorder = table.get("reorder").map_or(Ok(false), |field| reorder(&field, varies))?;
    let aggregation = table.get("aggregation").map(|field| aggregation(&field, rates.as_ref())).transpose()?;
    let policer = table.get("policer").map(|field| policer(&field)).transpose()?;
    Ok(Wire { policer, shaper: shaper::shaper(table)?, loss, losses, delays, jitter, reorder, rates, aggregation })
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

fn policer(field: &Field<'_>) -> Result<Policer, ScenarioError> {
    let table = field.table()?.only(POLICER_KEYS.keys, POLICER_ELSEWHERE)?;
    let rate = table.need("rate", "\"5mbit\"")?.unit_in(&RATE)?;
    Ok(Policer { rate, burst: table.need("burst", "\"100kb\"")?.unit_in(&BURSTS)? })
}

/// Reads a probability, a table as of tc-netem(8), or one of steps; no loss if none is possible.
fn loss(field: &Field<'_>) -> Result<(Option<Loss>, Option<Steps<f64>>), ScenarioError> {
    if !field.is_table() {
        let probability = field.ratio(&PROBABILITY)?;
        return Ok(((probability > 0.0).then_some(Loss::independent(probability)), None));
    }
    let table = field.table()?;
    if let Some(list) = table.get("steps") {
        let table = table.only(LOSS_STEP_KEYS.keys, LOSS_STEP_ELSEWHERE)?;
        let steps = repeated(&table, inline(&list, LOSS_STEPS, |value| value.ratio(&PROBABILITY))?)?;
        return Ok((Some(Loss::independent(steps.at(Duration::ZERO))), Some(steps)));
    }
    let table = table.only(LOSS_KEYS.keys, LOSS_ELSEWHERE)?;
    let ratio = |key: &str, default: f64| table.get(key).map_or(Ok(default), |field| field.ratio(&PROBABILITY));
    let to_bad = table.need("p", "0.01")?.ratio(&PROBABILITY)?;
    let to_good = table.need("r", "0.3")?.ratio(&PROBABILITY)?;
    Ok((Some(Loss { to_bad, to_good, in_bad: ratio("1-h", 1.0)?, in_good: ratio("1-k", 0.0)? }), None))
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

fn reorder(field: &Field<'_>, delay_varies: bool) -> Result<bool, ScenarioError> {
    let reorder = field.switch()?;
    if reorder && !delay_varies {
        return Err(field.error("without jitter nothing is reordered").with_help("add for example jitter = \"2ms\""));
    }
    Ok(reorder)
}
