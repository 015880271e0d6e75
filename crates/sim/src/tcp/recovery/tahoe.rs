//! Tahoe (Jacobson, SIGCOMM 1988): the third duplicate acknowledgement has the effect of a timeout, without the wait.

use super::super::congestion::AckSample;
use super::super::state::SenderState;
use super::Advance;

pub(super) fn on_advance(state: &mut SenderState, sample: AckSample, grow: bool) -> Advance {
    if grow {
        state.window.grow(&sample);
    }
    Advance::Proceed
}

pub(super) fn on_duplicate(state: &mut SenderState) -> bool {
    let lost = state.lost_by_duplicates();
    if lost {
        state.cut();
        state.window.collapse(state.max);
        // All segments from the loss on are sent again, so duplicates of these do not indicate a new loss.
        state.fast_from = state.beyond_max();
        state.next = state.una;
    }
    lost
}
