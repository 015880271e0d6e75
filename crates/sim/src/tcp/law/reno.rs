//! Reno's law (Jacobson 1988, RFC 5681): one segment more a round trip, half after congestion.

use super::{News, Size};

/// L of RFC 3465 (2.2): slow start grows for no more segments than these on one acknowledgement.
const MOST: u32 = 2;

/// Slow start.
pub(in super::super) fn start(size: &mut Size, news: &News) {
    size.cwnd += f64::from(news.counted.min(MOST));
}

/// Congestion avoidance: an acknowledgement's share of one segment a round trip.
pub(in super::super) fn avoid(size: &mut Size, news: &News) {
    size.cwnd += f64::from(news.counted) / size.cwnd;
}

/// What is left of `segments` after congestion.
pub(in super::super) fn decrease(segments: f64) -> f64 {
    // Whole segments, as BSD, ns-2 and Linux count them: half of 5 is 2. At the small windows of a crowded link this is felt.
    (segments / 2.0).floor()
}
