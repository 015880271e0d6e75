//! The congestion window, which a [law](super::law) moves.

use fairlane_qdisc::Time;
use fairlane_scenario::Tcp;

use super::law::{Cause, Control, News, Size, Standing, reno};

/// The congestion window and the slow start threshold, in segments.
///
/// The window stops growing at the receiver's window. ns-2 lets it grow on unused and then halves the smaller of the
/// two, which comes to the same; RFC 7661 forbids growth that nothing has tested.
#[derive(Clone, Debug)]
pub(super) struct Window {
    size: Size,
    receiver: u32,
    /// Another law than Reno's, pacing or HyStart++.
    control: Option<Box<Control>>,
}

impl Window {
    /// The initial window, with a threshold that does not matter before the first congestion. `phase` differs from sender
    /// to sender.
    pub(super) fn new(tcp: &Tcp, phase: u64) -> Self {
        let receiver = tcp.window.max(1);
        let initial = tcp.initial_window.clamp(1, receiver);
        let size = Size { cwnd: f64::from(initial), ssthresh: f64::from(receiver) };
        Self { size, receiver, control: Control::new(tcp, phase) }
    }

    /// An acknowledgement of new data outside recovery: slow start or congestion avoidance.
    pub(super) fn grow(&mut self, news: &News) {
        match &mut self.control {
            None if self.size.in_slow_start() => reno::start(&mut self.size, news),
            None => reno::avoid(&mut self.size, news),
            Some(control) => control.grow(&mut self.size, news),
        }
        self.size.cwnd = self.size.cwnd.min(f64::from(self.receiver));
    }

    /// Sets the threshold after congestion with `flight` segments outstanding, at least `floor`.
    ///
    /// RFC 5681 (4) allows no more than half the flight. Where the window is smaller than the flight, because it has
    /// been cut and the flight has not drained yet, ns-2 and BSD halve the window; so does this.
    pub(super) fn cut(&mut self, flight: u32, floor: f64, cause: Cause) {
        let segments = self.size.cwnd.min(f64::from(flight));
        let left = match &mut self.control {
            None => reno::decrease(segments),
            Some(control) => control.decrease(&self.size, segments, cause),
        };
        self.size.ssthresh = left.max(floor);
    }

    /// Keeps the window as it is for the loss that follows, since this window has been cut already.
    pub(super) fn spare(&mut self) {
        self.size.ssthresh = self.size.cwnd.max(2.0);
    }

    /// Sets the window to the threshold, but not beyond `most`.
    pub(super) fn resume(&mut self, most: f64) {
        self.size.cwnd = self.size.ssthresh.min(most);
    }

    /// One segment: slow start begins again.
    pub(super) fn collapse(&mut self) {
        self.size.cwnd = 1.0;
    }

    /// Whether the law looks at every acknowledgement and every segment sent.
    pub(super) fn watches(&self) -> bool {
        self.control.is_some()
    }

    /// Any acknowledgement, after recovery has dealt with it.
    pub(super) fn on_ack(&mut self, news: &News, standing: Standing) {
        if let Some(control) = &mut self.control {
            control.on_ack(&mut self.size, news, standing);
            self.size.cwnd = self.size.cwnd.min(f64::from(self.receiver));
        }
    }

    /// Segments `[start, end)` have arrived out of order.
    pub(super) fn arrived(&mut self, start: u32, end: u32) {
        if let Some(control) = &mut self.control {
            control.arrived(start, end);
        }
    }

    /// Segment `seq` goes out; `idle`: nothing was outstanding.
    pub(super) fn on_send(&mut self, now: Time, seq: u32, idle: bool) {
        if let Some(control) = &mut self.control {
            control.on_send(now, seq, idle);
        }
    }

    /// There was room for a segment, but none to send, with `in_flight` in the network.
    pub(super) fn ran_dry(&mut self, in_flight: u32) {
        if let Some(control) = &mut self.control {
            control.ran_dry(in_flight);
        }
    }

    /// Whether pacing holds back the next segment.
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        self.control.as_mut().is_some_and(|control| control.holds_back(now))
    }

    /// When pacing lets the next segment go; `None` if it holds none back.
    pub(super) fn release(&self) -> Option<Time> {
        self.control.as_ref().and_then(|control| control.release())
    }

    /// Nothing waits for pacing any more.
    pub(super) fn forget_release(&mut self) {
        if let Some(control) = &mut self.control {
            control.forget_release();
        }
    }

    /// Whole segments that may be outstanding, with `inflation` more than the window says; at least 1.
    pub(super) fn usable(&self, inflation: i32) -> u32 {
        // A cast saturates.
        ((self.size.cwnd + f64::from(inflation)).max(1.0) as u32).min(self.receiver)
    }

    /// The congestion window.
    pub(super) fn cwnd(&self) -> f64 {
        self.size.cwnd
    }

    /// The slow start threshold.
    pub(super) fn ssthresh(&self) -> f64 {
        self.size.ssthresh
    }

    /// The receiver's window.
    pub(super) fn receiver(&self) -> u32 {
        self.receiver
    }
}
