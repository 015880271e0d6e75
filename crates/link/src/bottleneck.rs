//! A link behind a queue discipline, between a caller's own endpoints.

use alloc::collections::VecDeque;

use fairlane_qdisc::{BoxQdisc, Count, Duration, LinkClock, Packet, ParameterError, Qdisc, Seed, Status, Time};

use crate::{Config, Propagation};

/// One direction of a link: a queue discipline, a transmitter, and the way to the far end.
///
/// The caller's clock moves it: [`push`](Self::push) a datagram when it reaches the queue, [`pop`](Self::pop) those
/// that have reached the far end, and call again at [`next`](Self::next). A datagram leaves the queue when the one
/// before it has been transmitted, however late the caller calls. The caller's times must not decrease.
///
/// The discipline is held by its type, or chosen at run time as a [`BoxQdisc`].
#[derive(Debug)]
pub struct Bottleneck<P: Packet, Q = BoxQdisc<P>> {
    queue: Q,
    transmitter: LinkClock,
    /// The time at which the transmitter asks the discipline for a packet; `Time::MAX`: after the next arrival.
    asks: Time,
    delay: Duration,
    propagation: Propagation,
    /// The packets that have left the queue, in the order of their arrivals at the far end.
    in_flight: VecDeque<(Time, P)>,
    lost: Count,
}

impl<P: Packet, Q: Qdisc<P>> Bottleneck<P, Q> {
    /// Creates an idle link behind `queue`, and tells the discipline its rate. Losses and jitter are drawn from `seed`:
    /// the same calls with the same seed have the same results. The discipline has its own seed.
    ///
    /// # Errors
    /// The first parameter of `config` with a value that it cannot have.
    pub fn new(config: Config, mut queue: Q, seed: Seed) -> Result<Self, ParameterError> {
        config.check()?;
        queue.link_rate(config.rate);
        Ok(Self {
            queue,
            transmitter: LinkClock::new(config.rate),
            asks: Time::MAX,
            delay: config.delay,
            propagation: Propagation::new(config.loss, config.jitter, config.reorder, seed),
            in_flight: VecDeque::new(),
            lost: Count::default(),
        })
    }

    /// Offers `datagram` to the queue at `now`. The discipline may drop it or others, or mark some.
    pub fn push(&mut self, now: Time, datagram: P) {
        self.transmit_until(now);
        self.queue.enqueue(now, datagram, &mut ());
        self.asks = self.transmitter.next().max(now);
        self.transmit_until(now);
    }

    /// Returns the next datagram that has reached the far end until `now`; `None` if there is none.
    pub fn pop(&mut self, now: Time) -> Option<P> {
        self.transmit_until(now);
        let (arrival, _) = self.in_flight.front()?;
        if *arrival > now {
            return None;
        }
        self.in_flight.pop_front().map(|(_, datagram)| datagram)
    }

    /// Returns the time at which to call [`pop`](Self::pop) again: a datagram arrives, or a transmission ends, so `pop`
    /// may return `None` even then. `None` if nothing happens before the next [`push`](Self::push).
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        let arrival = self.in_flight.front().map_or(Time::MAX, |(arrival, _)| *arrival);
        Some(arrival.min(self.asks)).filter(|next| *next < Time::MAX)
    }

    /// Returns the discipline, with its [`Status`](fairlane_qdisc::Status) and its
    /// [`Counters`](fairlane_qdisc::Counters): arrivals, departures, and drops and marks by reason, until the last
    /// call.
    #[must_use]
    pub const fn queue(&self) -> &Q {
        &self.queue
    }

    /// Returns the datagrams that were lost during transmission; they count as departures of the queue.
    #[must_use]
    pub const fn lost(&self) -> Count {
        self.lost
    }

    /// Transmits the packets that leave the queue until `now`. Disciplines notice that their queue is empty when they
    /// are asked in vain, so the transmitter asks at the end of every transmission.
    fn transmit_until(&mut self, now: Time) {
        while self.asks <= now && self.asks < Time::MAX {
            let at = self.asks;
            match self.queue.dequeue(at, &mut ()) {
                Some(packet) => self.transmit(at, packet),
                None => self.asks = self.ready_after(at),
            }
        }
    }

    /// Returns the time after `at` at which a discipline that holds its packets back is asked again.
    fn ready_after(&self, at: Time) -> Time {
        let Status { packets, ready_at, .. } = self.queue.status();
        let ready = ready_at.filter(|_| packets > 0);
        ready.map_or(Time::MAX, |ready| ready.max(at + Duration::from_nanos(1)))
    }

    /// Transmits `packet` from `at` on.
    fn transmit(&mut self, at: Time, packet: P) {
        self.transmitter.wake(at);
        self.transmitter.advance(packet.bytes());
        let sent = self.transmitter.next();
        self.asks = sent;
        let Some(arrival) = self.propagation.arrival(sent, self.delay) else {
            self.lost.add(packet.bytes());
            return;
        };
        let place = self.in_flight.partition_point(|(other, _)| *other <= arrival);
        self.in_flight.insert(place, (arrival, packet));
    }
}
