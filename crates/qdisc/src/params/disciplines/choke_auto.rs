//! The parameters of CHOKe steered by the delay.

use super::choke::CHOKE;
use super::pi2::PI_TARGET;
use crate::discipline::choke::MAX_CANDIDATES;
use crate::discipline::choke::auto::Config;
use crate::params::delay::LIMIT_10000;
use crate::params::{Domain, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "choke-auto",
    summary: "CHOKe without thresholds: the delay and the rate of matches decide how many pairs of packets are compared",
    source: "Fairlane, from CHOKe, gCHOKe and PI2",
    year: Some(2026),
    needs: "the delay and random looks into the queue",
    parameters: &[LIMIT_10000, PI_TARGET, CHAINS],
    ..CHOKE
};

const CHAINS: Parameter = parameter(
    "candidates",
    Domain::Count { min: 1, max: MAX_CANDIDATES, infinite: false },
    "64",
    "pairs, and single packets, that an arrival is compared with at most",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("as dualpi2 in tc(8)"), Config::default().limit)?;
    let target = r.take("target", Origin::Default("RFC 9332, appendix A.1"), Config::default().target)?;
    let candidates = r.take("candidates", Origin::Default("finds floods among thousands of flows"), MAX_CANDIDATES)?;
    Ok(Config { limit, target, candidates })
}
