//! CoDel's decisions, for any queue that knows when its packets arrived.

use super::CodelParameters;
use crate::queue::signal::{discard, mark};
use crate::{Counters, DropSink, Duration, Packet, Reason, Time};

/// A queue whose packets are taken from the head, each with its time of arrival.
pub(crate) trait Backlog<P> {
    /// Returns the bytes of the head and its time of arrival.
    fn head(&self) -> Option<(u32, Time)>;

    /// Removes and returns the head.
    fn pop(&mut self) -> Option<P>;

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

/// When the head of the queue arrived, and whether CoDel may signal it.
#[derive(Clone, Copy)]
struct Head {
    arrived: Time,
    ok_to_drop: bool,
}

/// CoDel's decision on the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodelVerdict {
    /// The head, if there is one, leaves unchanged.
    Leaves,
    /// The head has waited longer than `ce_threshold`.
    AboveThreshold,
    /// The delay has been above the target for an interval.
    MayBeSignalled,
}

/// The result of a signal to a packet.
enum Signalled<P> {
    /// The packet leaves with a mark.
    Marked(P),
    /// The packet was dropped; this is the next head.
    Dropped(Option<Head>),
}

fn ok_to_drop(head: Option<Head>) -> bool {
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

    /// Compares the delay of the head of `queue` with the target.
    #[inline]
    fn look<P>(&mut self, parameters: &CodelParameters, now: Time, queue: &impl Backlog<P>) -> Option<Head> {
        let Some((bytes, arrived)) = queue.head() else {
            self.first_above = Time::MAX;
            return None;
        };
        let mut ok_to_drop = false;
        if now.since(arrived) < parameters.target || queue.bytes() - u64::from(bytes) <= parameters.mtu.get() {
            self.first_above = Time::MAX;
        } else if self.first_above == Time::MAX {
            self.first_above = now + parameters.interval;
        } else {
            ok_to_drop = now >= self.first_above;
        }
        Some(Head { arrived, ok_to_drop })
    }

    /// Removes and returns the packet that leaves `queue` at `now`; packets before it may be dropped.
    #[inline]
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        parameters: &CodelParameters,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        sink: &mut dyn DropSink<P>,
    ) -> Option<P> {
        match self.judge(parameters, now, queue) {
            CodelVerdict::Leaves => queue.pop(),
            signalled => self.dequeue_signalled(signalled, parameters, now, queue, counters, sink),
        }
    }

    /// Decides on the head of `queue`.
    #[inline]
    pub(crate) fn judge<P: Packet>(
        &mut self,
        parameters: &CodelParameters,
        now: Time,
        queue: &impl Backlog<P>,
    ) -> CodelVerdict {
        let head = self.look(parameters, now, queue);
        if ok_to_drop(head) {
            return CodelVerdict::MayBeSignalled;
        }
        self.dropping = false;
        let is_above = head.is_some_and(|head| is_above_threshold(parameters, now, head));
        if is_above { CodelVerdict::AboveThreshold } else { CodelVerdict::Leaves }
    }

    /// Does [`dequeue`](Self::dequeue) after the head has been judged and does not simply leave.
    #[inline(never)]
    pub(crate) fn dequeue_signalled<P: Packet>(
        &mut self,
        verdict: CodelVerdict,
        parameters: &CodelParameters,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        sink: &mut dyn DropSink<P>,
    ) -> Option<P> {
        match verdict {
            CodelVerdict::Leaves => queue.pop(),
            CodelVerdict::AboveThreshold => mark_head(parameters, now, queue, counters, sink),
            CodelVerdict::MayBeSignalled => self.dequeue_above(parameters, now, queue, counters, sink),
        }
    }

    /// Does the same where the head may be signalled: the delay has been above the target for an interval.
    #[inline(never)]
    fn dequeue_above<P: Packet>(
        &mut self,
        parameters: &CodelParameters,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        sink: &mut dyn DropSink<P>,
    ) -> Option<P> {
        if !self.dropping {
            let signalled = self.signal(parameters, now, queue, counters, sink);
            self.enter(parameters, now);
            return match signalled {
                Signalled::Marked(packet) => Some(packet),
                Signalled::Dropped(_) => mark_head(parameters, now, queue, counters, sink),
            };
        }
        // A long queue may need several drops at once. A marked packet must leave, so it ends the loop.
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            let signalled = self.signal(parameters, now, queue, counters, sink);
            self.dropping = match &signalled {
                Signalled::Marked(_) => true,
                Signalled::Dropped(next) => ok_to_drop(*next),
            };
            if self.dropping {
                self.drop_next = control_law(self.drop_next, parameters.interval, self.count);
            }
            if let Signalled::Marked(packet) = signalled {
                return Some(packet);
            }
        }
        mark_head(parameters, now, queue, counters, sink)
    }

    /// Notes that `packets` packets were dropped for room: the rate of signals rises as if they were signals.
    pub(crate) const fn dropped_for_room(&mut self, packets: u32) {
        self.count = self.count.saturating_add(packets);
    }

    /// Tells whether the state of a queue that is empty at `now` need not be kept: one that begins anew decides alike.
    ///
    /// Outside of the dropping state, a queue remembers only the rate of its signals, for [`MEMORY`] intervals.
    #[inline]
    pub(crate) fn is_at_rest(&self, parameters: &CodelParameters, now: Time) -> bool {
        !self.dropping && self.first_above == Time::MAX && (self.count == 0 || !self.is_recent(parameters, now))
    }

    /// Tells whether the dropping state was left so recently that its rate of signals counts.
    fn is_recent(&self, parameters: &CodelParameters, now: Time) -> bool {
        now < self.drop_next + Duration::from_nanos(parameters.interval.as_nanos().saturating_mul(MEMORY))
    }

    /// Enters the dropping state, with the last rate of signals if the state was left not long ago.
    fn enter(&mut self, parameters: &CodelParameters, now: Time) {
        let recent = self.is_recent(parameters, now);
        let since_entry = self.count - self.last_count;
        self.dropping = true;
        self.count = if since_entry > 1 && recent { since_entry } else { 1 };
        self.last_count = self.count;
        self.drop_next = control_law(now, parameters.interval, self.count);
    }

    /// Marks or drops the head of `queue`, which is not empty. A marked packet leaves; after a drop the next head is
    /// looked at.
    fn signal<P: Packet>(
        &mut self,
        parameters: &CodelParameters,
        now: Time,
        queue: &mut impl Backlog<P>,
        counters: &mut Counters,
        sink: &mut dyn DropSink<P>,
    ) -> Signalled<P> {
        if let Some(mut packet) = queue.pop() {
            if parameters.ecn && packet.ecn_capable() {
                mark(now, &mut packet, Reason::AqmDequeue, counters, sink);
                return Signalled::Marked(packet);
            }
            discard(now, packet, Reason::AqmDequeue, counters, sink);
        }
        Signalled::Dropped(self.look(parameters, now, queue))
    }
}

/// Tells whether a packet that arrived with `head` has waited longer than `ce_threshold`.
fn is_above_threshold(parameters: &CodelParameters, now: Time, head: Head) -> bool {
    parameters.ce_threshold.is_some_and(|threshold| now.since(head.arrived) > threshold)
}

/// Removes and returns the head of `queue`, marked if it can be and has waited longer than `ce_threshold`.
#[inline(never)]
fn mark_head<P: Packet>(
    parameters: &CodelParameters,
    now: Time,
    queue: &mut impl Backlog<P>,
    counters: &mut Counters,
    sink: &mut dyn DropSink<P>,
) -> Option<P> {
    let (_, arrived) = queue.head()?;
    let mut packet = queue.pop()?;
    if packet.ecn_capable() && is_above_threshold(parameters, now, Head { arrived, ok_to_drop: false }) {
        mark(now, &mut packet, Reason::AqmDequeue, counters, sink);
    }
    Some(packet)
}

/// The number of intervals for which the rate of signals is remembered.
const MEMORY: u64 = 16;
