//! The clocks. No other module reads one.

use fairlane_qdisc::Time;
use nix::time::{ClockId, clock_gettime};

/// Returns the time of `CLOCK_MONOTONIC`, which is that of a [`Report`](crate::Report).
#[must_use]
pub fn now() -> Time {
    Time::from_nanos(nanos(ClockId::CLOCK_MONOTONIC))
}

/// Returns the time of `CLOCK_REALTIME` in nanoseconds since 1970, which is that of the kernel's timestamps. The clock
/// may jump.
#[must_use]
pub fn wall_clock() -> u64 {
    nanos(ClockId::CLOCK_REALTIME)
}

fn nanos(clock: ClockId) -> u64 {
    // Every Linux has these clocks. If a sandbox forbids the call, the time is always 0.
    clock_gettime(clock).map_or(0, |time| {
        u64::try_from(time.tv_sec()).unwrap_or(0).saturating_mul(1_000_000_000)
            + u64::try_from(time.tv_nsec()).unwrap_or(0)
    })
}
