//! Counts of packets and bytes: arrived, departed, and dropped or marked by reason.

use core::fmt;

/// Why a packet was dropped or marked: the reasons of every discipline of the library. A discipline of your own reports
/// the one that fits, or [`Reason::Other`].
///
/// The number of a reason does not change; new ones get the next numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
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
    /// xCHOKe and RECHOKe: the flow is in the table of hits.
    Table,
    /// SFB and penalty boxes: the flow exceeds the rate that it is allowed.
    RatePenalty,
    /// SFB: a bin of the flow is full.
    BinFull,
    /// CoDel, PIE: the decision fell as the packet was due to leave.
    AqmDequeue,
    /// BARE: Fair Drop.
    FairDrop,
    /// Removed to make room for a packet of another flow: longest queue drop, SFQ.
    BufferSteal,
    /// CSFQ, AFD, ECHO: the flow exceeds the fair rate.
    Label,
    /// The packet is too old.
    Expired,
    /// CAKE: a TCP acknowledgement that a later one in the queue makes superfluous.
    AckFilter,
    /// A policer in front of the queue: the packet does not conform to its rate and burst.
    Policed,
    /// A reason of your own discipline that none of the others fits. No discipline of the library has it.
    Other,
}

impl Reason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Self; 16] = [
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
        Self::AckFilter,
        Self::Policed,
        Self::Other,
    ];

    /// The number of reasons.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns the reason's name in outcomes and traces, such as `match_victim`.
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
            Self::AckFilter => "ack_filter",
            Self::Policed => "policed",
            Self::Other => "other",
        }
    }

    /// Returns the reason in words, for people, such as `match, victim`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Limit => "full queue",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::MatchArrival => "match, arrival",
            Self::MatchVictim => "match, victim",
            Self::Table => "table of hits",
            Self::RatePenalty => "rate penalty",
            Self::BinFull => "full bin",
            Self::AqmDequeue => "AQM at dequeue",
            Self::FairDrop => "Fair Drop",
            Self::BufferSteal => "push-out",
            Self::Label => "above fair rate",
            Self::Expired => "too old",
            Self::AckFilter => "filtered ACK",
            Self::Policed => "policer",
            Self::Other => "other reason",
        }
    }

    /// Returns the reason's number: its place in [`Reason::ALL`].
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

/// A number of packets, and of the bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The packets.
    pub packets: u64,
    /// The bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet of `bytes` bytes.
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// The counts of a discipline.
///
/// At any time `arrived = departed + dropped_total + backlog`, in packets and in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The packets offered to the queue.
    pub arrived: Count,
    /// The packets given to the link.
    pub departed: Count,
    dropped: [Count; Reason::COUNT],
    marked: [Count; Reason::COUNT],
}

impl Counters {
    /// Returns the packets dropped for `reason`.
    #[must_use]
    pub const fn dropped(&self, reason: Reason) -> Count {
        self.dropped[reason.index()]
    }

    /// Returns the packets marked for `reason`.
    #[must_use]
    pub const fn marked(&self, reason: Reason) -> Count {
        self.marked[reason.index()]
    }

    /// Returns the packets dropped for any reason.
    #[must_use]
    pub fn dropped_total(&self) -> Count {
        total(&self.dropped)
    }

    /// Returns the packets marked for any reason.
    #[must_use]
    pub fn marked_total(&self) -> Count {
        total(&self.marked)
    }

    /// Counts a drop of a packet of `bytes` bytes.
    pub fn count_drop(&mut self, reason: Reason, bytes: u32) {
        self.dropped[reason.index()].add(bytes);
    }

    /// Adds packets that were dropped elsewhere, as by the kernel.
    pub fn add_drops(&mut self, reason: Reason, count: Count) {
        self.dropped[reason.index()].packets += count.packets;
        self.dropped[reason.index()].bytes += count.bytes;
    }

    /// Adds packets that were marked elsewhere, as by the kernel.
    pub fn add_marks(&mut self, reason: Reason, count: Count) {
        self.marked[reason.index()].packets += count.packets;
        self.marked[reason.index()].bytes += count.bytes;
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
