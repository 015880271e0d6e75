//! Reno (RFC 5681 3.2): fast retransmit and fast recovery, which any new acknowledgement ends. A second loss in the
//! window needs three duplicates of its own, and often a timeout.

use super::super::law::News;
use super::super::state::{DUPTHRESH, State};
use super::Advance;

pub(super) fn on_advance(state: &mut State, news: &News, grow: bool) -> Advance {
    if state.recovering {
        state.recovering = false;
        state.inflation = 0;
    } else if grow {
        state.window.grow(news);
    }
    Advance::Proceed
}

pub(super) fn on_duplicate(state: &mut State) -> bool {
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

/// RFC 5681 3.2 steps 2 and 3: half the window, and the three segments that have left the network.
pub(super) fn enter(state: &mut State) {
    state.cut();
    state.window.resume(f64::INFINITY);
    state.inflation = DUPTHRESH as i32;
    state.recovering = true;
}
