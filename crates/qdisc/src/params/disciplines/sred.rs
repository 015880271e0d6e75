//! SRED's parameters.

use alloc::format;

use crate::discipline::sred::{Config, MANY_FLOWS, MAX_ZOMBIES, SredVariant};
use crate::params::shared::{ECN, LIMIT};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "sred",
    summary: "RED whose probability follows the number of flows, estimated from a list of recent arrivals",
    source: "Ott, Lakshman, Wong: SRED: Stabilized RED, INFOCOM 1999",
    year: Some(1999),
    needs: "the flows of `zombies` recent arrivals",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT, PROBABILITY, ZOMBIES, OVERWRITE, WEIGHT, VARIANT, SRED_ECN],
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
    Domain::Count { min: 1, max: MAX_ZOMBIES, infinite: false },
    "1000, the paper",
    "recent arrivals whose flows are remembered",
)
.elsewhere(&["M", "flows"]);
const OVERWRITE: Parameter = parameter(
    "overwrite",
    Domain::Ratio,
    "0.25, the paper",
    "probability with which an arrival of another flow replaces the zombie that it was compared with (p)",
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
    "`full` signals an arrival that hits more often than the others: by the factor 1 + 1/P",
);
const SRED_ECN: Parameter =
    Parameter { meaning: "signals mark packets that can be marked; the limit always drops", ..ECN };

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let paper = Origin::Default("the paper");
    let probability = r.take("probability", paper.clone(), 0.15)?;
    let zombies: u32 = r.take("zombies", paper.clone(), 1000)?;
    let overwrite = r.take("overwrite", paper, 0.25)?;
    let weight = r.take("weight", Origin::Derived("1 / zombies"), 1.0 / f64::from(zombies))?;
    let variant = match r.take("variant", Origin::Default("the simpler of the two"), "simple")? {
        "full" => SredVariant::Full,
        _ => SredVariant::Simple,
    };
    let ecn = r.take("ecn", Origin::Default("senders must agree"), false)?;
    r.say(format!(
        "signals begin at a sixth of {limit} with a probability of {}, and at a third of it with {probability}; below \
         {MANY_FLOWS} flows both fall with the square of their number",
        probability / 4.0
    ));
    if f64::from(zombies) < MANY_FLOWS {
        r.warn(format!("zombies {zombies} are too few to tell {MANY_FLOWS} flows from fewer"));
    }
    Ok(Config { limit, probability, zombies, overwrite, weight, variant, ecn })
}
