//! CoDel's parameters.

use crate::Size;
use crate::discipline::codel::Config;
use crate::params::delay::{CE_THRESHOLD, LIMIT_1000, MARK, MTU, resolve_codel};
use crate::params::shared::{INTERVAL, TARGET};
use crate::params::{FlowState, Info, Origin, ParameterError, Resolver};

pub(crate) const INFO: Info = Info {
    name: "codel",
    summary: "drops packets at the head, more and more often, while every packet waits longer than a target",
    source: "Nichols, Jacobson, McGregor, Iyengar: Controlled Delay Active Queue Management, RFC 8289",
    year: Some(2018),
    needs: "each packet's time of arrival",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT_1000, TARGET, INTERVAL, MTU, MARK, CE_THRESHOLD],
};

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("as tc(8)"), Size::packets(1000))?;
    Ok(Config { limit, codel: resolve_codel(r, false)? })
}
