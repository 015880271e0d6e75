//! The drop bits of the CHOKe paper (section II-A): a packet that is to be dropped stays in the FIFO until it is the
//! head.

use alloc::collections::VecDeque;

use crate::queue::buffer::Buffer;
use crate::queue::fifo::{Fifo, Place};
use crate::{DropSink, FlowKey, Packet, Reason, Time};

/// A bit for each packet of a FIFO, the oldest first. The FIFO has no holes, since packets leave it at the head only.
#[derive(Debug, Default)]
pub(super) struct DropBits {
    bits: VecDeque<bool>,
}

impl DropBits {
    /// Sets the bits of those of `drawn` that are of `flow`; tells whether there were any.
    pub(super) fn set_matches<P: Packet>(&mut self, fifo: &Fifo<P>, drawn: &[Place], flow: FlowKey) -> bool {
        let mut matched = false;
        for &place in drawn.iter().filter(|&&place| fifo.is_of(place, flow)) {
            self.set(fifo, place);
            matched = true;
        }
        matched
    }

    /// Sets the bits of candidates that `draw` returns while they are of `flow`, at most `most`; tells whether there
    /// were any. A packet whose bit is set already is the last one.
    pub(super) fn set_while_matching<P: Packet>(
        &mut self,
        fifo: &Fifo<P>,
        most: u32,
        flow: FlowKey,
        draw: &mut dyn FnMut() -> Option<Place>,
    ) -> bool {
        for earlier in 0..most {
            let Some(place) = draw().filter(|&place| fifo.is_of(place, flow)) else { return earlier > 0 };
            if !self.set(fifo, place) {
                break;
            }
        }
        true
    }

    /// Sets the bit of the packet at `place`; tells whether it was clear.
    fn set<P: Packet>(&mut self, fifo: &Fifo<P>, place: Place) -> bool {
        // An arrival that was queued has no bit yet.
        self.bits.resize(fifo.packets(), false);
        self.bits.get_mut(fifo.slots_before(place)).is_some_and(|bit| !core::mem::replace(bit, true))
    }

    /// Removes the bit of the head, which has left.
    pub(super) fn popped(&mut self) {
        self.bits.pop_front();
    }

    /// Drops the packets at the head whose bit is set.
    pub(super) fn drop_head<P: Packet>(&mut self, now: Time, buffer: &mut Buffer<P>, sink: &mut dyn DropSink<P>) {
        while let (Some(true), Some(head)) = (self.bits.front(), buffer.fifo.front()) {
            self.bits.pop_front();
            buffer.evict(now, head, Reason::MatchVictim, sink);
            buffer.fifo.settle();
        }
    }
}
