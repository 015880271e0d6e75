//! BARE's configuration, and the virtual threshold that it gives.

use alloc::format;

use crate::error::check;
use crate::{Bytes, Duration, ParameterError, Rate, Size};

/// The largest number of flows up to which, or from which, a part of the virtual threshold holds.
pub(crate) const MAX_THRESHOLD_FLOWS: u32 = 1 << 24;

/// The largest number of flows of which state is kept.
pub(crate) const MAX_FLOWS: u32 = 1 << 20;

/// The range of an exponent.
pub(crate) const EXPONENTS: (f64, f64) = (0.01, 1000.0);

/// The largest factor by which an exponent recovers.
pub(crate) const MAX_INCREASE: f64 = 1000.0;

/// The averaging time, in delays of the target queue: the paper's 150 ms for 120 kB at 20 Mbit/s.
const K_IN_DELAYS: f64 = 3.125;

/// The averaging time while the link's rate is not known: the paper's.
const PAPERS_K: Duration = Duration::from_millis(150);

/// The configuration of [`Bare`](super::Bare).
///
/// The defaults are the constants of the paper (appendix A).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes (maxq). Default: 320 kB, the paper.
    pub limit: Size,
    /// The average queue to aim at, unless half of what all flows may queue is less (maxtargetq); packets count as
    /// `avpkt` bytes each. Any size. Default: 120 kB, the paper.
    pub target: Size,
    /// The queue from which only flows without state are admitted (fdth); packets count as `avpkt` bytes each. Any
    /// size. Default: 140 kB, the paper.
    pub fair_drop: Size,
    /// The most that each of at most `n1` flows may queue, 1 byte to 16 MiB. Default: 8000 bytes, the paper.
    pub hi: Bytes,
    /// The most that each of at least `n2` flows may queue, 1 byte to 16 MiB. Default: 4000 bytes, the paper.
    pub lo: Bytes,
    /// The flows up to which each may queue `hi`, 1 to 2^24. From there to `n2` the most that all flows together may
    /// queue changes linearly. Default: 20, where that is half of `limit`, 4/3 of `target`: then the queue grows with
    /// the number of flows up to `n2`, as in the paper's section 2.1 and figure 5.
    pub n1: u32,
    /// The flows from which each may queue `lo`, `n1` to 2^24. Default: 60, where that is twice the default `target`.
    pub n2: u32,
    /// The most flows of which state is kept (maxnflow), 1 to 2^20. Default: 320, the paper.
    pub flows: u32,
    /// The exponent of a new flow, from `beta_min` to `beta_max`. Default: 7.5, the paper.
    pub beta: f64,
    /// The least exponent, 0.01 to 1000. Default: 0.5, the paper.
    pub beta_min: f64,
    /// The largest exponent, 0.01 to 1000. Default: 10, the paper.
    pub beta_max: f64,
    /// The factor by which the exponent of a flow within its rate recovers (a), 1 to 1000. Default: 1.2, the paper.
    pub increase: f64,
    /// The weight of a sample in the average queue (w_q), above 0 and at most 1. Default: 0.004, the paper.
    pub weight: f64,
    /// The time over which a flow's rate is averaged (K), above 0. Default: `None`, 25/8 of the time that the link
    /// takes for `target`, which is the paper's 150 ms on its link of 20 Mbit/s; and 150 ms as long as the rate is not
    /// known.
    pub k: Option<Duration>,
    /// The weight of a sample in each flow's average queue, above 0 and at most 1 (1 - k of equation 5). If it is
    /// given, a flow's share is estimated by that average, which is compared with its part of the average queue, rather
    /// than by its rate. Default: `None`, the rate (equation 4).
    pub queue_weight: Option<f64>,
    /// The time after which a flow without queued packets loses its state, counted from its last admitted packet; above
    /// 0. Default: `None`, three times `k`, as the paper (section 3.4).
    pub timeout: Option<Duration>,
    /// Lets a flow count as 1 to 4 flows, by the two highest bits of the traffic class of its first packet (section
    /// 4.5). Default: `false`.
    pub weighted: bool,
    /// The mean packet: converts sizes in packets to bytes. Default: 1000 bytes.
    pub avpkt: Bytes,
    /// The rate that is divided among the flows. Default: `None`, the link's rate ([`Qdisc::link_rate`]); as long as
    /// that is not known, no flow is above its fair rate.
    ///
    /// [`Qdisc::link_rate`]: crate::Qdisc::link_rate
    pub bandwidth: Option<Rate>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::bytes(320_000),
            target: Size::bytes(120_000),
            fair_drop: Size::bytes(140_000),
            hi: Bytes::new(8000),
            lo: Bytes::new(4000),
            n1: 20,
            n2: 60,
            flows: 320,
            beta: 7.5,
            beta_min: 0.5,
            beta_max: 10.0,
            increase: 1.2,
            weight: 0.004,
            k: None,
            queue_weight: None,
            timeout: None,
            weighted: false,
            avpkt: Bytes::new(1000),
            bandwidth: None,
        }
    }
}

impl Config {
    /// Checks every value, and values against each other.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::bytes("hi", self.hi)?;
        check::bytes("lo", self.lo)?;
        let Self { n1, n2, .. } = *self;
        check::count("n1", n1, 1..=MAX_THRESHOLD_FLOWS)?;
        check::count("n2", n2, 1..=MAX_THRESHOLD_FLOWS)?;
        if n1 > n2 {
            return Err(ParameterError::new("n1", format!("{n1} is above n2, which is {n2}: n1 must not be above n2")));
        }
        check::count("flows", self.flows, 1..=MAX_FLOWS)?;
        self.validate_exponents()?;
        check::ratio("weight", self.weight)?;
        self.k.map_or(Ok(()), |k| check::duration("k", k))?;
        self.queue_weight.map_or(Ok(()), |weight| check::ratio("queue_weight", weight))?;
        self.timeout.map_or(Ok(()), |timeout| check::duration("timeout", timeout))?;
        check::bytes("avpkt", self.avpkt)?;
        self.bandwidth.map_or(Ok(()), |rate| check::rate("bandwidth", rate))
    }

    fn validate_exponents(&self) -> Result<(), ParameterError> {
        let Self { beta, beta_min, beta_max, .. } = *self;
        check::number("beta", beta, EXPONENTS.0..=EXPONENTS.1)?;
        check::number("beta_min", beta_min, EXPONENTS.0..=EXPONENTS.1)?;
        check::number("beta_max", beta_max, EXPONENTS.0..=EXPONENTS.1)?;
        if !(beta_min..=beta_max).contains(&beta) {
            let message = format!("{beta} is not between beta_min, {beta_min}, and beta_max, {beta_max}");
            return Err(ParameterError::new("beta", message));
        }
        check::number("increase", self.increase, 1.0..=MAX_INCREASE)
    }

    /// Returns `size` in bytes.
    pub(crate) fn in_bytes(&self, size: Size) -> u64 {
        match size {
            Size::Packets(packets) => u64::from(packets.get()) * self.avpkt.get(),
            Size::Bytes(bytes) => bytes.get(),
        }
    }

    /// Returns the averaging time (K) and the timeout on a link of `rate`; `None` if that is not known.
    pub(crate) fn times(&self, rate: Option<Rate>) -> (Duration, Duration) {
        let k = self.k.unwrap_or_else(|| rate.map_or(PAPERS_K, |rate| self.k_at(rate)));
        (k, self.timeout.unwrap_or_else(|| Duration::from_nanos(k.as_nanos().saturating_mul(3))))
    }

    /// Returns 25/8 of the time that a link of `rate` takes for the target.
    fn k_at(&self, rate: Rate) -> Duration {
        let delay = rate.transmission(self.in_bytes(self.target)).as_secs();
        // Longer times than an hour are of no use, and shorter ones than a nanosecond cannot be expressed.
        Duration::from_secs((K_IN_DELAYS * delay).clamp(1e-9, 3600.0))
    }
}

/// The virtual threshold (vth): the most that n flows together may queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct VirtualThreshold {
    hi: f64,
    lo: f64,
    n1: f64,
    n2: f64,
}

impl VirtualThreshold {
    /// Returns the threshold that `config` gives.
    pub(crate) fn new(config: &Config) -> Self {
        // Sizes of packets stay below 2^53.
        let (hi, lo) = (config.hi.get() as f64, config.lo.get() as f64);
        Self { hi, lo, n1: f64::from(config.n1), n2: f64::from(config.n2) }
    }

    /// Returns the most that `n` flows together may queue, in bytes.
    pub(crate) fn of(&self, n: f64) -> f64 {
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
