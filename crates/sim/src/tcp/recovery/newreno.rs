//! NewReno (RFC 6582): a partial acknowledgement tells of the next loss in the window, and recovery goes on until all
//! that was outstanding at its start has been acknowledged. The timer restarts for the first partial acknowledgement
//! only (the RFC's Impatient variant).

use super::super::law::News;
use super::super::state::State;
use super::{Advance, reno};

/// Where recovery ends, and how far it has come.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct NewReno {
    /// An acknowledgement of this ends recovery: one past the RFC's `recover`.
    end: u32,
    /// A partial acknowledgement has come.
    partial: bool,
}

impl NewReno {
    pub(super) fn on_advance(&mut self, state: &mut State, news: &News, grow: bool) -> Advance {
        if !state.recovering {
            if grow {
                state.window.grow(news);
            }
            return Advance::Proceed;
        }
        if state.una >= self.end {
            state.recovering = false;
            state.inflation = 0;
            // RFC 6582 3.2 step 3, the first way: no burst into a pipe that has run empty.
            state.window.resume(f64::from(state.flight().max(1)) + 1.0);
            return Advance::Proceed;
        }
        // What has been acknowledged has left the window; the segment that let it do so is one that has left the network.
        let acked = i32::try_from(news.acked).unwrap_or(i32::MAX);
        state.inflation = state.inflation.saturating_sub(acked).saturating_add(1);
        let restart = !self.partial;
        self.partial = true;
        Advance::Repair { restart }
    }

    pub(super) fn on_duplicate(&mut self, state: &mut State) -> bool {
        let lost = reno::on_duplicate(state);
        if lost {
            self.end = state.max;
            self.partial = false;
            state.fast_from = state.beyond_max();
        }
        lost
    }
}
