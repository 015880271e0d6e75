//! The report of a router.

use fairlane_qdisc::{Count, Counters, Time};

use crate::nfqueue::proc::KernelQueue;
#[cfg(doc)]
use crate::router::config::BridgeDirections;
use crate::shaper::delay_histogram::DelayHistogram;
use crate::shaper::top_flows::TopFlow;

/// The counts of a router since its start, and the present state of its queue.
///
/// Every packet that arrived is counted once: `arrived = departed + dropped + packets + flushed` in `counters`. At the
/// end, packets that the link had no time to send are counted in `released`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The time of the report, by the machine's monotonic clock.
    pub at: Time,
    /// The decisions of the disciplines, by reason. Bytes are sizes on the link.
    pub counters: Counters,
    /// The number of packets in the queue.
    pub packets: usize,
    /// The bytes of the packets in the queue, in their sizes on the link.
    pub bytes: u64,
    /// The average queue that the discipline compares with its thresholds, in their unit; `None` if it keeps no
    /// average.
    pub average: Option<f64>,
    /// The time that each sent packet spent in the queue.
    pub sojourn: DelayHistogram,
    /// The delay of each sent packet beyond its time at the rate of the link.
    pub lateness: DelayHistogram,
    /// The flows with the most dropped and marked packets, at most 128, in descending order. Contains every flow with
    /// more than 1/128 of all drops and marks.
    pub flows: Vec<TopFlow>,
    /// Packets that were dropped because their queue was removed: with a discipline in the kernel, when the device goes
    /// down or the discipline is replaced.
    pub flushed: Count,
    /// Packets sent at the end although the link had no time for them.
    pub released: u64,
    /// The number of times that the kernel reported a full receive buffer (`ENOBUFS`).
    pub overruns: u64,
    /// Verdicts on packets that the kernel no longer had, as when an interface goes down.
    pub unknown: u64,
    /// Datagrams from the kernel that could not be parsed.
    pub malformed: u64,
    /// The number of times that the kernel did not accept verdicts at once.
    pub unsent: u64,
    /// The number of reloads.
    pub reloads: u64,
    /// The kernel's counts of the queue; `None` on a bridge, and if they cannot be read.
    pub kernel: Option<KernelQueue>,
    /// The counts at the interfaces of a bridge; `None` on an NFQUEUE.
    pub bridge: Option<BridgeCounts>,
}

impl Report {
    /// Returns the number of packets for the discipline that the kernel dropped before it handed them over.
    #[must_use]
    pub fn kernel_dropped(&self) -> u64 {
        let of_queue = self.kernel.map_or(0, |kernel| kernel.dropped_full + kernel.dropped_unread);
        of_queue + self.bridge.map_or(0, |bridge| bridge.forward.kernel_dropped)
    }
}

/// The counts at the interfaces of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BridgeCounts {
    /// Frames through the discipline: from the inside to the outside interface, or with [`BridgeDirections::In`] from
    /// the outside to the inside interface.
    pub forward: DirectionCounts,
    /// Frames from the outside interface that are forwarded at once. Zero unless the router forwards
    /// [both directions](BridgeDirections::Both).
    pub reverse: DirectionCounts,
}

/// The frames of one direction over a bridge.
///
/// `received` is the sum of the discipline's `arrived`, `exempt`, `unfit` and `no_memory`. Every frame that departed,
/// was released or is exempt is counted in `forwarded` or `refused`. A GSO frame counts as its segments if it is
/// segmented here, otherwise as one frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    /// Frames read from the interface.
    pub received: u64,
    /// Frames passed to the other interface.
    pub forwarded: u64,
    /// Frames that were not queued because of their address.
    pub exempt: u64,
    /// Frames that the kernel dropped before they were read, because the ring was full.
    pub kernel_dropped: u64,
    /// GSO frames read from the interface: several frames joined by segmentation offload.
    pub gso_frames: u64,
    /// Frames that the other interface cannot send: longer than its MTU allows, or GSO frames that cannot be segmented.
    pub unfit: u64,
    /// Frames that arrived while 256 MB of frames were waiting, and GSO frames for which the kernel had no memory.
    pub no_memory: u64,
    /// Frames that the other interface did not accept, because its queue was full or its link down.
    pub refused: u64,
}

impl Report {
    /// Counts the packets in the queue as released.
    pub(crate) fn release(&mut self) {
        self.released = self.packets as u64;
        (self.packets, self.bytes) = (0, 0);
    }
}
