//! A queue and the link behind it: where packets wait, and which they are.

use fairlane_linux::{BridgeConfig, DataPath, Link, QueueConfig, Queues};
use fairlane_qdisc::QdiscConfig;

/// Where packets wait.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Path {
    /// In this process, or in the kernel for this process.
    Process(DataPath),
    /// In the kernel, in a BPF program at this interface.
    Kernel(String),
}

/// The packets of an interface that are shaped, where both directions can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// Leaving.
    Up,
    /// Arriving.
    Down,
}

impl Direction {
    /// Returns the name in options, metrics and state.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// A queue and the link behind it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Way {
    /// `None` for the one of a router with `--rate`.
    pub(super) direction: Option<Direction>,
    pub(super) path: Path,
    pub(super) link: Link,
    pub(super) discipline: QdiscConfig,
}

impl Path {
    /// Returns the name in options.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Process(DataPath::Queue(_)) => "nfqueue",
            Self::Process(DataPath::Bridge(_)) => "bridge",
            Self::Kernel(_) => "bpf",
        }
    }

    /// Returns the NFQUEUEs; `None` on other paths.
    pub(super) fn queues(&self) -> Option<Queues> {
        queue(self).map(|queue| queue.queues)
    }
}

impl Way {
    /// Returns `true` for packets that arrive by an interface.
    pub(super) fn is_down(&self) -> bool {
        self.direction == Some(Direction::Down)
    }
}

/// Returns the NFQUEUEs of a path; `None` on other paths.
pub(super) const fn queue(path: &Path) -> Option<&QueueConfig> {
    match path {
        Path::Process(DataPath::Queue(queue)) => Some(queue),
        _ => None,
    }
}

/// Returns the bridge of a path; `None` on other paths.
pub(super) const fn bridge(path: &Path) -> Option<&BridgeConfig> {
    match path {
        Path::Process(DataPath::Bridge(bridge)) => Some(bridge),
        _ => None,
    }
}
