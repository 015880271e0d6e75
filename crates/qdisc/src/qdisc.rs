//! The interface of all disciplines: accept packets, return them for sending, and report the state of the queue.

use alloc::boxed::Box;

use crate::{Counters, DropSink, Duration, Packet, Rate, Reason, Time};

/// A queue discipline that was chosen at run time.
pub type BoxQdisc<P> = Box<dyn Qdisc<P> + Send + Sync>;

/// A queue discipline.
///
/// The packet that the link is sending has left the queue. Every packet that enters by
/// [`enqueue`](Self::enqueue) leaves exactly once: by [`dequeue`](Self::dequeue), or through
/// [`DropSink::dropped`] with the reason.
///
/// The trait is object-safe: hold `Box<dyn Qdisc<P>>`, or [`BoxQdisc`], where the discipline is chosen at run time.
pub trait Qdisc<P: Packet> {
    /// Offers a packet to the queue at `now`. The discipline may drop it, drop packets that are already queued, or mark
    /// packets; `sink` receives each drop and mark. Returns the fate of `packet` itself.
    ///
    /// `now` never runs backwards between calls.
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate;

    /// Removes and returns the next packet for the link at `now`. Returns `None` when the queue is empty, or when all
    /// packets are held back until [`Status::ready_at`]; the link is then idle.
    ///
    /// A link asks whenever it becomes free, also an empty queue: RED and others measure idle time from then.
    /// [`Shaper`](crate::Shaper) does.
    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P>;

    /// Returns the state of the queue.
    fn status(&self) -> Status;

    /// Returns the counts of all packets since the discipline was created.
    fn counters(&self) -> &Counters;

    /// Tells the discipline the rate of its link, at the start and whenever it changes.
    ///
    /// A discipline whose parameters depend on the rate recalculates them and keeps its packets and its state. A rate
    /// that its configuration gives takes precedence. By default the rate is ignored.
    fn link_rate(&mut self, _rate: Rate) {}

    /// Calls `each` with every queued packet that the last arrival was compared with and did not match, for displays of
    /// the discipline's decisions. Packets that matched were dropped and are not queued any more.
    ///
    /// The candidates are valid until the next call that changes the queue. By default there are none: only disciplines
    /// of the CHOKe family, which compare arrivals with queued packets, report any.
    fn candidates(&self, _each: &mut dyn FnMut(&P)) {}

    /// Returns [`Status::packets`].
    fn packets(&self) -> usize {
        self.status().packets
    }

    /// Returns [`Status::bytes`].
    fn bytes(&self) -> u64 {
        self.status().bytes
    }

    /// Returns [`Status::average`].
    fn average(&self) -> Option<f64> {
        self.status().average
    }

    /// Returns [`Status::probability`].
    fn probability(&self) -> Option<f64> {
        self.status().probability
    }

    /// Returns [`Status::ready_at`].
    fn ready_at(&self) -> Option<Time> {
        self.status().ready_at
    }
}

impl<P: Packet, Q: Qdisc<P> + ?Sized> Qdisc<P> for Box<Q> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        (**self).enqueue(now, packet, sink)
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        (**self).dequeue(now, sink)
    }

    fn status(&self) -> Status {
        (**self).status()
    }

    fn counters(&self) -> &Counters {
        (**self).counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        (**self).link_rate(rate);
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        (**self).candidates(each);
    }

    // These are forwarded too, so that a discipline behind a pointer calculates no more of its status than is asked
    // for.

    fn packets(&self) -> usize {
        (**self).packets()
    }

    fn bytes(&self) -> u64 {
        (**self).bytes()
    }

    fn average(&self) -> Option<f64> {
        (**self).average()
    }

    fn probability(&self) -> Option<f64> {
        (**self).probability()
    }

    fn ready_at(&self) -> Option<Time> {
        (**self).ready_at()
    }
}

/// The fate of an arriving packet, as its [`Qdisc::enqueue`] ends.
///
/// Other packets that the arrival pushes out are told to the [`DropSink`] alone. The sink is told of the drop or the
/// mark of the arrival too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Queued as it came.
    Queued,
    /// Queued with a mark.
    Marked(Reason),
    /// Dropped.
    Dropped(Reason),
}

impl Fate {
    /// Tells whether the packet was dropped.
    #[must_use]
    pub const fn is_dropped(self) -> bool {
        matches!(self, Self::Dropped(_))
    }
}

/// The state of a discipline at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// Packets in the queue.
    pub packets: usize,
    /// Bytes in the queue.
    pub bytes: u64,
    /// The average queue that the discipline compares with its thresholds, in their unit (packets or bytes); `None`
    /// where it keeps none.
    pub average: Option<f64>,
    /// The probability, 0 to 1, with which the discipline signals now, by marking or dropping; `None` where no single
    /// number holds for all packets.
    ///
    /// This is the controlled probability, before signals are spaced and before packet size or a burst allowance
    /// changes it: p_b of RED, p_m of BLUE, p of PIE.
    pub probability: Option<f64>,
    /// The earliest time at which [`Qdisc::dequeue`] may return a packet after it returned `None` although packets
    /// wait. `None` where nothing is held back: only shapers and rate limiters hold packets back.
    ///
    /// The time is valid until the next call that changes the queue; a host asks again after each arrival.
    pub ready_at: Option<Time>,
    /// The number of flows of which the discipline keeps state at present; `None` where it keeps none or does not count
    /// them.
    pub flows: Option<usize>,
}

impl Status {
    /// Returns the status of a queue that holds `packets` packets of `bytes` bytes in all.
    #[must_use]
    pub const fn new(packets: usize, bytes: u64) -> Self {
        Self { packets, bytes, average: None, probability: None, ready_at: None, flows: None }
    }

    /// Returns when to ask a discipline again that returned no packet at `now`: `None` if nothing can happen before the
    /// next arrival, and always later than `now`.
    #[must_use]
    pub fn retry_at(&self, now: Time) -> Option<Time> {
        let ready = self.ready_at.filter(|_| self.packets > 0)?;
        Some(ready.max(now + Duration::from_nanos(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a host whose time does not advance because a discipline returns a time in the past, and one that
    /// asks an empty queue.
    #[test]
    fn a_retry_is_later_than_now() {
        let now = Time::from_nanos(50);
        let status = |packets| Status { ready_at: Some(Time::ZERO), ..Status::new(packets, 0) };
        assert_eq!((status(1).retry_at(now), status(0).retry_at(now)), (Some(Time::from_nanos(51)), None));
    }
}
