//! RED's parameters over a FIFO; those of RED itself are in [`crate::params::red`].

use alloc::string::ToString;

use crate::discipline::red::Config;
use crate::params::shared::red_and;
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "red",
    summary: "signals at random, the more the longer the average queue",
    source: "Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4)",
    year: Some(1993),
    needs: "the average",
    flow_state: FlowState::None,
    experimental: false,
    parameters: red_and!(PROBABILITY_WEIGHT),
};

const PROBABILITY_WEIGHT: Parameter = parameter(
    "probability_weight",
    Domain::Ratio,
    "1, no filter",
    "weight of a sample in a low-pass filter of the probability; below 1 no signal is forced (the BLUE paper, section III-C)",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let red = r.red(limit)?;
    let probability_weight = r.take("probability_weight", Origin::Default("no filter"), 1.0)?;
    if probability_weight < 1.0 && red.harddrop {
        r.warn("harddrop changes nothing with probability_weight, since no signal is forced".to_string());
    }
    Ok(Config { limit, red, probability_weight })
}
