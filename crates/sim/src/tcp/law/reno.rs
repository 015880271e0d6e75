//! Reno's law (Jacobson 1988, RFC 5681): one segment more a round trip, half after congestion.

use super::Size;

/// Congestion avoidance: an acknowledgement's share of one segment a round trip.
pub(in super::super) fn avoid(size: &mut Size) {
    size.cwnd += 1.0 / size.cwnd;
}

/// What is left of `segments` after congestion.
pub(in super::super) fn decrease(segments: f64) -> f64 {
    // Whole segments, as BSD, ns-2 and Linux count them: half of 5 is 2. At the small windows of a crowded link this is felt.
    (segments / 2.0).floor()
}
