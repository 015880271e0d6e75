//! The monotonic clock. No other module reads a clock.

use fairlane_qdisc::Time;
use nix::time::{ClockId, clock_gettime};

/// Returns the time of `CLOCK_MONOTONIC`, which is that of a [`Report`](crate::Report).
#[must_use]
pub fn now() -> Time {
    // Every Linux has this clock. If a sandbox forbids the call, the time is always 0.
    let shown = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| {
        u64::try_from(time.tv_sec()).unwrap_or(0).saturating_mul(1_000_000_000)
            + u64::try_from(time.tv_nsec()).unwrap_or(0)
    });
    Time::from_nanos(shown)
}
