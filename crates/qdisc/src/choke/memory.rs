//! What is remembered of flows.

use alloc::boxed::Box;

use super::table::FlowTable;
use crate::{Duration, FlowKey, Seed, Stream, Time};

/// What is remembered of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Nothing.
    Nothing,
    /// How often flows matched.
    Hits {
        /// Flows in the table.
        size: u32,
        /// More hits than these do not count.
        cap: u32,
        /// Hits are halved this often.
        age: Duration,
    },
    /// The last flows admitted, so many.
    Last(u32),
    /// How often flows matched and how often RED signalled them. A match drops nothing.
    Suspects {
        /// Flows in each of the two tables.
        size: u32,
        /// More than these do not count.
        cap: u32,
        /// A flow is malicious that has so many hits
        hits: u32,
        /// and so many signals.
        signals: u32,
        /// Both are halved this often.
        window: Duration,
    },
}

/// What is remembered of flows, as it stands.
#[derive(Debug)]
pub(super) enum Remembered {
    Nothing,
    Hits(Box<Hits>),
    Last(Box<FlowTable>),
    Suspects(Box<Suspects>),
}

impl Remembered {
    pub(super) fn new(memory: Memory, seed: Seed) -> Self {
        match memory {
            Memory::Nothing | Memory::Last(0) => Self::Nothing,
            Memory::Hits { size, cap, age } => {
                Self::Hits(Box::new(Hits { table: FlowTable::new(size, Some(age)), cap, rolls: seed.stream("table") }))
            }
            Memory::Last(size) => Self::Last(Box::new(FlowTable::new(size, None))),
            Memory::Suspects { size, cap, hits, signals, window } => Self::Suspects(Box::new(Suspects {
                hits: FlowTable::new(size, Some(window)),
                signals: FlowTable::new(size, Some(window)),
                cap,
                malicious: (hits, signals),
                rolls: seed.stream("table"),
            })),
        }
    }
}

/// xCHOKe's table and its own stream of chance.
#[derive(Debug)]
pub(super) struct Hits {
    table: FlowTable,
    cap: u32,
    rolls: Stream,
}

impl Hits {
    /// Whether `flow` stands in the table, and whether it is dropped for that: with `base` 2^hits.
    pub(super) fn recall(&mut self, now: Time, flow: FlowKey, base: f64) -> Recalled {
        let Some(hits) = self.table.touch(now, flow) else { return Recalled::Unknown };
        Recalled::of(roll(&mut self.rolls, base, hits))
    }

    /// `flow` matched.
    pub(super) fn count(&mut self, now: Time, flow: FlowKey) {
        self.table.count(now, flow, self.cap);
    }
}

/// RECHOKe's two histories.
#[derive(Debug)]
pub(super) struct Suspects {
    hits: FlowTable,
    signals: FlowTable,
    cap: u32,
    malicious: (u32, u32),
    rolls: Stream,
}

impl Suspects {
    /// Whether `flow` is malicious, and whether it is dropped for that: with `base` 2^hits. It `met` itself or did not.
    pub(super) fn recall(&mut self, now: Time, flow: FlowKey, met: bool, base: f64) -> Recalled {
        if met {
            self.hits.count(now, flow, self.cap);
        }
        let hits = self.hits.touch(now, flow).filter(|&hits| hits >= self.malicious.0);
        let signals = self.signals.touch(now, flow).filter(|&signals| signals >= self.malicious.1);
        let (Some(hits), Some(_)) = (hits, signals) else { return Recalled::Unknown };
        Recalled::of(roll(&mut self.rolls, base, hits))
    }

    /// RED signalled `flow`.
    pub(super) fn signalled(&mut self, now: Time, flow: FlowKey) {
        self.signals.count(now, flow, self.cap);
    }
}

/// What memory says of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recalled {
    /// Its flow is not remembered.
    Unknown,
    /// Its flow is, and it passed.
    Passed,
    /// It is dropped for what its flow did.
    Dropped,
}

impl Recalled {
    const fn of(dropped: bool) -> Self {
        if dropped { Self::Dropped } else { Self::Passed }
    }
}

/// Whether a packet of a flow with so many `hits` is dropped: `base` 2^hits.
fn roll(rolls: &mut Stream, base: f64, hits: u32) -> bool {
    // 2^n is exact up to the largest cap.
    rolls.chance(base * (1_u64 << hits.min(MAX_HITS)) as f64)
}

/// The most hits that a cap may allow: 2^63 is the largest power of two in 64 bits.
pub(super) const MAX_HITS: u32 = 63;
