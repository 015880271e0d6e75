//! PIE's parameters.

use crate::Size;
use crate::discipline::pie::Config;
use crate::params::delay::{around_pie, resolve_pie};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "pie",
    summary: "drops arrivals with a probability that a controller moves towards a delay",
    source: "Pan, Natarajan, Baker, White: Proportional Integral Controller Enhanced (PIE), RFC 8033",
    year: Some(2017),
    needs: "the delay and its change",
    flow_state: FlowState::None,
    experimental: false,
    parameters: around_pie!(LIMIT_1000; ONOFF),
};

const ONOFF: Parameter = parameter(
    "onoff",
    Domain::Switch,
    "false, as tc(8)",
    "PIE is off until a third of `limit` is queued, and again when the queue is empty and the probability 0 (RFC 8033, appendix B)",
)
.elsewhere(&["ActiveThreshold"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("as tc(8)"), Size::packets(1000))?;
    let pie = resolve_pie(r)?;
    let onoff = r.take("onoff", Origin::Default("as tc(8)"), false)?;
    Ok(Config { limit, pie, onoff })
}
