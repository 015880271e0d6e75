//! DualPI2's parameters; those of its controller are in [`super::pi2`].

use alloc::format;

use super::pi2::{ALPHA, BETA, COUPLING_FACTOR, DROP_OVERLOAD, MAX_RTT, PI_TARGET, PI_TUPDATE, resolve_pi};
use crate::Duration;
use crate::discipline::dualpi2::{Config, Laqm};
use crate::params::delay::LIMIT_10000;
use crate::params::{Domain, FlowState, Info, Origin, Parameter, ParameterError, Resolver, parameter};

pub(crate) const INFO: Info = Info {
    name: "dualpi2",
    summary: "a queue for scalable and one for classic flows, with coupled signals",
    source: "De Schepper, Briscoe, White: Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and \
             Scalable Throughput (L4S), RFC 9332",
    year: Some(2023),
    needs: "the delay and its change, and which packets are of scalable flows",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[
        LIMIT_10000,
        PI_TARGET,
        PI_TUPDATE,
        ALPHA,
        BETA,
        MAX_RTT,
        COUPLING_FACTOR,
        DROP_OVERLOAD,
        LAQM,
        STEP_THRESH,
        MIN_THRESH,
        RANGE,
        MIN_QLEN_STEP,
        SPARE_MTUS,
        CLASSIC_PROTECTION,
    ],
};

const LAQM: Parameter = parameter(
    "laqm",
    Domain::Choice(&["step", "ramp"]),
    "step, as tc(8); ramp is RFC 9332, appendix A.1",
    "the L queue's own marks: every packet from `step_thresh` on, or a share that rises over `range` from `min_thresh` on",
);
const STEP_THRESH: Parameter = parameter(
    "step_thresh",
    Domain::Duration,
    "1ms, as tc(8)",
    "delay from which every packet of the L queue is marked, with `laqm = step`",
);
const MIN_THRESH: Parameter = parameter(
    "min_thresh",
    Domain::Duration,
    "800us, RFC 9332",
    "delay from which some packets of the L queue are marked, with `laqm = ramp`",
)
.elsewhere(&["minTh"]);
const RANGE: Parameter = parameter(
    "range",
    Domain::Duration,
    "400us, RFC 9332",
    "delay beyond `min_thresh` from which every packet of the L queue is marked, with `laqm = ramp`",
);
const MIN_QLEN_STEP: Parameter = parameter(
    "min_qlen_step",
    Domain::Count { min: 0, max: 65_536, infinite: false },
    "0, as tc(8); 1, RFC 9332's Th_len, with `laqm = ramp`",
    "packets that must stay behind in the L queue for its own marks",
)
.elsewhere(&["Th_len"]);
const SPARE_MTUS: Parameter = parameter(
    "spare_mtus",
    Domain::Count { min: 0, max: 65_536, infinite: false },
    "0, RFC 9332; Linux has 2",
    "packets of 1514 bytes that must stay behind in both queues together for a signal of the controller",
);
const CLASSIC_PROTECTION: Parameter = parameter(
    "classic_protection",
    Domain::Count { min: 0, max: 100, infinite: false },
    "10, as tc(8)",
    "percent of the link that the classic queue is sure of while both queues have packets",
);

pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Config, ParameterError> {
    let otherwise = Config::default();
    let limit = r.limit_or(Origin::Default("as tc(8)"), otherwise.limit)?;
    let pi = resolve_pi(r)?;
    let (laqm, min_qlen_step) = resolve_laqm(r)?;
    let spare_mtus = r.take("spare_mtus", Origin::Default("RFC 9332"), otherwise.spare_mtus)?;
    let classic_protection = r.take("classic_protection", Origin::Default("as tc(8)"), otherwise.classic_protection)?;
    if classic_protection == 0 {
        r.warn("classic_protection 0: scalable flows that do not react starve the classic ones".into());
    }
    if classic_protection > 50 {
        r.warn(format!(
            "classic_protection {classic_protection}: the L queue waits for the classic one, and its delay is no longer low"
        ));
    }
    Ok(Config { limit, pi, laqm, min_qlen_step, spare_mtus, classic_protection })
}

/// Resolves the L queue's own marks.
fn resolve_laqm(r: &mut Resolver<'_>) -> Result<(Laqm, u32), ParameterError> {
    let ramp = r.take("laqm", Origin::Default("as tc(8)"), "step")? == "ramp";
    let threshold = r.take("step_thresh", Origin::Default("as tc(8)"), Duration::from_millis(1))?;
    let min = r.take("min_thresh", Origin::Default("RFC 9332, appendix A.1"), Duration::from_nanos(800_000))?;
    let range = r.take("range", Origin::Default("RFC 9332, appendix A.1"), Duration::from_nanos(400_000))?;
    let behind = if ramp {
        r.take("min_qlen_step", Origin::Default("RFC 9332's Th_len"), 1_u32)?
    } else {
        r.take("min_qlen_step", Origin::Default("as tc(8)"), 0_u32)?
    };
    let first = if ramp { min } else { threshold };
    if r.rate().bits_per_second() > 0 && behind == 0 && r.rate().transmission(1514) > first {
        let packet = 1e3 * r.rate().transmission(1514).as_secs();
        r.warn(format!(
            "a packet of 1514 bytes takes {packet:.3} ms, longer than {first}: one that only waits for another is marked"
        ));
    }
    let laqm = if ramp { Laqm::Ramp { min, range } } else { Laqm::Step { threshold } };
    Ok((laqm, behind))
}
