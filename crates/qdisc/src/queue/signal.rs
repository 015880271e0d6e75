//! Drops and marks with their counts and reports, for disciplines that do not keep their packets in a
//! [`Buffer`](crate::queue::buffer::Buffer).

use crate::{Counters, DropSink, Fate, Packet, Reason, Time};

/// Drops `packet`, which is no longer queued: counts it and reports it to `sink`. Returns its fate.
#[inline(never)]
pub(crate) fn discard<P: Packet>(
    now: Time,
    packet: P,
    reason: Reason,
    counters: &mut Counters,
    sink: &mut dyn DropSink<P>,
) -> Fate {
    counters.count_drop(reason, packet.bytes());
    sink.dropped(now, packet, reason);
    Fate::Dropped(reason)
}

/// Marks `packet`, counts the mark and reports it to `sink`. Returns the fate of a packet that is then queued.
#[inline(never)]
pub(crate) fn mark<P: Packet>(
    now: Time,
    packet: &mut P,
    reason: Reason,
    counters: &mut Counters,
    sink: &mut dyn DropSink<P>,
) -> Fate {
    packet.mark_ce();
    counters.count_mark(reason, packet.bytes());
    sink.marked(now, packet, reason);
    Fate::Marked(reason)
}
