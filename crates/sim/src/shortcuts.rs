//! The shortcuts of the simulator, each of which skips work and changes no result.

/// The shortcuts of a run. Each skips work and changes no result: the simulator's tests compare all combinations.
///
/// Observers are shown all events in their order, so an observed run takes none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortcuts {
    /// Links between nodes are processed lazily: their events wait until packets that the link has sent could arrive.
    pub lazy_links: bool,
    /// Hosts that nothing but their packets and timers changes take packets as soon as a lazily processed link sends
    /// them.
    pub early_hosts: bool,
    /// The number of flows from which what packets need is prefetched.
    pub prefetch_from: usize,
}

impl Default for Shortcuts {
    /// Takes all, and prefetches from 20,000 flows: fewer fit the caches.
    fn default() -> Self {
        Self { lazy_links: true, early_hosts: true, prefetch_from: 20_000 }
    }
}

impl Shortcuts {
    /// No shortcuts.
    pub const NONE: Self = Self { lazy_links: false, early_hosts: false, prefetch_from: usize::MAX };
}
