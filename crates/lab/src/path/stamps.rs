//! The kernel's timestamps as times of the scenario.

use fairlane_linux::{now, wall_clock};
use fairlane_qdisc::{Duration, Time};

/// The interval at which the clocks are compared, since the one of timestamps may be set.
const INTERVAL: Duration = Duration::from_millis(200);

/// The most time between two readings of a comparison: longer ones were interrupted.
const AT_ONCE: Duration = Duration::from_nanos(1_000);

/// The most attempts of a comparison.
const ATTEMPTS: usize = 8;

/// The largest age of a timestamp that is believed, and the most that it may be ahead: packets arrive while others are
/// read.
const OLDEST: Duration = Duration::from_millis(10_000);
const AHEAD: Duration = Duration::from_millis(10);

/// Converts timestamps, which are of the clock that shows the time of day.
#[derive(Debug)]
pub struct Stamps {
    /// The time of day at time zero of the scenario, in nanoseconds since 1970.
    zero: u64,
    compared: Time,
}

impl Stamps {
    /// Compares the clocks; time zero of the scenario is at `start`.
    #[must_use]
    pub fn new(start: Time) -> Self {
        let mut stamps =
            Self { zero: wall_clock().saturating_sub(now().since(start).as_nanos()), compared: Time::ZERO };
        stamps.compare(start);
        stamps
    }

    /// Returns the time of day at time zero of the scenario, in nanoseconds since 1970.
    #[must_use]
    pub const fn zero(&self) -> u64 {
        self.zero
    }

    /// Compares the clocks again at `at` from time to time.
    pub fn follow(&mut self, at: Time, start: Time) {
        if at.since(self.compared) >= INTERVAL {
            self.compared = at;
            self.compare(start);
        }
    }

    fn compare(&mut self, start: Time) {
        for _ in 0..ATTEMPTS {
            let (before, shown, after) = (now(), wall_clock(), now());
            if after.since(before) <= AT_ONCE {
                self.zero = shown.saturating_sub(before.since(start).as_nanos());
                return;
            }
        }
    }

    /// Returns the time of the scenario at which a packet was `received`; `now` if that cannot be.
    #[must_use]
    pub fn time_of(&self, received: u64, now: Time) -> Time {
        let time = Time::from_nanos(received.saturating_sub(self.zero));
        if time.since(now) > AHEAD || now.since(time) > OLDEST { now } else { time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a clock that was set, which would hold packets back or let them arrive before others.
    #[test]
    fn only_a_plausible_timestamp_is_believed() {
        let ms = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let stamps = Stamps { zero: 5_000_000_000, compared: Time::ZERO };
        let of = |millis: u64, now| stamps.time_of(5_000_000_000 + millis * 1_000_000, now);
        assert_eq!([of(70, ms(100)), of(100, ms(100)), of(105, ms(100))], [ms(70), ms(100), ms(105)]);
        assert_eq!([of(111, ms(100)), of(3_600_000, ms(100)), of(0, ms(10_001))], [ms(100), ms(100), ms(10_001)]);
        assert_eq!(stamps.time_of(0, ms(100)), Time::ZERO, "a time before the start is the start");
    }
}
