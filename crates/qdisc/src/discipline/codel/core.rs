//! CoDel's decisions, for any queue that knows when its packets arrived.

use super::CodelParameters;
use crate::queue::signal::{discard, mark};
use crate::{Counters, DropSink, Duration, Packet, Reason, Time};

/// A queue whose packets are taken from the head, each with its time of arrival.
pub(crate) trait Backlog<P> {
    /// Removes and returns the head and its time of arrival.
    fn pop(&mut self) -> Option<(P, Time)>;

    /// Returns the bytes in the queue.
    fn bytes(&self) -> u64;
}

/// CoDel's state for one queue (RFC 8289, section 5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CodelCore {
    /// The time at which the delay will have been above the target for an interval; [`Time::MAX`] while it is not
    /// above.
    first_above: Time,
    /// The time of the next signal.
    drop_next: Time,
    /// The number of signals since the dropping state began; the interval between signals falls with its square root.
    count: u32,
    /// The value of `count` when the dropping state began.
    last_count: u32,
    dropping: bool,
}

/// A packet taken from the queue, and whether CoDel may signal it.
struct Head<P> {
    packet: P,
    arrived: Time,
    ok_to_drop: bool,
}

fn ok_to_drop<P>(head: Option<&Head<P>>) -> bool {
    head.is_some_and(|head| head.ok_to_drop)
}

/// Returns the time `interval / sqrt(count)` after `from`.
pub(crate) fn control_law(from: Time, interval: Duration, count: u32) -> Time {
    let nanos = interval.as_nanos() as f64 / libm::sqrt(f64::from(count));
    from + Duration::from_nanos(nanos as u64)
}

impl CodelCore {
    /// Creates the state of an empty queue.
    pub(crate) const fn new() -> Self {
        Self { first_above: Time::MAX, drop_next: Time::ZERO, count: 0, last_count: 0, dropping: false }
    }

    /// Takes the head of `queue` and compares its delay with the target.
    fn look<P>(&mut self, parameters: &CodelParameters, now: Time, queue: &mut impl Backlog<P>) -> Option<Head<P>> {
        let Some((packet, arrived)) = queue.pop() else {
            self.first_above = Time::MAX;
            return None;
        };
        let mut ok_to_drop = false;
        if now.since(arrived) < parameters.target || queue.bytes() <= parameters.mtu.get() {
            self.first_above = Time::MAX;
        } else if self.first_above == Time::MAX {
            self.first_above = now + parameters.interval;
        } else {
            ok_to_drop = now >= self.first_above;
        }
        Some(Head { packet, arrived, ok_to_drop })
    }

    /// Removes and returns the packet that leaves `queue` at `now`; packets before it may be dropped.
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        parameters: &CodelParameters,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        sink: &mut dyn DropSink<P>,
    ) -> Option<P> {
        let mut head = self.look(parameters, now, queue);
        let mut marked = false;
        if !self.dropping {
            if ok_to_drop(head.as_ref()) {
                (head, marked) = self.signal(head, parameters, now, queue, counters, sink);
                self.enter(parameters, now);
            }
        } else if !ok_to_drop(head.as_ref()) {
            self.dropping = false;
        } else {
            // A long queue may need several drops at once. A marked packet must leave, so it ends the loop.
            while !marked && self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                (head, marked) = self.signal(head, parameters, now, queue, counters, sink);
                self.dropping = marked || ok_to_drop(head.as_ref());
                if self.dropping {
                    self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
                }
            }
        }
        let Head { mut packet, arrived, .. } = head?;
        if let Some(threshold) = parameters.ce_threshold
            && !marked
            && packet.ecn_capable()
            && now.since(arrived) > threshold
        {
            mark(now, &mut packet, Reason::AqmDequeue, counters, sink);
        }
        Some(packet)
    }

    /// Notes that `packets` packets were dropped for room: the rate of signals rises as if they were signals.
    pub(crate) const fn dropped_for_room(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Enters the dropping state, with the last rate of signals if the state was left not long ago.
    fn enter(&mut self, parameters: &CodelParameters, now: Time) {
        let recent = now < self.drop_next + Duration::from_nanos(parameters.interval.as_nanos().saturating_mul(MEMORY));
        let since_entry = self.count - self.last_count;
        self.dropping = true;
        self.count = if since_entry > 1 && recent { since_entry } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, parameters.interval, self.count);
    }

    /// Marks `head`, or drops it and takes the next packet. Returns the head and whether it was marked.
    fn signal<P: Packet>(
        &mut self,
        head: Option<Head<P>>,
        parameters: &CodelParameters,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        sink: &mut dyn DropSink<P>,
    ) -> (Option<Head<P>>, bool) {
        let Some(mut head) = head else { return (None, false) };
        if parameters.ecn && head.packet.ecn_capable() {
            mark(now, &mut head.packet, Reason::AqmDequeue, counters, sink);
            return (Some(head), true);
        }
        discard(now, head.packet, Reason::AqmDequeue, counters, sink);
        (self.look(parameters, now, queue), false)
    }
}

/// The number of intervals for which the rate of signals is remembered.
const MEMORY: u64 = 16;
