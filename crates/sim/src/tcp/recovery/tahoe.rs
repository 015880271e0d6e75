//! Tahoe (Jacobson 1988): the third duplicate acknowledgement does what a timeout does, without the wait.

use super::super::law::News;
use super::super::state::State;
use super::Advance;

pub(super) fn on_advance(state: &mut State, news: &News, grow: bool) -> Advance {
    if grow {
        state.window.grow(news);
    }
    Advance::Proceed
}

pub(super) fn on_duplicate(state: &mut State) -> bool {
    let lost = state.lost_by_duplicates();
    if lost {
        state.cut();
        state.window.collapse();
        // Everything from the loss on goes out again, so its duplicates are no new loss.
        state.fast_from = state.beyond_max();
        state.next = state.una;
    }
    lost
}
