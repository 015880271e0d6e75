//! SFQ's parameters.

use alloc::format;
use alloc::string::{String, ToString};

use crate::discipline::sfq::{Admission, Config};
use crate::flow::hash::misclassified;
use crate::params::shared::{FLOWS, LIMIT, QUANTUM};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Duration, Size};

pub(crate) const INFO: Info = Info {
    name: "sfq",
    summary: "serves hashed flows in turn and drops from the longest queue",
    source: "McKenney: Stochastic Fairness Queueing, INFOCOM 1990",
    year: Some(1990),
    needs: "a hash of the flow and `flows` queues",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT, SFQ_FLOWS, SFQ_QUANTUM, PERTURB, HEADDROP, ADMISSION],
};

const SFQ_FLOWS: Parameter = FLOWS.default("1024, as tc(8)'s divisor; ns-2 has 16");
const SFQ_QUANTUM: Parameter = Parameter {
    domain: Domain::Size,
    default: "1p, McKenney; tc(8) has the MTU",
    meaning: "allotment of a queue for a turn: packets, or bytes, of which an excess is subtracted from the next turn",
    ..QUANTUM
};
const PERTURB: Parameter = parameter(
    "perturb",
    Domain::Duration,
    "never, as tc(8)",
    "time between two changes of the hash function, after which flows share their queues with other flows",
);
const HEADDROP: Parameter = parameter(
    "headdrop",
    Domain::Switch,
    "false, as McKenney and tc(8)",
    "the longest queue loses its oldest packet instead of its newest",
);
const ADMISSION: Parameter = parameter(
    "admission",
    Domain::Choice(&["steal", "ns2"]),
    "steal, as McKenney",
    "a packet without room is queued and the longest queue loses one; or, as in ns-2, it is dropped, and so is a packet \
     whose queue holds half of the room left, or more than limit / flows once there is room for fewer than `flows`",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    let flows = r.take("flows", Origin::Default("tc(8)'s divisor"), 1024)?;
    let quantum = r.take("quantum", Origin::Default("McKenney"), Size::packets(1))?;
    let perturb = r.given::<Duration>("perturb")?;
    match perturb {
        Some(time) => r.note("perturb", time.to_string(), Origin::Given),
        None => r.note("perturb", "never".to_string(), Origin::Default("as tc(8)")),
    }
    let headdrop = r.take("headdrop", Origin::Default("as McKenney and tc(8)"), false)?;
    let admission = match r.take("admission", Origin::Default("as McKenney"), "steal")? {
        "ns2" => Admission::Ns2,
        _ => Admission::Steal,
    };
    let config = Config { limit, flows, quantum, perturb, headdrop, admission };
    config.validate()?;
    warn(r, &config);
    r.say(shared_queues(flows));
    Ok(config)
}

/// Warns of values that have no effect or do little good.
fn warn(r: &mut Resolver<'_>, config: &Config) {
    let Config { limit, flows, .. } = *config;
    if config.admission == Admission::Steal {
        return;
    }
    if config.headdrop {
        r.warn("headdrop changes nothing with admission ns2, which drops arrivals only".to_string());
    }
    if limit.number() < u64::from(flows) {
        r.warn(format!("limit {limit} is below flows {flows}: ns2's share of a queue is no packet"));
    }
}

/// Says how often flows share a queue if there are `queues`.
pub(super) fn shared_queues(queues: u32) -> String {
    format!("{:.2} % of the flows share their queue with one of ten others", 100.0 * misclassified(1, queues, 10))
}
