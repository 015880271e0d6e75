//! CAKE's filter of TCP acknowledgements, with the rules of sch_cake's `cake_ack_filter`: an acknowledgement is dropped
//! when a packet comes to its queue that acknowledges more on the same connection.

use crate::queue::flow_queues::FlowQueues;
use crate::{Packet, Sack, TcpHeader};

/// The acknowledgements that are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum AckFilter {
    /// None.
    #[default]
    None,
    /// The first of two that say no more than the packet that came.
    Filter,
    /// Also a single one that is directly before the packet that came.
    Aggressive,
}

/// Returns the place in `queue` of the acknowledgement that is superfluous because of the packet that came last.
pub(super) fn superfluous<P: Packet>(queues: &FlowQueues<P>, queue: usize, filter: AckFilter) -> Option<u32> {
    if filter == AckFilter::None {
        return None;
    }
    let came = queues.back(queue)?.tcp().filter(|tcp| tcp.acknowledges)?;
    let waiting = queues.packets_in(queue) - 1;
    // The first that may be dropped, with whether it is the last before the one that came.
    let mut found: Option<(u32, TcpHeader, bool)> = None;
    for (number, (place, packet)) in queues.iter(queue).take(waiting).enumerate() {
        let Some(old) = packet.tcp().filter(|old| old.connection == came.connection) else { continue };
        // Dropping it would lose a change of the flags.
        found = found.filter(|(_, first, _)| ecn(first) == ecn(&old));
        if !is_repeated(&old, &came) {
            continue;
        }
        match found {
            Some((first, ..)) => return Some(first),
            None => found = Some((place, old, number + 1 == waiting)),
        }
    }
    let (place, old, is_last) = found?;
    (filter == AckFilter::Aggressive && is_last && ecn(&old) == ecn(&came)).then_some(place)
}

const fn ecn(tcp: &TcpHeader) -> (bool, bool) {
    (tcp.ece, tcp.cwr)
}

/// Tells whether `new` says all that `old` does, and more.
fn is_repeated(old: &TcpHeader, new: &TcpHeader) -> bool {
    let (new_value, new_echo) = new.timestamps.unwrap_or_default();
    let is_newer = old.timestamps.is_some_and(|(value, echo)| is_after(value, new_value) || is_after(echo, new_echo));
    if !old.pure || is_newer || is_after(old.number, new.number) {
        return false;
    }
    match sacks_more(old, new) {
        Some(more) => more || old.number != new.number,
        None => false,
    }
}

/// Tells whether `new` selectively acknowledges more than `old`; `None` if it leaves out something that `old`
/// acknowledges.
fn sacks_more(old: &TcpHeader, new: &TcpHeader) -> Option<bool> {
    let (old_blocks, new_blocks) = match (&old.sack, &new.sack) {
        (Sack::None, sack) => return Some(*sack != Sack::None),
        (Sack::Blocks(old), Sack::Blocks(new)) => (old.blocks(), new.blocks()),
        (Sack::Hidden, _) | (Sack::Blocks(_), Sack::None | Sack::Hidden) => return None,
    };
    // A block below the acknowledged number tells of a duplicate (RFC 2883).
    let is_duplicate = |block: &(u32, u32)| is_after(old.number, block.0);
    let holds = |outer: &(u32, u32), inner: &(u32, u32)| !is_after(outer.0, inner.0) && !is_after(inner.1, outer.1);
    let is_kept = |block: &(u32, u32)| !is_duplicate(block) && new_blocks.iter().any(|outer| holds(outer, block));
    old_blocks.iter().all(is_kept).then(|| bytes(new_blocks) > bytes(old_blocks))
}

fn bytes(blocks: &[(u32, u32)]) -> u32 {
    blocks.iter().fold(0, |sum: u32, (start, end)| sum.wrapping_add(end.wrapping_sub(*start)))
}

/// Tells whether `a` comes after `b` in the circle of numbers (RFC 9293, section 3.4).
const fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::{FlowKey, SackBlocks};

    #[derive(Debug)]
    struct Segment {
        id: usize,
        header: TcpHeader,
    }

    impl Packet for Segment {
        fn flow(&self) -> FlowKey {
            FlowKey::new(0)
        }
        fn bytes(&self) -> u32 {
            40
        }
        fn ecn_capable(&self) -> bool {
            false
        }
        fn mark_ce(&mut self) {}
        fn tcp(&self) -> Option<TcpHeader> {
            Some(self.header)
        }
    }

    fn sacked(number: u32, blocks: &[(u32, u32)]) -> TcpHeader {
        TcpHeader { sack: Sack::Blocks(SackBlocks::new(blocks)), ..TcpHeader::ack(1, number) }
    }

    /// Returns the number in the queue of the packet that goes when the last of `headers` comes.
    fn filtered(headers: &[TcpHeader], filter: AckFilter) -> Option<usize> {
        let mut queues = FlowQueues::new();
        for (id, header) in (0..).zip(headers) {
            queues.push_back(0, Segment { id, header: *header });
        }
        let place = superfluous(&queues, 0, filter)?;
        queues.remove(0, place).map(|packet| packet.id)
    }

    /// Tells whether the aggressive filter drops `old` when `new` comes.
    fn drops(old: TcpHeader, new: TcpHeader) -> bool {
        filtered(&[old, new], AckFilter::Aggressive) == Some(0)
    }

    /// Two that may go are needed; the aggressive filter does with one directly before. Would catch the wrong one of
    /// the two, and an acknowledgement of another connection that goes.
    #[test]
    fn the_first_of_two_goes() {
        let ack = |number| TcpHeader::ack(1, number);
        assert_eq!(filtered(&[ack(1), ack(2), ack(3)], AckFilter::None), None);
        for filter in [AckFilter::Filter, AckFilter::Aggressive] {
            assert_eq!(filtered(&[ack(1), ack(2), ack(3)], filter), Some(0));
            let other = TcpHeader::ack(2, 9);
            assert_eq!(filtered(&[other, ack(1), other, ack(2), other, ack(3)], filter), Some(1));
            assert_eq!(filtered(&[ack(1)], filter), None);
            assert_eq!(filtered(&[ack(1), other, ack(2)], filter), None, "it is not directly before");
        }
        assert_eq!(filtered(&[ack(1), ack(2)], AckFilter::Filter), None);
        assert_eq!(filtered(&[ack(1), ack(2)], AckFilter::Aggressive), Some(0));
    }

    /// Would catch a packet that goes although it carries more than an acknowledgement, one that goes for a later one
    /// with a lower or the same number, also where numbers wrap, and one that goes for a SYN.
    #[test]
    fn only_what_is_said_again_goes() {
        let ack = |number| TcpHeader::ack(1, number);
        assert!(drops(ack(5), ack(6)) && drops(ack(u32::MAX), ack(3)));
        assert!(!drops(ack(6), ack(5)) && !drops(ack(3), ack(u32::MAX)));
        assert!(!drops(ack(5), ack(5)), "a duplicate acknowledgement counts");
        assert!(!drops(TcpHeader { pure: false, ..ack(5) }, ack(6)));
        assert!(drops(ack(5), TcpHeader { pure: false, ..ack(6) }), "data acknowledge too");
        assert!(!drops(ack(5), TcpHeader { acknowledges: false, ..ack(6) }));
        // Timestamps: neither may be newer in the one that goes.
        let stamped = |number, value, echo| TcpHeader { timestamps: Some((value, echo)), ..ack(number) };
        assert!(drops(stamped(5, 10, 20), stamped(6, 10, 20)) && drops(stamped(5, u32::MAX, 20), stamped(6, 1, 21)));
        assert!(!drops(stamped(5, 11, 20), stamped(6, 10, 20)) && !drops(stamped(5, 10, 21), stamped(6, 10, 20)));
    }

    /// The flags of ECN: a change of them is never lost.
    #[test]
    fn a_change_of_flags_stays() {
        let ack = |number, ece| TcpHeader { ece, ..TcpHeader::ack(1, number) };
        let (filter, aggressive) = (AckFilter::Filter, AckFilter::Aggressive);
        assert!(drops(ack(1, true), ack(2, true)) && !drops(ack(1, false), ack(2, true)));
        assert!(!drops(TcpHeader { cwr: true, ..ack(1, false) }, ack(2, false)));
        // The first is kept for the change, and the second is the only one left.
        assert_eq!(filtered(&[ack(1, false), ack(2, true), ack(3, true)], filter), None);
        assert_eq!(filtered(&[ack(1, false), ack(2, true), ack(3, true)], aggressive), Some(1));
        assert_eq!(filtered(&[ack(1, false), ack(2, true), ack(3, true), ack(4, false)], filter), Some(1));
        // A packet that must not go itself counts as a change too.
        let data = TcpHeader { pure: false, ..ack(2, true) };
        assert_eq!(filtered(&[ack(1, false), data, ack(3, false), ack(4, false)], filter), None);
    }

    /// SACK: the one that comes must acknowledge all that the other does, and more by number or by blocks (sch_cake's
    /// `cake_tcph_sack_compare`).
    #[test]
    fn selective_acknowledgements_are_kept() {
        let ack = |number| TcpHeader::ack(1, number);
        assert!(drops(ack(5), sacked(5, &[(10, 20)])), "it says more");
        assert!(!drops(sacked(5, &[(10, 20)]), ack(6)), "the block would be lost");
        assert!(drops(sacked(5, &[(10, 20)]), sacked(5, &[(10, 30)])));
        assert!(!drops(sacked(5, &[(10, 20)]), sacked(5, &[(10, 20)])), "it says the same");
        assert!(drops(sacked(5, &[(10, 20)]), sacked(6, &[(10, 20)])), "its number is higher");
        assert!(drops(sacked(5, &[(10, 20), (30, 40)]), sacked(5, &[(50, 60), (30, 40), (8, 20)])));
        assert!(!drops(sacked(5, &[(10, 20), (30, 40)]), sacked(9, &[(10, 35)])));
        assert!(!drops(sacked(15, &[(10, 12)]), sacked(16, &[(10, 12)])), "a duplicate is told of");
        assert!(drops(sacked(u32::MAX, &[(2, 5)]), sacked(u32::MAX, &[(1, 5)])));
        let hidden = |number| TcpHeader { sack: Sack::Hidden, ..ack(number) };
        assert!(drops(ack(5), hidden(5)) && !drops(hidden(5), ack(6)) && !drops(hidden(5), hidden(6)));
        assert!(!drops(sacked(5, &[(10, 20)]), hidden(6)));
        let five: Vec<_> = (0..5).map(|block| (10 * block, 10 * block + 5)).collect();
        assert_eq!(SackBlocks::new(&five).blocks(), &five[..4]);
    }
}
