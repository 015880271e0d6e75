//! RED's parameters over a FIFO; those of RED itself are in [`crate::params::red`].

use crate::discipline::red::Config;
use crate::params::shared::red_and;
use crate::params::{FlowState, Info, ParameterError, Resolver};

pub(crate) const INFO: Info = Info {
    name: "red",
    summary: "signals at random, the more the longer the average queue",
    source: "Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, IEEE/ACM ToN 1(4)",
    year: Some(1993),
    needs: "the average",
    flow_state: FlowState::None,
    experimental: false,
    parameters: red_and!(),
};

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    Ok(Config { limit, red: r.red(limit)? })
}
