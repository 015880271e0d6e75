//! The parameters of RED that adapts its probability.

use alloc::format;

use crate::discipline::ared::{Adaptation, Config, lowest_probability};
use crate::params::shared::*;
use crate::params::{Domain, Era, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Duration, Packets, Size};

pub(crate) const INFO: Info = Info {
    name: "ared",
    summary: "RED that adapts its probability to the traffic",
    source: "Feng, Kandlur, Saha, Shin: A Self-Configuring RED Gateway, INFOCOM 1999; \
             Floyd, Gummadi, Shenker: Adaptive RED, 2001",
    year: Some(2001),
    needs: "the average",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[
        LIMIT,
        ARED_MIN,
        ARED_MAX,
        ARED_PROBABILITY,
        ARED_WEIGHT,
        ARED_BURST,
        AVPKT,
        BANDWIDTH,
        ARED_GENTLE,
        ARED_UNIFORMIZE,
        ARED_SPARE,
        BYTE_DROP,
        ECN,
        HARDDROP,
        LAW,
        ARED_TARGET,
        ARED_INTERVAL,
    ],
};

const LAW: Parameter =
    parameter("law", Domain::Choice(&["floyd", "feng"]), "floyd", "how the probability follows the average");
const ARED_TARGET: Parameter = parameter(
    "target",
    Domain::Duration,
    "5ms, as ns-2",
    "mean delay that the thresholds aim at when neither `min` nor `max` is given",
)
.elsewhere(&["target_delay", "targetdelay_", "TargetDelay"]);
const ARED_INTERVAL: Parameter =
    parameter("interval", Domain::Duration, "500ms, Floyd", "time between adaptations with `law = floyd`")
        .elsewhere(&["Interval"]);
const ARED_MIN: Parameter =
    MIN.default("max / 3; the larger of 5 packets and half of `target` at `bandwidth` when `max` is not given either");
const ARED_MAX: Parameter = MAX.default("3 min, as ns-2");
const ARED_PROBABILITY: Parameter = PROBABILITY.default("0.1, as ns-2: where adaptation starts");
const ARED_WEIGHT: Parameter = WEIGHT.default("1 - exp(-1/C) for a link of C mean packets a second, as ns-2");
const ARED_BURST: Parameter = BURST.default("unused");
const ARED_GENTLE: Parameter = GENTLE.default("true with `law = floyd`, false with feng");
const ARED_UNIFORMIZE: Parameter = UNIFORMIZE.default("wait, as ns-2");
const ARED_SPARE: Parameter = SPARE.default("true, as ns-2");

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let floyd = r.take("law", Origin::Default("the later of the two"), "floyd")? == "floyd";
    let mut red = r.red_of(limit, Era::Automatic, floyd)?;
    let interval = r.take("interval", Origin::Default("Floyd 2001"), Duration::from_millis(500))?;
    let law = if floyd {
        let lowest = lowest_probability(red.bandwidth.unwrap_or(r.rate()));
        r.say(format!("the probability stays between {lowest} and 0.5"));
        Adaptation::Floyd { interval }
    } else {
        Adaptation::Feng
    };
    let automatic_thresholds = r.given::<Size>("min")?.is_none() && r.given::<Size>("max")?.is_none();
    let automatic_weight = r.given::<f64>("weight")?.is_none() && r.given::<Packets>("burst")?.is_none();
    let target = r.given("target")?.unwrap_or(Duration::from_millis(5));
    let Config { red: unknown, .. } = Config::default();
    if automatic_thresholds {
        (red.min, red.max) = (unknown.min, unknown.max);
    }
    if automatic_weight {
        red.weight = unknown.weight;
    }
    Ok(Config { limit, red, target: automatic_thresholds.then_some(target), automatic_weight, law })
}
