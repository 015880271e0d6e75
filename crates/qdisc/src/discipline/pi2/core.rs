//! PI2's controller, for one queue or two.

use super::PiParameters;
use crate::discipline::pie::{MOST_PERIODS, Periods};
use crate::{Duration, Time};

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PiVerdict {
    Pass,
    Mark,
    Drop,
}

/// The controller's state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PiCore {
    parameters: PiParameters,
    /// The target delay, in seconds.
    target: f64,
    /// The largest probability.
    most: f64,
    probability: f64,
    /// The delay at the last update, in seconds.
    delay: f64,
    timer: Periods,
}

impl PiCore {
    /// Creates the state of an empty queue.
    pub(crate) fn new(parameters: PiParameters) -> Self {
        let most = if parameters.drop_overload { 1.0 } else { 1.0 / parameters.coupling_factor };
        let (target, timer) = (parameters.target.as_secs(), Periods::new(parameters.tupdate));
        Self { parameters, target, most, probability: 0.0, delay: 0.0, timer }
    }

    /// Returns the controller's probability p'.
    pub(crate) const fn probability(&self) -> f64 {
        self.probability
    }

    /// Returns the probability for classic packets, p_C = p'^2.
    pub(crate) fn classic(&self) -> f64 {
        self.probability * self.probability
    }

    /// Returns the probability for scalable packets, p_CL = k p'; it exceeds 1 in overload.
    pub(crate) fn scalable(&self) -> f64 {
        self.parameters.coupling_factor * self.probability
    }

    /// Tells whether marks are not enough, so that scalable packets are dropped too.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.parameters.drop_overload && self.scalable() >= 1.0
    }

    /// Does the updates that are due by `now`, at most [`MOST_PERIODS`]. `oldest` returns the arrival of the oldest
    /// packet in the queue.
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
            end += self.parameters.tupdate;
        }
    }

    /// Returns the state with a probability and a delay at the last update in seconds.
    #[cfg(test)]
    pub(crate) const fn with(mut self, probability: f64, delay: f64) -> Self {
        self.probability = probability;
        self.delay = delay;
        self
    }

    /// Does one update, with a delay of `delay` seconds.
    fn update(&mut self, delay: f64) {
        let PiParameters { alpha, beta, .. } = self.parameters;
        let step = alpha * (delay - self.target) + beta * (delay - self.delay);
        self.probability = (self.probability + step).clamp(0.0, self.most);
        self.delay = delay;
    }
}
