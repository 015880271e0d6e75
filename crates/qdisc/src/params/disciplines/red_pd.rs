//! RED-PD's parameters.

use alloc::format;

use crate::Duration;
use crate::discipline::red_pd::Config;
use crate::params::shared::red_and;
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "red-pd",
    summary: "RED behind a filter that drops what the flows with most drops send above a TCP's rate",
    source: "Mahajan, Floyd, Wetherall: Controlling High-Bandwidth Flows at the Congested Router, ICNP 2001",
    year: Some(2001),
    needs: "the average, and the drops of flows that had some lately",
    flow_state: FlowState::Seen,
    experimental: false,
    parameters: red_and!(RTT),
};

const RTT: Parameter = parameter(
    "rtt",
    Domain::Duration,
    "40ms, the authors' code",
    "round-trip time of the reference TCP: a flow that sends more than it would is monitored (R)",
)
.elsewhere(&["R", "TargetRTT_", "target_rtt_"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let red = r.red(limit)?;
    let rtt = r.take("rtt", Origin::Default("the authors' code"), Duration::from_millis(40))?;
    let [shortest, longest] = [2, 10].map(|times| Duration::from_nanos(rtt.as_nanos().saturating_mul(times)));
    r.say(format!("flows are judged every {shortest} to {longest}, more often at higher drop rates"));
    Ok(Config { limit, red, rtt })
}
