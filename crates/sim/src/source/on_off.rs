//! On and off periods.

use fairlane_qdisc::{Duration, Rate, Seed, Stream};
use fairlane_scenario as scenario;

use super::draw;
use crate::link::Transmitter;

/// Periods that take turns. The first is an on period with the probability of being on in the long run.
#[derive(Debug)]
pub(crate) struct Turns {
    law: scenario::OnOff,
    on: bool,
    on_random: Stream,
    off_random: Stream,
}

impl Turns {
    pub(crate) fn new(law: &scenario::OnOff, seed: Seed) -> Self {
        let (on, off) = (law.on.as_nanos() as f64, law.off.as_nanos() as f64);
        // The first call of `next` goes over to the other period.
        let on = !seed.stream("first").chance(on / (on + off));
        Self { law: *law, on, on_random: seed.stream("on"), off_random: seed.stream("off") }
    }

    /// The next period: whether it is on, and how long it lasts.
    pub(crate) fn next(&mut self) -> (bool, Duration) {
        self.on = !self.on;
        let length = if self.on {
            draw::period(&mut self.on_random, self.law.on, self.law.periods)
        } else {
            draw::period(&mut self.off_random, self.law.off, self.law.periods)
        };
        (self.on, length)
    }
}

/// A constant rate during the on periods. What an interval has left at the end of an on period is carried over to the
/// next one, so that the mean rate is exact however short the periods are.
#[derive(Debug)]
pub(crate) struct OnOff {
    turns: Turns,
    pace: Transmitter,
    bytes: u32,
    /// What is left of the on period.
    left: Duration,
}

impl OnOff {
    pub(crate) fn new(rate: Rate, bytes: u32, law: &scenario::OnOff, seed: Seed) -> Self {
        Self { turns: Turns::new(law, seed), pace: Transmitter::new(rate), bytes, left: Duration::ZERO }
    }

    pub(crate) fn next(&mut self) -> Duration {
        let mut interval = self.pace.next(self.bytes).as_nanos();
        let mut gap = 0_u64;
        while self.left.as_nanos() < interval {
            interval -= self.left.as_nanos();
            gap = gap.saturating_add(self.left.as_nanos());
            self.left = Duration::ZERO;
            match self.turns.next() {
                (true, length) => self.left = length,
                (false, length) => gap = gap.saturating_add(length.as_nanos()),
            }
        }
        self.left = Duration::from_nanos(self.left.as_nanos() - interval);
        Duration::from_nanos(gap.saturating_add(interval))
    }
}
