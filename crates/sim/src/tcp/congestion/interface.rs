//! The interface of congestion control, for that of Fairlane and for others.

use std::fmt::Debug;

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::Tcp;

/// Congestion control of one connection: how its window grows, how far congestion reduces it, and its rate.
///
/// The shape is that of `tcp_congestion_ops` of Linux and `TcpCongestionOps` of ns-3. Windows are in segments and may
/// have fractions. All of Fairlane's are written to this interface. A simple one needs [`grow`](Self::grow) and
/// [`on_congestion`](Self::on_congestion):
///
/// ```
/// use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, WindowSize};
///
/// /// Grows by one segment a round trip, and loses a quarter to congestion.
/// #[derive(Debug)]
/// struct Gentle;
///
/// impl CongestionControl for Gentle {
///     fn grow(&mut self, window: &mut WindowSize, ack: &AckSample) {
///         window.cwnd += f64::from(ack.growth()) / window.cwnd;
///     }
///     fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
///         0.75 * event.segments
///     }
/// }
///
/// let mut window = WindowSize { cwnd: 10.0, ssthresh: 10.0 };
/// Gentle.grow(&mut window, &AckSample { acked: 2, ..AckSample::default() });
/// assert_eq!(window.cwnd, 10.2);
/// ```
///
/// The sender does the rest: it detects and repairs losses, reduces the window at most once each round trip, and to one
/// segment after a timeout, takes needless reductions back, paces, and limits the window to that of the receiver.
pub trait CongestionControl: Debug + Send + Sync {
    /// Grows the window after an acknowledgement of new segments outside loss recovery, without marks, and with a
    /// window in use. In slow start the sender grows it instead, unless there is
    /// [another one](Self::has_own_slow_start).
    ///
    /// In Linux it is `cong_avoid`, in ns-3 `IncreaseWindow`.
    fn grow(&mut self, window: &mut WindowSize, ack: &AckSample);

    /// Returns the threshold after congestion, in segments. It is finite and not negative, and raised to the smallest
    /// window. The window follows: to the threshold by loss recovery or at once, to one segment after a timeout.
    ///
    /// In Linux it is `ssthresh`, in ns-3 `GetSsThresh`.
    fn on_congestion(&mut self, window: &WindowSize, event: &CongestionEvent) -> f64;

    /// Handles any acknowledgement, after loss recovery, also one without new segments. A model of the path sets the
    /// window here. By default does nothing.
    ///
    /// In Linux it is `pkts_acked`, `in_ack_event` and `cong_control`.
    fn on_ack(&mut self, _window: &mut WindowSize, _ack: &AckSample, _loss: LossState) {}

    /// Handles an acknowledgement with which the window would grow if it were in use; see
    /// [`AckSample::used`]. By default does nothing.
    fn on_unused(&mut self, _window: &mut WindowSize, _ack: &AckSample) {}

    /// Takes back what the last congestion changed here: it was none. The window returns without this. By default does
    /// nothing.
    fn on_undo(&mut self) {}

    /// Notes that segment `seq` is sent. `idle` is true if nothing was outstanding. `in_flight` counts the segments in
    /// the network with this one for a [model](Self::has_model), and is 0 otherwise. By default does nothing.
    fn on_send(&mut self, _now: Time, _seq: u32, _idle: bool, _in_flight: u32) {}

    /// Notes that segments `[start, end)` have arrived out of order, by selective acknowledgements. By default does
    /// nothing.
    fn on_arrived(&mut self, _start: u32, _end: u32) {}

    /// Notes that segment `seq` is found lost. Only RACK (`recovery = "rack"`) tells. By default does nothing.
    fn on_lost(&mut self, _now: Time, _seq: u32) {}

    /// Notes that the window had room but there was no segment to send, with `in_flight` segments in the network. By
    /// default does nothing.
    fn on_application_limited(&mut self, _in_flight: u32) {}

    /// Returns the rate of a paced sender in segments per second, above 0. By default, and for `None`, it is the window
    /// over the smoothed round trip, times 2 in slow start and 1.25 otherwise. A sender paces if its scenario or
    /// [`OwnCongestion::paces`](fairlane_scenario::OwnCongestion::paces) says so.
    fn pacing_rate(&self, _window: &WindowSize) -> Option<f64> {
        None
    }

    /// Returns true if the window follows from a model of the path, as that of BBR: loss recovery leaves it alone, and
    /// it stays after idle times. By default false. Asked once, at the start.
    fn has_model(&self) -> bool {
        false
    }

    /// Returns true if [`grow`](Self::grow) and [`on_ack`](Self::on_ack) do all the growth in slow start. By default
    /// false: the sender has the slow start that its scenario asks for. Asked once, at the start.
    fn has_own_slow_start(&self) -> bool {
        false
    }

    /// Returns true for a scalable congestion control (RFC 9331): its data carry ECT(1), unmarked segments let the
    /// window grow next to marked ones, a loss counts in a window that a mark has reduced, and a paced window has
    /// fractions below one segment. By default false. Asked once, at the start.
    fn is_scalable(&self) -> bool {
        false
    }

    /// Returns the smallest window that congestion leaves, in segments, above 0. By default, and for `None`, it is two,
    /// and one after a mark.
    fn smallest_window(&self) -> Option<f64> {
        None
    }

    /// Returns true if a mark reduces the window now. The sender asks at most once each round trip. By default true.
    fn reacts_to_mark(&self) -> bool {
        true
    }
}

/// The connection that a congestion control is made for.
#[derive(Clone, Copy, Debug)]
pub struct OwnConnection<'t> {
    /// The number of its flow, from 0 in the order of the scenario.
    pub flow: u32,
    /// For all its randomness: another one in each run, flow and connection.
    pub seed: Seed,
    /// The flow's TCP.
    pub tcp: &'t Tcp,
}

/// The window and its threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSize {
    /// The congestion window in segments, above 0; at the start the scenario's `initial_window`.
    pub cwnd: f64,
    /// The slow start threshold in segments, above 0; before the first congestion the receiver's window, or 2^31 - 1
    /// with the preset `linux`.
    pub ssthresh: f64,
}

impl WindowSize {
    /// Returns true if the window is below the threshold (RFC 5681, section 3.1).
    #[must_use]
    pub fn in_slow_start(self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The information in an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct AckSample {
    /// The time of its arrival.
    pub now: Time,
    /// The oldest segment that is still unacknowledged.
    pub una: u32,
    /// One past the highest segment ever sent.
    pub max: u32,
    /// The number of segments that it acknowledges for the first time.
    pub acked: u32,
    /// The number of segments by which the window grows in Linux; `None`: `acked`, where the flow is not as in Linux.
    pub newly: Option<u32>,
    /// Reno's window grows by the segments acknowledged (RFC 3465); otherwise each acknowledgement counts as one (RFC
    /// 5681, section 3.1).
    pub byte_counting: bool,
    /// The largest growth in slow start, in segments: the limit L of RFC 3465, sections 2.2 and 2.3.
    pub limit: u32,
    /// Where Linux differs from the RFCs, the window grows as in Linux.
    pub as_linux: bool,
    /// The window is used: within a round trip it was full, or in slow start half full.
    pub used: bool,
    /// The acknowledgement tells of marks: by ECN-Echo or, with accurate ECN, by its counter.
    pub marked: bool,
    /// The number of marked segments that it tells of by the counter of accurate ECN; `None` without that.
    pub counted: Option<u32>,
    /// The round-trip time of the segment whose time it echoes (RFC 7323, section 4.3): the first of those that it
    /// acknowledges, so a delayed acknowledgement adds its delay. Where something is missing, the echo is that of the
    /// last segment before, and the time grows until that is repaired: leave out acknowledgements with `acked` 0 or in
    /// recovery. Its resolution is one nanosecond, unlike that of the retransmission timer's clock: Vegas needs a fine
    /// clock, too.
    pub rtt: Duration,
    /// The one-way delay of the segment that caused it, if the receiver sends it back: for `cc = "ledbat"` alone.
    pub delay: Option<Duration>,
}

/// An acknowledgement of one segment at time zero, with a window in use and a round-trip time of zero, for tests, which
/// set what matters to them.
impl Default for AckSample {
    fn default() -> Self {
        Self {
            now: Time::ZERO,
            una: 0,
            max: 0,
            acked: 1,
            newly: None,
            byte_counting: false,
            limit: 2,
            as_linux: false,
            used: true,
            marked: false,
            counted: None,
            rtt: Duration::ZERO,
            delay: None,
        }
    }
}

impl AckSample {
    /// Returns the number of segments that count for the growth of Reno's window.
    pub(super) fn counted(&self) -> u32 {
        if self.byte_counting { self.growth() } else { 1 }
    }

    /// Returns the number of segments that let the window grow: those acknowledged for the first time or, as in Linux,
    /// without those that have arrived earlier.
    #[must_use]
    pub fn growth(&self) -> u32 {
        self.newly.unwrap_or(self.acked)
    }

    /// Returns the number of marked segments that it tells of: with ECN-Echo, all that it acknowledges.
    #[must_use]
    pub fn marks(&self) -> u32 {
        self.counted.unwrap_or(if self.marked { self.acked } else { 0 })
    }

    /// Returns true, and sets a new `round_end`, if all segments sent before the last `round_end` was set are
    /// acknowledged: a round trip is over. The first `round_end` is 0.
    pub fn ends_round(&self, round_end: &mut u32) -> bool {
        let ends = self.una >= *round_end && self.acked > 0;
        if ends {
            *round_end = self.max;
        }
        ends
    }
}

/// The state of loss recovery after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct LossState {
    /// Segments in the network (the pipe of RFC 6675).
    pub in_flight: u32,
    /// The sender is in loss recovery.
    pub recovering: bool,
}

/// The reason for a reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A loss that fast retransmit repairs.
    Loss,
    /// A mark of the network (RFC 3168).
    Mark,
    /// A retransmission timeout.
    Timeout,
}

/// A reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionEvent {
    /// The time.
    pub now: Time,
    /// The reason.
    pub signal: CongestionSignal,
    /// The part of the window that is reduced, in segments: the window or, if that is less, the flight (RFC 5681,
    /// equation 4); after a mark, and as in Linux always, the window.
    pub segments: f64,
}
