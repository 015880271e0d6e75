//! One direction of a scenario's link behind its queue, as the simulator models it.

use fairlane_link::{FrameLimits, Line};
use fairlane_qdisc::{Duration, Rate, Seed, Time, TokenBucket};
use fairlane_scenario::LinkSide;

use crate::impairments::Impairments;
use crate::transmitter::Transmitter;

/// The line of a scenario's link for a [`Bottleneck`](fairlane_link::Bottleneck): rate, delivery opportunities, frames,
/// delay, jitter, loss, and a policer in front of the queue. Time zero is that of the scenario.
///
/// A shaper is not a part of it, and acknowledgements in frames are not thinned.
#[derive(Debug)]
pub struct ScenarioLine {
    policer: Option<TokenBucket>,
    rate: Rate,
    transmitter: Transmitter,
    delay: Duration,
    impairments: Option<Impairments>,
}

impl ScenarioLine {
    /// Returns the line of `side`. With the simulator's seed of this wire it loses the same packets by their number.
    #[must_use]
    pub fn new(side: &LinkSide, seed: Seed) -> Self {
        Self {
            policer: side.wire.policer.map(|policer| TokenBucket::new(policer.rate, policer.burst)),
            rate: side.rate,
            transmitter: Transmitter::new(side.rate),
            delay: side.delay,
            impairments: Impairments::new(side, || seed),
        }
    }

    /// Returns the mean rate in bit/s from `from` to `to`.
    #[must_use]
    pub fn mean_rate(&self, from: Time, to: Time) -> f64 {
        let varying = self.impairments.as_ref().and_then(|all| all.mean_rate(from, to));
        varying.unwrap_or(self.rate.bits_per_second() as f64)
    }
}

impl Line for ScenarioLine {
    fn admits(&mut self, now: Time, bytes: u32) -> bool {
        self.policer.as_mut().is_none_or(|bucket| bucket.take(now, bytes))
    }

    fn hold(&mut self, now: Time, queued: bool) -> Option<Time> {
        self.impairments.as_mut()?.hold(now, queued)
    }

    fn frame(&self) -> Option<FrameLimits> {
        let limits = self.impairments.as_ref()?.frame()?;
        Some(FrameLimits { packets: limits.packets, time: limits.time, rate: self.rate })
    }

    fn finish(&mut self, now: Time, bytes: u32) -> Time {
        let Self { impairments, transmitter, .. } = self;
        match impairments {
            Some(impairments) => impairments.finish(now, bytes, || transmitter.next(bytes)),
            None => now + transmitter.next(bytes),
        }
    }

    fn arrival(&mut self, sent: Time) -> Option<Time> {
        match &mut self.impairments {
            Some(impairments) => impairments.arrival(sent, self.delay),
            None => Some(sent + self.delay),
        }
    }
}
