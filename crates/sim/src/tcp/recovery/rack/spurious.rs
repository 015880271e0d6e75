//! Evidence that a reduction of the window was needless, because segments were late and not lost.
//!
//! | evidence | source |
//! |---|---|
//! | an acknowledgement echoes a timestamp from before the first retransmission | Eifel (RFC 3522) |
//! | each retransmission has been reported as a duplicate | RFC 3708 |
//! | after a timeout, a segment arrives that was sent once; as in Linux, from the timeout on | F-RTO (RFC 5682, section 3) |
//!
//! In fast recovery a timestamp counts when recovery ends or no retransmission is in the network: before, a late
//! segment may hide a lost one, as in Linux.

use fairlane_qdisc::Time;

use super::super::super::Ack;
use super::super::super::congestion::WindowSize;
use super::super::super::state::SenderState;
use super::{Outstanding, Rack};

/// The last reduction for a loss, and the state of F-RTO.
#[derive(Clone, Debug, Default)]
pub(super) struct Spurious {
    /// `None`: there was none, or it is known to be right or needless.
    last: Option<Reduction>,
    frto: Option<Frto>,
}

/// A reduction for a loss.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// The window and the threshold before; `None`: the reduction stays, since the network has marked a segment.
    former: Option<WindowSize>,
    /// The oldest unacknowledged segment then.
    from: u32,
    /// The retransmissions that no duplicate has been reported for.
    copies: u32,
    /// When the first retransmission since was sent.
    first_copy: Option<Time>,
}

/// F-RTO after a timeout.
#[derive(Clone, Copy, Debug)]
struct Frto {
    /// One past the highest segment sent before the timeout.
    end: u32,
    /// The first acknowledgement after it has come, and new segments are sent in place of lost ones (step 2b).
    probes: bool,
}

impl Spurious {
    /// Notes a reduction of the window `former`, with `copies` retransmissions in the network.
    pub(super) fn reduced(&mut self, former: WindowSize, from: u32, copies: u32) {
        self.last = Some(Reduction { former: Some(former), from, copies, first_copy: None });
    }

    /// Notes a retransmission.
    pub(super) fn copied(&mut self, now: Time) {
        if let Some(last) = &mut self.last {
            last.copies += 1;
            last.first_copy.get_or_insert(now);
        }
    }

    /// Notes that `count` retransmissions, the last of the segment before `end`, arrived once more.
    pub(super) fn duplicated(&mut self, end: u32, count: u32) {
        if let Some(last) = self.last.as_mut().filter(|last| last.from < end) {
            last.copies = last.copies.saturating_sub(count);
        }
    }

    /// Begins F-RTO, with `end` one past the highest segment sent, or ends it.
    pub(super) fn timed_out(&mut self, end: Option<u32>) {
        self.frto = end.map(|end| Frto { end, probes: false });
    }

    /// Returns true if F-RTO sends new segments in place of lost ones.
    pub(super) fn probes(&self) -> bool {
        self.frto.is_some_and(|frto| frto.probes)
    }

    /// Returns true if `seq` was sent before the timeout that F-RTO examines.
    pub(super) fn examines(&self, seq: u32) -> bool {
        self.frto.is_some_and(|frto| seq < frto.end)
    }

    /// Returns true if `echo` is from before the first retransmission after the last reduction.
    fn is_older(&self, echo: Time) -> bool {
        self.last.and_then(|last| last.first_copy).is_some_and(|first| echo < first)
    }

    /// Forgets the last reduction: it stays.
    pub(super) fn forget(&mut self) {
        (self.last, self.frto) = (None, None);
    }

    /// Returns true if each retransmission after the last reduction has been reported as a duplicate.
    fn all_reported(&self) -> bool {
        self.last.is_some_and(|last| last.copies == 0 && last.first_copy.is_some())
    }

    /// Goes on with F-RTO after an acknowledgement that `advances`, without or with `new` segments in SACK blocks:
    /// steps 2 and 3a of RFC 5682, section 3.1.
    fn follow_frto(&mut self, state: &SenderState, advances: bool, new: bool) {
        let Some(frto) = &mut self.frto else { return };
        let goes_on = if frto.probes {
            advances && !new
        } else if advances {
            frto.probes = state.has_new();
            frto.probes && state.una < frto.end
        } else {
            true
        };
        if !goes_on {
            self.frto = None;
        }
    }
}

impl Rack {
    /// Takes the last reduction back if an acknowledgement, which brings `new` segments in SACK blocks or not, shows
    /// that it was needless. A mark that it tells of keeps the window (RFC 4015, section 3).
    pub(in super::super) fn judge_reduction(&mut self, state: &mut SenderState, ack: &Ack, new: bool, marked: bool) {
        if let Some(last) = self.spurious.last.as_mut().filter(|_| marked) {
            last.former = None;
        }
        let advances = state.una > self.una_before;
        if self.is_needless(state, ack, advances) {
            let former = self.spurious.last.and_then(|last| last.former);
            self.spurious.forget();
            self.undo(state);
            state.undo(former);
        } else {
            self.spurious.follow_frto(state, advances, new);
        }
    }

    fn is_needless(&self, state: &SenderState, ack: &Ack, advances: bool) -> bool {
        let late = || advances && self.timestamps && self.spurious.is_older(ack.echo);
        let by_frto = || self.original && self.spurious.last.is_some();
        self.spurious.all_reported()
            || if state.recovering {
                late() && (state.una >= self.end || self.copies().next().is_none())
            } else {
                self.una_before < state.fast_from && (late() || by_frto())
            }
    }

    /// Returns the segments of which a retransmission is in the network.
    fn copies(&self) -> impl Iterator<Item = &Outstanding> {
        self.segments.iter().filter(|segment| segment.again && !segment.arrived && !segment.lost)
    }

    /// Returns the number of retransmissions in the network.
    pub(super) fn copies_out(&self) -> u32 {
        self.copies().count() as u32
    }

    /// Counts nothing as lost, until the times of transmissions say so again. An earlier copy has arrived, and not the
    /// latest transmission.
    fn undo(&mut self, state: &SenderState) {
        self.reordering = self.reordering.max(u32::from(state.recovering));
        (self.latest, self.overtaken) = (None, (0, None));
        self.timed_out_at = None;
        self.lost.clear();
        self.transmissions.clear();
        for (segment, seq) in self.segments.iter_mut().zip(self.first..) {
            segment.lost = false;
            if !segment.arrived {
                self.transmissions.push_back((segment.number, seq));
            }
        }
        self.transmissions.make_contiguous().sort_unstable();
    }
}
