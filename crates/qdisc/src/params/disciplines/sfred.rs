//! SFRED's parameters; those of its bins are SFB's.

use alloc::format;

use super::sfb::{around_bins, resolve_bins};
use crate::discipline::sfred::{Config, average_range};
use crate::params::shared::{PROBABILITY, WEIGHT};
use crate::params::{FlowState, Info, Origin, Parameter, ParameterError, Resolver};

pub(crate) const INFO: Info = Info {
    name: "sfred",
    summary: "self-configuring RED in bins: limits the rate of flows whose bins all have a max_p of 1",
    source: "Feng, Kandlur, Saha, Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness, \
             INFOCOM 2001",
    year: Some(2001),
    needs: "`levels` hashes of the flow and two sets of `levels` times `bins` bins",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: around_bins!(SFRED_PROBABILITY, SFRED_WEIGHT;),
};

const SFRED_PROBABILITY: Parameter = Parameter {
    default: "0.1, as ns-2",
    meaning: "a bin's first probability of a signal as its average reaches 80 % of `bin_size` (max_p); it adapts from there",
    ..PROBABILITY
};
const SFRED_WEIGHT: Parameter =
    Parameter { default: "0.002, as ns-2", meaning: "weight of a sample in a bin's average (w_q)", ..WEIGHT };

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let bins = resolve_bins(r, limit)?;
    let probability = r.take("probability", Origin::Default("as ns-2"), 0.1)?;
    let weight = r.take("weight", Origin::Default("as ns-2"), 0.002)?;
    let (min, max) = average_range(bins.bin_size);
    r.say(format!("a bin signals from an average of {min} packets, and always from {max}"));
    Ok(Config { limit, bins, probability, weight })
}
