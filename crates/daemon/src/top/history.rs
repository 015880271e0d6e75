//! The past values of the sparklines.

use std::collections::VecDeque;

use super::change::Change;

/// The number of samples, one for each column of the widest terminal.
const LOOKS: usize = 512;

/// The recorded values.
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
    /// The median sojourn time in microseconds.
    Sojourn,
}

/// The last samples.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<[u64; 5]>);

impl History {
    /// Adds a sample.
    pub(super) fn add(&mut self, change: &Change) {
        let median = change.sojourn[0].unwrap_or(0.0) * 1e6;
        let look = [change.arrived.bits, change.departed.bits, change.dropped.packets, change.marked.packets, median];
        self.0.push_front(look.map(|value| value as u64));
        self.0.truncate(LOOKS);
    }

    /// Returns the values of `series`.
    pub(super) fn newest_first(&self, series: Series) -> impl Iterator<Item = u64> {
        self.0.iter().map(move |look| look[series as usize])
    }
}
