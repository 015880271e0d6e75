//! Reno (Jacobson, SIGCOMM 1988; RFC 5681): the window grows by one segment per round trip and is halved after
//! congestion.

use super::{AckSample, WindowSize};

/// The limit L of RFC 3465, section 2.2: the largest growth in slow start on one acknowledgement, in segments.
const LIMIT: u32 = 2;

/// Grows the window in slow start.
pub(in super::super) fn start(size: &mut WindowSize, sample: &AckSample) {
    size.cwnd += f64::from(sample.counted.min(LIMIT));
}

/// Grows the window in congestion avoidance: one segment per round trip.
pub(in super::super) fn avoid(size: &mut WindowSize, sample: &AckSample) {
    size.cwnd += f64::from(sample.counted) / size.cwnd;
}

/// Returns half of `segments`.
pub(in super::super) fn decrease(segments: f64) -> f64 {
    // In whole segments, as in BSD, ns-2 and Linux: half of 5 is 2. This matters at the small windows of a congested
    // link.
    (segments / 2.0).floor()
}
