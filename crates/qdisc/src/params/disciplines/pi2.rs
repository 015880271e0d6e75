//! PI2's parameters, and those of its controller, which DualPI2 has too.

use alloc::format;

use crate::Duration;
use crate::discipline::pi2::{Config, MOST_GAIN, PiParameters};
use crate::params::delay::{LIMIT_10000, TUPDATE};
use crate::params::shared::TARGET;
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "pi2",
    summary: "signals classic flows with the square of a controlled probability, scalable flows with a multiple of it",
    source: "De Schepper, Bondarenko, Tsang, Briscoe: PI2: A Linearized AQM for both Classic and Scalable TCP, CoNEXT 2016",
    year: Some(2016),
    needs: "the delay and its change, and which packets are of scalable flows",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT_10000, PI_TARGET, PI_TUPDATE, ALPHA, BETA, MAX_RTT, COUPLING_FACTOR, DROP_OVERLOAD],
};

pub(super) const PI_TARGET: Parameter = TARGET.default("15ms, RFC 9332");
pub(super) const PI_TUPDATE: Parameter =
    TUPDATE.default("16ms, as tc(8); the smaller of `target` and max_rtt / 3, RFC 9332, when `max_rtt` is given");
pub(super) const ALPHA: Parameter = parameter(
    "alpha",
    Domain::Number { min: 0.0, max: MOST_GAIN },
    "0.16, as tc(8); 0.1 tupdate / max_rtt^2, RFC 9332, when `max_rtt` is given",
    "probability that an update adds for each second that the delay is above `target`",
)
.elsewhere(&["A"]);
pub(super) const BETA: Parameter = parameter(
    "beta",
    Domain::Number { min: 0.0, max: MOST_GAIN },
    "3.2, as tc(8); 0.3 / max_rtt, RFC 9332, when `max_rtt` is given",
    "probability that an update adds for each second that the delay has grown by",
)
.elsewhere(&["B"]);
pub(super) const MAX_RTT: Parameter = parameter(
    "max_rtt",
    Domain::Duration,
    "100ms, RFC 9332; used only to derive `tupdate`, `alpha` and `beta`",
    "longest round-trip time for which the control is stable",
)
.elsewhere(&["RTT_max"]);
pub(super) const COUPLING_FACTOR: Parameter = parameter(
    "coupling_factor",
    Domain::Number { min: 1.0, max: 255.0 },
    "2, RFC 9332",
    "ratio of scalable flows' marks to the square root of classic flows' signals (k)",
)
.elsewhere(&["k", "K"]);
pub(super) const DROP_OVERLOAD: Parameter = parameter(
    "drop_overload",
    Domain::Switch,
    "true, RFC 9332",
    "when marking every scalable packet is not enough, packets of all flows are dropped with the classic probability; otherwise only the limit drops",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let limit = r.limit_or(Origin::Default("as dualpi2 in tc(8)"), Config::default().limit)?;
    Ok(Config { limit, pi: resolve_pi(r)? })
}

/// Resolves the controller's parameters. `max_rtt` changes the defaults of `tupdate`, `alpha` and `beta` where it is
/// given.
pub(super) fn resolve_pi(r: &mut Resolver<'_>) -> Result<PiParameters, ParameterError> {
    let mut pi = PiParameters::default();
    pi.target = r.take("target", Origin::Default("RFC 9332, appendix A.1"), pi.target)?;
    let by_rtt = r.given::<Duration>("max_rtt")?.is_some();
    let max_rtt = r.take("max_rtt", Origin::Default("RFC 9332, appendix A.1"), Duration::from_millis(100))?;
    let origin = |rule| if by_rtt { Origin::Derived(rule) } else { Origin::Default("as tc(8)") };
    if by_rtt {
        pi = pi.with_max_rtt(max_rtt);
    }
    pi.tupdate = r.take("tupdate", origin("the smaller of target and max_rtt / 3, RFC 9332"), pi.tupdate)?;
    if by_rtt {
        pi = pi.with_gains_for(max_rtt);
    }
    pi.alpha = r.take("alpha", origin("0.1 tupdate / max_rtt^2, RFC 9332"), pi.alpha)?;
    pi.beta = r.take("beta", origin("0.3 / max_rtt, RFC 9332"), pi.beta)?;
    let factor = Origin::Default("RFC 9332, section 2.1");
    pi.coupling_factor = r.take("coupling_factor", factor, pi.coupling_factor)?;
    pi.drop_overload = r.take("drop_overload", Origin::Default("RFC 9332, appendix A.2"), pi.drop_overload)?;
    judge(r, &pi);
    Ok(pi)
}

/// Warns of values with which the controller controls late or not at all.
fn judge(r: &mut Resolver<'_>, pi: &PiParameters) {
    let PiParameters { target, tupdate, alpha, drop_overload, .. } = *pi;
    // The default of tc-dualpi2(8) is a little longer than the target.
    if tupdate.as_nanos() / 3 > target.as_nanos() / 2 {
        r.warn(format!("tupdate {tupdate} is longer than target {target}: the control is late"));
    }
    if alpha == 0.0 {
        r.warn("alpha 0 does not steer to the target at all: the delay stays wherever it is".into());
    }
    if !drop_overload {
        r.warn("drop_overload false: flows that do not react fill the queue up to its limit".into());
    }
}
