//! COBALT's parameters.

use alloc::format;

use crate::Bytes;
use crate::discipline::cobalt::Config;
use crate::params::delay::{LIMIT_1000, MARK, judge_interval, judge_target};
use crate::params::shared::{INTERVAL, TARGET};
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "cobalt",
    summary: "CoDel whose frequency falls as gradually as it rises, and BLUE for flows that do not react",
    source: "Palmei, Gupta, Imputato, Morton, Tahiliani, Avallone, Täht: Design and Evaluation of COBALT Queue Discipline, \
             IEEE LANMAN 2019",
    year: Some(2019),
    needs: "each packet's time of arrival",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT_1000, TARGET, INTERVAL, COBALT_ECN, BLUE_THRESHOLD],
};

const COBALT_ECN: Parameter = MARK.default("true, as CAKE");
const BLUE_THRESHOLD: Parameter = parameter(
    "blue_threshold",
    Domain::Duration,
    "400ms, as ns-3",
    "delay from which BLUE's probability grows even though the queue is not full",
)
.elsewhere(&["BlueThreshold"]);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let otherwise = Config::default();
    let limit = r.limit_or(Origin::Default("as codel in tc(8)"), otherwise.limit)?;
    let target = r.take("target", Origin::Default("as CoDel"), otherwise.target)?;
    let interval = r.take("interval", Origin::Default("as CoDel"), otherwise.interval)?;
    let ecn = r.take("ecn", Origin::Default("as CAKE"), otherwise.ecn)?;
    let blue_threshold = r.take("blue_threshold", Origin::Default("as ns-3"), otherwise.blue_threshold)?;
    judge_target(r, target, Bytes::new(1514));
    judge_interval(r, target, interval);
    if blue_threshold <= target {
        r.warn(format!("blue_threshold {blue_threshold} is not above target {target}: BLUE does all the work"));
    }
    Ok(Config { limit, target, interval, ecn, blue_threshold })
}
