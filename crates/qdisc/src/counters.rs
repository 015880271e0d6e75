//! What happened to the packets, by reason.

use core::fmt;

/// Why a packet was dropped or marked. A closed list: every discipline's reasons are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// The queue was full.
    Limit,
    /// A random signal before the queue is full (RED between its thresholds, BLUE, PIE …).
    Early,
    /// The average was above `max`.
    Forced,
    /// CHOKe: the arriving packet matched a queued one of its flow.
    MatchArrival,
    /// CHOKe: the queued packet that an arrival of its flow matched.
    MatchVictim,
    /// xCHOKe: the flow stands in the table of hits.
    Table,
    /// SFB and penalty boxes: over the rate that an identified flow is allowed.
    RatePenalty,
    /// SFB: a bin of the flow is full.
    BinFull,
    /// CoDel, PIE: decided when the packet was due to leave.
    AqmDequeue,
    /// BARE: Fair Drop.
    FairDrop,
    /// Pushed out for another's packet: longest queue drop, SFQ.
    BufferSteal,
    /// CSFQ, AFD: over the fair rate by its label.
    Label,
    /// Too old.
    Expired,
}

impl Reason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Self; 13] = [
        Self::Limit,
        Self::Early,
        Self::Forced,
        Self::MatchArrival,
        Self::MatchVictim,
        Self::Table,
        Self::RatePenalty,
        Self::BinFull,
        Self::AqmDequeue,
        Self::FairDrop,
        Self::BufferSteal,
        Self::Label,
        Self::Expired,
    ];

    /// How many reasons there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The reason's name in outcomes and traces, such as `match_victim`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::MatchArrival => "match_arrival",
            Self::MatchVictim => "match_victim",
            Self::Table => "table",
            Self::RatePenalty => "rate_penalty",
            Self::BinFull => "bin_full",
            Self::AqmDequeue => "aqm_dequeue",
            Self::FairDrop => "fair_drop",
            Self::BufferSteal => "buffer_steal",
            Self::Label => "label",
            Self::Expired => "expired",
        }
    }

    /// The reason's number: its place in [`Reason::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Packets, and the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet of `bytes` bytes.
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Everything that a discipline counts.
///
/// At any time `arrived = departed + dropped_total + backlog`, in packets and in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Offered to the queue.
    pub arrived: Count,
    /// Given to the link.
    pub departed: Count,
    dropped: [Count; Reason::COUNT],
    marked: [Count; Reason::COUNT],
}

impl Counters {
    /// Dropped for `reason`.
    #[must_use]
    pub const fn dropped(&self, reason: Reason) -> Count {
        self.dropped[reason.index()]
    }

    /// Marked for `reason`.
    #[must_use]
    pub const fn marked(&self, reason: Reason) -> Count {
        self.marked[reason.index()]
    }

    /// Dropped for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> Count {
        total(&self.dropped)
    }

    /// Marked for any reason.
    #[must_use]
    pub fn marked_total(&self) -> Count {
        total(&self.marked)
    }

    /// Counts a drop of a packet of `bytes` bytes.
    pub fn count_drop(&mut self, reason: Reason, bytes: u32) {
        self.dropped[reason.index()].add(bytes);
    }

    /// Counts a mark of a packet of `bytes` bytes.
    pub fn count_mark(&mut self, reason: Reason, bytes: u32) {
        self.marked[reason.index()].add(bytes);
    }
}

fn total(counts: &[Count]) -> Count {
    counts.iter().fold(Count::default(), |sum, count| Count {
        packets: sum.packets + count.packets,
        bytes: sum.bytes + count.bytes,
    })
}
