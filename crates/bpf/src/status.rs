//! The state of a queue in the kernel, as `struct state` of `bpf/parameters.h` holds it.

use fairlane_qdisc::{Counters, Reason};
use serde::Serialize;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The number of packets.
    pub packets: u64,
    /// Their bytes, with Ethernet headers.
    pub bytes: u64,
}

impl From<Count> for fairlane_qdisc::Count {
    fn from(Count { packets, bytes }: Count) -> Self {
        Self { packets, bytes }
    }
}

/// The reasons in the order of `enum reason`, from its second on.
const REASONS: [Reason; 5] = [Reason::Limit, Reason::Early, Reason::Forced, Reason::MatchArrival, Reason::MatchVictim];

/// Packets that were dropped, or marked, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ByReason {
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
    pub dropped: Vec<ByReason>,
    /// Packets for which a mark was decided, by reason: `early` and `forced`. They are among those that arrived, and
    /// are not dropped.
    pub marked: Vec<ByReason>,
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
const MARKED: usize = 20;
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
        // The first place of each array is unused.
        let by_reason = |from: usize| {
            let places = (from + 2..).step_by(2).zip(&REASONS);
            places.map(|(at, reason)| ByReason { reason: reason.name(), count: count(at) }).collect()
        };
        Some(Self {
            arrived: count(0),
            departed: count(2),
            flushed: count(4),
            queued: count(6),
            dropped: by_reason(DROPPED),
            marked: by_reason(MARKED),
            average: number(AVERAGE) as f64 / 4_294_967_296.0,
            compactions: number(COMPACTIONS),
            largest_span: number(COMPACTIONS + 1),
            in_use: number(IN_USE) != 0,
        })
    }

    /// Returns the counts as the library has them, without the packets that were flushed.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        (counters.arrived, counters.departed) = (self.arrived.into(), self.departed.into());
        for (reason, (dropped, marked)) in REASONS.into_iter().zip(self.dropped.iter().zip(&self.marked)) {
            counters.add_drops(reason, dropped.count.into());
            counters.add_marks(reason, marked.count.into());
        }
        counters
    }

    /// Returns the sum of all drops.
    #[must_use]
    pub fn dropped_total(&self) -> Count {
        let add = |sum: Count, ByReason { count, .. }: &ByReason| Count {
            packets: sum.packets + count.packets,
            bytes: sum.bytes + count.bytes,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a counter read from another's place: each number is its index.
    #[test]
    fn each_number_is_read_from_its_place() {
        let bytes: Vec<u8> = (0..NUMBERS as u64).flat_map(u64::to_ne_bytes).collect();
        let state = State::parse(&bytes);
        let count = |packets| Count { packets, bytes: packets + 1 };
        assert_eq!(state.as_ref().map(|state| (state.arrived, state.queued)), Some((count(0), count(6))));
        let of = |all: &[ByReason]| all.iter().map(|one| (one.reason, one.count)).collect::<Vec<_>>();
        // The places of `enum reason`, behind the unused first one.
        let reasons = ["limit", "early", "forced", "match_arrival", "match_victim"];
        let from = |at: u64| (at..).step_by(2).zip(reasons).map(|(at, reason)| (reason, count(at))).collect::<Vec<_>>();
        assert_eq!(state.as_ref().map(|state| of(&state.dropped)), Some(from(10)));
        assert_eq!(state.as_ref().map(|state| of(&state.marked)), Some(from(22)));
        assert!(state.is_some_and(|state| state.in_use && state.largest_span == 33));
        assert_eq!(State::parse(&bytes[8..]), None, "another version");
    }

    /// Would catch a count under another reason.
    #[test]
    fn the_library_has_the_same_counts() {
        let bytes: Vec<u8> = (0..NUMBERS as u64).flat_map(u64::to_ne_bytes).collect();
        let counters = State::parse(&bytes).map(|state| state.counters()).unwrap_or_default();
        assert_eq!((counters.arrived.packets, counters.departed.bytes), (0, 3));
        for (place, reason) in (0..).zip(REASONS) {
            assert_eq!(counters.dropped(reason).packets, 10 + 2 * place, "{reason}");
            assert_eq!(counters.marked(reason).packets, 22 + 2 * place, "{reason}");
        }
    }

    /// Would catch a leak that the books do not show.
    #[test]
    fn a_packet_that_is_nowhere_unbalances_the_books() {
        let mut numbers = [0_u64; NUMBERS];
        // Ten arrived; four departed, one was flushed, two are queued, three were dropped.
        for (at, number) in [(0, 10), (2, 4), (4, 1), (6, 2), (10, 1), (18, 2)] {
            numbers[at] = number;
            numbers[at + 1] = 100 * number;
        }
        let parse =
            |numbers: &[u64]| State::parse(&numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<_>>());
        assert!(parse(&numbers).is_some_and(|state| state.is_balanced()));
        numbers[6] = 1;
        assert!(parse(&numbers).is_some_and(|state| !state.is_balanced()));
    }
}
