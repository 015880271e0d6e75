//! A discipline in front of a link, without a clock and without a wire.

use crate::rate::link_clock::LinkClock;
use crate::{DropSink, Duration, Fate, Packet, Qdisc, Rate, Time};

/// The longest delay of a caller that the link makes up for.
const MAX_CATCH_UP: Duration = Duration::from_millis(50);

/// A discipline and the link that it feeds: packets leave the discipline one after the other, at the rate of the link.
///
/// The caller has the clock: it calls [`enqueue`](Self::enqueue) as packets arrive and [`dequeue`](Self::dequeue) until
/// that returns `None`, and again at [`next`](Self::next). A packet takes the time of its [`bytes`](Packet::bytes) on
/// the link, which therefore include headers that the link adds. Time without a packet to send is lost.
///
/// A caller in real time is called late. The link makes up for that by sending the next packets sooner, unless the
/// caller was late by more than 50 ms: the rest is lost, since such a burst would only fill the next queue. A caller
/// that simulates time calls at [`next`](Self::next) exactly.
///
/// ```
/// use fairlane_qdisc::discipline::droptail::{Config, DropTail};
/// use fairlane_qdisc::{Rate, Seed, Shaper, SimplePacket, Time};
///
/// let queue = DropTail::new(Config::default(), Seed::new(1))?;
/// let mut shaper = Shaper::new(queue, Rate::from_bits_per_second(1_000_000));
/// for _ in 0..2 {
///     shaper.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
/// }
/// assert!(shaper.dequeue(Time::ZERO, &mut ()).is_some());
/// // 1000 bytes take 8 ms.
/// assert!(shaper.dequeue(Time::ZERO, &mut ()).is_none());
/// assert_eq!(shaper.next(), Some(Time::from_nanos(8_000_000)));
/// # Ok::<(), fairlane_qdisc::ParameterError>(())
/// ```
#[derive(Debug)]
pub struct Shaper<Q> {
    queue: Q,
    link: LinkClock,
    /// The time from which on the link asks the discipline for a packet; `Time::MAX`: after the next arrival.
    asks: Time,
    /// The latest time at which the link has asked.
    asked: Time,
}

impl<Q> Shaper<Q> {
    /// Puts `queue` in front of an idle link of `rate`, and tells the discipline that rate. A rate of 0 counts as
    /// 1 bit/s.
    #[must_use]
    pub fn new<P: Packet>(mut queue: Q, rate: Rate) -> Self
    where
        Q: Qdisc<P>,
    {
        queue.link_rate(rate);
        Self { queue, link: LinkClock::new(rate), asks: Time::MAX, asked: Time::ZERO }
    }

    /// Offers `packet`, which arrives at `now`, to the discipline; see [`Qdisc::enqueue`].
    pub fn enqueue<P: Packet>(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate
    where
        Q: Qdisc<P>,
    {
        if now < self.asks {
            // The packet may leave at once even if the discipline holds the others back.
            self.asks = self.link.next().max(now);
        } else if self.queue.packets() == 0 {
            // The link became free since the last call. The discipline measures its idle time from then.
            self.queue.dequeue(self.asks.max(self.asked), sink);
            self.asks = now;
        }
        self.queue.enqueue(now, packet, sink)
    }

    /// Returns the next packet if the link is free at `now` and the discipline lets one leave; see [`Qdisc::dequeue`].
    pub fn dequeue<P: Packet>(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P>
    where
        Q: Qdisc<P>,
    {
        let due = self.next().filter(|due| *due <= now)?;
        self.asked = now;
        let Some(packet) = self.queue.dequeue(now, sink) else {
            self.asks = self.queue.status().retry_at(now).unwrap_or(Time::MAX);
            return None;
        };
        self.link.wake(due);
        if now.since(due) > MAX_CATCH_UP {
            self.link.wake(Time::from_nanos(now.as_nanos() - MAX_CATCH_UP.as_nanos()));
        }
        self.link.advance(packet.bytes());
        self.asks = self.link.next();
        Some(packet)
    }

    /// Returns the time at which to call [`dequeue`](Self::dequeue): the link becomes free, or the discipline may let a
    /// packet leave. `None` if nothing can happen before the next arrival.
    ///
    /// The link also asks an empty queue once, when it becomes free: RED and others measure idle time from then. A
    /// caller that knows the queue to be empty may leave this out; the next arrival makes up for it.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        Some(self.asks).filter(|asks| *asks < Time::MAX)
    }

    /// Changes the rate of the link, and tells the discipline. The packet that the link is sending ends when it would
    /// have.
    pub fn set_rate<P: Packet>(&mut self, rate: Rate)
    where
        Q: Qdisc<P>,
    {
        self.link.set_rate(rate);
        self.queue.link_rate(rate);
    }

    /// Keeps the link from sending before `until`. It then asks for a packet.
    pub fn hold(&mut self, until: Time) {
        self.link.wake(until);
        self.asks = self.next().map_or(until, |asks| asks.max(until));
    }

    /// Returns the discipline.
    #[must_use]
    pub const fn queue(&self) -> &Q {
        &self.queue
    }

    /// Returns the discipline for changes. Packets that it then lets leave earlier leave at the time that it gave
    /// before, or after the next arrival or [`hold`](Self::hold).
    pub const fn queue_mut(&mut self) -> &mut Q {
        &mut self.queue
    }
}

#[cfg(all(test, feature = "red"))]
mod tests {
    use super::*;
    use crate::discipline::droptail::{self, DropTail};
    use crate::discipline::red::{self, Red, RedParameters};
    use crate::{Seed, SimplePacket, Size};

    const MEGABIT: Rate = Rate::from_bits_per_second(1_000_000);

    fn millis(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// A shaper of 1 Mbit/s, which sends a packet of 1000 bytes in 8 ms.
    fn shaper() -> Shaper<DropTail<SimplePacket>> {
        let config = droptail::Config { limit: Size::packets(1000), ..Default::default() };
        Shaper::new(DropTail::new(config, Seed::new(1)).unwrap(), MEGABIT)
    }

    fn arrive(shaper: &mut Shaper<DropTail<SimplePacket>>, now: Time, packets: u64) {
        for flow in 0..packets {
            shaper.enqueue(now, SimplePacket::new(flow, 1000), &mut ());
        }
    }

    fn sent(shaper: &mut Shaper<DropTail<SimplePacket>>, now: Time) -> usize {
        core::iter::from_fn(|| shaper.dequeue(now, &mut ())).count()
    }

    /// Would catch a first packet that waits, idle time that is saved up, and a caller that is told to come too soon.
    #[test]
    fn packets_leave_at_the_rate_and_idle_time_is_lost() {
        let mut shaper = shaper();
        assert_eq!(shaper.next(), None);
        arrive(&mut shaper, millis(1000), 3);
        assert_eq!((sent(&mut shaper, millis(1000)), shaper.next()), (1, Some(millis(1008))));
        assert_eq!((sent(&mut shaper, millis(1007)), sent(&mut shaper, millis(1016))), (0, 2));
        assert_eq!((sent(&mut shaper, millis(1024)), shaper.next()), (0, None));
        arrive(&mut shaper, millis(2000), 3);
        assert_eq!((sent(&mut shaper, millis(2000)), shaper.next()), (1, Some(millis(2008))));
    }

    /// By time T a busy link has begun floor(T / 8 ms) + 1 packets, whenever it was asked. Would catch arrivals in
    /// between that take the time that is to be made up for.
    #[test]
    fn late_calls_are_made_up_for() {
        let mut shaper = shaper();
        arrive(&mut shaper, Time::ZERO, 100);
        let (mut random, mut now, mut gone) = (Seed::new(1).stream("late"), 0, 0);
        while now < 5_000_000_000 {
            now += u64::from(random.below(40_000_000));
            arrive(&mut shaper, Time::from_nanos(now), 5);
            gone += sent(&mut shaper, Time::from_nanos(now)) as u64;
            assert_eq!(gone, now / 8_000_000 + 1, "at {now} ns");
        }
    }

    /// After a pause of a second only 50 ms of the rate are sent at once: six packets, and the one that was due.
    #[test]
    fn a_long_pause_is_not_made_up_for() {
        let mut shaper = shaper();
        arrive(&mut shaper, Time::ZERO, 500);
        assert_eq!((sent(&mut shaper, Time::ZERO), sent(&mut shaper, millis(1000))), (1, 7));
    }

    #[test]
    fn a_link_that_is_held_sends_later() {
        let mut shaper = shaper();
        arrive(&mut shaper, Time::ZERO, 2);
        shaper.hold(millis(5));
        assert_eq!(
            (shaper.next(), sent(&mut shaper, millis(4)), sent(&mut shaper, millis(5))),
            (Some(millis(5)), 0, 1)
        );
        assert_eq!(shaper.next(), Some(millis(13)));
    }

    /// A packet of 2000 bytes at 2 Mbit/s and one of 1000 bytes at 1 Mbit/s take 8 ms.
    #[test]
    fn another_rate_is_for_the_packets_that_follow() {
        let mut shaper = shaper();
        arrive(&mut shaper, Time::ZERO, 3);
        assert_eq!(sent(&mut shaper, Time::ZERO), 1);
        shaper.set_rate(Rate::from_bits_per_second(2_000_000));
        assert_eq!(
            (shaper.next(), sent(&mut shaper, millis(8)), shaper.next()),
            (Some(millis(8)), 1, Some(millis(12)))
        );
    }

    /// RED with a weight of 1/2: the average of three arrivals, each to an empty queue but for the packet before, and
    /// then an idle time. While m packets could have left it decays by m + 1 samples of 0 (Floyd and Jacobson, 1993).
    /// Would catch a caller that need not ask an empty queue, and an average that then does not decay.
    #[test]
    fn idle_time_counts_from_the_end_of_the_last_packet() {
        for asks in [false, true] {
            let red = RedParameters {
                min: Size::packets(50),
                max: Size::packets(100),
                weight: 0.5,
                ..RedParameters::default()
            };
            let config = red::Config { red, ..red::Config::default() };
            let mut shaper = Shaper::new(Red::new(config, Seed::new(1)).unwrap(), MEGABIT);
            for _ in 0..5 {
                shaper.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
            }
            let average = shaper.queue().status().average.unwrap();
            assert!(average > 2.0, "{average}");
            while shaper.queue().packets() > 0 {
                let next = shaper.next().unwrap();
                assert!(shaper.dequeue(next, &mut ()).is_some());
            }
            assert_eq!(shaper.next(), Some(millis(40)));
            if asks {
                assert!(shaper.dequeue(millis(40), &mut ()).is_none());
                assert_eq!(shaper.next(), None);
            }
            // The link could have sent three packets of the mean size.
            shaper.enqueue(millis(40 + 3 * 8 + 1), SimplePacket::new(1, 1000), &mut ());
            let decayed = shaper.queue().status().average.unwrap();
            assert!((decayed - average / 16.0).abs() < 1e-9, "{decayed} of {average}");
        }
    }
}
