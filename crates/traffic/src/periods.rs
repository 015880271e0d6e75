//! On and off periods.

use fairlane_qdisc::Stream;
use fairlane_qdisc::{Duration, Seed};
use fairlane_scenario::OnOff;

use crate::draw;

/// Alternating on and off periods. The first one is an on period with the stationary probability of being on.
#[derive(Debug)]
pub struct OnOffPeriods {
    config: OnOff,
    on: bool,
    on_random: Stream,
    off_random: Stream,
}

impl OnOffPeriods {
    /// Returns the periods of `config`.
    #[must_use]
    pub fn new(config: &OnOff, seed: Seed) -> Self {
        let (on, off) = (config.on.as_nanos() as f64, config.off.as_nanos() as f64);
        // The first call of `next_period` switches to the other period.
        let on = !seed.stream("first").chance(on / (on + off));
        Self { config: *config, on, on_random: seed.stream("on"), off_random: seed.stream("off") }
    }

    /// Returns the next period: true if it is on, and its length.
    pub fn next_period(&mut self) -> (bool, Duration) {
        self.on = !self.on;
        let length = if self.on {
            draw::period(&mut self.on_random, self.config.on, self.config.periods)
        } else {
            draw::period(&mut self.off_random, self.config.off, self.config.periods)
        };
        (self.on, length)
    }
}
