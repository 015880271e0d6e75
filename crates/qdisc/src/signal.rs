//! A drop or a mark, counted and told: for disciplines whose packets wait elsewhere than in a `Buffer`.

use crate::{Counters, Fate, Packet, Reason, Time};

/// Drops `packet`, which is not queued any more.
pub(crate) fn discard<P: Packet>(
    now: Time,
    packet: P,
    reason: Reason,
    counters: &mut Counters,
    fate: &mut impl Fate<P>,
) {
    counters.count_drop(reason, packet.bytes());
    fate.dropped(now, packet, reason);
}

/// Marks `packet`.
pub(crate) fn mark<P: Packet>(
    now: Time,
    packet: &mut P,
    reason: Reason,
    counters: &mut Counters,
    fate: &mut impl Fate<P>,
) {
    packet.mark_ce();
    counters.count_mark(reason, packet.bytes());
    fate.marked(now, packet, reason);
}
