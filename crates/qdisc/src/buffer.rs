//! What every discipline does alike: counting, the hard limit, and telling the packets' fate.

use crate::fifo::{Fifo, Place};
use crate::{Counters, Fate, Packet, Reason, Size, Time};

/// No queue holds more packets, whatever its limit in bytes: 2^24.
pub(crate) const MAX_PACKETS: u32 = 1 << 24;

/// A FIFO with its limit and its counters.
#[derive(Debug)]
pub(crate) struct Buffer<P> {
    pub(crate) fifo: Fifo<P>,
    pub(crate) counters: Counters,
    max_packets: usize,
    max_bytes: u64,
}

impl<P: Packet> Buffer<P> {
    /// An empty buffer that holds at most `limit`.
    pub(crate) fn new(limit: Size) -> Self {
        let (packets, bytes) = match limit {
            Size::Packets(packets) => (packets.get().min(MAX_PACKETS), u64::MAX),
            Size::Bytes(bytes) => (MAX_PACKETS, bytes.get()),
        };
        Self { fifo: Fifo::new(), counters: Counters::default(), max_packets: packets as usize, max_bytes: bytes }
    }

    /// Whether a packet of `bytes` bytes finds no room.
    pub(crate) fn overflows(&self, bytes: u32) -> bool {
        self.fifo.packets() >= self.max_packets || self.fifo.bytes() + u64::from(bytes) > self.max_bytes
    }

    /// Whether a packet of `bytes` bytes would find no room even in the empty queue.
    pub(crate) fn never_fits(&self, bytes: u32) -> bool {
        self.max_packets == 0 || u64::from(bytes) > self.max_bytes
    }

    /// Counts an arrival.
    pub(crate) fn arrive(&mut self, packet: &P) {
        self.counters.arrived.add(packet.bytes());
    }

    /// Drops a packet that is not queued.
    #[inline(always)]
    pub(crate) fn discard(&mut self, now: Time, packet: P, reason: Reason, fate: &mut impl Fate<P>) {
        self.counters.count_drop(reason, packet.bytes());
        fate.dropped(now, packet, reason);
    }

    /// Drops the packet at `place`. [`Fifo::settle`] must follow.
    #[inline(always)]
    pub(crate) fn evict(&mut self, now: Time, place: Place, reason: Reason, fate: &mut impl Fate<P>) {
        if let Some(packet) = self.fifo.remove(place) {
            self.discard(now, packet, reason, fate);
        }
    }

    /// Queues `packet`, marked for `mark` if that says so, or drops it for want of room; whether it was queued.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Time, mut packet: P, mark: Option<Reason>, fate: &mut impl Fate<P>) -> bool {
        if self.overflows(packet.bytes()) {
            self.discard(now, packet, Reason::Limit, fate);
            return false;
        }
        if let Some(reason) = mark {
            packet.mark_ce();
            self.counters.count_mark(reason, packet.bytes());
            fate.marked(now, &packet, reason);
        }
        self.fifo.push(packet);
        true
    }

    /// Takes the oldest packet for the link.
    #[inline(always)]
    pub(crate) fn depart(&mut self) -> Option<P> {
        let packet = self.fifo.pop();
        if let Some(packet) = &packet {
            self.counters.departed.add(packet.bytes());
        }
        packet
    }
}
