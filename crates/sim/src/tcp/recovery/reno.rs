//! Reno (RFC 5681, section 3.2): fast retransmit and fast recovery, which any acknowledgement of new segments ends. A
//! second loss in the window needs three more duplicates, and often a timeout.

use super::super::congestion::AckSample;
use super::super::state::{DUPTHRESH, SenderState};
use super::Advance;

#[inline]
pub(super) fn on_advance(state: &mut SenderState, sample: &AckSample, grow: bool) -> Advance {
    if state.recovering {
        state.recovering = false;
        state.inflation = 0;
    } else if grow {
        state.window.grow(sample);
    }
    Advance::Proceed
}

pub(super) fn on_duplicate(state: &mut SenderState) -> bool {
    if state.recovering {
        state.inflation = state.inflation.saturating_add(1);
        return false;
    }
    let lost = state.lost_by_duplicates();
    if lost {
        enter(state);
    }
    lost
}

/// Enters fast recovery: half the window, and three segments for those that have left the network (RFC 5681, section
/// 3.2, steps 2 and 3).
pub(super) fn enter(state: &mut SenderState) {
    state.cut();
    state.window.resume(f64::INFINITY);
    state.inflation = DUPTHRESH as i32;
    state.recovering = true;
}
