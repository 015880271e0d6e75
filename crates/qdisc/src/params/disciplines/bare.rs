//! BARE's parameters.

use alloc::format;
use alloc::string::ToString;

use crate::discipline::bare::Config;
use crate::discipline::bare::config::{EXPONENTS, MAX_FLOWS, MAX_INCREASE, MAX_THRESHOLD_FLOWS, VirtualThreshold};
use crate::params::shared::{AVPKT, BANDWIDTH, LIMIT, WEIGHT};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Rate, Size};

pub(crate) const INFO: Info = Info {
    name: "bare",
    summary: "drops with a power of the flow's part of the queue; the exponent follows the flow's rate",
    source: "Cho, Cho: Dynamic Buffer Management Scheme Based on Rate Estimation in Packet-Switched Networks, Computer \
             Networks 39",
    year: Some(2002),
    needs: "the average, and a state for each address pair that was admitted lately",
    flow_state: FlowState::Seen,
    experimental: false,
    parameters: &[
        Parameter { default: "320kb, the paper", ..LIMIT },
        TARGET,
        FAIR_DROP,
        HI,
        LO,
        N1,
        N2,
        FLOWS,
        BETA,
        BETA_MIN,
        BETA_MAX,
        INCREASE,
        Parameter { default: "0.004, the paper", ..WEIGHT },
        K,
        QUEUE_WEIGHT,
        TIMEOUT,
        WEIGHTED,
        Parameter { meaning: "mean packet: converts sizes in packets to bytes", ..AVPKT },
        Parameter { meaning: "rate that is divided among the flows", ..BANDWIDTH },
    ],
};

const TARGET: Parameter = parameter(
    "target",
    Domain::Size,
    "3/8 of limit, the paper's 120 of 320 kb",
    "average queue to aim at, unless half of what all flows may queue is less",
)
.elsewhere(&["maxtargetq"]);
const FAIR_DROP: Parameter = parameter(
    "fair_drop",
    Domain::Size,
    "7/16 of limit, the paper's 140 of 320 kb",
    "queue from which only flows without state are admitted",
)
.elsewhere(&["fdth"]);
const HI: Parameter =
    parameter("hi", Domain::Bytes, "8000b, the paper", "the most that each of at most `n1` flows may queue")
        .elsewhere(&["maxth"]);
const LO: Parameter =
    parameter("lo", Domain::Bytes, "4000b, the paper", "the most that each of at least `n2` flows may queue");
const N1: Parameter = parameter(
    "n1",
    Domain::Count { min: 1, max: MAX_THRESHOLD_FLOWS, infinite: false },
    "4/3 target / hi, 20 at the paper's sizes",
    "flows up to which each may queue `hi`; from there to `n2` what all may queue changes linearly",
);
const N2: Parameter = parameter(
    "n2",
    Domain::Count { min: 1, max: MAX_THRESHOLD_FLOWS, infinite: false },
    "2 target / lo, the paper's 60, but at least `n1`",
    "flows from which each may queue `lo`",
);
const FLOWS: Parameter = parameter(
    "flows",
    Domain::Count { min: 1, max: MAX_FLOWS, infinite: false },
    "320, the paper",
    "the most flows that have a state at once",
)
.elsewhere(&["maxnflow"]);
const EXPONENT: Domain = Domain::Number { min: EXPONENTS.0, max: EXPONENTS.1 };
const BETA: Parameter =
    parameter("beta", EXPONENT, "7.5, the paper", "exponent of a new flow").elsewhere(&["beta_init"]);
const BETA_MIN: Parameter = parameter("beta_min", EXPONENT, "0.5, the paper", "the least exponent");
const BETA_MAX: Parameter = parameter("beta_max", EXPONENT, "10, the paper", "the largest exponent");
const INCREASE: Parameter = parameter(
    "increase",
    Domain::Number { min: 1.0, max: MAX_INCREASE },
    "1.2, the paper",
    "factor by which the exponent of a flow within its rate recovers",
)
.elsewhere(&["a"]);
const K: Parameter = parameter(
    "k",
    Domain::Duration,
    "25/8 of the time that `bandwidth` takes for `target`, the paper's 150ms",
    "time over which a flow's rate is averaged",
)
.elsewhere(&["K"]);
const QUEUE_WEIGHT: Parameter = parameter(
    "queue_weight",
    Domain::Ratio,
    "rates over `k`, the paper's listing",
    "weight of a sample in a flow's average queue, which stands for its rate if this is given (1 - k of equation 5)",
);
const TIMEOUT: Parameter = parameter(
    "timeout",
    Domain::Duration,
    "3 k, the paper",
    "time after its last admitted packet when a flow with nothing queued loses its state",
)
.elsewhere(&["Timeout"]);
const WEIGHTED: Parameter = parameter(
    "weighted",
    Domain::Switch,
    "false",
    "a flow counts as 1 to 4 flows, by the two highest bits of the traffic class of its first packet",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("the paper"), Size::bytes(320_000))?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let rate = r.bandwidth("each flow's fair rate")?;
    let base = Config { limit, avpkt, bandwidth: r.given("bandwidth")?, ..Config::default() };
    let of_limit = |part: u64| Size::bytes(base.in_bytes(limit) * part / 16);
    let target = r.take("target", Origin::Derived("3/8 of limit, as the paper"), of_limit(6))?;
    let fair_drop = r.take("fair_drop", Origin::Derived("7/16 of limit, as the paper"), of_limit(7))?;
    if base.in_bytes(fair_drop) > base.in_bytes(limit) {
        r.warn(format!("fair_drop {}b is above limit {limit}: Fair Drop never acts", base.in_bytes(fair_drop)));
    }
    let mut config = Config { target, fair_drop, ..base };
    resolve_threshold(r, &mut config)?;
    config.flows = r.take("flows", Origin::Default("the paper"), 320)?;
    config.beta = r.take("beta", Origin::Default("the paper"), 7.5)?;
    config.beta_min = r.take("beta_min", Origin::Default("the paper"), 0.5)?;
    config.beta_max = r.take("beta_max", Origin::Default("the paper"), 10.0)?;
    config.increase = r.take("increase", Origin::Default("the paper"), 1.2)?;
    config.weight = r.take("weight", Origin::Default("the paper"), 0.004)?;
    resolve_times(r, &mut config, rate)?;
    config.queue_weight = r.given("queue_weight")?;
    match config.queue_weight {
        Some(weight) => r.note("queue_weight", weight.to_string(), Origin::Given),
        None => r.note("queue_weight", "none".to_string(), Origin::Default("rates over k")),
    }
    config.weighted = r.take("weighted", Origin::Default("all flows are equal"), false)?;
    config.validate()?;
    Ok(config)
}

/// Resolves the parameters of the virtual threshold.
fn resolve_threshold(r: &mut Resolver<'_>, config: &mut Config) -> Result<(), ParameterError> {
    let hi = r.take("hi", Origin::Default("the paper"), Bytes::new(8000))?;
    let lo = r.take("lo", Origin::Default("the paper"), Bytes::new(4000))?;
    let target = config.in_bytes(config.target);
    // The number of flows that fill `all` with `each`. A cast saturates.
    let flows = |all: u64, each: Bytes| (all / each.get()).clamp(1, u64::from(MAX_THRESHOLD_FLOWS)) as u32;
    let n1 = r.take("n1", Origin::Derived("4/3 target / hi"), flows(4 * target / 3, hi))?;
    let n2 = r.take("n2", Origin::Derived("2 target / lo, but at least n1"), flows(2 * target, lo).max(n1))?;
    if lo.get() > hi.get() {
        r.warn(format!("lo {lo} is above hi {hi}: the more flows there are, the more each may queue"));
    }
    *config = Config { hi, lo, n1, n2, ..*config };
    let all = VirtualThreshold::new(config).of(f64::from(n1));
    r.say(format!("{n1} flows may queue {all} bytes, {hi} each; from {n2} flows on it is {lo} each"));
    Ok(())
}

/// Resolves the averaging time and the timeout. If not given, they go on following the rate.
fn resolve_times(r: &mut Resolver<'_>, config: &mut Config, rate: Rate) -> Result<(), ParameterError> {
    config.k = r.given::<Duration>("k")?;
    config.timeout = r.given::<Duration>("timeout")?;
    let (k, timeout) = config.times(Some(rate));
    let rule = Origin::Derived("25/8 of the delay of target, as the paper");
    r.take("k", rule, k)?;
    let delay = rate.transmission(config.in_bytes(config.target));
    if k < delay {
        r.warn(format!("k {k} is below the {delay} of the target queue: rates follow single bursts"));
    }
    r.take("timeout", Origin::Derived("3 k, as the paper"), timeout)?;
    if timeout < k {
        r.warn(format!("timeout {timeout} is below k {k}: a flow is forgotten before its rate is known"));
    }
    Ok(())
}
