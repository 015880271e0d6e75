//! Reno's law (Jacobson 1988, RFC 5681): one segment more a round trip, half after congestion.

use super::window::Law;

/// Additive increase by 1, multiplicative decrease by 1/2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reno;

impl Law for Reno {
    fn increase(&self, cwnd: f64) -> f64 {
        1.0 / cwnd
    }

    fn decrease(&self, segments: f64) -> f64 {
        // Whole segments, as BSD, ns-2 and Linux count them: half of 5 is 2. At the small windows of a crowded link this is felt.
        (segments / 2.0).floor()
    }
}
