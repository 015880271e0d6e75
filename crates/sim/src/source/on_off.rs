//! On and off periods.

use fairlane_qdisc::{Duration, Rate, Seed, Stream};
use fairlane_scenario as scenario;

use super::draw;
use crate::transmitter::Transmitter;

/// Alternating on and off periods. The first one is an on period with the stationary probability of being on.
#[derive(Debug)]
pub(crate) struct OnOffPeriods {
    config: scenario::OnOff,
    on: bool,
    on_random: Stream,
    off_random: Stream,
}

impl OnOffPeriods {
    pub(crate) fn new(config: &scenario::OnOff, seed: Seed) -> Self {
        let (on, off) = (config.on.as_nanos() as f64, config.off.as_nanos() as f64);
        // The first call of `next` switches to the other period.
        let on = !seed.stream("first").chance(on / (on + off));
        Self { config: *config, on, on_random: seed.stream("on"), off_random: seed.stream("off") }
    }

    /// Returns the next period: true if it is on, and its length.
    pub(crate) fn next(&mut self) -> (bool, Duration) {
        self.on = !self.on;
        let length = if self.on {
            draw::period(&mut self.on_random, self.config.on, self.config.periods)
        } else {
            draw::period(&mut self.off_random, self.config.off, self.config.periods)
        };
        (self.on, length)
    }
}

/// A constant rate during the on periods. The rest of an interval at the end of an on period is carried over to the
/// next on period, so that the mean rate is exact however short the periods are.
#[derive(Debug)]
pub(crate) struct OnOff {
    periods: OnOffPeriods,
    transmitter: Transmitter,
    bytes: u32,
    /// The rest of the on period.
    left: Duration,
}

impl OnOff {
    pub(crate) fn new(rate: Rate, bytes: u32, config: &scenario::OnOff, seed: Seed) -> Self {
        Self {
            periods: OnOffPeriods::new(config, seed),
            transmitter: Transmitter::new(rate),
            bytes,
            left: Duration::ZERO,
        }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let mut interval = self.transmitter.next(self.bytes).as_nanos();
        let mut gap = 0_u64;
        while self.left.as_nanos() < interval {
            interval -= self.left.as_nanos();
            gap = gap.saturating_add(self.left.as_nanos());
            self.left = Duration::ZERO;
            match self.periods.next() {
                (true, length) => self.left = length,
                (false, length) => gap = gap.saturating_add(length.as_nanos()),
            }
        }
        self.left = Duration::from_nanos(self.left.as_nanos() - interval);
        Duration::from_nanos(gap.saturating_add(interval))
    }
}
