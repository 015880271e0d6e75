//! How far segments may overtake each other before they count as lost.

/// How much the reordering window has grown because segments were sent again that were only late (RFC 8985, section
/// 6.2, step 4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReorderingWindow {
    /// The rounds with duplicates: RACK.reo_wnd_mult − 1.
    pub(super) widened: u32,
    /// The recoveries after which it shrinks again (RACK.reo_wnd_persist).
    persists: u32,
    /// Duplicates in acknowledgements below this belong to a round that has counted (RACK.dsack_round).
    round_end: u32,
}

impl ReorderingWindow {
    /// Handles a duplicate: at most one in a round trip counts. `max` is one past the highest segment sent.
    pub(super) fn on_duplicate(&mut self, una: u32, max: u32) {
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
