//! CoDel without a queue: when to signal, for any queue that knows when its packets came.

use crate::signal::{discard, mark};
use crate::{Counters, Duration, Fate, Packet, Reason, Time};

/// What CoDel is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodelSettings {
    /// The delay that is good enough.
    pub(crate) target: Duration,
    /// How long the delay may stay above it.
    pub(crate) interval: Duration,
    /// No signal while no more bytes are queued.
    pub(crate) mtu: u64,
    /// Whether a signal marks a packet that can be marked.
    pub(crate) ecn: bool,
    /// Packets that waited longer are marked, whatever CoDel says.
    pub(crate) ce_threshold: Option<Duration>,
}

/// A queue whose packets are taken from the head with the time at which they came.
pub(crate) trait Backlog<P> {
    /// Takes the head.
    fn pop(&mut self) -> Option<(P, Time)>;

    /// Bytes that are queued.
    fn bytes(&self) -> u64;
}

/// The state of RFC 8289, for one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodelCore {
    /// When the delay will have been above the target for an interval; [`Time::MAX`] while it is not above.
    first_above: Time,
    /// When to signal next.
    drop_next: Time,
    /// Signals since the dropping state began, and so how often they come.
    count: u32,
    /// `count` as the dropping state began.
    last_count: u32,
    dropping: bool,
}

/// A packet taken from the queue.
struct Head<P> {
    packet: P,
    arrived: Time,
    ok_to_drop: bool,
}

fn ok_to_drop<P>(head: Option<&Head<P>>) -> bool {
    head.is_some_and(|head| head.ok_to_drop)
}

/// The moment `interval / sqrt(count)` after `from`.
pub(crate) fn control_law(from: Time, interval: Duration, count: u32) -> Time {
    let nanos = interval.as_nanos() as f64 / libm::sqrt(f64::from(count));
    from + Duration::from_nanos(nanos as u64)
}

impl CodelCore {
    pub(crate) const fn new() -> Self {
        Self { first_above: Time::MAX, drop_next: Time::ZERO, count: 0, last_count: 0, dropping: false }
    }

    /// Takes the head of `queue` and sees how long it waited.
    fn look<P>(&mut self, settings: &CodelSettings, now: Time, queue: &mut impl Backlog<P>) -> Option<Head<P>> {
        let Some((packet, arrived)) = queue.pop() else {
            self.first_above = Time::MAX;
            return None;
        };
        let mut ok_to_drop = false;
        if now.since(arrived) < settings.target || queue.bytes() <= settings.mtu {
            self.first_above = Time::MAX;
        } else if self.first_above == Time::MAX {
            self.first_above = now + settings.interval;
        } else {
            ok_to_drop = now >= self.first_above;
        }
        Some(Head { packet, arrived, ok_to_drop })
    }

    /// The packet that leaves `queue` at `now`. Others before it may be dropped.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        fate: &mut impl Fate<P>,
    ) -> Option<P> {
        let mut head = self.look(settings, now, queue);
        let mut marked = false;
        if !self.dropping {
            if ok_to_drop(head.as_ref()) {
                (head, marked) = self.signal(head, settings, now, queue, counters, fate);
                self.enter(settings, now);
            }
        } else if !ok_to_drop(head.as_ref()) {
            self.dropping = false;
        } else {
            // A long queue may need several drops at once. A mark is one: the packet must leave.
            while !marked && self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                (head, marked) = self.signal(head, settings, now, queue, counters, fate);
                self.dropping = marked || ok_to_drop(head.as_ref());
                if self.dropping {
                    self.drop_next = control_law(self.drop_next, settings.interval, self.count);
                }
            }
        }
        let Head { mut packet, arrived, .. } = head?;
        if let Some(threshold) = settings.ce_threshold
            && !marked
            && packet.ecn_capable()
            && now.since(arrived) > threshold
        {
            mark(now, &mut packet, Reason::AqmDequeue, counters, fate);
        }
        Some(packet)
    }

    /// Enters the dropping state, at the frequency that it left it with if that was not long ago.
    fn enter(&mut self, settings: &CodelSettings, now: Time) {
        let recent = now < self.drop_next + Duration::from_nanos(settings.interval.as_nanos().saturating_mul(MEMORY));
        let since_entry = self.count - self.last_count;
        self.dropping = true;
        self.count = if since_entry > 1 && recent { since_entry } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, settings.interval, self.count);
    }

    /// Marks the head, or drops it and takes the next; and whether it was marked.
    fn signal<P: Packet>(
        &mut self,
        head: Option<Head<P>>,
        settings: &CodelSettings,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        fate: &mut impl Fate<P>,
    ) -> (Option<Head<P>>, bool) {
        let Some(mut head) = head else { return (None, false) };
        if settings.ecn && head.packet.ecn_capable() {
            mark(now, &mut head.packet, Reason::AqmDequeue, counters, fate);
            return (Some(head), true);
        }
        discard(now, head.packet, Reason::AqmDequeue, counters, fate);
        (self.look(settings, now, queue), false)
    }
}

/// Intervals for which the frequency is remembered.
const MEMORY: u64 = 16;
