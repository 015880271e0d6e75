//! The parameters of fair queueing by virtual time: WFQ, SCFQ and STFQ.

use crate::discipline::fair_queueing::{Clock, Config};
use crate::params::shared::{BANDWIDTH, LIMIT, WEIGHTED};
use crate::params::{FlowState, Info, Origin, Parameter, ParameterError, Resolver};

pub(crate) const WFQ: Info = Info {
    name: "wfq",
    summary: "sends packets in the order in which an ideally fair fluid server would finish them",
    source: "Demers, Keshav, Shenker: Analysis and Simulation of a Fair Queueing Algorithm, SIGCOMM 1989; \
             Parekh, Gallager: A Generalized Processor Sharing Approach to Flow Control, IEEE/ACM ToN 1(3)",
    year: Some(1989),
    needs: "a queue for each flow, and the link's rate",
    flow_state: FlowState::Seen,
    experimental: false,
    parameters: &[LIMIT, WEIGHTED, FLUID_BANDWIDTH],
};

pub(crate) const SCFQ: Info = Info {
    name: "scfq",
    summary: "fair queueing whose virtual time is the finish of the packet in service",
    source: "Golestani: A Self-Clocked Fair Queueing Scheme for Broadband Applications, INFOCOM 1994",
    year: Some(1994),
    needs: "a queue for each flow",
    flow_state: FlowState::Queued,
    parameters: &[LIMIT, WEIGHTED],
    ..WFQ
};

pub(crate) const STFQ: Info = Info {
    name: "stfq",
    summary: "fair queueing in the order of starts, whose virtual time is the start of the packet in service",
    source: "Goyal, Vin, Cheng: Start-Time Fair Queuing, SIGCOMM 1996",
    year: Some(1996),
    flow_state: FlowState::Seen,
    ..SCFQ
};

const FLUID_BANDWIDTH: Parameter = Parameter { meaning: "rate of the fluid server", ..BANDWIDTH };

pub(crate) fn wfq(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let config = shared(r, Config::wfq())?;
    r.bandwidth("the fluid server")?;
    Ok(Config { clock: Clock::Fluid { bandwidth: r.given("bandwidth")? }, ..config })
}

pub(crate) fn scfq(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    shared(r, Config::scfq())
}

pub(crate) fn stfq(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    shared(r, Config::stfq())
}

/// Resolves the parameters that all three have.
fn shared(r: &mut Resolver<'_>, default: Config) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let weighted = r.take("weighted", Origin::Default("all flows are equal"), false)?;
    Ok(Config { limit, weighted, ..default })
}
