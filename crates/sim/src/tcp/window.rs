//! The congestion window, which [congestion control](super::congestion) changes.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;

use super::congestion::{AckSample, CongestionControl, CongestionSignal, LossState, Regulator, WindowSize, reno};

/// The threshold in Linux before the first congestion (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: f64 = i32::MAX as f64;

/// The congestion window and the slow start threshold, in segments.
///
/// The window stops growing at the receiver's window. ns-2 lets it grow beyond that and then halves the smaller of the
/// two, which is equivalent; RFC 7661 does not allow a window to grow that is not used. In Linux it grows to twice the
/// segments that were out, also above the receiver's window.
#[derive(Debug)]
pub(super) struct Window {
    size: WindowSize,
    receiver: u32,
    /// Congestion reduces the window, not the flight if that is less, and not below two segments.
    as_linux: bool,
    /// An algorithm other than Reno, pacing, HyStart or HyStart++.
    control: Option<Box<Regulator>>,
}

impl Window {
    /// Returns the initial window, with a threshold that has no effect before the first congestion. `phase` differs
    /// between senders. `own` is a congestion control of the caller.
    pub(super) fn new(tcp: &Tcp, phase: u64, own: Option<Box<dyn CongestionControl>>) -> Self {
        let receiver = tcp.window.max(1);
        let initial = tcp.initial_window.clamp(1, receiver);
        let size = WindowSize { cwnd: f64::from(initial), ssthresh: 0.0 };
        let mut window = Self { size, receiver, as_linux: tcp.as_linux, control: Regulator::new(tcp, phase, own) };
        window.size.ssthresh = window.most();
        window
    }

    /// Returns the largest window.
    #[inline]
    fn most(&self) -> f64 {
        if self.as_linux { NO_THRESHOLD } else { f64::from(self.receiver) }
    }

    /// Grows the window after an acknowledgement of new segments outside recovery: slow start or congestion avoidance.
    #[inline]
    pub(super) fn grow(&mut self, sample: &AckSample) {
        if !sample.used {
            return self.on_unused(sample);
        }
        match &mut self.control {
            None if self.size.in_slow_start() => reno::start(&mut self.size, sample),
            None => reno::avoid(&mut self.size, sample),
            Some(control) => control.grow(&mut self.size, *sample),
        }
        self.size.cwnd = self.size.cwnd.min(self.most());
    }

    /// Handles an acknowledgement as [`grow`](Self::grow) does where the window is not used, so that it does not grow.
    #[cold]
    fn on_unused(&mut self, sample: &AckSample) {
        if let Some(control) = &mut self.control {
            control.on_unused(&mut self.size, sample);
        }
    }

    /// Sets the threshold, at least `floor` unless congestion control has its own smallest window, after congestion
    /// with `flight` segments outstanding.
    ///
    /// RFC 5681, equation 4, allows at most half the flight after a loss. If the window is smaller than the flight,
    /// because it has just been reduced, half the window is used, as in ns-2 and BSD. A mark reduces the window, and in
    /// Linux a loss does, too.
    pub(super) fn cut(&mut self, flight: u32, floor: f64, signal: CongestionSignal) {
        let lost = signal != CongestionSignal::Mark;
        let by_flight = lost && !self.as_linux;
        let segments = if by_flight { self.size.cwnd.min(f64::from(flight)) } else { self.size.cwnd };
        let left = match &mut self.control {
            None => reno::decrease(segments),
            Some(control) => {
                let used = control.validation().and_then(|of| of.on_congestion(self.size, flight, signal));
                let left = control.decrease(&self.size, used.unwrap_or(segments), signal);
                // RFC 7661, section 4.4.2.
                used.filter(|_| lost).map_or(left, |used| used / 2.0)
            }
        };
        self.size.ssthresh = left.max(self.least(if self.as_linux { 2.0 } else { floor }));
    }

    /// Sets the threshold to the window, for a loss in a window that has been reduced already.
    pub(super) fn spare(&mut self) {
        self.size.ssthresh = self.size.cwnd.max(self.least(2.0));
    }

    /// Returns the smallest window of congestion control, or `usual`.
    fn least(&self, usual: f64) -> f64 {
        self.control.as_ref().and_then(|control| control.least()).unwrap_or(usual)
    }

    /// Returns to `former`, the window before a reduction that was needless (RFC 4015, section 3.2), or stays if it is
    /// larger. A model of the path returns to what it had by itself.
    pub(super) fn undo(&mut self, former: WindowSize) {
        if !self.has_model() {
            self.size.cwnd = self.size.cwnd.max(former.cwnd);
        }
        self.size.ssthresh = self.size.ssthresh.max(former.ssthresh);
        if let Some(control) = &mut self.control {
            control.undo();
        }
    }

    /// Sets the window to the threshold, or to `most` if that is less.
    pub(super) fn resume(&mut self, most: f64) {
        self.size.cwnd = self.size.ssthresh.min(most);
    }

    /// Sets the window to one segment: slow start begins again. `max` is one past the highest segment ever sent.
    pub(super) fn collapse(&mut self, max: u32) {
        self.size.cwnd = 1.0;
        if let Some(control) = &mut self.control {
            control.restart(max);
            if let Some(validation) = control.validation() {
                validation.on_collapse();
            }
        }
    }

    /// Notes the time at which an event is handled that may reduce the window.
    pub(super) fn set_now(&mut self, now: Time) {
        if let Some(control) = &mut self.control {
            control.now = now;
        }
    }

    /// Returns true if congestion control needs every acknowledgement and every segment sent.
    pub(super) fn has_control(&self) -> bool {
        self.control.is_some()
    }

    /// Handles any acknowledgement, after loss recovery.
    pub(super) fn on_ack(&mut self, sample: AckSample, loss_state: LossState) {
        if let Some(control) = &mut self.control {
            control.on_ack(&mut self.size, sample, loss_state);
            self.size.cwnd = self.size.cwnd.min(self.most());
        }
    }

    /// Notes that segments `[start, end)` have arrived out of order.
    pub(super) fn arrived(&mut self, start: u32, end: u32) {
        if let Some(control) = &mut self.control {
            control.arrived(start, end);
        }
    }

    /// Notes that segment `seq` is lost.
    pub(super) fn lost(&mut self, now: Time, seq: u32) {
        if let Some(control) = &mut self.control {
            control.lost(now, seq);
        }
    }

    /// Notes that segment `seq` is sent. `idle` is true if nothing was outstanding. `in_flight` counts the segments in
    /// the network with this one if a model of the path sets the window.
    pub(super) fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        if let Some(control) = &mut self.control {
            control.on_send(now, seq, idle, in_flight);
        }
    }

    /// Validates the window before the first segment after an idle time; see
    /// [`Validation`](super::validation::Validation).
    pub(super) fn on_restart(&mut self, now: Time, timeout: Duration) {
        if let Some(validation) = self.control.as_mut().and_then(|control| control.validation()) {
            validation.on_restart(&mut self.size, now, timeout);
        }
    }

    /// Notes that the window is full.
    pub(super) fn on_full(&mut self, now: Time) {
        if let Some(validation) = self.control.as_mut().and_then(|control| control.validation()) {
            validation.on_full(now);
        }
    }

    /// Notes that the application, with `flight` segments outstanding, does not fill the window.
    pub(super) fn on_unfilled(&mut self, now: Time, flight: u32, timeout: Duration) {
        if let Some(validation) = self.control.as_mut().and_then(|control| control.validation()) {
            validation.on_application_limited(&mut self.size, now, flight, timeout);
        }
    }

    /// Notes that the window had room but there was no segment to send, with `in_flight` segments in the network.
    pub(super) fn on_application_limited(&mut self, in_flight: u32) {
        if let Some(control) = &mut self.control {
            control.on_application_limited(in_flight);
        }
    }

    /// Returns true if pacing holds back the next segment.
    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        self.control.as_mut().is_some_and(|control| control.holds_back(now))
    }

    /// Returns the time at which pacing allows the next segment; `None` if it holds none back.
    pub(super) fn release(&self) -> Option<Time> {
        self.control.as_ref().and_then(|control| control.release())
    }

    /// Clears the pacing release time: no segment waits.
    pub(super) fn forget_release(&mut self) {
        if let Some(control) = &mut self.control {
            control.forget_release();
        }
    }

    /// Returns the number of segments that may be outstanding, at least 1. `inflation` is added to the window. Where
    /// pacing allows for the fraction of the window, as for Prague, it is the next whole number.
    pub(super) fn usable(&self, inflation: i32) -> u32 {
        let window = (self.size.cwnd + f64::from(inflation)).max(1.0);
        // The cast saturates.
        (if self.is_scalable() { window.ceil() } else { window } as u32).min(self.receiver)
    }

    /// Returns true if the window, and not the receiver's, holds segments back once no more may be sent.
    pub(super) fn is_limit(&self) -> bool {
        self.size.cwnd < f64::from(self.receiver) + 1.0
    }

    /// Returns true if an acknowledgement of new segments lets the window grow: without a mark, or in a scalable
    /// congestion control for the segments that are not marked.
    #[inline]
    pub(super) fn grows(&self, sample: &AckSample) -> bool {
        !sample.marked || (self.is_scalable() && sample.marks() < sample.acked)
    }

    /// Sets the window, for recovery.
    pub(super) fn set(&mut self, cwnd: f64) {
        self.size.cwnd = cwnd;
    }

    /// Returns true if congestion control sets the window by a model of the path, in recovery as well.
    pub(super) fn has_model(&self) -> bool {
        self.control.as_ref().is_some_and(|control| control.has_model())
    }

    /// Returns true if a loss counts in a window that a mark has reduced, and the window has fractions.
    pub(super) fn is_scalable(&self) -> bool {
        self.control.as_ref().is_some_and(|control| control.is_scalable())
    }

    /// Returns true if a mark reduces the window now.
    pub(super) fn reacts_to_mark(&self) -> bool {
        self.control.as_ref().is_none_or(|control| control.reacts_to_mark())
    }

    /// Returns the window and the threshold.
    pub(super) fn size(&self) -> WindowSize {
        self.size
    }

    /// Returns the congestion window.
    pub(super) fn cwnd(&self) -> f64 {
        self.size.cwnd
    }

    /// Returns the slow start threshold.
    pub(super) fn ssthresh(&self) -> f64 {
        self.size.ssthresh
    }

    /// Returns the receiver's window.
    pub(super) fn receiver(&self) -> u32 {
        self.receiver
    }
}
