//! A FIFO with the common parts of all disciplines over one FIFO: the hard limit, the counters, and reports to the
//! sink.

use crate::queue::fifo::{Fifo, Place};
use crate::queue::room::Room;
use crate::queue::signal;
use crate::{Counters, DropSink, Fate, Packet, Reason, Size, Status, Time};

/// A FIFO with its limit and its counters.
#[derive(Debug)]
pub(crate) struct Buffer<P> {
    pub(crate) fifo: Fifo<P>,
    pub(crate) counters: Counters,
    room: Room,
}

impl<P: Packet> Buffer<P> {
    /// Creates an empty buffer that holds at most `limit`.
    pub(crate) fn new(limit: Size) -> Self {
        Self { fifo: Fifo::new(), counters: Counters::default(), room: Room::of(limit) }
    }

    /// Tells whether one more packet, of `bytes` bytes, would exceed the limit.
    pub(crate) fn overflows(&self, bytes: u32) -> bool {
        self.overflows_with(1, u64::from(bytes))
    }

    /// Tells whether `packets` packets more, of `bytes` bytes together, would exceed the limit.
    pub(crate) fn overflows_with(&self, packets: usize, bytes: u64) -> bool {
        self.room.is_exceeded(self.fifo.packets() + packets, self.fifo.bytes() + bytes)
    }

    /// Tells whether a packet of `bytes` bytes is too large even for the empty queue.
    pub(crate) fn never_fits(&self, bytes: u32) -> bool {
        self.room.never_fits(bytes)
    }

    /// Returns the state of the FIFO.
    pub(crate) fn status(&self) -> Status {
        Status::new(self.fifo.packets(), self.fifo.bytes())
    }

    /// Counts an arrival.
    pub(crate) fn arrive(&mut self, packet: &P) {
        self.counters.arrived.add(packet.bytes());
    }

    /// Drops a packet that is not queued. Returns its fate.
    #[inline(never)]
    pub(crate) fn discard(&mut self, now: Time, packet: P, reason: Reason, sink: &mut dyn DropSink<P>) -> Fate {
        self.refuse(now, packet, reason, sink)
    }

    /// Does [`discard`](Self::discard) without a call.
    #[inline(always)]
    pub(crate) fn refuse(&mut self, now: Time, packet: P, reason: Reason, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.count_drop(reason, packet.bytes());
        sink.dropped(now, packet, reason);
        Fate::Dropped(reason)
    }

    /// Drops the packet at `place`. [`Fifo::settle`] must follow.
    #[inline(never)]
    pub(crate) fn evict(&mut self, now: Time, place: Place, reason: Reason, sink: &mut dyn DropSink<P>) {
        self.remove(now, place, reason, sink);
    }

    /// Does [`evict`](Self::evict) without a call.
    #[inline(always)]
    pub(crate) fn remove(&mut self, now: Time, place: Place, reason: Reason, sink: &mut dyn DropSink<P>) {
        if let Some(packet) = self.fifo.packet(place) {
            self.counters.count_drop(reason, packet.bytes());
        }
        if let Some(packet) = self.fifo.remove(place) {
            sink.dropped(now, packet, reason);
        }
    }

    /// Queues `packet`, or drops it if it would exceed the limit. A queued packet is marked if `mark` gives a reason.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now: Time, packet: P, mark: Option<Reason>, sink: &mut dyn DropSink<P>) -> Fate {
        if self.overflows(packet.bytes()) {
            return self.discard(now, packet, Reason::Limit, sink);
        }
        if let Some(reason) = mark {
            return self.push_marked(now, packet, reason, sink);
        }
        self.fifo.push(packet);
        Fate::Queued
    }

    /// Marks `packet` and queues it. Apart from [`admit`](Self::admit), so that a packet without a mark is copied only
    /// once.
    #[inline(never)]
    pub(crate) fn push_marked(&mut self, now: Time, mut packet: P, reason: Reason, sink: &mut dyn DropSink<P>) -> Fate {
        let fate = signal::mark(now, &mut packet, reason, &mut self.counters, sink);
        self.fifo.push(packet);
        fate
    }

    /// Returns the oldest packet.
    pub(crate) fn head(&self) -> Option<&P> {
        self.fifo.packet(self.fifo.front()?)
    }

    /// Removes and returns the oldest packet, and counts its departure.
    #[inline(always)]
    pub(crate) fn depart(&mut self) -> Option<P> {
        self.fifo.pop_after(|packet| self.counters.departed.add(packet.bytes()))
    }

    /// Does the same for a caller that returns the packet at once.
    #[inline(always)]
    pub(crate) fn depart_last(&mut self) -> Option<P> {
        self.fifo.pop_last(|packet| self.counters.departed.add(packet.bytes()))
    }
}
