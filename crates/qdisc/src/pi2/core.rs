//! PI2's controller without a queue.

use alloc::format;

use crate::config::shared::TARGET;
use crate::config::{Domain, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::delay::TUPDATE;
use crate::pie::{MOST_PERIODS, Periods};
use crate::{Duration, Time};

/// What the controller is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PiSettings {
    /// The delay that is aimed at, in seconds.
    target: f64,
    tupdate: Duration,
    /// The part of the deviation from the target that an update adds, for each second of it.
    alpha: f64,
    /// The part of the change of the delay that an update adds, for each second of it.
    beta: f64,
    /// The ratio of a scalable flow's signals to the controller's probability.
    coupling: f64,
    /// The largest probability.
    most: f64,
}

pub(crate) const PI_TARGET: Parameter = TARGET.default("15ms, RFC 9332");
pub(crate) const PI_TUPDATE: Parameter =
    TUPDATE.default("16ms, as tc(8); the smaller of `target` and max_rtt / 3, RFC 9332, when `max_rtt` is given");
pub(crate) const ALPHA: Parameter = parameter(
    "alpha",
    Domain::Number { min: 0.0, max: 1000.0 },
    "0.16, as tc(8); 0.1 tupdate / max_rtt^2, RFC 9332, when `max_rtt` is given",
    "probability that an update adds for each second that the delay is above `target`",
)
.elsewhere(&["A"]);
pub(crate) const BETA: Parameter = parameter(
    "beta",
    Domain::Number { min: 0.0, max: 1000.0 },
    "3.2, as tc(8); 0.3 / max_rtt, RFC 9332, when `max_rtt` is given",
    "probability that an update adds for each second that the delay has grown by",
)
.elsewhere(&["B"]);
pub(crate) const MAX_RTT: Parameter = parameter(
    "max_rtt",
    Domain::Duration,
    "100ms, RFC 9332; it only says what `tupdate`, `alpha` and `beta` are",
    "longest round-trip time for which the control is stable",
)
.elsewhere(&["RTT_max"]);
pub(crate) const COUPLING_FACTOR: Parameter = parameter(
    "coupling_factor",
    Domain::Number { min: 1.0, max: 255.0 },
    "2, RFC 9332",
    "ratio of scalable flows' marks to the square root of classic flows' signals (k)",
)
.elsewhere(&["k", "K"]);
pub(crate) const DROP_OVERLOAD: Parameter = parameter(
    "drop_overload",
    Domain::Switch,
    "true, RFC 9332",
    "when marking every scalable packet is not enough, all are dropped by the classic probability; else the limit does it",
);

#[cfg(test)]
impl PiSettings {
    /// The defaults, without any update for an hour.
    pub(crate) const FROZEN: Self = Self {
        target: 0.015,
        tupdate: Duration::from_millis(3_600_000),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        most: 1.0,
    };

    /// The same with an update every 16 ms.
    pub(crate) const LIVE: Self = Self { tupdate: Duration::from_millis(16), ..Self::FROZEN };
}

impl PiSettings {
    /// What the controller is told by what was given.
    pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<(Self, bool), ParameterError> {
        let target = r.take("target", Origin::Default("RFC 9332, appendix A.1"), Duration::from_millis(15))?;
        let by_rtt = r.given::<Duration>("max_rtt")?.is_some();
        let max_rtt = r.take("max_rtt", Origin::Default("RFC 9332, appendix A.1"), Duration::from_millis(100))?;
        let third = Duration::from_nanos((max_rtt.as_nanos() / 3).max(1));
        let tc = Origin::Default("as tc(8)");
        let tupdate = if by_rtt {
            r.take("tupdate", Origin::Derived("the smaller of target and max_rtt / 3, RFC 9332"), target.min(third))?
        } else {
            r.take("tupdate", tc.clone(), Duration::from_millis(16))?
        };
        let rtt = max_rtt.as_secs();
        let alpha = if by_rtt {
            let alpha = (0.1 * tupdate.as_secs() / (rtt * rtt)).min(1000.0);
            r.take("alpha", Origin::Derived("0.1 tupdate / max_rtt^2, RFC 9332"), alpha)?
        } else {
            r.take("alpha", tc.clone(), 0.16)?
        };
        let beta = if by_rtt {
            r.take("beta", Origin::Derived("0.3 / max_rtt, RFC 9332"), (0.3 / rtt).min(1000.0))?
        } else {
            r.take("beta", tc, 3.2)?
        };
        let coupling = r.take("coupling_factor", Origin::Default("RFC 9332, section 2.1"), 2.0)?;
        let drop_overload = r.take("drop_overload", Origin::Default("RFC 9332, appendix A.2"), true)?;
        let most = if drop_overload { 1.0 } else { 1.0 / coupling };
        // tc's own default is a little longer.
        if tupdate.as_nanos() / 3 > target.as_nanos() / 2 {
            r.warn(format!("tupdate {tupdate} is longer than target {target}: the control is late"));
        }
        if alpha == 0.0 {
            r.warn("alpha 0 does not steer to the target at all: the delay stays wherever it is".into());
        }
        if !drop_overload {
            r.warn("drop_overload false: flows that do not react fill the queue up to its limit".into());
        }
        Ok((Self { target: target.as_secs(), tupdate, alpha, beta, coupling, most }, drop_overload))
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub(crate) struct PiCore {
    settings: PiSettings,
    probability: f64,
    /// The delay at the last update, in seconds.
    delay: f64,
    timer: Periods,
}

impl PiCore {
    pub(crate) const fn new(settings: PiSettings) -> Self {
        Self { settings, probability: 0.0, delay: 0.0, timer: Periods::new(settings.tupdate) }
    }

    /// The controller's probability p'.
    pub(crate) const fn probability(&self) -> f64 {
        self.probability
    }

    /// The probability for classic packets, p_C.
    pub(crate) fn classic(&self) -> f64 {
        self.probability * self.probability
    }

    /// The probability for scalable packets, p_CL; from 1 on the queue is overloaded.
    pub(crate) fn scalable(&self) -> f64 {
        self.settings.coupling * self.probability
    }

    /// Updates the probability for the periods that have ended by `now`. The oldest packet that is queued came at `oldest`.
    ///
    /// No more than [`MOST_PERIODS`] are made up for.
    pub(crate) fn run_timer(&mut self, now: Time, oldest: impl FnOnce() -> Option<Time>) {
        let (periods, mut end) = self.timer.ended(now);
        if periods == 0 {
            return;
        }
        let oldest = oldest();
        for _ in 0..periods.min(MOST_PERIODS) {
            self.update(oldest.map_or(Duration::ZERO, |oldest| end.since(oldest)).as_secs());
            if oldest.is_none() && self.probability == 0.0 {
                break;
            }
            end += self.settings.tupdate;
        }
    }

    /// The same with a probability and a delay at the last update, for tests.
    #[cfg(test)]
    pub(crate) const fn with(mut self, probability: f64, delay: f64) -> Self {
        self.probability = probability;
        self.delay = delay;
        self
    }

    /// A period ends with a delay of `delay` seconds.
    fn update(&mut self, delay: f64) {
        let PiSettings { target, alpha, beta, most, .. } = self.settings;
        let step = alpha * (delay - target) + beta * (delay - self.delay);
        self.probability = (self.probability + step).clamp(0.0, most);
        self.delay = delay;
    }
}
