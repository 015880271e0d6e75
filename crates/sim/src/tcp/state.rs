//! What every sender keeps, whatever its loss recovery.

use fairlane_scenario::Tcp;

use super::law::Cause;
use super::window::Window;

/// Sequence numbers, the window, and what is known of losses.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The oldest segment that has not been acknowledged.
    pub(super) una: u32,
    /// The next segment to send; below `max` while segments are sent again after a timeout (go-back-N).
    pub(super) next: u32,
    /// One past the highest segment ever sent.
    pub(super) max: u32,
    /// Duplicate acknowledgements in a row.
    pub(super) dupacks: u32,
    /// What fast recovery adds to the window for segments that have left the network.
    pub(super) inflation: i32,
    /// Duplicate acknowledgements below this come from segments sent before the last timeout (or, for some, before the
    /// last fast retransmit) and are no news of a loss.
    pub(super) fast_from: u32,
    /// ECN-Echo in an acknowledgement below this tells of congestion that has had its reaction.
    pub(super) echo_from: u32,
    /// A loss below this falls into a window that ECN has cut already.
    pub(super) spared_below: u32,
    /// The congestion window.
    pub(super) window: Window,
    /// Fast recovery is under way.
    pub(super) recovering: bool,
    /// So many segments the application has given; those beyond `max` are new data to send.
    pub(super) supplied: u32,
    /// The first new segment from now on says Congestion Window Reduced.
    pub(super) cwr: bool,
    /// ECN is in use.
    pub(super) ecn: bool,
    /// Byte counting is in use.
    byte_counting: bool,
    /// Limited transmit is in use.
    pub(super) limited_transmit: bool,
    /// A mark at a window of one segment makes the sender wait for its retransmission timer.
    pub(super) ecn_timeout: bool,
    /// It waits.
    pub(super) waits: bool,
}

impl State {
    /// Nothing sent. `phase` differs from sender to sender.
    pub(super) fn new(tcp: &Tcp, phase: u64) -> Self {
        Self {
            una: 0,
            next: 0,
            max: 0,
            dupacks: 0,
            inflation: 0,
            fast_from: 0,
            echo_from: 0,
            spared_below: 0,
            window: Window::new(tcp, phase),
            recovering: false,
            supplied: 0,
            cwr: false,
            ecn: tcp.ecn,
            byte_counting: tcp.byte_counting,
            limited_transmit: tcp.limited_transmit,
            ecn_timeout: tcp.ecn_timeout,
            waits: false,
        }
    }

    /// How many segments the window may grow for when `acked` are acknowledged. Of those that were sent before a timeout many
    /// may have arrived before it, and the acknowledgement tells less of the network than it covers (RFC 3465 2.3).
    pub(super) fn counted(&self, acked: u32) -> u32 {
        if self.byte_counting && self.una >= self.fast_from { acked } else { 1 }
    }

    /// Segments sent and not acknowledged; after a timeout, those sent since.
    pub(super) fn flight(&self) -> u32 {
        self.next - self.una
    }

    /// The third duplicate acknowledgement has come, and it tells of a new loss.
    pub(super) fn lost_by_duplicates(&self) -> bool {
        self.dupacks == DUPTHRESH && self.una >= self.fast_from
    }

    /// Cuts the threshold because a segment has been lost.
    pub(super) fn cut(&mut self) {
        if self.una >= self.spared_below {
            self.window.cut(self.flight(), 2.0, Cause::Loss);
        } else {
            // RFC 3168 6.1.2: once a window, be it by ECN or by loss.
            self.window.spare();
        }
        self.reduced();
    }

    /// Cuts the window because the network has marked a segment.
    pub(super) fn cut_by_ecn(&mut self) {
        // RFC 3168 lets the window fall to one segment, where ssthresh is no obstacle to growth.
        self.window.cut(self.window.receiver(), 1.0, Cause::Mark);
        self.window.resume(f64::INFINITY);
        self.reduced();
        self.spared_below = self.echo_from;
    }

    /// Collapses the window after a timeout, and goes back to the first unacknowledged segment.
    pub(super) fn time_out(&mut self) {
        self.window.cut(self.flight(), 2.0, Cause::Timeout);
        self.window.collapse();
        self.reduced();
        self.fast_from = self.beyond_max();
        self.next = self.una;
        self.dupacks = 0;
        self.inflation = 0;
        self.recovering = false;
    }

    /// The first acknowledgement that covers a segment sent after now.
    pub(super) fn beyond_max(&self) -> u32 {
        self.max.saturating_add(1)
    }

    /// How many segments the window leaves room for.
    pub(super) fn room(&self) -> u32 {
        self.allowance().saturating_sub(self.flight())
    }

    /// How many segments may be outstanding.
    pub(super) fn allowance(&self) -> u32 {
        self.window.usable(self.inflation.saturating_add(self.limited_transmit()))
    }

    /// RFC 3042: one more for each of the first two duplicate acknowledgements, for new data only.
    fn limited_transmit(&self) -> i32 {
        let applies = self.limited_transmit && !self.recovering && self.next == self.max;
        if applies && self.dupacks < DUPTHRESH { self.dupacks as i32 } else { 0 }
    }

    /// Moves on to the next segment in order, which is an old one after a timeout; `None` when there is none to send.
    pub(super) fn step(&mut self) -> Option<u32> {
        let new = self.max < self.supplied && self.flight() < self.window.receiver();
        (self.next < self.max || new).then(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// RFC 3168 6.1.2: after a reduction of any kind, no other for what is in flight, and CWR on the next new segment.
    fn reduced(&mut self) {
        self.echo_from = self.beyond_max();
        self.cwr = self.ecn;
    }
}

/// Duplicate acknowledgements, or segments acknowledged above, that make a segment lost (RFC 5681, RFC 6675).
pub(super) const DUPTHRESH: u32 = 3;
