//! CSFQ's parameters.

use alloc::format;

use crate::Duration;
use crate::discipline::csfq::Config;
use crate::params::shared::{BANDWIDTH, LIMIT};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, number, parameter, part};

pub(crate) const INFO: Info = Info {
    name: "csfq",
    summary: "drops what a flow sends above a fair rate, by the flow's rate that the edge wrote on its packets",
    source: "Stoica, Shenker, Zhang: Core-Stateless Fair Queueing, SIGCOMM 1998",
    year: Some(1998),
    needs: "labels, or at the edge the rates of `table_size` flows",
    flow_state: FlowState::Fixed,
    experimental: false,
    parameters: &[LIMIT, RATE, EDGE, TABLE_SIZE, K, K_ALPHA, K_C, THRESHOLD],
};

const RATE: Parameter = Parameter { meaning: "rate that is shared among the flows (C)", ..BANDWIDTH };
const EDGE: Parameter = parameter(
    "edge",
    Domain::Switch,
    "true",
    "a packet without a label gets the rate of its flow, measured here; else it is not dropped for a rate",
)
.elsewhere(&["edge_"]);
const TABLE_SIZE: Parameter = parameter(
    "table_size",
    Domain::Count { min: 1, max: 16_777_216, infinite: false },
    "16384",
    "flows whose rates the edge knows; the flow unused for longest makes room for a new one",
);
const K: Parameter =
    parameter("k", Domain::Duration, "100ms, the paper", "time constant of a flow's rate at the edge (K)")
        .elsewhere(&["K"]);
const K_ALPHA: Parameter = parameter(
    "k_alpha",
    Domain::Duration,
    "200ms, the paper",
    "time constant of the rates at which packets arrive and are accepted (K_alpha)",
)
.elsewhere(&["K_alpha", "kLink_"]);
const K_C: Parameter = parameter(
    "k_c",
    Domain::Duration,
    "100ms, the paper",
    "how long the link must be congested, or not, before the fair rate is updated (K_c)",
)
.elsewhere(&["K_c"]);
const THRESHOLD: Parameter = parameter(
    "threshold",
    Domain::Size,
    "limit / 4, the paper's 16 of 64 kB",
    "while the link is not congested and the queue is shorter, nothing is dropped for its rate; in the unit of `limit`",
)
.elsewhere(&["queueThreshold", "qsizeThresh_"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit()?;
    r.bandwidth("the fair rate")?;
    let edge = r.take("edge", Origin::Default("so that it works alone"), true)?;
    let table_size = r.take("table_size", Origin::Default("enough for most edges"), 16_384)?;
    let paper = Origin::Default("the paper");
    let k = r.take("k", paper.clone(), Duration::from_millis(100))?;
    let k_alpha = r.take("k_alpha", paper.clone(), Duration::from_millis(200))?;
    let k_c = r.take("k_c", paper, Duration::from_millis(100))?;
    let threshold = r.take("threshold", Origin::Derived("limit / 4, the paper's 16 of 64 kB"), part(limit, 4))?;
    let bandwidth = r.given("bandwidth")?;
    let config = Config { limit, bandwidth, edge, table_size, k, k_alpha, k_c, threshold };
    config.validate()?;
    if number(threshold) >= number(limit) && number(limit) > 0.0 {
        r.warn(format!(
            "threshold {threshold} is not below limit {limit}: the queue overflows before anything is dropped"
        ));
    }
    Ok(config)
}
