//! What was, for the small pictures beside the numbers.

use std::collections::VecDeque;

use super::change::Change;

/// As many looks as the widest terminal has columns.
const LOOKS: usize = 512;

/// What is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Series {
    /// Bits a second.
    Arrived,
    /// Bits a second.
    Departed,
    /// Packets a second.
    Dropped,
    /// Packets a second.
    Marked,
    /// Its median in microseconds.
    Sojourn,
}

/// The last looks.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<[u64; 5]>);

impl History {
    /// Remembers one more.
    pub(super) fn add(&mut self, change: &Change) {
        let median = change.sojourn[0].unwrap_or(0.0) * 1e6;
        let look = [change.arrived.bits, change.departed.bits, change.dropped.packets, change.marked.packets, median];
        self.0.push_front(look.map(|value| value as u64));
        self.0.truncate(LOOKS);
    }

    /// The values of `series`.
    pub(super) fn newest_first(&self, series: Series) -> impl Iterator<Item = u64> {
        self.0.iter().map(move |look| look[series as usize])
    }
}
