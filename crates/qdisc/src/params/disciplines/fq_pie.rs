//! FQ-PIE's parameters.

use crate::discipline::fq_pie::Config;
use crate::params::delay::{around_pie, resolve_limits, resolve_pie};
use crate::params::shared::{FLOWS, QUANTUM};
use crate::params::{FlowState, Info, Origin, ParameterError, Resolver};

pub(crate) const INFO: Info = Info {
    name: "fq-pie",
    summary: "hashes flows into queues, serves them in turn, and runs PIE on each",
    source: "Ramakrishnan, Bhasi, Saicharan, Monis, Patil, Tahiliani: FQ-PIE Queue Discipline in the Linux Kernel: Design, \
             Implementation and Challenges, LCN Symposium 2019; RFC 8290; RFC 8033",
    year: Some(2019),
    needs: "a table of `flows` queues, each with its delay",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: around_pie!(LIMIT_10240, FLOWS, QUANTUM, MEMORY_LIMIT;),
};

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let default = Config::default();
    let (limit, memory_limit) = resolve_limits(r)?;
    Ok(Config {
        limit,
        memory_limit,
        flows: r.take("flows", Origin::Default("as tc(8)"), default.flows)?,
        quantum: r.take("quantum", Origin::Default("an Ethernet frame, as tc(8)"), default.quantum)?,
        pie: resolve_pie(r)?,
    })
}
