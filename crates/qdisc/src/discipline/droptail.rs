//! DropTail: a FIFO that drops when it is full.
//!
//! **Source.** The default discipline of routers; drop-from-front and random drop as in ns-2's `DropTail`
//! (`queue/drop-tail.cc`).
//!
//! **Deviations.** A packet larger than the empty queue is dropped alone, with every `drop`.
//!
//! **Cost.** One push or one pop; `front` and `random` remove as many packets as the new one needs.

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::{Counters, DropSink, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time};

/// The configuration of [`DropTail`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// Which packet is dropped when the queue is full. Default: [`Drop::Tail`].
    pub drop: Drop,
}

/// Which packet is dropped when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Drop {
    /// The arriving packet.
    #[default]
    Tail,
    /// The oldest packet in the queue.
    Front,
    /// A packet of the queue, drawn uniformly.
    Random,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(300), drop: Drop::default() }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)
    }
}

/// A FIFO that drops when it is full.
#[derive(Debug)]
pub struct DropTail<P> {
    buffer: Buffer<P>,
    drop: Drop,
    draws: Stream,
}

impl<P: Packet> DropTail<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// `limit` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, drop } = config;
        Ok(Self { buffer: Buffer::new(limit), drop, draws: seed.stream("drop") })
    }

    /// Queues `packet` in place of others, or drops it.
    #[inline(never)]
    fn enqueue_into_full(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.make_room(now, packet.bytes(), sink);
        self.buffer.admit(now, packet, None, sink)
    }

    /// Removes packets until one of `bytes` bytes fits, unless the arriving packet is the one to drop.
    fn make_room(&mut self, now: Time, bytes: u32, sink: &mut dyn DropSink<P>) {
        if self.buffer.never_fits(bytes) {
            return;
        }
        while self.buffer.overflows(bytes) {
            let victim = match self.drop {
                Drop::Tail => return,
                Drop::Front => self.buffer.fifo.front(),
                Drop::Random => self.buffer.fifo.draw(&mut self.draws),
            };
            let Some(place) = victim else { return };
            self.buffer.evict(now, place, Reason::Limit, sink);
            self.buffer.fifo.settle();
        }
    }
}

impl<P: Packet> Qdisc<P> for DropTail<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        if self.buffer.overflows(packet.bytes()) {
            return self.enqueue_into_full(now, packet, sink);
        }
        self.buffer.fifo.push(packet);
        Fate::Queued
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.buffer.depart_last()
    }

    fn status(&self) -> Status {
        self.buffer.status()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
