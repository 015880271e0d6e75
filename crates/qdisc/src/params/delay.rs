//! Parameters that the disciplines which control delay share, and warnings about them.

use alloc::format;
use alloc::string::ToString;

use crate::discipline::{codel, pie};
use crate::params::shared::{LIMIT, TARGET};
use crate::params::{Domain, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Size};

pub(crate) const LIMIT_1000: Parameter = LIMIT.default("1000p, as tc(8)");
pub(crate) const LIMIT_10000: Parameter = LIMIT.default("10000p, as tc(8)");
pub(crate) const LIMIT_10240: Parameter = LIMIT.default("10240p, as tc(8)");
pub(crate) const MTU: Parameter = parameter(
    "mtu",
    Domain::Bytes,
    "1514b, an Ethernet frame, as tc(8)",
    "no packet is signalled while no more than this stays queued behind it",
)
.elsewhere(&["MinBytes", "MAXPACKET"]);
pub(crate) const MARK: Parameter = parameter(
    "ecn",
    Domain::Switch,
    "false, as tc(8)",
    "a signal marks a packet that can be marked; the limit always drops",
)
.elsewhere(&["UseEcn"]);
pub(crate) const CE_THRESHOLD: Parameter = parameter(
    "ce_threshold",
    Domain::Duration,
    "never",
    "ECN-capable packets that waited longer are marked, in addition to other decisions",
)
.elsewhere(&["CeThreshold"]);
pub(crate) const TUPDATE: Parameter =
    parameter("tupdate", Domain::Duration, "15ms, RFC 8033", "time between updates of the probability")
        .elsewhere(&["Tupdate", "T_UPDATE", "t_update"]);
pub(crate) const MEMORY_LIMIT: Parameter = parameter(
    "memory_limit",
    Domain::Size,
    "33554432b, 32 MiB, as tc(8)",
    "bytes that all queues may hold together, in addition to `limit`",
);

pub(crate) const PIE_TARGET: Parameter = TARGET.default("15ms, RFC 8033");
pub(crate) const PIE_ALPHA: Parameter = parameter(
    "alpha",
    Domain::Count { min: 0, max: 32, infinite: false },
    "2, which is 0.125 Hz, RFC 8033",
    "weight of the deviation from `target`, in sixteenths as tc(8)",
)
.elsewhere(&["A"]);
pub(crate) const PIE_BETA: Parameter = parameter(
    "beta",
    Domain::Count { min: 0, max: 32, infinite: false },
    "20, which is 1.25 Hz, RFC 8033",
    "weight of the change of the delay, in sixteenths as tc(8)",
)
.elsewhere(&["B"]);
pub(crate) const MAX_BURST: Parameter = parameter(
    "max_burst",
    Domain::Duration,
    "150ms, RFC 8033",
    "time after a quiet time for which no packet is signalled",
)
.elsewhere(&["MaxBurstAllowance", "MAX_BURST", "burst_allowance"]);
pub(crate) const PIE_AVPKT: Parameter = parameter(
    "avpkt",
    Domain::Bytes,
    "1000b, as ns-3",
    "mean packet: no packet is signalled while at most two of them are queued; the unit of `bytemode`",
)
.elsewhere(&["mean_pkt", "MeanPktSize", "MEAN_PKTSIZE"]);
pub(crate) const BYTEMODE: Parameter = parameter(
    "bytemode",
    Domain::Switch,
    "false, as tc(8)",
    "the probability is proportional to the packet's size over `avpkt`",
);
pub(crate) const DQ_RATE_ESTIMATOR: Parameter = parameter(
    "dq_rate_estimator",
    Domain::Switch,
    "false, as tc(8)",
    "the delay is the backlog over the measured departure rate, instead of what the last packet waited",
)
.elsewhere(&["UseDequeueRateEstimator"]);
pub(crate) const ECN_PROB: Parameter = parameter(
    "ecn_prob",
    Domain::Count { min: 0, max: 100, infinite: false },
    "10, RFC 8033",
    "probability in percent up to which packets are marked; above it they are dropped even if they can be marked",
)
.elsewhere(&["MarkEcnThreshold", "mark_ecnth"]);

/// PIE's parameters, between those that a discipline has before and after them.
macro_rules! around_pie {
    ($($before:expr),*; $($after:expr),*) => {
        {
            use $crate::params::delay::*;
            &[
                $($before,)* PIE_TARGET, TUPDATE, PIE_ALPHA, PIE_BETA, MAX_BURST, PIE_AVPKT, BYTEMODE,
                DQ_RATE_ESTIMATOR, MARK, ECN_PROB, $($after),*
            ]
        }
    };
}
pub(crate) use around_pie;

/// Resolves a parameter that is off unless it is given.
pub(crate) fn optional(r: &mut Resolver<'_>, key: &str) -> Result<Option<Duration>, ParameterError> {
    let value = r.given::<Duration>(key)?;
    match value {
        Some(value) => r.note(key, value.to_string(), Origin::Given),
        None => r.note(key, "never".to_string(), Origin::Default("it was not given")),
    }
    Ok(value)
}

/// Resolves `limit` and `memory_limit`.
pub(crate) fn resolve_limits(r: &mut Resolver<'_>) -> Result<(Size, Bytes), ParameterError> {
    let limit = r.limit_or(Origin::Default("as tc(8)"), Size::packets(10_240))?;
    match r.take("memory_limit", Origin::Default("as tc(8)"), Size::bytes(32 << 20))? {
        Size::Bytes(memory_limit) => Ok((limit, memory_limit)),
        Size::Packets(packets) => {
            let message =
                format!("{packets} is a number of packets, which is what limit is for: write for example 32mb");
            Err(ParameterError::new("memory_limit", message))
        }
    }
}

/// Resolves CoDel's own parameters; `ecn` is the default of the parameter of that name.
pub(crate) fn resolve_codel(r: &mut Resolver<'_>, ecn: bool) -> Result<codel::CodelParameters, ParameterError> {
    let otherwise = codel::CodelParameters::default();
    let target = r.take("target", Origin::Default("RFC 8289, section 4.3"), otherwise.target)?;
    let interval = r.take("interval", Origin::Default("RFC 8289, section 4.3"), otherwise.interval)?;
    let mtu = r.take("mtu", Origin::Default("an Ethernet frame, as tc(8)"), otherwise.mtu)?;
    let ecn = r.take("ecn", Origin::Default("as tc(8)"), ecn)?;
    let ce_threshold = optional(r, "ce_threshold")?;
    judge_target(r, target, mtu);
    judge_interval(r, target, interval);
    Ok(codel::CodelParameters { target, interval, mtu, ecn, ce_threshold })
}

/// Resolves PIE's own parameters.
pub(crate) fn resolve_pie(r: &mut Resolver<'_>) -> Result<pie::PieParameters, ParameterError> {
    let otherwise = pie::PieParameters::default();
    let pie = pie::PieParameters {
        target: r.take("target", Origin::Default("RFC 8033, section 4.1"), otherwise.target)?,
        tupdate: r.take("tupdate", Origin::Default("RFC 8033, section 4.2"), otherwise.tupdate)?,
        alpha: r.take("alpha", Origin::Default("RFC 8033, section 4.2"), otherwise.alpha)?,
        beta: r.take("beta", Origin::Default("RFC 8033, section 4.2"), otherwise.beta)?,
        max_burst: r.take("max_burst", Origin::Default("RFC 8033, section 4.4"), otherwise.max_burst)?,
        avpkt: r.take("avpkt", Origin::Default("as ns-3"), otherwise.avpkt)?,
        bytemode: r.take("bytemode", Origin::Default("as tc(8)"), otherwise.bytemode)?,
        dq_rate_estimator: r.take("dq_rate_estimator", Origin::Default("as tc(8)"), otherwise.dq_rate_estimator)?,
        ecn: r.take("ecn", Origin::Default("as tc(8)"), otherwise.ecn)?,
        ecn_prob: r.take("ecn_prob", Origin::Default("RFC 8033, section 5.1"), otherwise.ecn_prob)?,
    };
    judge_pie(r, &pie);
    Ok(pie)
}

/// Warns of a target that is too short for a link on which a packet takes long.
pub(crate) fn judge_target(r: &mut Resolver<'_>, target: Duration, mtu: Bytes) {
    if r.rate().bits_per_second() == 0 {
        return;
    }
    let packet = r.rate().transmission(mtu.get());
    if packet > target {
        let (packet, target) = (1e3 * packet.as_secs(), 1e3 * target.as_secs());
        r.warn(format!(
            "target {target:.3} ms is less than the {packet:.3} ms that a packet of {mtu} takes: a queue of two packets is already above it"
        ));
    }
}

/// Warns of a target that the interval leaves no room for.
pub(crate) fn judge_interval(r: &mut Resolver<'_>, target: Duration, interval: Duration) {
    if target.as_nanos() > interval.as_nanos() / 2 {
        r.warn(format!(
            "target {target} is more than half of interval {interval}: RFC 8289 has it at a tenth or less, and the \
             delay of a single connection will stay near it"
        ));
    }
}

/// Warns of values with which PIE controls little or badly.
fn judge_pie(r: &mut Resolver<'_>, pie: &pie::PieParameters) {
    let pie::PieParameters { target, tupdate, alpha, beta, avpkt, .. } = *pie;
    let spared = r.rate().transmission(2 * avpkt.get());
    if r.rate().bits_per_second() > 0 && spared > target {
        r.warn(format!(
            "two packets of {avpkt} take {:.3} ms and are always spared: target {target} is out of reach, and packets that find \
             more are dropped",
            1e3 * spared.as_secs()
        ));
    }
    if tupdate > target {
        r.warn(format!("tupdate {tupdate} is longer than target {target}: the queue changes faster than PIE reacts"));
    }
    if alpha == 0 {
        r.warn("alpha 0 does not steer to the target at all: the delay stays wherever it is".into());
    }
    if beta < alpha {
        r.warn(format!("beta {beta} is below alpha {alpha}: the delay will swing"));
    }
}
