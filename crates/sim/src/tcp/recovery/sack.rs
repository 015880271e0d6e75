//! Recovery with selective acknowledgements (RFC 2018, RFC 6675). The scoreboard shows which segments have arrived,
//! which are lost, and how many are in the network.
//!
//! The scoreboard is kept after a timeout, since this receiver never withdraws an acknowledgement. After a timeout
//! segments are sent in order from the first unacknowledged one, without those that have arrived (RFC 6675, section
//! 5.1).

use super::super::SackBlocks;
use super::super::congestion::AckSample;
use super::super::ranges::Ranges;
use super::super::state::{DUPTHRESH, SenderState};
use super::Advance;

/// The scoreboard and the progress of recovery.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sack {
    /// The segments beyond the first unacknowledged one that have arrived.
    arrived: Ranges,
    /// Their number.
    count_arrived: u32,
    /// An acknowledgement of this ends recovery: one past RFC 6675's RecoveryPoint.
    end: u32,
    /// Segments below this have been retransmitted in this recovery: one past RFC 6675's HighRxt.
    resent_below: u32,
    /// The number of unacknowledged segments below `resent_below` that have not arrived; meaningless outside recovery.
    resent: u32,
    /// The rescue retransmission of this recovery has been made.
    rescued: bool,
}

impl Sack {
    /// Asks for the scoreboard.
    pub(super) fn prefetch_scoreboard(&self) {
        self.arrived.prefetch();
    }

    #[inline(never)]
    pub(super) fn note(&mut self, state: &mut SenderState, blocks: SackBlocks, acked: u32) -> bool {
        if state.recovering {
            let end = state.una.min(self.resent_below);
            let start = state.una - acked;
            if start < end {
                self.resent -= self.arrived.missing(start, end);
            }
        }
        self.count_arrived -= self.arrived.remove_below(state.una);
        let before = self.count_arrived;
        for &(start, end) in blocks.as_slice() {
            // A block that holds the first unacknowledged segment contradicts the acknowledgement itself.
            if state.una < start && start < end && end <= state.max {
                let Self { arrived, resent, resent_below, .. } = self;
                let inserted = arrived.insert(start, end, |from, to| {
                    state.window.arrived(from, to);
                    if state.recovering {
                        *resent -= to.min(*resent_below).saturating_sub(from);
                    }
                });
                self.count_arrived += inserted.new;
            }
        }
        self.count_arrived > before
    }

    #[inline(never)]
    pub(super) fn on_advance(&mut self, state: &mut SenderState, sample: AckSample, grow: bool) -> Advance {
        if state.recovering {
            state.recovering = state.una < self.end;
        } else if grow {
            state.window.grow(&sample);
        }
        Advance::Proceed
    }

    #[inline(never)]
    pub(super) fn on_duplicate(&mut self, state: &mut SenderState) -> bool {
        let lost = state.dupacks >= DUPTHRESH || state.una < self.lost_below();
        let enter = lost && !state.recovering && state.una >= state.fast_from;
        if enter {
            state.cut();
            state.window.resume(f64::INFINITY);
            state.recovering = true;
            self.end = state.max;
            self.resent_below = state.una + 1;
            self.resent = self.arrived.missing(state.una, self.resent_below);
            self.rescued = false;
        }
        enter
    }

    #[inline(never)]
    pub(super) fn room(&self, state: &SenderState) -> u32 {
        if state.recovering {
            // Only the congestion window limits the pipe (RFC 6675); the receiver's window limits new data in `pick`.
            return state.window.usable(0).saturating_sub(self.pipe(state));
        }
        if state.una < state.fast_from {
            return state.allowance().saturating_sub(self.outstanding(state));
        }
        state.room()
    }

    #[inline(never)]
    pub(super) fn in_flight(&self, state: &SenderState) -> u32 {
        if state.recovering { self.pipe(state) } else { self.outstanding(state) }
    }

    /// Returns the number of segments that have arrived beyond the first unacknowledged one.
    pub(super) fn arrived(&self, state: &SenderState) -> u32 {
        debug_assert_eq!(self.count_arrived, self.arrived.count(state.una, state.max));
        self.count_arrived
    }

    /// Returns the flight without the segments that have arrived.
    fn outstanding(&self, state: &SenderState) -> u32 {
        if state.next == state.max {
            return state.flight() - self.arrived(state);
        }
        self.arrived.missing(state.una, state.next)
    }

    #[inline(never)]
    pub(super) fn pick(&mut self, state: &mut SenderState) -> Option<u32> {
        if !state.recovering {
            state.next = self.arrived.first_gap(state.next);
            return state.step();
        }
        // NextSeg() of RFC 6675, rules 1 to 4.
        self.pick_gap(state, self.lost_below())
            .or_else(|| state.step())
            .or_else(|| self.pick_gap(state, self.arrived.end()))
            .or_else(|| self.rescue(state))
    }

    /// Returns the segment below which all segments that have not arrived are lost: DupThresh segments from it on have
    /// arrived.
    fn lost_below(&self) -> u32 {
        self.arrived.nth_highest(DUPTHRESH).unwrap_or(0)
    }

    /// Returns the number of segments in the network. As in RFC 6675, a segment that was retransmitted without being
    /// lost counts twice.
    fn pipe(&self, state: &SenderState) -> u32 {
        let not_lost = match self.arrived.nth_highest(DUPTHRESH) {
            Some(lost_below) => state.max - lost_below - DUPTHRESH,
            None => state.max - state.una - self.arrived(state),
        };
        debug_assert_eq!(not_lost, self.arrived.missing(self.lost_below().max(state.una), state.max));
        debug_assert_eq!(self.resent, self.arrived.missing(state.una, self.resent_below.clamp(state.una, state.max)));
        not_lost + self.resent
    }

    /// Returns the first segment below `limit` that has neither arrived nor been retransmitted in this recovery.
    fn pick_gap(&mut self, state: &SenderState, limit: u32) -> Option<u32> {
        let gap = self.arrived.first_gap(self.resent_below.max(state.una));
        (gap < limit).then(|| {
            self.resent_below = gap + 1;
            self.resent += 1;
            gap
        })
    }

    /// Returns, once per recovery, the last segment that has not arrived, for when nothing else can be sent (NextSeg
    /// rule 4).
    fn rescue(&mut self, state: &SenderState) -> Option<u32> {
        let last = self.arrived.last_gap(state.max).filter(|last| *last >= state.una && !self.rescued)?;
        self.rescued = true;
        Some(last)
    }
}
