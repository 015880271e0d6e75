//! The state of a sender that all kinds of loss recovery share.

use fairlane_scenario::{AfterIdle, Tcp};

use super::congestion::{CongestionControl, CongestionSignal, WindowSize};
use super::window::Window;

/// Sequence numbers, the window and the state of recovery.
#[derive(Debug)]
pub(super) struct SenderState {
    /// The oldest segment that has not been acknowledged.
    pub(super) una: u32,
    /// The next segment to send; below `max` during retransmissions after a timeout (go-back-N).
    pub(super) next: u32,
    /// One past the highest segment ever sent.
    pub(super) max: u32,
    /// Duplicate acknowledgements in a row.
    pub(super) dupacks: u32,
    /// The inflation of the window in fast recovery, for segments that have left the network.
    pub(super) inflation: i32,
    /// Duplicate acknowledgements below this are caused by segments sent before the last timeout or, for some kinds of
    /// recovery, before the last fast retransmit, and do not indicate a new loss.
    pub(super) fast_from: u32,
    /// ECN-Echo in acknowledgements below this signals congestion to which the sender has already reacted.
    pub(super) echo_from: u32,
    /// A loss below this is in a window that has already been reduced because of a mark.
    pub(super) spared_below: u32,
    /// The congestion window.
    pub(super) window: Window,
    /// The sender is in fast recovery.
    pub(super) recovering: bool,
    /// The number of segments that the application has provided; those beyond `max` are new data to send.
    pub(super) supplied: u32,
    /// The next new segment carries Congestion Window Reduced.
    pub(super) cwr: bool,
    /// ECN is in use.
    pub(super) ecn: bool,
    /// Appropriate byte counting (RFC 3465) is in use.
    pub(super) byte_counting: bool,
    /// Limited transmit (RFC 3042) is in use.
    pub(super) limited_transmit: bool,
    /// A mark at a window of one segment makes the sender wait for its retransmission timer (RFC 3168, section 6.1.2).
    pub(super) ecn_timeout: bool,
    /// The sender is waiting for that timer.
    pub(super) waits: bool,
    /// The window grows although it is not used.
    grow_unused: bool,
    /// Where Linux differs from the RFCs, the sender does as Linux.
    pub(super) as_linux: bool,
    /// The window, or pacing, has held segments back in this round.
    was_full: bool,
    /// The most segments outstanding in this round.
    most_out: u32,
    /// An acknowledgement of this ends the round.
    round_end: u32,
}

impl SenderState {
    /// Returns the state before the first segment. `phase` differs between senders. `own` is a congestion control of
    /// the caller.
    pub(super) fn new(tcp: &Tcp, phase: u64, own: Option<Box<dyn CongestionControl>>) -> Self {
        Self {
            una: 0,
            next: 0,
            max: 0,
            dupacks: 0,
            inflation: 0,
            fast_from: 0,
            echo_from: 0,
            spared_below: 0,
            window: Window::new(tcp, phase, own),
            recovering: false,
            supplied: 0,
            cwr: false,
            ecn: tcp.ecn,
            byte_counting: tcp.byte_counting,
            limited_transmit: tcp.limited_transmit,
            ecn_timeout: tcp.ecn_timeout,
            waits: false,
            // RFC 7661 has its own rule.
            grow_unused: tcp.grow_unused || tcp.after_idle == AfterIdle::Preserve,
            as_linux: tcp.as_linux,
            was_full: false,
            most_out: 0,
            round_end: 0,
        }
    }

    /// Returns the largest growth in slow start on an acknowledgement, in segments (RFC 3465): two (section 2.2), or
    /// one while segments are acknowledged that were sent before a timeout and may have arrived before it (section
    /// 2.3). Linux has no limit.
    pub(super) fn slow_start_limit(&self) -> u32 {
        if self.as_linux {
            u32::MAX
        } else if self.una >= self.fast_from {
            2
        } else {
            1
        }
    }

    /// Returns true if half of the window is out. Where pacing holds segments back, that counts as a window in use, as
    /// in RFC 7661, section 4.3: a paced window may never be full.
    pub(super) fn half_out(&self) -> bool {
        2.0 * f64::from(self.max - self.una + 1) >= self.window.cwnd()
    }

    /// Notes after sending whether the window, or pacing, holds segments back.
    pub(super) fn note_use(&mut self, full: bool) {
        let out = self.max - self.una;
        if full || self.una >= self.round_end || (!self.was_full && out > self.most_out) {
            (self.was_full, self.most_out, self.round_end) = (full, out, self.max);
        }
    }

    /// Returns true if the window is used, so that it may grow: it was full within the last round trip, or in slow
    /// start half of it was in use.
    #[inline]
    pub(super) fn uses_window(&self) -> bool {
        let starting = || self.window.size().in_slow_start() && self.window.cwnd() < 2.0 * f64::from(self.most_out);
        self.grow_unused || self.was_full || starting()
    }

    /// Returns the number of segments sent and not acknowledged; after a timeout, of those sent since.
    pub(super) fn flight(&self) -> u32 {
        self.next - self.una
    }

    /// Returns true if the third duplicate acknowledgement indicates a new loss.
    pub(super) fn lost_by_duplicates(&self) -> bool {
        self.dupacks == DUPTHRESH && self.una >= self.fast_from
    }

    /// Reduces the threshold because a segment has been lost.
    pub(super) fn cut(&mut self) {
        if self.una >= self.spared_below {
            self.window.cut(self.flight(), 2.0, CongestionSignal::Loss);
        } else {
            // Once per window, by ECN or by loss (RFC 3168, section 6.1.2).
            self.window.spare();
        }
        self.reduced();
    }

    /// Reduces the window because the network has marked a segment: at once, or only the threshold.
    pub(super) fn cut_by_ecn(&mut self, at_once: bool) {
        // RFC 3168 allows a window of one segment. A threshold of one does not limit growth.
        self.window.cut(self.flight(), 1.0, CongestionSignal::Mark);
        if at_once {
            self.window.resume(f64::INFINITY);
        }
        self.reduced();
        if !self.window.is_scalable() {
            self.spared_below = self.echo_from;
        }
    }

    /// Reduces the threshold after a timeout, and [collapses](Self::collapse).
    pub(super) fn time_out(&mut self) {
        self.window.cut(self.flight(), 2.0, CongestionSignal::Timeout);
        self.collapse();
    }

    /// Ends a recovery that was needless: no segment is lost, and none has timed out. The window returns to `former`,
    /// if there is one.
    pub(super) fn undo(&mut self, former: Option<WindowSize>) {
        match former {
            Some(former) => {
                self.window.undo(former);
                self.echo_from = self.echo_from.min(self.una);
                self.cwr = false;
            }
            None if self.recovering && !self.window.has_model() => self.window.resume(f64::INFINITY),
            None => {}
        }
        self.recovering = false;
        self.fast_from = self.fast_from.min(self.una);
    }

    /// Reduces the window to one segment after a timeout and goes back to the first unacknowledged segment.
    pub(super) fn collapse(&mut self) {
        self.window.collapse(self.max);
        self.reduced();
        self.fast_from = self.beyond_max();
        self.next = self.una;
        self.dupacks = 0;
        self.inflation = 0;
        self.recovering = false;
    }

    /// Returns the lowest acknowledgement that covers a segment sent after now.
    pub(super) fn beyond_max(&self) -> u32 {
        self.max.saturating_add(1)
    }

    /// Returns the number of segments that the window has room for.
    #[inline]
    pub(super) fn room(&self) -> u32 {
        self.allowance().saturating_sub(self.flight())
    }

    /// Returns the number of segments that may be outstanding.
    #[inline]
    pub(super) fn allowance(&self) -> u32 {
        self.window.usable(self.inflation.saturating_add(self.limited_transmit()))
    }

    /// Returns one segment for each of the first two duplicate acknowledgements, for new data only (RFC 3042).
    fn limited_transmit(&self) -> i32 {
        let applies = self.limited_transmit && !self.recovering && self.next == self.max;
        if applies && self.dupacks < DUPTHRESH { self.dupacks as i32 } else { 0 }
    }

    /// Returns true if there are new segments, and the receiver has room for one.
    pub(super) fn has_new(&self) -> bool {
        self.max < self.supplied && self.flight() < self.window.receiver()
    }

    /// Advances to the next segment in order, which may be a retransmission after a timeout; `None` if there is none to
    /// send.
    pub(super) fn step(&mut self) -> Option<u32> {
        (self.next < self.max || self.has_new()).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Notes a reduction of any kind: marks of segments in flight cause no other one, and the next new segment carries
    /// CWR (RFC 3168, section 6.1.2).
    pub(super) fn reduced(&mut self) {
        self.echo_from = self.beyond_max();
        self.cwr = self.ecn;
    }
}

/// The number of duplicate acknowledgements, or of SACKed segments above it, after which a segment counts as lost (RFC
/// 5681, RFC 6675).
pub(super) const DUPTHRESH: u32 = 3;
