//! FQ-CoDel's parameters.

use crate::discipline::fq_codel::Config;
use crate::params::delay::{CE_THRESHOLD, LIMIT_10240, MARK, MEMORY_LIMIT, MTU, resolve_codel, resolve_limits};
use crate::params::shared::{FLOWS, INTERVAL, QUANTUM, TARGET};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "fq-codel",
    summary: "hashes flows into queues, serves them in turn, and runs CoDel on each",
    source: "Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet: The Flow Queue CoDel Packet Scheduler and Active Queue \
             Management Algorithm, RFC 8290",
    year: Some(2018),
    needs: "a table of `flows` queues and each packet's time of arrival",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT_10240, FLOWS, QUANTUM, MEMORY_LIMIT, DROP_BATCH, TARGET, INTERVAL, MTU, FQ_ECN, CE_THRESHOLD],
};

const FQ_ECN: Parameter = MARK.default("true, as tc(8)");
const DROP_BATCH: Parameter = parameter(
    "drop_batch",
    Domain::Count { min: 1, max: 65_536, infinite: false },
    "64, as tc(8)",
    "most packets that the longest queue loses at once when the limit is exceeded; no more than half its bytes",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let default = Config::default();
    let (limit, memory_limit) = resolve_limits(r)?;
    Ok(Config {
        limit,
        memory_limit,
        flows: r.take("flows", Origin::Default("RFC 8290, section 5.2"), default.flows)?,
        quantum: r.take("quantum", Origin::Default("an Ethernet frame, RFC 8290, section 5.2"), default.quantum)?,
        drop_batch: r.take("drop_batch", Origin::Default("as tc(8)"), default.drop_batch)?,
        codel: resolve_codel(r, default.codel.ecn)?,
    })
}
