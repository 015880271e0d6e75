//! A constant rate during on periods.

use fairlane_qdisc::{Duration, Rate, Seed};
use fairlane_scenario as scenario;

use crate::periods::OnOffPeriods;
use crate::transmitter::Transmitter;

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

    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.transmitter = Transmitter::new(rate);
    }

    pub(crate) fn next(&mut self) -> Duration {
        let mut interval = self.transmitter.next(self.bytes).as_nanos();
        let mut gap = 0_u64;
        while self.left.as_nanos() < interval {
            interval -= self.left.as_nanos();
            gap = gap.saturating_add(self.left.as_nanos());
            self.left = Duration::ZERO;
            match self.periods.next_period() {
                (true, length) => self.left = length,
                (false, length) => gap = gap.saturating_add(length.as_nanos()),
            }
        }
        self.left = Duration::from_nanos(self.left.as_nanos() - interval);
        Duration::from_nanos(gap.saturating_add(interval))
    }
}
