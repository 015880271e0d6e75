//! What the slow references of the disciplines that control delay have in common: what they are asked, and what they
//! say.

use fairlane_qdisc::{Duration, Packet, SimplePacket, Time};

use crate::diary::Event;

/// A queue and when each of its packets came.
pub(crate) type Queue = Vec<(SimplePacket, Time)>;

/// A discipline in plain lists.
pub(crate) trait Slow {
    fn enqueue(&mut self, now: Time, p: SimplePacket);
    fn dequeue(&mut self, now: Time);
    /// All that happened so far.
    fn events(&self) -> &[Event];
    /// Everything that is queued.
    fn queued(&self) -> Vec<SimplePacket>;
    /// When a packet that is held back may leave.
    fn ready_at(&self) -> Option<Time> {
        None
    }
}

/// The limit of a queue, in packets or bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Packets(usize),
    Bytes(u64),
}

impl Limit {
    /// Whether `packets` packets with `bytes` bytes are too many.
    pub(crate) fn is_exceeded(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(most) => packets > most,
            Self::Bytes(most) => bytes > most,
        }
    }
}

/// Bytes in `queue`.
pub(crate) fn bytes(queue: &Queue) -> u64 {
    queue.iter().map(|(p, _)| u64::from(p.bytes())).sum()
}

/// interval / sqrt(count) after `from`.
pub(crate) fn law(from: Time, interval: Duration, count: u32) -> Time {
    let nanos = interval.as_nanos() as f64 / f64::from(count).sqrt();
    from + Duration::from_nanos(nanos as u64)
}

/// How long before `now` it was `then`.
pub(crate) fn age(now: Time, then: Time) -> Duration {
    now.since(then)
}
