//! The one place that reads a clock.

use fairlane_qdisc::Time;
use nix::time::{ClockId, clock_gettime};

/// What `CLOCK_MONOTONIC` shows.
pub(crate) fn now() -> Time {
    // There is no Linux without this clock; should a sandbox forbid the call, time stands still.
    let shown = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| {
        u64::try_from(time.tv_sec()).unwrap_or(0).saturating_mul(1_000_000_000)
            + u64::try_from(time.tv_nsec()).unwrap_or(0)
    });
    Time::from_nanos(shown)
}
