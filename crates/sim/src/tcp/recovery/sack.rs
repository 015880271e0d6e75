//! Recovery by selective acknowledgements (RFC 2018, RFC 6675): the scoreboard says which segments have arrived, which
//! are lost, and how many are in the network.
//!
//! The scoreboard outlives a timeout: the receiver here never takes back what it has acknowledged. After a timeout
//! segments go out in order from the first unacknowledged on, without those that have arrived (RFC 6675 5.1).

use super::super::SackBlocks;
use super::super::law::News;
use super::super::ranges::Ranges;
use super::super::state::{DUPTHRESH, State};
use super::Advance;

/// The scoreboard and the progress of recovery.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Sack {
    /// Segments beyond the first unacknowledged that have arrived.
    arrived: Ranges,
    /// An acknowledgement of this ends recovery: one past RFC 6675's RecoveryPoint.
    end: u32,
    /// Segments below this have been retransmitted in this recovery: one past HighRxt.
    resent_below: u32,
    /// The rescue retransmission of this recovery has been made.
    rescued: bool,
}

impl Sack {
    pub(super) fn note(&mut self, state: &mut State, blocks: &SackBlocks) -> bool {
        self.arrived.remove_below(state.una);
        let mut news = false;
        for &(start, end) in blocks.as_slice() {
            // A block that holds the first unacknowledged segment contradicts the acknowledgement itself.
            if start > state.una && end <= state.max {
                if state.window.watches() {
                    self.arrived.gaps(start, end, |from, to| state.window.arrived(from, to));
                }
                news |= self.arrived.insert(start, end);
            }
        }
        news
    }

    pub(super) fn on_advance(&mut self, state: &mut State, news: &News, grow: bool) -> Advance {
        if state.recovering {
            state.recovering = state.una < self.end;
        } else if grow {
            state.window.grow(news);
        }
        Advance::Proceed
    }

    pub(super) fn on_duplicate(&mut self, state: &mut State) -> bool {
        let lost = state.dupacks >= DUPTHRESH || state.una < self.lost_below();
        let enter = lost && !state.recovering && state.una >= state.fast_from;
        if enter {
            state.cut();
            state.window.resume(f64::INFINITY);
            state.recovering = true;
            self.end = state.max;
            self.resent_below = state.una + 1;
            self.rescued = false;
        }
        enter
    }

    pub(super) fn room(&self, state: &State) -> u32 {
        if state.recovering {
            // RFC 6675: only the window limits the pipe; the receiver's window limits new data where it is picked.
            return state.window.usable(0).saturating_sub(self.pipe(state));
        }
        if state.una < state.fast_from {
            return state.allowance().saturating_sub(self.outstanding(state));
        }
        state.room()
    }

    pub(super) fn in_flight(&self, state: &State) -> u32 {
        if state.recovering { self.pipe(state) } else { self.outstanding(state) }
    }

    /// The flight without what has arrived.
    fn outstanding(&self, state: &State) -> u32 {
        state.flight() - self.arrived.count(state.una, state.next)
    }

    pub(super) fn pick(&mut self, state: &mut State) -> Option<u32> {
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

    /// Everything below this that has not arrived is lost: DupThresh segments above it have arrived.
    fn lost_below(&self) -> u32 {
        self.arrived.nth_highest(DUPTHRESH).unwrap_or(0)
    }

    /// How many segments are in the network. As in RFC 6675, one that has been sent again without being lost counts
    /// twice.
    fn pipe(&self, state: &State) -> u32 {
        let missing = |from: u32, to: u32| (to - from) - self.arrived.count(from, to);
        let not_lost = missing(self.lost_below().max(state.una), state.max);
        not_lost + missing(state.una, self.resent_below.clamp(state.una, state.max))
    }

    /// The first segment below `limit` that has neither arrived nor been sent again in this recovery.
    fn pick_gap(&mut self, state: &State, limit: u32) -> Option<u32> {
        let gap = self.arrived.first_gap(self.resent_below.max(state.una));
        (gap < limit).then(|| {
            self.resent_below = gap + 1;
            gap
        })
    }

    /// RFC 6675 rule 4: once a recovery, the last segment that has not arrived, when nothing else can be sent.
    fn rescue(&mut self, state: &State) -> Option<u32> {
        let last = self.arrived.last_gap(state.max).filter(|last| *last >= state.una && !self.rescued)?;
        self.rescued = true;
        Some(last)
    }
}
