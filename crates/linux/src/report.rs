//! What a router tells of itself.

use fairlane_qdisc::{Counters, Time};

use crate::delays::Delays;
use crate::kernel::KernelQueue;
use crate::top_flows::TopFlow;

/// What has happened since a router's start, and how its queue is now.
///
/// Every packet that came stands in one place of `counters`, or waits: `arrived = departed + dropped + packets`, until the end,
/// when what could not be sent any more is `released`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// When it was made, by the machine's monotonic clock: it goes on while the router lives.
    pub at: Time,
    /// What the disciplines did, by reason; bytes are those on the wire.
    pub counters: Counters,
    /// Packets that wait.
    pub packets: usize,
    /// Bytes on the wire of the packets that wait.
    pub bytes: u64,
    /// The average queue that the discipline steers by, in its own unit.
    pub average: Option<f64>,
    /// How long packets waited that went on.
    pub sojourn: Delays,
    /// How much later packets went on than at the link's rate.
    pub lateness: Delays,
    /// The flows that lost most, those first that lost more; 128 at most. Every flow has its place that lost more than a 128th of
    /// all that was dropped and marked.
    pub flows: Vec<TopFlow>,
    /// Packets that were let go at the end although the link had no time for them.
    pub released: u64,
    /// How often the kernel said that the receive buffer was full (`ENOBUFS`).
    pub overruns: u64,
    /// Verdicts for packets that the kernel no longer had, as when an interface goes down.
    pub unknown: u64,
    /// Datagrams of the kernel's that could not be read.
    pub malformed: u64,
    /// How often the kernel would not take verdicts at once.
    pub unsent: u64,
    /// How often the parameters were replaced.
    pub reloads: u64,
    /// What the kernel counts of the queue; `None` on a bridge, and if it does not tell.
    pub kernel: Option<KernelQueue>,
    /// What was counted at the interfaces of a bridge; `None` on an NFQUEUE.
    pub bridge: Option<BridgeCounts>,
}

impl Report {
    /// Packets for the discipline that the kernel dropped before it handed them over.
    #[must_use]
    pub fn kernel_dropped(&self) -> u64 {
        let of_queue = self.kernel.map_or(0, |kernel| kernel.dropped_full + kernel.dropped_unread);
        of_queue + self.bridge.map_or(0, |bridge| bridge.forth.kernel_dropped)
    }
}

/// What was counted at the interfaces of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeCounts {
    /// Frames from the inside, through the discipline, to the outside.
    pub forth: WayCounts,
    /// Frames from the outside, which pass at once.
    pub back: WayCounts,
}

/// Frames of one way over a bridge.
///
/// `received` is what the discipline's `arrived` counts, and `unfit` and `no_memory`. What `departed` or was released is
/// `forwarded` or `refused`. A frame that segmentation offload has joined counts as its segments where they part, and else as one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WayCounts {
    /// Frames that came in and that we have read.
    pub received: u64,
    /// Frames that were given to the other interface.
    pub forwarded: u64,
    /// Frames that the kernel dropped before we read them: the ring was full.
    pub kernel_dropped: u64,
    /// Joined frames that came.
    pub joined: u64,
    /// Frames that the other interface cannot send: longer than its MTU, or joined in a way that cannot be undone.
    pub unfit: u64,
    /// Frames that found 256 MB of others waiting, and joined ones for which the kernel had no room.
    pub no_memory: u64,
    /// Frames that the other interface had no room for, or no link.
    pub refused: u64,
}

impl Report {
    /// The end: what waits goes on at once.
    pub(crate) fn release(&mut self) {
        self.released = self.packets as u64;
        (self.packets, self.bytes) = (0, 0);
    }
}
