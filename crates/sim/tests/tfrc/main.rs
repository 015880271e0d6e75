//! TFRC compared with RFC 5348: the numbers are worked out by hand from its formulas.

mod equation;
mod history;
mod receiver;
mod reference;
mod sender;
mod share;

use fairlane_qdisc::{Duration, Time};

/// Returns the time `secs` seconds after the start.
fn at(secs: f64) -> Time {
    Time::ZERO + Duration::from_secs(secs)
}

fn close(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() <= tolerance
}
