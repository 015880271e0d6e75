//! Reno (Jacobson, SIGCOMM 1988; RFC 5681): the window grows by one segment per round trip and is halved after
//! congestion.

use super::{AckSample, CongestionControl, CongestionEvent, WindowSize};

/// Reno with pacing, another slow start or a window that is validated; plain Reno needs no object.
#[derive(Debug)]
pub(super) struct Reno;

impl CongestionControl for Reno {
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
        avoid(window, ack);
    }

    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        decrease(event.segments)
    }
}

/// Grows the window in slow start; in Linux not above the threshold.
pub(in super::super) fn start(size: &mut WindowSize, sample: &AckSample) {
    let grown = size.cwnd + f64::from(sample.counted().min(sample.limit));
    size.cwnd = if sample.as_linux { grown.min(size.ssthresh.ceil()) } else { grown };
}

/// Grows the window in congestion avoidance: by one segment per window of counted segments. With byte counting that is
/// the window in use, which has whole segments (RFC 3465, section 2.1); otherwise the division is that of BSD and ns-2.
pub(in super::super) fn avoid(size: &mut WindowSize, sample: &AckSample) {
    let window = if sample.byte_counting { size.cwnd.floor().max(1.0) } else { size.cwnd };
    size.cwnd += f64::from(sample.counted()) / window;
}

/// Returns half of `segments`.
pub(in super::super) fn decrease(segments: f64) -> f64 {
    // In whole segments, as in BSD, ns-2 and Linux: half of 5 is 2. This matters at the small windows of a congested
    // link.
    (segments / 2.0).floor()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An acknowledgement of ten segments below the threshold of 5: without a limit (RFC 3465, section 2.2, has two)
    /// the window would be 11, but Linux ends slow start at the threshold.
    #[test]
    fn slow_start_of_linux_ends_at_the_threshold() {
        let mut size = WindowSize { cwnd: 1.0, ssthresh: 5.0 };
        let sample =
            AckSample { acked: 10, byte_counting: true, limit: u32::MAX, as_linux: true, ..AckSample::default() };
        start(&mut size, &sample);
        assert_eq!(size.cwnd, 5.0);
    }
}
