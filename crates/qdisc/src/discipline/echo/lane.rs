//! The lane for sparse flows: packets of flows far below their share go ahead of the FIFO.
//!
//! A flow keeps its order: while packets of it wait in the FIFO, its next ones join them. Two tables count those
//! packets, each by seven bits of the tag, and a flow of which one counts none has none there: a counting Bloom filter
//! (Fan, Cao, Almeida, Broder, SIGCOMM 1998). And the lane is a part of the link: each byte that leaves earns a quarter
//! of a byte, up to the bytes of a target, and each byte of the lane costs one. So the FIFO keeps three quarters of the
//! link, whoever looks sparse.

use alloc::vec;
use alloc::vec::Vec;

use super::sample::Tag;
use crate::Packet;
use crate::queue::fifo::Fifo;
use crate::queue::tagged::Stamped;

/// The packets that go ahead, and counts of the FIFO's packets by the bits of tags.
#[derive(Debug)]
pub(super) struct SparseLane<P> {
    pub(super) fifo: Fifo<Stamped<P>>,
    /// The packets in the FIFO, by two tables; empty if there is no lane.
    waiting: Vec<u16>,
    /// The credit of the lane, in quarters of bytes.
    credit: u64,
}

impl<P: Packet> SparseLane<P> {
    /// Creates an empty lane, or none.
    pub(super) fn new(exists: bool) -> Self {
        Self { fifo: Fifo::new(), waiting: if exists { vec![0; 2 * PLACES] } else { Vec::new() }, credit: 0 }
    }

    /// Tells whether there is a lane.
    #[inline]
    pub(super) fn exists(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Tells whether a packet of `bytes` bytes may go ahead: no packet of its flow waits in the FIFO, and the lane has
    /// earned it.
    pub(super) fn is_open(&self, tag: Tag, bytes: u32) -> bool {
        places(tag).iter().any(|&place| self.waiting[place] == 0) && self.credit >= PART * u64::from(bytes)
    }

    /// Appends a packet to the lane.
    pub(super) fn push(&mut self, packet: Stamped<P>) {
        self.credit = self.credit.saturating_sub(PART * u64::from(packet.bytes()));
        self.fifo.push(packet);
    }

    /// Notes that a packet joins the FIFO.
    pub(super) fn joins(&mut self, tag: Tag) {
        for place in places(tag) {
            self.waiting[place] = self.waiting[place].saturating_add(1);
        }
    }

    /// Notes that a packet leaves the FIFO, which is then `empty`. A count that has reached its end stays there until
    /// it is.
    pub(super) fn leaves(&mut self, tag: Tag, empty: bool) {
        for place in places(tag) {
            if self.waiting[place] < u16::MAX {
                self.waiting[place] -= 1;
            }
        }
        if empty {
            self.waiting.fill(0);
        }
    }

    /// Earns a part of the `bytes` bytes that leave, up to `most` bytes.
    pub(super) fn earn(&mut self, bytes: u32, most: u64) {
        self.credit = (self.credit + u64::from(bytes)).min(PART.saturating_mul(most));
    }
}

/// The counts of a table.
const PLACES: usize = 128;

/// The lane takes one part of the link in so many.
const PART: u64 = 4;

/// Returns where the packets of the flows with this tag are counted, in each table.
fn places(tag: Tag) -> [usize; 2] {
    let tag = usize::from(tag);
    [tag % PLACES, PLACES + tag / PLACES % PLACES]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimplePacket, Time};

    /// 4000 bytes that leave earn 1000. Would catch a lane that takes more of the link than a quarter, or saves up more
    /// than a burst.
    #[test]
    fn a_quarter_of_what_leaves_goes_ahead() {
        let mut lane = SparseLane::new(true);
        lane.earn(3996, 5000);
        assert!(!lane.is_open(7, 1000));
        lane.earn(4, 5000);
        assert!(lane.is_open(7, 1000));
        lane.push(Stamped::new(SimplePacket::new(1, 1000), Time::ZERO));
        assert!(!lane.is_open(7, 1));
        (0..100).for_each(|_| lane.earn(1000, 5000));
        assert!(lane.is_open(7, 5000) && !lane.is_open(7, 5001));
    }

    /// Would catch a packet that overtakes one of its flow, and a count that is never free again after more packets
    /// than it can hold.
    #[test]
    fn a_flow_waits_behind_its_own_packets() {
        let mut lane = SparseLane::<SimplePacket>::new(true);
        lane.earn(10_000, 10_000);
        lane.joins(7);
        // Other flows with one place of two in common go ahead; with both they wait.
        assert!(!lane.is_open(7, 100) && lane.is_open(8, 100) && lane.is_open(7 + 128, 100));
        assert!(!lane.is_open(7 + (1 << 14), 100));
        lane.leaves(7, false);
        assert!(lane.is_open(7, 100));
        (0..70_000).for_each(|_| lane.joins(9));
        (0..69_999).for_each(|_| lane.leaves(9, false));
        assert!(!lane.is_open(9, 100));
        lane.leaves(9, true);
        assert!(lane.is_open(9, 100));
    }
}
