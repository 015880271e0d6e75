//! A FIFO whose flows are hashed into a bin on each of several levels.
//!
//! SFB and SFRED differ only in the rule by which a bin learns ([`BinRule`]). This module has the rest: the two sets of
//! bins, the moving hash, and the rate limit on flows whose bins are all polluted.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::{BinConfig, DropOnOver};
use crate::flow::hash::FlowHash;
use crate::queue::buffer::Buffer;
use crate::rate::token_bucket::TokenBucket;
use crate::{Counters, DropSink, Duration, Fate, FlowKey, Packet, Reason, Seed, Size, Status, Stream, Time};

/// The largest number of levels.
pub(crate) const MAX_LEVELS: u32 = 16;

/// The largest number of bins on a level: up to this many share the 21 hash bits of a level evenly, to 0.2 %.
pub(crate) const MAX_BINS: u32 = 4096;

/// Levels that share one hash, 21 bits each.
const LEVELS_PER_HASH: usize = 3;

/// Hashes for the largest number of levels.
const MAX_HASHES: usize = MAX_LEVELS.div_ceil(LEVELS_PER_HASH as u32) as usize;

/// The rule by which a bin learns from arrivals.
pub(crate) trait BinRule: Copy + Debug {
    /// The state that a bin has learnt.
    type BinState: Copy + Debug;

    /// Returns the state of a bin that has seen no arrival.
    fn initial(&self) -> Self::BinState;

    /// Updates the state for an arrival at `now` that finds `queued` packets of the bin in the queue.
    fn arrive(&self, state: &mut Self::BinState, now: Time, queued: u32);

    /// Updates the state for a departure at `now` that empties the bin.
    fn empty(&self, state: &mut Self::BinState, now: Time);

    /// Updates a bin of the next set for an arrival of a flow that was identified as non-responsive.
    fn warm_up(&self, state: &mut Self::BinState);

    /// Returns the bin's probability of a signal.
    fn probability(&self, state: &Self::BinState) -> f64;

    /// Returns how near the bin is to being polluted: at 1 its flows include one that does not respond.
    fn pollution(&self, state: &Self::BinState) -> f64;
}

/// One bin.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bin<S> {
    /// Its packets in the queue.
    queued: u32,
    state: S,
}

/// A flow that came not long ago, with its bins in the set of a generation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RecentFlow {
    flow: FlowKey,
    generation: u32,
    bins: FlowBins,
}

/// The number of recent flows that are remembered: one for each value of a byte.
const RECENT: usize = 256;

/// The bins in which a queued packet is counted, so that it leaves those that it entered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CountedIn {
    bins: FlowBins,
    /// The generation of the set that was in use.
    generation: u32,
    /// Set if the packet is counted in the next set too.
    next_too: bool,
}

/// The combined verdict of a flow's bins on an arrival.
struct BinVerdict {
    is_over: bool,
    is_polluted: bool,
    probability: f64,
}

/// The bins of a flow in one set: an index for each level, of the bins of all levels. There are at most 16 times 4096.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FlowBins([[u16; LEVELS_PER_HASH]; MAX_HASHES]);

/// A FIFO with two sets of bins.
#[derive(Debug)]
pub(crate) struct Binned<P, R: BinRule> {
    buffer: Buffer<P>,
    /// One for each packet in the buffer, in the same order.
    counted: VecDeque<CountedIn>,
    config: BinConfig,
    rule: R,
    /// Above a probability of 1/2, more and more signals drop what could be marked.
    harddrop: bool,
    /// Two sets of `levels * bins`.
    bins: Vec<Bin<R::BinState>>,
    hashes: [[FlowHash; MAX_HASHES]; 2],
    /// As many of them as the levels need.
    hashes_used: usize,
    /// Flows whose bins need not be hashed anew; it changes no decision which they are.
    recent: Box<[RecentFlow; RECENT]>,
    /// The number of times that the hash has moved. Its parity is the index of the set in use; the other one is the
    /// next.
    generation: u32,
    moved: Time,
    /// The time from then to the next move.
    rehash: Duration,
    bucket: TokenBucket,
    seed: Seed,
    rolls: Stream,
    rehashes: Stream,
}

impl<P: Packet, R: BinRule> Binned<P, R> {
    /// Creates an empty queue; `config` is valid.
    pub(crate) fn new(limit: Size, config: BinConfig, rule: R, harddrop: bool, seed: Seed) -> Self {
        let empty = Bin { queued: 0, state: rule.initial() };
        let mut queue = Self {
            buffer: Buffer::new(limit),
            counted: VecDeque::new(),
            config,
            rule,
            harddrop,
            bins: vec![empty; 2 * config.levels as usize * config.bins as usize],
            hashes: [hashes(seed, 0), hashes(seed, 1)],
            hashes_used: (config.levels as usize).div_ceil(LEVELS_PER_HASH),
            recent: Box::new([NO_FLOW; RECENT]),
            generation: 0,
            moved: Time::ZERO,
            rehash: config.rehash,
            bucket: TokenBucket::new(config.penalty_rate, config.penalty_burst),
            seed,
            rolls: seed.stream("sfb"),
            rehashes: seed.stream("rehash"),
        };
        queue.rehash = queue.draw_rehash();
        queue
    }

    /// Returns the time until the hash moves again; never 0.
    pub(super) fn draw_rehash(&mut self) -> Duration {
        let rehash = self.config.rehash;
        if !self.config.jitter {
            return rehash;
        }
        // A cast saturates.
        let drawn = (rehash.as_nanos() as f64 * (0.5 + self.rehashes.unit())) as u64;
        Duration::from_nanos(drawn.max(1))
    }

    /// Returns the bins of `flow` in the set of `generation`.
    #[inline(always)]
    fn bins_of(&mut self, generation: u32, flow: FlowKey) -> FlowBins {
        let place = usize::from(recent_place(flow));
        if self.recent[place].flow != flow || self.recent[place].generation != generation {
            self.hash_flow(generation, flow, place);
        }
        self.recent[place].bins
    }

    /// Hashes `flow` for the set of `generation`, and remembers its bins at `place`.
    #[inline(never)]
    fn hash_flow(&mut self, generation: u32, flow: FlowKey, place: usize) {
        let bins = self.config.bins;
        let recent = &mut self.recent[place];
        (recent.flow, recent.generation) = (flow, generation);
        let mut row = 0;
        for (hash, indices) in self.hashes[set_of(generation)][..self.hashes_used].iter().zip(&mut recent.bins.0) {
            let mut bits = hash.bits(flow.get());
            // Of the last hash, some may be of no level.
            for index in indices {
                // 21 bits as a fraction of all bins.
                *index = (row + (((bits & 0x1f_ffff) * u64::from(bins)) >> 21) as u32) as u16;
                bits >>= 21;
                row += bins;
            }
        }
    }

    /// Calls `each` with each of a flow's bins in the set of `generation`.
    #[inline(always)]
    fn for_each_bin(&mut self, generation: u32, bins: &FlowBins, mut each: impl FnMut(&R, &mut Bin<R::BinState>)) {
        let half = self.bins.len() / 2;
        let set = &mut self.bins[set_of(generation) * half..][..half];
        for &index in &bins.0.as_flattened()[..self.config.levels as usize] {
            each(&self.rule, &mut set[usize::from(index)]);
        }
    }

    /// Updates a flow's bins for an arrival and returns their verdict.
    #[inline]
    fn update_bins(&mut self, now: Time, bins: &FlowBins) -> BinVerdict {
        let (full_from, full_needed) = match self.config.drop_on_over {
            DropOnOver::Any => (self.config.bin_size.get().saturating_add(1), 1),
            DropOnOver::All { bin_max } => (bin_max.get(), self.config.levels),
        };
        let (mut full, mut pollution, mut probability) = (0, 1.0, 1.0);
        self.for_each_bin(self.generation, bins, |rule, bin| {
            rule.arrive(&mut bin.state, now, bin.queued);
            full += u32::from(bin.queued >= full_from);
            pollution = lesser(pollution, rule.pollution(&bin.state));
            probability = lesser(probability, rule.probability(&bin.state));
        });
        BinVerdict { is_over: full >= full_needed, is_polluted: pollution >= 1.0, probability }
    }

    /// Moves the hash if it is time: the next set of bins comes into use, and the previous one is emptied.
    fn move_hash(&mut self, now: Time) {
        if now.since(self.moved) < self.rehash {
            return;
        }
        self.moved = now;
        self.rehash = self.draw_rehash();
        self.generation = self.generation.wrapping_add(1);
        let next = self.generation.wrapping_add(1);
        let set = set_of(next);
        self.hashes[set] = hashes(self.seed, next);
        let half = self.bins.len() / 2;
        self.bins[set * half..][..half].fill(Bin { queued: 0, state: self.rule.initial() });
    }

    /// Tells whether the next set of bins is being warmed up.
    fn is_warming(&self, now: Time) -> bool {
        now.since(self.moved) + self.config.warmup >= self.rehash
    }

    /// Queues a packet of a non-responsive flow as far as the rate limit allows, and drops it otherwise.
    #[inline(never)]
    fn police(&mut self, now: Time, packet: P, bins: &FlowBins, sink: &mut dyn DropSink<P>) -> Fate {
        let warms = self.is_warming(now);
        let next_generation = self.generation.wrapping_add(1);
        let next = warms.then(|| self.bins_of(next_generation, packet.flow()));
        if let Some(next) = &next {
            self.for_each_bin(next_generation, next, |rule, bin| rule.warm_up(&mut bin.state));
        }
        if !self.bucket.take(now, packet.bytes()) {
            return self.buffer.discard(now, packet, Reason::RatePenalty, sink);
        }
        let fate = self.admit(now, packet, None, bins, warms, sink);
        if let Some(next) = next.as_ref().filter(|_| !fate.is_dropped()) {
            self.for_each_bin(next_generation, next, |_, bin| bin.queued += 1);
        }
        fate
    }

    /// Queues `packet` if there is room and counts it in its bins. `next_too` tells that it counts in bins of the next
    /// set too.
    #[inline(always)]
    fn admit(
        &mut self,
        now: Time,
        packet: P,
        mark: Option<Reason>,
        bins: &FlowBins,
        next_too: bool,
        sink: &mut dyn DropSink<P>,
    ) -> Fate {
        let fate = self.buffer.admit(now, packet, mark, sink);
        if !fate.is_dropped() {
            self.counted.push_back(CountedIn { bins: *bins, generation: self.generation, next_too });
            self.for_each_bin(self.generation, bins, |_, bin| bin.queued += 1);
        }
        fate
    }

    /// Rolls for a packet whose bins have `probability`. Returns whether it is signalled, and whether the signal drops
    /// it even if it could be marked.
    fn roll(&mut self, probability: f64) -> (bool, bool) {
        let roll = self.rolls.unit();
        (roll < probability, self.harddrop && roll < 2.0 * (probability - 0.5))
    }

    /// Does [`Qdisc::enqueue`](crate::Qdisc::enqueue).
    pub(crate) fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        self.move_hash(now);
        let bins = self.bins_of(self.generation, packet.flow());
        let verdict = self.update_bins(now, &bins);
        if verdict.is_over {
            return self.buffer.discard(now, packet, Reason::BinFull, sink);
        }
        if verdict.is_polluted {
            return self.police(now, packet, &bins, sink);
        }
        let (signal, hard) = self.roll(verdict.probability);
        let reason = if verdict.probability < 1.0 { Reason::Early } else { Reason::Forced };
        if signal && !(self.config.ecn && packet.ecn_capable() && !hard) {
            return self.buffer.discard(now, packet, reason, sink);
        }
        self.admit(now, packet, signal.then_some(reason), &bins, false, sink)
    }

    /// Does [`Qdisc::dequeue`](crate::Qdisc::dequeue).
    #[inline]
    pub(crate) fn dequeue(&mut self, now: Time) -> Option<P> {
        if let Some(CountedIn { bins, generation, next_too }) = self.counted.pop_front() {
            self.leave(now, generation, &bins);
            if next_too {
                self.leave_next(now, generation.wrapping_add(1));
            }
        }
        self.buffer.depart_last()
    }

    /// Removes a packet from its bins in the set of `generation`, unless that set was emptied since.
    #[inline(always)]
    fn leave(&mut self, now: Time, generation: u32, bins: &FlowBins) {
        if generation == self.generation || generation == self.generation.wrapping_add(1) {
            self.for_each_bin(generation, bins, |rule, bin| {
                bin.queued -= 1;
                if bin.queued == 0 {
                    rule.empty(&mut bin.state, now);
                }
            });
        }
    }

    /// Removes the oldest packet, of a flow that was identified while the next set was warmed up, from the bins of that
    /// set.
    #[cold]
    fn leave_next(&mut self, now: Time, generation: u32) {
        if let Some(flow) = self.buffer.head().map(P::flow) {
            let bins = self.bins_of(generation, flow);
            self.leave(now, generation, &bins);
        }
    }

    /// Returns the state of the FIFO.
    pub(crate) fn status(&self) -> Status {
        self.buffer.status()
    }

    /// Returns the counts of all packets.
    pub(crate) const fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}

/// Returns the lesser of two numbers, of which none is NaN: in fewer instructions than [`f64::min`].
fn lesser(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// An entry of no flow.
const NO_FLOW: RecentFlow =
    RecentFlow { flow: FlowKey::NONE, generation: 0, bins: FlowBins([[0; LEVELS_PER_HASH]; MAX_HASHES]) };

/// Returns the place of `flow` among the recent flows.
const fn recent_place(flow: FlowKey) -> u8 {
    // Fibonacci hashing (Knuth, TAOCP 6.4).
    (flow.get().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Returns the index of the set of `generation`.
const fn set_of(generation: u32) -> usize {
    (generation & 1) as usize
}

/// Returns the hashes of the set of `generation`.
fn hashes(seed: Seed, generation: u32) -> [FlowHash; MAX_HASHES] {
    let seed = seed.numbered(u64::from(generation));
    core::array::from_fn(|hash| FlowHash::new(seed.numbered(hash as u64)))
}
