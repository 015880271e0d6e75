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
use crate::hash::FlowHash;
use crate::{Counters, Duration, Fate, FlowKey, Packet, Rate, Reason, Seed, Size, Stream, Time};

/// The most levels.
pub(crate) const MAX_LEVELS: u32 = 16;

/// The most bins on a level: so few share the 21 bits of a level evenly, to 0.2 %.
pub(crate) const MAX_BINS: u32 = 4096;

/// Levels that share one hash, 21 bits each.
const LEVELS_A_HASH: usize = 3;

/// Hashes for the most levels.
const MAX_HASHES: usize = MAX_LEVELS.div_ceil(LEVELS_A_HASH as u32) as usize;

/// What a bin learns of its flows.
pub(crate) trait Law: Copy + Debug {
    /// What it has learnt.
    type Lesson: Copy + Debug;

    /// Nothing learnt yet.
    fn fresh(&self) -> Self::Lesson;

    /// An arrival finds `queued` packets of the bin.
    fn arrive(&self, lesson: &mut Self::Lesson, now: Time, queued: u32);

    /// A flow that does not answer will be in this bin when the hash has moved.
    fn warm(&self, lesson: &mut Self::Lesson);

    /// The probability of a signal that the bin asks for.
    fn probability(&self, lesson: &Self::Lesson) -> f64;

    /// Whether the bin holds a flow that does not answer.
    fn is_polluted(&self, lesson: &Self::Lesson) -> bool;
}

/// When an arrival is dropped for its bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropOnOver {
    /// Any of them holds more packets than these.
    Any(u32),
    /// Each of them holds at least so many packets.
    All(u32),
}

/// What the bins are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Size,
    /// 1 to [`MAX_LEVELS`].
    pub(crate) levels: u32,
    /// On each level, 1 to [`MAX_BINS`].
    pub(crate) bins: u32,
    pub(crate) drop_on_over: DropOnOver,
    /// How often the hash moves.
    pub(crate) rehash: Duration,
    /// How long before that the next set of bins is warmed up.
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
    is_over: bool,
    is_polluted: bool,
    probability: f64,
}

/// A FIFO with bins.
#[derive(Debug)]
pub(crate) struct Binned<P, L: Law> {
    buffer: Buffer<P>,
    /// One for each packet in the buffer.
    entries: VecDeque<Entry>,
    settings: Settings,
    law: L,
    /// Two sets of `levels * bins`.
    bins: Vec<Bin<L::Lesson>>,
    hashes: [[FlowHash; MAX_HASHES]; 2],
    /// How often the hash has moved. Its parity is the set in use; the other one is the next.
    generation: u32,
    moved: Time,
    bucket: TokenBucket,
    seed: Seed,
    rolls: Stream,
}

impl<P: Packet, L: Law> Binned<P, L> {
    pub(crate) fn new(settings: Settings, law: L, seed: Seed) -> Self {
        let fresh = Bin { queued: 0, lesson: law.fresh() };
        Self {
            buffer: Buffer::new(settings.limit),
            entries: VecDeque::new(),
            settings,
            law,
            bins: vec![fresh; 2 * settings.levels as usize * settings.bins as usize],
            hashes: [hashes(seed, 0), hashes(seed, 1)],
            generation: 0,
            moved: Time::ZERO,
            bucket: TokenBucket::new(settings.penalty_rate, settings.penalty_burst),
            seed,
            rolls: seed.stream("sfb"),
        }
    }

    /// Calls `each` with the bins of `flow` in the set of `generation`, level by level.
    fn for_each_bin(&mut self, generation: u32, flow: FlowKey, mut each: impl FnMut(&L, &mut Bin<L::Lesson>)) {
        let (levels, bins) = (self.settings.levels as usize, self.settings.bins as usize);
        let set = (generation & 1) as usize;
        let mut bits = 0;
        for (level, row) in self.bins[set * levels * bins..][..levels * bins].chunks_exact_mut(bins).enumerate() {
            if level % LEVELS_A_HASH == 0 {
                bits = self.hashes[set][level / LEVELS_A_HASH].bits(flow.get());
            }
            // 21 bits as a fraction of all bins.
            each(&self.law, &mut row[((bits & 0x1f_ffff) as usize * bins) >> 21]);
            bits >>= 21;
        }
    }

    /// Teaches the bins of `flow` of an arrival, and asks them.
    fn look(&mut self, now: Time, flow: FlowKey) -> Look {
        let mut look = Look { is_over: false, is_polluted: true, probability: 1.0 };
        let (mut most, mut least) = (0, u32::MAX);
        self.for_each_bin(self.generation, flow, |law, bin| {
            law.arrive(&mut bin.lesson, now, bin.queued);
            most = most.max(bin.queued);
            least = least.min(bin.queued);
            look.is_polluted &= law.is_polluted(&bin.lesson);
            look.probability = look.probability.min(law.probability(&bin.lesson));
        });
        look.is_over = match self.settings.drop_on_over {
            DropOnOver::Any(size) => most > size,
            DropOnOver::All(size) => least >= size,
        };
        look
    }

    /// Moves the hash if it is time: the next set of bins comes into use, and the one that was in use is emptied.
    fn move_hash(&mut self, now: Time) {
        if now.since(self.moved) < self.settings.rehash {
            return;
        }
        self.moved = now;
        self.generation = self.generation.wrapping_add(1);
        let next = self.generation.wrapping_add(1);
        let set = (next & 1) as usize;
        self.hashes[set] = hashes(self.seed, next);
        let half = self.bins.len() / 2;
        self.bins[set * half..][..half].fill(Bin { queued: 0, lesson: self.law.fresh() });
    }

    /// Whether the next set of bins is being warmed up.
    fn is_warming(&self, now: Time) -> bool {
        now.since(self.moved) + self.settings.warmup >= self.settings.rehash
    }

    /// An arrival of a flow that does not answer: it is queued as its rate limit allows.
    fn police(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        let warmed = self.is_warming(now);
        if warmed {
            let next = self.generation.wrapping_add(1);
            self.for_each_bin(next, packet.flow(), |law, bin| law.warm(&mut bin.lesson));
        }
        if self.bucket.take(now, packet.bytes()) {
            self.admit(now, packet, None, warmed, fate);
        } else {
            self.buffer.discard(now, packet, Reason::RatePenalty, fate);
        }
    }

    /// Queues `packet` if there is room, and counts it in its bins; in those of the next set too if it `warmed` them.
    fn admit(&mut self, now: Time, packet: P, mark: Option<Reason>, warmed: bool, fate: &mut impl Fate<P>) {
        let flow = packet.flow();
        if !self.buffer.admit(now, packet, mark, fate) {
            return;
        }
        let generation = self.generation;
        self.entries.push_back(Entry { generation, warmed });
        self.for_each_bin(generation, flow, |_, bin| bin.queued += 1);
        if warmed {
            self.for_each_bin(generation.wrapping_add(1), flow, |_, bin| bin.queued += 1);
        }
    }

    /// What a roll of chance does to a packet whose bins ask for `probability`: whether it is signalled, and whether
    /// the signal drops it even if it could be marked.
    fn roll(&mut self, probability: f64) -> (bool, bool) {
        let roll = self.rolls.unit();
        (roll < probability, self.settings.harddrop && roll < 2.0 * (probability - 0.5))
    }

    pub(crate) fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        self.move_hash(now);
        let look = self.look(now, packet.flow());
        if look.is_over {
            self.buffer.discard(now, packet, Reason::BinFull, fate);
            return;
        }
        if look.is_polluted {
            self.police(now, packet, fate);
            return;
        }
        let (signal, hard) = self.roll(look.probability);
        let reason = if look.probability < 1.0 { Reason::Early } else { Reason::Forced };
        if signal && !(self.settings.ecn && packet.ecn_capable() && !hard) {
            self.buffer.discard(now, packet, reason, fate);
            return;
        }
        self.admit(now, packet, signal.then_some(reason), false, fate);
    }

    pub(crate) fn dequeue(&mut self) -> Option<P> {
        let packet = self.buffer.depart()?;
        if let Some(Entry { generation, warmed }) = self.entries.pop_front() {
            self.leave(generation, packet.flow());
            if warmed {
                self.leave(generation.wrapping_add(1), packet.flow());
            }
        }
        Some(packet)
    }

    /// A packet of `flow` leaves the bins of the set of `generation`, if that is in use or the next.
    fn leave(&mut self, generation: u32, flow: FlowKey) {
        if generation == self.generation || generation == self.generation.wrapping_add(1) {
            self.for_each_bin(generation, flow, |_, bin| bin.queued -= 1);
        }
    }

    pub(crate) fn packets(&self) -> usize {
        self.buffer.fifo.packets()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.buffer.fifo.bytes()
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}

/// The hashes of the set of `generation`.
fn hashes(seed: Seed, generation: u32) -> [FlowHash; MAX_HASHES] {
    let seed = seed.numbered(u64::from(generation));
    core::array::from_fn(|hash| FlowHash::new(seed.numbered(hash as u64)))
}
