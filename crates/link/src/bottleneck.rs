//! A link behind a queue discipline, between a caller's own endpoints.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use fairlane_qdisc::{BoxQdisc, Count, Duration, Packet, ParameterError, Qdisc, Reason, Seed, Time};

use crate::observer::Sink;
use crate::{Config, ConstantLine, FrameLimits, Line, LinkObserver};

/// One direction of a link: a queue discipline, a transmitter, and the way to the far end.
///
/// The caller's clock moves it: [`push`](Self::push) a datagram when it reaches the queue, [`pop`](Self::pop) those
/// that have reached the far end, and call again at [`next`](Self::next). A datagram leaves the queue when the one
/// before it has been transmitted, however late the caller calls. The caller's times must not decrease.
///
/// The discipline is held by its type, or chosen at run time as a [`BoxQdisc`]. So are the [`Line`] behind it and the
/// [`LinkObserver`].
#[derive(Debug)]
pub struct Bottleneck<P: Packet, Q = BoxQdisc<P>, L = ConstantLine, O = ()> {
    queue: Q,
    line: L,
    observer: O,
    /// The time from which the transmitter may take a packet.
    free: Time,
    /// The time at which the transmitter asks the discipline for a packet; `Time::MAX`: after the next arrival.
    asks: Time,
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
        Ok(Self::with_line(queue, ConstantLine::new(&config, seed), ()))
    }
}

impl<P: Packet, Q: Qdisc<P>, L: Line, O: LinkObserver<P>> Bottleneck<P, Q, L, O> {
    /// Creates an idle link with another line than one of constant rate. The discipline knows the rate already.
    #[must_use]
    pub const fn with_line(queue: Q, line: L, observer: O) -> Self {
        Self {
            queue,
            line,
            observer,
            free: Time::ZERO,
            asks: Time::MAX,
            in_flight: VecDeque::new(),
            lost: Count { packets: 0, bytes: 0 },
        }
    }

    /// Offers `datagram` to the queue at `now`. The discipline may drop it or others, or mark some.
    pub fn push(&mut self, now: Time, datagram: P) {
        self.transmit_until(now);
        self.observer.arrived(now, &datagram);
        if !self.line.admits(now, datagram.bytes()) {
            return self.observer.dropped(now, datagram, Reason::Policed);
        }
        self.queue.enqueue(now, datagram, &mut Sink(&mut self.observer));
        self.asks = self.free.max(now);
        self.transmit_until(now);
    }

    /// Moves the transmitter to `now`, as [`push`](Self::push) and [`pop`](Self::pop) do: for who looks at the queue.
    pub fn advance(&mut self, now: Time) {
        self.transmit_until(now);
    }

    /// Returns the next datagram that has reached the far end until `now`; `None` if there is none.
    pub fn pop(&mut self, now: Time) -> Option<P> {
        self.pop_timed(now).map(|(_, datagram)| datagram)
    }

    /// Returns the same as [`pop`](Self::pop), with the time of the arrival.
    pub fn pop_timed(&mut self, now: Time) -> Option<(Time, P)> {
        self.transmit_until(now);
        let (arrival, _) = self.in_flight.front()?;
        if *arrival > now {
            return None;
        }
        self.in_flight.pop_front()
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

    /// Returns the line.
    #[must_use]
    pub const fn line(&self) -> &L {
        &self.line
    }

    /// Returns the line for changes.
    pub const fn line_mut(&mut self) -> &mut L {
        &mut self.line
    }

    /// Returns the observer.
    #[must_use]
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the observer for changes.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
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
            // A time that does not advance would never end.
            if let Some(free) = self.line.hold(at, self.queue.packets() > 0).filter(|free| *free > at) {
                (self.free, self.asks) = (free, free);
            } else if let Some(limits) = self.line.frame() {
                self.transmit_frame(at, limits);
            } else if let Some(packet) = self.take(at) {
                let sent = self.line.finish(at, packet.bytes()).max(at);
                (self.free, self.asks) = (sent, sent);
                self.send_off(sent, packet);
            }
        }
    }

    /// Takes the next packet from the queue; if there is none, notes when to ask again.
    fn take(&mut self, at: Time) -> Option<P> {
        let packet = self.queue.dequeue(at, &mut Sink(&mut self.observer));
        match &packet {
            Some(packet) => self.observer.departed(at, packet),
            None => self.asks = self.queue.status().retry_at(at).unwrap_or(Time::MAX),
        }
        packet
    }

    /// Transmits a frame of the packets that are there, up to its limits, from `at` on.
    fn transmit_frame(&mut self, at: Time, limits: FrameLimits) {
        let (mut frame, mut time, mut sent) = (Vec::new(), Duration::ZERO, at);
        let has_room = |packets, time| packets < limits.packets as usize && limits.time.is_none_or(|most| time < most);
        while frame.is_empty() || has_room(frame.len(), time) {
            let Some(packet) = self.take(at) else { break };
            time = time + limits.rate.transmission(packet.bytes().into());
            frame.push(packet);
        }
        for packet in &frame {
            sent = self.line.finish(sent, packet.bytes()).max(sent);
        }
        if !frame.is_empty() {
            (self.free, self.asks) = (sent, sent);
        }
        for packet in frame {
            self.send_off(sent, packet);
        }
    }

    /// Sends a packet, whose transmission ends at `sent`, to the far end.
    fn send_off(&mut self, sent: Time, packet: P) {
        let Some(arrival) = self.line.arrival(sent) else {
            self.lost.add(packet.bytes());
            return self.observer.lost(sent, packet);
        };
        let place = self.in_flight.partition_point(|(other, _)| *other <= arrival);
        self.in_flight.insert(place, (arrival, packet));
    }
}
