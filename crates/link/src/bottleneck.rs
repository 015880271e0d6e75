//! A link behind a queue discipline, between a caller's own endpoints.

use alloc::collections::VecDeque;

use fairlane_qdisc::{BoxQdisc, Count, Duration, Packet, ParameterError, Qdisc, Seed, Shaper, Time};

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
    shaper: Shaper<Q>,
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
    pub fn new(config: Config, queue: Q, seed: Seed) -> Result<Self, ParameterError> {
        config.check()?;
        Ok(Self {
            shaper: Shaper::new(queue, config.rate),
            delay: config.delay,
            propagation: Propagation::new(config.loss, config.jitter, config.reorder, seed),
            in_flight: VecDeque::new(),
            lost: Count::default(),
        })
    }

    /// Offers `datagram` to the queue at `now`. The discipline may drop it or others, or mark some.
    pub fn push(&mut self, now: Time, datagram: P) {
        self.transmit_until(now);
        self.shaper.enqueue(now, datagram, &mut ());
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
        let arrival = self.in_flight.front().map(|(arrival, _)| *arrival);
        arrival.into_iter().chain(self.shaper.next()).min()
    }

    /// Returns the discipline, with its [`Status`](fairlane_qdisc::Status) and its
    /// [`Counters`](fairlane_qdisc::Counters): arrivals, departures, and drops and marks by reason, until the last
    /// call.
    #[must_use]
    pub const fn queue(&self) -> &Q {
        self.shaper.queue()
    }

    /// Returns the datagrams that were lost during transmission; they count as departures of the queue.
    #[must_use]
    pub const fn lost(&self) -> Count {
        self.lost
    }

    /// Transmits the packets that leave the queue until `now`.
    fn transmit_until(&mut self, now: Time) {
        while let Some(at) = self.shaper.next().filter(|at| *at <= now) {
            if let Some(packet) = self.shaper.dequeue(at, &mut ()) {
                self.propagate(packet);
            }
        }
    }

    /// Sends `packet`, which the link has begun to transmit, to the far end.
    fn propagate(&mut self, packet: P) {
        let arrival = self.shaper.next().and_then(|sent| self.propagation.arrival(sent, self.delay));
        let Some(arrival) = arrival else {
            self.lost.add(packet.bytes());
            return;
        };
        let place = self.in_flight.partition_point(|(other, _)| *other <= arrival);
        self.in_flight.insert(place, (arrival, packet));
    }
}
