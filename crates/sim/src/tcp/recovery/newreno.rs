//! NewReno (RFC 6582): a partial acknowledgement indicates the next loss in the window, and recovery ends when all
//! segments outstanding at its start have been acknowledged. The timer restarts for the first partial acknowledgement
//! only (the Impatient variant of the RFC).

use super::super::congestion::AckSample;
use super::super::state::SenderState;
use super::{Advance, reno};

/// The end and the progress of recovery.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct NewReno {
    /// An acknowledgement of this ends recovery: one past the RFC's `recover`.
    end: u32,
    /// A partial acknowledgement has arrived.
    partial: bool,
}

impl NewReno {
    #[inline(never)]
    pub(super) fn on_advance(&mut self, state: &mut SenderState, sample: AckSample, grow: bool) -> Advance {
        if !state.recovering {
            if grow {
                state.window.grow(&sample);
            }
            return Advance::Proceed;
        }
        if state.una >= self.end {
            state.recovering = false;
            state.inflation = 0;
            // Avoids a burst into an empty pipe (RFC 6582, section 3.2, step 3, option 1).
            state.window.resume(f64::from(state.flight().max(1)) + 1.0);
            return Advance::Proceed;
        }
        // Deflates the window by the segments acknowledged and adds one for the segment that left the network (RFC
        // 6582, section 3.2, step 3).
        let acked = i32::try_from(sample.acked).unwrap_or(i32::MAX);
        state.inflation = state.inflation.saturating_sub(acked).saturating_add(1);
        let restart = !self.partial;
        self.partial = true;
        Advance::Repair { restart }
    }

    #[inline(never)]
    pub(super) fn on_duplicate(&mut self, state: &mut SenderState) -> bool {
        let lost = reno::on_duplicate(state);
        if lost {
            self.end = state.max;
            self.partial = false;
            state.fast_from = state.beyond_max();
        }
        lost
    }
}
