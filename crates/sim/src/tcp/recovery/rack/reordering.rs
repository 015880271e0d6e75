//! How far segments may overtake each other before they count as lost.

use fairlane_qdisc::Duration;

use super::super::super::state::{DUPTHRESH, SenderState};
use super::Rack;

/// How much the reordering window has grown because segments were sent again that were only late (RFC 8985, section
/// 6.2, step 4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReorderingWindow {
    /// The rounds with duplicates: RACK.reo_wnd_mult − 1.
    widened: u32,
    /// The recoveries after which it shrinks again (RACK.reo_wnd_persist).
    persists: u32,
    /// Duplicates in acknowledgements below this belong to a round that has counted (RACK.dsack_round).
    round_end: u32,
}

impl ReorderingWindow {
    /// Handles a duplicate: at most one in a round trip counts. `max` is one past the highest segment sent.
    fn on_duplicate(&mut self, una: u32, max: u32) {
        if una >= self.round_end {
            *self = Self { widened: self.widened.saturating_add(1), persists: PERSISTENCE, round_end: max };
        }
    }

    /// Handles the end of a recovery.
    pub(super) fn on_recovered(&mut self) {
        self.persists = self.persists.saturating_sub(1);
        if self.persists == 0 {
            self.widened = 0;
        }
    }
}

/// The recoveries without duplicates that a wide reordering window survives (RFC 8985, section 6.2).
const PERSISTENCE: u32 = 16;

impl Rack {
    /// Handles the report of segments that have arrived once more. More than were sent again are copies of the path.
    pub(super) fn on_duplicate(&mut self, state: &SenderState, duplicate: Option<(u32, u32)>) {
        let Some((start, end)) = duplicate else { return };
        let count = (end - start).min(self.unreported);
        if count == 0 {
            return;
        }
        self.unreported -= count;
        self.spurious.duplicated(end, count);
        if !self.is_of_probe(end) {
            self.reordering = self.reordering.max(1);
            self.reordering_window.on_duplicate(state.una, state.max);
        }
    }

    /// Returns how far segments may overtake each other (RACK.reo_wnd).
    pub(super) fn reordering_window(&self, state: &SenderState, srtt: Option<Duration>) -> Duration {
        let certain = state.recovering || self.arrived(state) >= DUPTHRESH;
        if self.reordering == 0 && certain {
            return Duration::ZERO;
        }
        let quarter = self.min_rtt.unwrap_or(self.rtt).as_nanos() / 4;
        let window = quarter.saturating_mul(u64::from(self.reordering_window.widened) + 1);
        Duration::from_nanos(srtt.map_or(window, |srtt| window.min(srtt.as_nanos())))
    }
}
