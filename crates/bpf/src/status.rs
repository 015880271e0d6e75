//! The state of a queue in the kernel, as `struct state` of `bpf/parameters.h` holds it.

use fairlane_qdisc::Reason;
use serde::Serialize;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes, with Ethernet headers.
    pub bytes: u64,
}

/// The reasons in the order of `enum reason`, from its second on.
const REASONS: [Reason; 5] = [Reason::Limit, Reason::Early, Reason::Forced, Reason::MatchArrival, Reason::MatchVictim];

/// Packets that were dropped for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// The reason, as everywhere in Fairlane: `limit`, `early`, `forced`, `match_arrival`, `match_victim`.
    pub reason: &'static str,
    /// The packets.
    #[serde(flatten)]
    pub count: Count,
}

/// The counters and the average of a queue in the kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// Packets that arrived.
    pub arrived: Count,
    /// Packets that left for the link.
    pub departed: Count,
    /// Packets that were dropped when the device went down or the discipline was replaced.
    pub flushed: Count,
    /// Packets in the queue.
    pub queued: Count,
    /// Packets that were dropped, by reason.
    pub dropped: Vec<Drops>,
    /// The average queue, in packets, or in bytes where the thresholds are in bytes.
    pub average: f64,
    /// The times that holes were removed from the ring.
    pub compactions: u64,
    /// The most slots that the ring ever spanned, holes included.
    pub largest_span: u64,
    /// A queue discipline of the kernel has this state.
    pub in_use: bool,
}

/// The size of `struct state` in 64-bit numbers.
const NUMBERS: usize = 44;

/// Indices of `struct state` in 64-bit numbers.
const DROPPED: usize = 8;
const COMPACTIONS: usize = 32;
const AVERAGE: usize = 34;
const IN_USE: usize = 43;

impl State {
    /// Reads the bytes of the map; `None` if they are not of this version's programs.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<8>() else { return None };
        if numbers.len() != NUMBERS {
            return None;
        }
        let number = |at: usize| u64::from_ne_bytes(numbers[at]);
        let count = |at: usize| Count { packets: number(at), bytes: number(at + 1) };
        let drops =
            |(place, reason): (usize, &Reason)| Drops { reason: reason.name(), count: count(DROPPED + 2 * place) };
        Some(Self {
            arrived: count(0),
            departed: count(2),
            flushed: count(4),
            queued: count(6),
            dropped: (1..).zip(&REASONS).map(drops).collect(),
            average: number(AVERAGE) as f64 / 4_294_967_296.0,
            compactions: number(COMPACTIONS),
            largest_span: number(COMPACTIONS + 1),
            in_use: number(IN_USE) != 0,
        })
    }

    /// Returns the sum of all drops.
    #[must_use]
    pub fn dropped_total(&self) -> Count {
        let add = |sum: Count, drops: &Drops| Count {
            packets: sum.packets + drops.count.packets,
            bytes: sum.bytes + drops.count.bytes,
        };
        self.dropped.iter().fold(Count::default(), add)
    }

    /// Tells whether every packet that arrived has departed, was dropped or flushed, or is in the queue.
    ///
    /// While packets pass, the counters can be read in the middle of an operation, and are off by a few packets.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        let dropped = self.dropped_total();
        let packets = self.departed.packets + self.flushed.packets + dropped.packets + self.queued.packets;
        let bytes = self.departed.bytes + self.flushed.bytes + dropped.bytes + self.queued.bytes;
        self.arrived == Count { packets, bytes }
    }
}
