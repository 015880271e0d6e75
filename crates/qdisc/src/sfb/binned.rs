//! Bins over one FIFO: flows are hashed into a bin on each of several levels, and a flow is known by its bins.
//!
//! SFB and SFRED differ in what a bin learns ([`Law`]); the rest is here: the two sets of bins, the hash that moves,
//! and the limit on flows all of whose bins say that they do not answer.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::penalty::TokenBucket;
use crate::buffer::Buffer;
use crate::hash::Salt;
use crate::{Counters, Duration, Fate, FlowKey, Packet, Rate, Reason, Seed, Size, Stream, Time};

/// The most levels.
pub(crate) const MAX_LEVELS: u32 = 16;

/// What a bin learns of its flows.
pub(crate) trait Law: Copy + Debug {
    /// What it has learnt.
    type Lesson: Copy + Debug;

    /// Nothing learnt yet.
    fn fresh(&self) -> Self::Lesson;

    /// An arrival finds `queued` packets in its bin, which may be more than the bin should hold.
    fn arrive(&self, lesson: &mut Self::Lesson, now: Time, queued: u32, full: bool);

    /// A flow that does not answer will be in this bin after the hash has moved.
    fn warm(&self, lesson: &mut Self::Lesson);

    /// The probability of a signal that the bin asks for.
    fn probability(&self, lesson: &Self::Lesson) -> f64;

    /// Whether the bin holds a flow that does not answer.
    fn is_polluted(&self, lesson: &Self::Lesson) -> bool;
}

/// When an arrival is dropped for its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropOnOver {
    /// Any of them holds more than it should.
    Any,
    /// Each of them holds at least so many packets.
    All(u32),
}

/// What the bins are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Size,
    pub(crate) levels: u32,
    /// On each level.
    pub(crate) bins: u32,
    /// A bin that holds more packets is full.
    pub(crate) bin_size: u32,
    pub(crate) drop_on_over: DropOnOver,
    /// How often the hash moves.
    pub(crate) rehash: Duration,
    /// How long before that the next set of bins is prepared.
    pub(crate) warmup: Duration,
    pub(crate) penalty_rate: Rate,
    /// In bytes.
    pub(crate) penalty_burst: u64,
    pub(crate) ecn: bool,
    /// Whether signals above a probability of 1/2 drop more and more of what could be marked.
    pub(crate) harddrop: bool,
}

/// One bin.
#[derive(Clone, Copy, Debug)]
struct Bin<T> {
    queued: u32,
    lesson: T,
}

/// What is remembered of a queued packet, so that it leaves the bins that it entered.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The set that was in use.
    generation: u32,
    /// Whether it entered the next set too.
    warmed: bool,
}

/// What an arrival's bins say.
struct Look {
    full: bool,
    polluted: bool,
    probability: f64,
}

/// A FIFO with bins.
#[derive(Debug)]
pub(super) struct Binned<P, L: Law> {
    buffer: Buffer<P>,
    /// One for each packet in the buffer.
    entries: VecDeque<Entry>,
    settings: Settings,
    law: L,
    /// Two sets, each of all levels.
    bins: Vec<Bin<L::Lesson>>,
    salts: [Salt; 2],
    /// How often the hash has moved. The set in use is its parity's, the next set the other's.
    generation: u32,
    moved: Time,
    bucket: TokenBucket,
    hashes: Stream,
    rolls: Stream,
}

impl<P: Packet, L: Law> Binned<P, L> {
    pub(super) fn new(settings: Settings, law: L, seed: Seed) -> Self {
        let mut hashes = seed.stream("hash");
        let fresh = Bin { queued: 0, lesson: law.fresh() };
        Self {
            buffer: Buffer::new(settings.limit),
            entries: VecDeque::new(),
            settings,
            law,
            bins: vec![fresh; 2 * settings.levels as usize * settings.bins as usize],
            salts: [Salt::new(hashes.bits()), Salt::new(hashes.bits())],
            generation: 0,
            moved: Time::ZERO,
            bucket: TokenBucket::new(settings.penalty_rate, settings.penalty_burst),
            hashes,
            rolls: seed.stream("sfb"),
        }
    }
}
