//! Common parts of the slow references of the disciplines that control delay.

use fairlane_qdisc::{Duration, Packet, SimplePacket, Time};

use fairlane_qdisc::testing::Event;

/// A queue of packets, each with its time of arrival.
pub(crate) type Queue = Vec<(SimplePacket, Time)>;

/// A discipline that works on plain lists.
pub(crate) trait Slow {
    fn enqueue(&mut self, now: Time, p: SimplePacket);
    fn dequeue(&mut self, now: Time);
    /// Returns all events so far.
    fn events(&self) -> &[Event];
    /// Returns the packets in the queue.
    fn queued(&self) -> Vec<SimplePacket>;
    /// Returns the time at which a packet that is held back may leave.
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
    /// Tells whether `packets` packets with `bytes` bytes are too many.
    pub(crate) fn is_exceeded(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(most) => packets > most,
            Self::Bytes(most) => bytes > most,
        }
    }
}

/// Returns the bytes in `queue`.
pub(crate) fn bytes(queue: &Queue) -> u64 {
    queue.iter().map(|(p, _)| u64::from(p.bytes())).sum()
}

/// Returns the time interval / sqrt(count) after `from`.
pub(crate) fn control_law(from: Time, interval: Duration, count: u32) -> Time {
    let nanos = interval.as_nanos() as f64 / f64::from(count).sqrt();
    from + Duration::from_nanos(nanos as u64)
}

/// Returns the time from `then` to `now`.
pub(crate) fn age(now: Time, then: Time) -> Duration {
    now.since(then)
}
