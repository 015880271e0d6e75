//! The congestion window, and the law that moves it.

use fairlane_scenario::Tcp;

use super::reno::Reno;

/// A law of congestion control: how far the window grows, and what congestion leaves of it. When to apply it is the
/// business of loss recovery.
pub(super) trait Law {
    /// By how much the window of `cwnd` segments grows for one acknowledgement in congestion avoidance.
    fn increase(&self, cwnd: f64) -> f64;

    /// What is left of `segments` after congestion.
    fn decrease(&self, segments: f64) -> f64;
}

/// The congestion window and the slow start threshold, in segments.
///
/// The window stops growing at the receiver's window. ns-2 lets it grow on unused and then halves the smaller of the
/// two, which comes to the same; RFC 7661 forbids growth that nothing has tested.
#[derive(Clone, Debug)]
pub(super) struct Window {
    cwnd: f64,
    ssthresh: f64,
    receiver: u32,
    law: Reno,
}

impl Window {
    /// The initial window, with a threshold that does not matter before the first congestion.
    pub(super) fn new(tcp: &Tcp) -> Self {
        let receiver = tcp.window.max(1);
        let initial = tcp.initial_window.clamp(1, receiver);
        Self { cwnd: f64::from(initial), ssthresh: f64::from(receiver), receiver, law: Reno }
    }

    /// An acknowledgement of new data outside recovery: slow start or congestion avoidance (RFC 5681 3.1), once an
    /// acknowledgement however much it covers.
    pub(super) fn grow(&mut self) {
        let step = if self.cwnd < self.ssthresh { 1.0 } else { self.law.increase(self.cwnd) };
        self.cwnd = (self.cwnd + step).min(f64::from(self.receiver));
    }

    /// Sets the threshold after a loss with `flight` segments outstanding, at least `floor`.
    ///
    /// RFC 5681 (4) allows no more than half the flight. Where the window is smaller than the flight, because it has
    /// been cut and the flight has not drained yet, ns-2 and BSD halve the window; so does this.
    pub(super) fn cut(&mut self, flight: u32, floor: f64) {
        self.ssthresh = self.law.decrease(self.cwnd.min(f64::from(flight))).max(floor);
    }

    /// Keeps the window as it is for the loss that follows, since this window has been cut already.
    pub(super) fn spare(&mut self) {
        self.ssthresh = self.cwnd.max(2.0);
    }

    /// Sets the window to the threshold, but not beyond `most`.
    pub(super) fn resume(&mut self, most: f64) {
        self.cwnd = self.ssthresh.min(most);
    }

    /// One segment: slow start begins again.
    pub(super) fn collapse(&mut self) {
        self.cwnd = 1.0;
    }

    /// Whole segments that may be outstanding, with `inflation` more than the window says; at least 1.
    pub(super) fn usable(&self, inflation: i32) -> u32 {
        // A cast saturates.
        ((self.cwnd + f64::from(inflation)).max(1.0) as u32).min(self.receiver)
    }

    /// The congestion window.
    pub(super) fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// The slow start threshold.
    pub(super) fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// The receiver's window.
    pub(super) fn receiver(&self) -> u32 {
        self.receiver
    }
}
