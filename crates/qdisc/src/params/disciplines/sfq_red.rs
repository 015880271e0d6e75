//! The parameters of SFQ with RED in each queue.

use alloc::format;

use super::sfq::shared_queues;
use crate::discipline::red::RedParameters;
use crate::discipline::red::check_thresholds;
use crate::discipline::sfq_red::{Config, THRESHOLDS};
use crate::params::shared::{
    AVPKT, BANDWIDTH, BYTE_DROP, ECN, FLOWS, GENTLE, HARDDROP, LIMIT, PROBABILITY, SPARE, UNIFORMIZE, WEIGHT,
};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Packets, Size};

pub(crate) const INFO: Info = Info {
    name: "sfq-red",
    summary: "serves hashed flows in turn, with RED in each of their small queues",
    source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness, \
             INFOCOM 2001",
    year: Some(2001),
    needs: "a hash of the flow and `flows` queues, each with its average",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[
        LIMIT.default("414kb, the paper: 46 queues of 9kb"),
        FLOWS.default("46, the paper"),
        QUEUE_LIMIT,
        QUEUE_MIN,
        QUEUE_MAX,
        PROBABILITY.default("1; the paper says none"),
        WEIGHT.default("0.002, as ns-2; the paper says none"),
        AVPKT,
        BANDWIDTH,
        GENTLE,
        UNIFORMIZE.default("wait, as ns-2"),
        SPARE.default("true, as ns-2"),
        BYTE_DROP,
        ECN,
        HARDDROP,
    ],
};

const QUEUE_LIMIT: Parameter = parameter(
    "queue_limit",
    Domain::Size,
    "limit / flows, the paper; at least a mean packet",
    "hard limit of each queue (tc's redflowlimit)",
)
.elsewhere(&["redflowlimit"]);
const QUEUE_MIN: Parameter = parameter(
    "queue_min",
    Domain::Size,
    "2/9 of queue_limit, the paper's 2kb; at least a mean packet",
    "average of a queue below which none of its packets is signalled",
)
.elsewhere(&["min"]);
const QUEUE_MAX: Parameter = parameter(
    "queue_max",
    Domain::Size,
    "8/9 of queue_limit, the paper's 8kb; at least three mean packets",
    "average of a queue from which all of its packets are signalled",
)
.elsewhere(&["max"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("the paper"), Size::bytes(414_000))?;
    let flows = r.take("flows", Origin::Default("the paper"), 46)?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let derived = part(limit, 1, u64::from(flows), avpkt, 1);
    let queue_limit = r.take("queue_limit", Origin::Derived("limit / flows, as the paper"), derived)?;
    let red = resolve_red(r, queue_limit, avpkt)?;
    r.say(shared_queues(flows));
    let config = Config { limit, flows, queue_limit, red };
    config.validate()?;
    Ok(config)
}

/// Resolves the parameters of RED for queues of `queue_limit`.
fn resolve_red(r: &mut Resolver<'_>, queue_limit: Size, avpkt: Bytes) -> Result<RedParameters, ParameterError> {
    let of_limit = |times, least| part(queue_limit, times, 9, avpkt, least);
    let min = r.take("queue_min", Origin::Derived("2/9 of queue_limit, as the paper"), of_limit(2, 1))?;
    let max = r.take("queue_max", Origin::Derived("8/9 of queue_limit, as the paper"), of_limit(8, 3))?;
    check_thresholds(THRESHOLDS, min, max)?;
    let probability = r.take("probability", Origin::Default("the paper says none"), 1.0)?;
    let weight = r.take("weight", Origin::Default("as ns-2"), 0.002)?;
    r.bandwidth("the averages' idle clock")?;
    let bandwidth = r.given("bandwidth")?;
    let gentle = r.take("gentle", Origin::Default("as ns-2 before 2001"), false)?;
    let red = RedParameters { min, max, probability, weight, avpkt, bandwidth, gentle, ..RedParameters::default() };
    let red = r.signalling(true, red)?;
    if max.number() < 2 * min.number() {
        r.warn(format!("queue_max {max} is below twice queue_min {min}: the average cannot settle between them"));
    }
    Ok(red)
}

/// Returns `times` of `parts` equal parts of `size`, but at least `least` mean packets.
fn part(size: Size, times: u64, parts: u64, avpkt: Bytes, least: u32) -> Size {
    match size {
        // Parts of 2^24 packets are less than 2^32.
        Size::Packets(packets) => {
            Size::Packets(Packets::new(((u64::from(packets.get()) * times / parts) as u32).max(least)))
        }
        Size::Bytes(bytes) => Size::bytes((bytes.get() * times / parts).max(u64::from(least) * avpkt.get())),
    }
}
