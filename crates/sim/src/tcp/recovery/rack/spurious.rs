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

/// An acknowledgement, as far as it is evidence.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    /// The oldest unacknowledged segment.
    una: u32,
    /// Segments are acknowledged cumulatively for the first time.
    advances: bool,
    /// Segments are acknowledged selectively for the first time, or none.
    no_progress: bool,
    /// A segment arrived that was sent once, before the timeout.
    original: bool,
    /// It acknowledges new segments cumulatively, and its timestamp is from before the first retransmission.
    late: bool,
    /// A retransmission is in the network; it matters in fast recovery if `late`.
    copies_out: bool,
    /// Fast recovery goes on, up to this segment.
    recovery: Option<u32>,
    /// Segments that were sent before a timeout are outstanding.
    timed_out: bool,
    /// There are new segments to send.
    has_new: bool,
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

    /// Returns the last reduction, and forgets it, if an acknowledgement shows that no segment was lost.
    fn judge(&mut self, evidence: Evidence) -> Option<Reduction> {
        let last = self.last.filter(|last| self.is_needless(last, &evidence));
        if last.is_some() {
            self.forget();
        } else {
            self.follow_frto(&evidence);
        }
        last
    }

    /// Returns true if `echo` is from before the first retransmission after the last reduction.
    fn is_older(&self, echo: Time) -> bool {
        self.last.and_then(|last| last.first_copy).is_some_and(|first| echo < first)
    }

    /// Notes that the network has marked a segment: the last reduction stays, also if no segment was lost (RFC 4015,
    /// section 3).
    pub(super) fn keep_reduction(&mut self) {
        if let Some(last) = &mut self.last {
            last.former = None;
        }
    }

    /// Forgets the last reduction: it stays.
    pub(super) fn forget(&mut self) {
        (self.last, self.frto) = (None, None);
    }

    fn is_needless(&self, last: &Reduction, evidence: &Evidence) -> bool {
        let all_reported = last.copies == 0 && last.first_copy.is_some();
        all_reported
            || match evidence.recovery {
                Some(end) => evidence.late && (evidence.una >= end || !evidence.copies_out),
                None => evidence.timed_out && (evidence.late || (self.frto.is_some() && evidence.original)),
            }
    }

    /// Steps 2 and 3a of RFC 5682, section 3.1.
    fn follow_frto(&mut self, evidence: &Evidence) {
        let Some(frto) = &mut self.frto else { return };
        let goes_on = if frto.probes {
            !evidence.no_progress
        } else if evidence.advances {
            frto.probes = evidence.has_new;
            frto.probes && evidence.una < frto.end
        } else {
            true
        };
        if !goes_on {
            self.frto = None;
        }
    }
}

impl Rack {
    /// Takes the last reduction back if an acknowledgement shows that it was needless.
    pub(super) fn judge_reduction(&mut self, state: &mut SenderState, ack: &Ack, new: bool) {
        let advances = state.una > self.una_before;
        let late = advances && self.timestamps && self.spurious.is_older(ack.echo);
        let evidence = Evidence {
            una: state.una,
            advances,
            no_progress: new || !advances,
            original: self.original,
            late,
            copies_out: late && state.recovering && self.copies().next().is_some(),
            recovery: state.recovering.then_some(self.end),
            timed_out: self.una_before < state.fast_from,
            has_new: state.has_new(),
        };
        if let Some(needless) = self.spurious.judge(evidence) {
            self.undo(state);
            state.undo(needless.former);
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

    /// Counts nothing as lost, until the times of transmissions say so again. What had looked like the arrival of a
    /// retransmission was that of an earlier copy.
    fn undo(&mut self, state: &SenderState) {
        self.reordering = self.reordering.max(u32::from(state.recovering));
        self.latest = None;
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
