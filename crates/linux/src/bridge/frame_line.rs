//! One direction of a bridge whose frames a caller delays.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::error::BridgeError;
use super::frame::IncomingFrame;
use super::interface::Interface;
use super::port::Port;
use super::ring::PortUse;
use super::store::FrameStore;
use crate::nfqueue::Decision;
use crate::packet::classifier::Classifier;
use crate::shaper::queued_packet::{Marking, QueuedPacket};

/// The marking of frames, where it does not matter: changes are written into their headers.
const MARKING: Marking = Marking::ByRule(1);

/// The most frames received in one call. A GSO frame counts as its segments.
const BATCH: usize = 64;

/// The frames from one interface to another. A caller receives them as packets, and says when each is sent or dropped.
/// GSO frames are segmented when they are received.
pub struct FrameLine {
    from: Port,
    to: Port,
    store: FrameStore,
}

impl FrameLine {
    /// Opens both interfaces in this thread's namespace. From now on frames that arrive at `from` wait for
    /// [`receive`](Self::receive).
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub fn open(from: &str, to: &str) -> Result<Self, BridgeError> {
        let [from, to] = Interface::pair([from, to])?;
        let (longest_from, longest_to) = (from.longest(), to.longest());
        let longest = longest_from.max(longest_to);
        let from = Port::open_private(from, longest, PortUse::Receive)?;
        Ok(Self {
            from,
            to: Port::open_private(to, longest, PortUse::Send)?,
            store: FrameStore::new(longest_to, false),
        })
    }

    /// Passes packets that have arrived to `arrive`, at most a batch, each with the time at which the kernel received
    /// it, in nanoseconds since 1970. Returns `true` if there may be more. Each is kept under its
    /// [`id`](QueuedPacket::id) until it is sent or dropped.
    pub fn receive(&mut self, classifier: &Classifier, mut arrive: impl FnMut(u64, QueuedPacket)) -> bool {
        let Self { from, store, .. } = self;
        let mut taken = 0;
        while taken < BATCH {
            let take =
                |frame: &IncomingFrame<'_>| store.take(frame, classifier, &mut |packet| arrive(frame.received, packet));
            match from.receive(take) {
                Some(packets) => taken += packets,
                None => return false,
            }
        }
        true
    }

    /// Returns the Ethernet frame of a packet; an empty slice if there is none.
    pub fn frame(&mut self, id: u32) -> &mut [u8] {
        self.store.frame(id)
    }

    /// Writes what the discipline has changed in a packet, such as a mark, into its frame.
    pub fn change(&mut self, packet: QueuedPacket) {
        let id = packet.id;
        if let Decision::Change(change) = packet.decision(MARKING) {
            self.store.change(id, change);
        }
    }

    /// Adds a packet to those sent by the next [`flush`](Self::flush).
    ///
    /// # Errors
    /// No more frames can be sent.
    pub fn send(&mut self, id: u32) -> io::Result<()> {
        self.store.send(id, &mut self.to)
    }

    /// Sends a packet through the interface's queue discipline, which may drop it. Unlike with
    /// [`send`](Self::send), as many packets can wait there as the discipline lets.
    ///
    /// # Errors
    /// No more frames can be sent.
    pub fn send_through_queue(&mut self, id: u32) -> io::Result<()> {
        self.store.send_through_queue(id, &mut self.to)
    }

    /// Drops a packet.
    pub fn discard(&mut self, id: u32) {
        self.store.remove(id);
    }

    /// Lets the kernel send. Returns `true` if there are frames that it has not accepted yet.
    ///
    /// # Errors
    /// No more frames can be sent.
    pub fn flush(&mut self) -> io::Result<bool> {
        self.to.flush()?;
        Ok(self.to.is_pending())
    }

    /// Returns the number of frames that the kernel dropped because they were not received in time.
    pub fn overrun(&mut self) -> u64 {
        self.from.dropped()
    }

    /// Returns the number of frames that could not be kept or sent.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        let counts = &self.store.counts;
        counts.refused + counts.no_memory + counts.unfit
    }
}

impl AsFd for FrameLine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}
