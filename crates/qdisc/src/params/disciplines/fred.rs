//! FRED's parameters.

use alloc::format;

use crate::discipline::fred::Config;
use crate::params::shared::{AVPKT, BANDWIDTH, BYTE_DROP, ECN, LIMIT, MAX, MIN, PROBABILITY, WEIGHT};
use crate::params::{
    Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, at_least, number, ordered, parameter, part,
    times,
};
use crate::{Bytes, Size};

pub(crate) const INFO: Info = Info {
    name: "fred",
    summary: "RED that spares flows with little in the queue and holds those with much to their share",
    source: "Lin, Morris: Dynamics of Random Early Detection, SIGCOMM 1997",
    year: Some(1997),
    needs: "the average, and what each flow has in the queue",
    flow_state: FlowState::Queued,
    experimental: false,
    parameters: &[
        LIMIT,
        FRED_MIN,
        MAX.default("2 min, the paper"),
        PROBABILITY.default("0.02, the paper"),
        WEIGHT.default("0.002, the paper"),
        MINQ,
        MANY_FLOWS,
        FRED_AVPKT,
        BANDWIDTH,
        BYTE_DROP,
        FRED_ECN,
    ],
};

const FRED_MIN: Parameter = Parameter {
    default: "max / 2 when that is given, else limit / 4, the paper",
    meaning: "average below which no packet is signalled; the most that a flow may hold below `max`",
    ..MIN
};
const MINQ: Parameter = parameter(
    "minq",
    Domain::Size,
    "4 packets, the paper for large buffers; it has 2 for small ones",
    "the part of the queue that a flow may hold without being tested at random, in the unit of `min`",
)
.elsewhere(&["min_q", "minq_"]);
const MANY_FLOWS: Parameter = parameter(
    "many_flows",
    Domain::Switch,
    "false",
    "at or above `max` each flow may still queue two packets, instead of none (the paper's section on many flows)",
);
const FRED_AVPKT: Parameter =
    Parameter { meaning: "mean packet: the unit of the idle clock and of `byte_drop`", ..AVPKT };
const FRED_ECN: Parameter = Parameter {
    meaning: "early and forced signals mark packets that can be marked; strikes and the limit always drop",
    ..ECN
};

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let rate = r.bandwidth("the average's idle clock")?;
    let (rule, min) = match r.given::<Size>("max")? {
        Some(max) => ("max / 2", part(max, 2)),
        None => ("limit / 4, the paper", at_least(part(limit, 4), 1, avpkt)),
    };
    let min = r.take("min", Origin::Derived(rule), min)?;
    let max = r.take("max", Origin::Derived("2 min, the paper"), times(min, 2))?;
    let thresholds = ordered(min, max)?;
    let probability = r.take("probability", Origin::Default("the paper"), 0.02)?;
    let weight = r.take("weight", Origin::Default("the paper"), 0.002)?;
    let four = match min {
        Size::Packets(_) => Size::packets(4),
        Size::Bytes(_) => Size::bytes(4 * avpkt.get()),
    };
    let minq = r.take("minq", Origin::Default("the paper for large buffers"), four)?;
    let many_flows = r.take("many_flows", Origin::Default("the paper's basic form"), false)?;
    let byte_drop = r.take("byte_drop", Origin::Default("as ns-2 before 2004"), false)?;
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    r.judge(limit, thresholds, avpkt, false);
    r.say_average(weight, avpkt, rate);
    if number(minq) > number(min) {
        r.warn(format!("minq {minq} is above min {min}: no flow reaches it, so none is ever signalled at random"));
    }
    let bandwidth = r.given("bandwidth")?;
    let config = Config { limit, min, max, probability, weight, minq, many_flows, avpkt, bandwidth, byte_drop, ecn };
    config.validate()?;
    Ok(config)
}
