//! Drops and marks with their counts and reports, for disciplines that do not keep their packets in a
//! [`Buffer`](crate::queue::buffer::Buffer).

use crate::{Counters, DropSink, Packet, Reason, Time};

/// Drops `packet`, which is no longer queued: counts it and reports it to `sink`.
#[inline(never)]
pub(crate) fn discard<P: Packet>(
    now: Time,
    packet: P,
    reason: Reason,
    counters: &mut Counters,
    sink: &mut dyn DropSink<P>,
) {
    counters.count_drop(reason, packet.bytes());
    sink.dropped(now, packet, reason);
}

/// Marks `packet`, counts the mark and reports it to `sink`.
#[inline(never)]
pub(crate) fn mark<P: Packet>(
    now: Time,
    packet: &mut P,
    reason: Reason,
    counters: &mut Counters,
    sink: &mut dyn DropSink<P>,
) {
    packet.mark_ce();
    counters.count_mark(reason, packet.bytes());
    sink.marked(now, packet, reason);
}
