//! DropTail's parameters.

use crate::discipline::droptail::{Config, Drop};
use crate::params::shared::LIMIT;
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "droptail",
    summary: "drops arriving packets while the queue is full",
    source: "Braden et al.: Recommendations on Queue Management and Congestion Avoidance in the Internet, RFC 2309, \
             section 2",
    year: None,
    needs: "nothing",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT, DROP],
};

const DROP: Parameter = parameter(
    "drop",
    Domain::Choice(&["tail", "front", "random"]),
    "tail",
    "what goes when the queue is full: the arriving packet, the oldest, or a queued one at random",
)
.elsewhere(&["drop_front_"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let drop = match r.take("drop", Origin::Default("as every router"), "tail")? {
        "front" => Drop::Front,
        "random" => Drop::Random,
        _ => Drop::Tail,
    };
    Ok(Config { limit, drop })
}
