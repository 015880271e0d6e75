//! What BARE is told.

use alloc::format;

use crate::config::shared::{AVPKT, BANDWIDTH, LIMIT, WEIGHT};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::{Bytes, Duration, Rate, Size};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "bare",
    summary: "drops with a power of what a flow has queued, whose exponent follows the flow's rate",
    source: "Cho, Cho: Dynamic Buffer Management Scheme Based on Rate Estimation in Packet-Switched Networks, Computer \
             Networks 39",
    year: Some(2002),
    needs: "the average, and a state for each address pair that was admitted lately",
    flow_state: FlowState::Seen,
    experimental: false,
    parameters: &[
        Parameter { default: "320kb, the paper", ..LIMIT },
        TARGET,
        FAIR_DROP,
        HI,
        LO,
        N1,
        N2,
        FLOWS,
        BETA,
        BETA_MIN,
        BETA_MAX,
        INCREASE,
        Parameter { default: "0.004, the paper", ..WEIGHT },
        K,
        TIMEOUT,
        WEIGHTED,
        Parameter { meaning: "mean packet: turns sizes in packets into bytes, and sets `k`", ..AVPKT },
        Parameter { meaning: "rate that is divided among the flows", ..BANDWIDTH },
    ],
};

const TARGET: Parameter = parameter(
    "target",
    Domain::Size,
    "3/8 of limit, the paper's 120 of 320 kb",
    "average queue that is aimed at, if half of what all flows may queue is not less",
)
.elsewhere(&["maxtargetq"]);
const FAIR_DROP: Parameter = parameter(
    "fair_drop",
    Domain::Size,
    "7/16 of limit, the paper's 140 of 320 kb",
    "queue from which only flows are admitted that have no state",
)
.elsewhere(&["fdth"]);
const HI: Parameter = parameter("hi", Domain::Bytes, "8000b, the paper", "what each of at most `n1` flows may queue")
    .elsewhere(&["maxth"]);
const LO: Parameter = parameter("lo", Domain::Bytes, "4000b, the paper", "what each of at least `n2` flows may queue");
const N1: Parameter = parameter(
    "n1",
    Domain::Count { min: 1, max: 16_777_216, infinite: false },
    "2 target / hi, the paper's 30",
    "flows up to which each may queue `hi`; from there to `n2` what all may queue changes linearly",
);
const N2: Parameter = parameter(
    "n2",
    Domain::Count { min: 1, max: 16_777_216, infinite: false },
    "2 target / lo, the paper's 60, but at least `n1`",
    "flows from which each may queue `lo`",
);
const FLOWS: Parameter = parameter(
    "flows",
    Domain::Count { min: 1, max: 1_048_576, infinite: false },
    "320, the paper",
    "the most flows that have a state at once",
)
.elsewhere(&["maxnflow"]);
const EXPONENT: Domain = Domain::Number { min: 0.01, max: 1000.0 };
const BETA: Parameter =
    parameter("beta", EXPONENT, "7.5, the paper", "exponent of a new flow").elsewhere(&["beta_init"]);
const BETA_MIN: Parameter = parameter("beta_min", EXPONENT, "0.5, the paper", "the least exponent");
const BETA_MAX: Parameter = parameter("beta_max", EXPONENT, "10, the paper", "the largest exponent");
const INCREASE: Parameter = parameter(
    "increase",
    Domain::Number { min: 1.0, max: 1000.0 },
    "1.2, the paper",
    "factor by which the exponent of a flow within its rate recovers",
)
.elsewhere(&["a"]);
const K: Parameter = parameter(
    "k",
    Domain::Duration,
    "12.5 packets of each of `n1` flows at `bandwidth`, the paper's 150ms",
    "time over which a flow's rate is averaged",
)
.elsewhere(&["K"]);
const TIMEOUT: Parameter = parameter(
    "timeout",
    Domain::Duration,
    "3 k, the paper",
    "a flow with nothing queued loses its state so long after its last packet was admitted",
)
.elsewhere(&["Timeout"]);
const WEIGHTED: Parameter = parameter(
    "weighted",
    Domain::Switch,
    "false",
    "a flow counts as 1 to 4 flows, by the two highest bits of the traffic class of its first packet",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The hard limit.
    pub(super) limit: Size,
    /// The most that the average queue should be, in bytes.
    pub(super) target: f64,
    /// From so many bytes queued only new flows are admitted.
    pub(super) fair_drop: u64,
    /// What all flows may queue.
    pub(super) threshold: Threshold,
    /// The most flows with a state.
    pub(super) flows: u32,
    /// The exponent of a new flow, and its bounds.
    pub(super) beta: f64,
    pub(super) beta_min: f64,
    pub(super) beta_max: f64,
    /// By what the exponent recovers.
    pub(super) increase: f64,
    /// Weight of a sample in the average.
    pub(super) weight: f64,
    /// One over the averaging time, per second.
    pub(super) per_k: f64,
    /// When a flow without packets is forgotten.
    pub(super) timeout: Duration,
    /// Whether flows have weights.
    pub(super) weighted: bool,
    /// The link's rate in bytes per second.
    pub(super) rate: f64,
}

/// The virtual threshold: what all of n flows together may queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pub(super) hi: f64,
    pub(super) lo: f64,
    pub(super) n1: f64,
    pub(super) n2: f64,
}

impl Threshold {
    /// In bytes, for `n` flows.
    pub(super) fn of(&self, n: f64) -> f64 {
        let Self { hi, lo, n1, n2 } = *self;
        if n <= n1 {
            hi * n
        } else if n > n2 {
            lo * n
        } else {
            hi * n1 + (n - n1) / (n2 - n1) * (lo * n2 - hi * n1)
        }
    }
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("the paper"), Size::Bytes(Bytes::new(320_000)))?;
    let avpkt = r.take("avpkt", Origin::Default("as tc(8) and the papers"), Bytes::new(1000))?;
    let rate = r.bandwidth("each flow's fair rate")?;
    let bytes = |size: Size| match size {
        Size::Packets(packets) => u64::from(packets.get()) * avpkt.get(),
        Size::Bytes(bytes) => bytes.get(),
    };
    let of_limit = |part: u64| Size::Bytes(Bytes::new(bytes(limit) * part / 16));
    let target = bytes(r.take("target", Origin::Derived("3/8 of limit, as the paper"), of_limit(6))?);
    let fair_drop = bytes(r.take("fair_drop", Origin::Derived("7/16 of limit, as the paper"), of_limit(7))?);
    if fair_drop > bytes(limit) {
        r.warn(format!("fair_drop {fair_drop}b is above limit {limit}: Fair Drop never acts"));
    }
    let threshold = threshold(r, target)?;
    let flows = r.take("flows", Origin::Default("the paper"), 320)?;
    let (beta, beta_min, beta_max) = exponents(r)?;
    let increase = r.take("increase", Origin::Default("the paper"), 1.2)?;
    let weight = r.take("weight", Origin::Default("the paper"), 0.004)?;
    let (k, timeout) = times(r, target, avpkt, threshold.n1, rate)?;
    let weighted = r.take("weighted", Origin::Default("all flows are equal"), false)?;
    Ok(Settings {
        limit,
        target: target as f64,
        fair_drop,
        threshold,
        flows,
        beta,
        beta_min,
        beta_max,
        increase,
        weight,
        per_k: 1.0 / k.as_secs(),
        timeout,
        weighted,
        rate: rate.bits_per_second() as f64 / 8.0,
    })
}

fn threshold(r: &mut Resolver<'_>, target: u64) -> Result<Threshold, ParameterError> {
    let hi = r.take("hi", Origin::Default("the paper"), Bytes::new(8000))?;
    let lo = r.take("lo", Origin::Default("the paper"), Bytes::new(4000))?;
    // Where n flows together may queue twice the target. A cast saturates.
    let flows = |each: Bytes| (2 * target / each.get()).clamp(1, 1 << 24) as u32;
    let n1 = r.take("n1", Origin::Derived("2 target / hi"), flows(hi))?;
    let n2 = r.take("n2", Origin::Derived("2 target / lo, but at least n1"), flows(lo).max(n1))?;
    if n1 > n2 {
        return Err(ParameterError::new("n1", format!("{n1} is above n2, which is {n2}: n1 must not be above n2")));
    }
    if lo.get() > hi.get() {
        r.warn(format!("lo {lo} is above hi {hi}: the more flows there are, the more each may queue"));
    }
    let threshold = Threshold { hi: hi.get() as f64, lo: lo.get() as f64, n1: f64::from(n1), n2: f64::from(n2) };
    let all = threshold.of(threshold.n1);
    r.say(format!("{n1} flows may queue {all} bytes, {hi} each; from {n2} flows on it is {lo} each"));
    Ok(threshold)
}

fn exponents(r: &mut Resolver<'_>) -> Result<(f64, f64, f64), ParameterError> {
    let beta = r.take("beta", Origin::Default("the paper"), 7.5)?;
    let beta_min = r.take("beta_min", Origin::Default("the paper"), 0.5)?;
    let beta_max = r.take("beta_max", Origin::Default("the paper"), 10.0)?;
    if !(beta_min..=beta_max).contains(&beta) {
        let message = format!("{beta} is not between beta_min, {beta_min}, and beta_max, {beta_max}");
        return Err(ParameterError::new("beta", message));
    }
    Ok((beta, beta_min, beta_max))
}

fn times(
    r: &mut Resolver<'_>,
    target: u64,
    avpkt: Bytes,
    n1: f64,
    rate: Rate,
) -> Result<(Duration, Duration), ParameterError> {
    let round = rate.transmission(avpkt.get()).as_secs() * n1;
    let rule = Origin::Derived("12.5 packets of each of n1 flows at bandwidth, as the paper");
    // Longer times than an hour are of no use, and shorter ones than a nanosecond cannot be.
    let k = Duration::from_secs((12.5 * round).clamp(1e-9, 3600.0));
    let k = r.take("k", rule, k)?;
    let delay = rate.transmission(target);
    if k < delay {
        r.warn(format!("k {k} is below the {delay} of the target queue: rates follow single bursts"));
    }
    let triple = Duration::from_nanos(k.as_nanos().saturating_mul(3));
    let timeout = r.take("timeout", Origin::Derived("3 k, as the paper"), triple)?;
    if timeout < k {
        r.warn(format!("timeout {timeout} is below k {k}: a flow is forgotten before its rate is known"));
    }
    Ok((k, timeout))
}
