//! DropTail: a FIFO that drops when it is full.
//!
//! **Source.** The default of every router; drop-from-front and random drop as in ns-2's `DropTail`.
//!
//! **Deviations.** A packet that would not fit even into the empty queue is dropped alone, whatever `drop` says.
//!
//! **Cost.** One push or one pop; `front` and `random` remove as many packets as the new one needs.

use crate::buffer::Buffer;
use crate::{Counters, Fate, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

/// Which packet goes when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drop {
    /// The arriving one.
    Tail,
    /// The oldest.
    Front,
    /// One drawn uniformly from those that are queued.
    Random,
}

/// A FIFO that drops when it is full.
#[derive(Debug)]
pub struct DropTail<P> {
    buffer: Buffer<P>,
    drop: Drop,
    picks: Stream,
}

impl<P: Packet> DropTail<P> {
    pub(crate) fn new(limit: Size, drop: Drop, seed: Seed) -> Self {
        Self { buffer: Buffer::new(limit), drop, picks: seed.stream("drop") }
    }
}

impl<P: Packet> Qdisc<P> for DropTail<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        if !self.buffer.never_fits(packet.bytes()) {
            while self.buffer.overflows(packet.bytes()) {
                let victim = match self.drop {
                    Drop::Tail => break,
                    Drop::Front => self.buffer.fifo.front(),
                    Drop::Random => self.buffer.fifo.draw(&mut self.picks),
                };
                let Some(place) = victim else { break };
                self.buffer.evict(now, place, Reason::Limit, fate);
                self.buffer.fifo.settle();
            }
        }
        self.buffer.admit(now, packet, None, fate);
    }

    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.buffer.depart()
    }

    fn packets(&self) -> usize {
        self.buffer.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.buffer.fifo.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
