//! One direction of a link: a queue, a transmitter, and the packets under way.

use fairlane_qdisc::{Bytes, Duration, Rate, Size, Time};
use fairlane_scenario::{Kind, LinkSide, QdiscConfig, Value};

use crate::event::Alarm;
use crate::meter::Meter;
use crate::network::Visitors;
use crate::pipe::Pipe;
use crate::wire::Wire;

/// A link: what it is made of is up to `queue`. Each flow has four, so what is alike stands in a [`Medium`].
#[derive(Debug)]
pub(crate) struct Link<D> {
    /// The packets that have left the queue or are sure to leave it, by the time when each reaches the other end.
    pub(crate) pipe: Pipe,
    /// Where its medium stands in [`Network::media`](crate::network::Network).
    pub(crate) medium: u32,
    /// See [`Pace::next`].
    pub(crate) carry: u64,
    pub(crate) queue: Queue<D>,
}

/// What like links are made of.
#[derive(Debug)]
pub(crate) struct Medium {
    pub(crate) pace: Pace,
    pub(crate) delay: Duration,
    /// The most packets that wait before a [`Queue::Wire`]; the one being sent does not.
    pub(crate) limit: usize,
}

/// What stands before the transmitter.
#[derive(Debug)]
pub(crate) enum Queue<D> {
    /// A FIFO that drops from the tail. Nothing that comes later changes when a packet leaves it, so its packets go into
    /// the pipe at once and it needs one event a packet instead of two. `tests/links.rs` holds it against DropTail.
    Wire {
        /// When the transmitter has sent all that is in the pipe.
        busy_until: Time,
    },
    /// A discipline.
    Managed(Box<Managed<D>>),
}

/// A discipline at work.
#[derive(Debug)]
pub(crate) struct Managed<D> {
    pub(crate) kind: &'static str,
    pub(crate) discipline: D,
    /// The transmitter is sending.
    pub(crate) busy: bool,
    /// When the discipline is asked again although nothing happened: it holds packets back.
    pub(crate) release: Alarm,
    /// Counts what data meets here; `None` at host links and where only acknowledgements pass.
    pub(crate) meter: Option<Meter>,
    /// What happens to packets under way beyond the delay.
    pub(crate) wire: Option<Wire>,
}

impl<D> Managed<D> {
    /// `discipline`, called `kind` in outcomes, before a transmitter that is free; metered for these flows or not at all.
    pub(crate) fn new(kind: &'static str, discipline: D, metered: Option<&Visitors>, wire: Option<Wire>) -> Self {
        let meter = metered.map(|visitors| Meter::new(visitors.iter().cloned()));
        Self { kind, discipline, busy: false, release: Alarm::off(), meter, wire }
    }
}

impl<D> Link<D> {
    pub(crate) const fn new(medium: u32, queue: Queue<D>) -> Self {
        Self { pipe: Pipe::new(), medium, carry: 0, queue }
    }

    /// What happens to packets under way beyond the delay; only behind a [`Managed`] queue.
    pub(crate) fn wire(&self) -> Option<&Wire> {
        match &self.queue {
            Queue::Managed(managed) => managed.wire.as_ref(),
            Queue::Wire { .. } => None,
        }
    }

    /// Packets under way.
    pub(crate) fn underway(&self) -> usize {
        self.pipe.len() + self.wire().map_or(0, Wire::underway)
    }

    /// Something of what is counted of `flow` here; see [`Lookahead`](crate::ahead::Lookahead).
    pub(crate) fn counted(&self, flow: u32) -> u64 {
        match &self.queue {
            Queue::Managed(managed) => managed.meter.as_ref().map_or(0, |meter| meter.arrivals(flow)),
            Queue::Wire { .. } => 0,
        }
    }
}

impl Medium {
    /// The medium of `side`, with room for `limit` packets where the link is a wire.
    pub(crate) const fn new(side: &LinkSide, limit: usize) -> Self {
        Self { pace: Pace::new(side.rate), delay: side.delay, limit }
    }
}

/// The limit of a queue that is nothing but a tail-dropping FIFO of one packet or more; `None` for all others.
pub(crate) fn plain_limit(config: &QdiscConfig) -> Option<usize> {
    if config.kind() != Kind::DropTail {
        return None;
    }
    let mut limit = None;
    for (key, value) in config.given() {
        match (key, value) {
            ("limit", Value::Text(text)) => match text.parse() {
                Ok(Size::Packets(packets)) if packets.get() > 0 => limit = Some(packets.get() as usize),
                _ => return None,
            },
            _ => return None,
        }
    }
    limit
}

/// How long packets take at a rate.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate: u64,
    /// The size that the next two fields are for: mostly it is the same again, and the division is saved.
    bytes: u32,
    nanos: u64,
    remainder: u64,
}

impl Pace {
    pub(crate) const fn new(rate: Rate) -> Self {
        Self { rate: rate.bits_per_second(), bytes: 0, nanos: 0, remainder: 0 }
    }

    /// How long the next packet, of `bytes` bytes, takes. What a packet's time has over whole nanoseconds is carried to the
    /// next, in `carry`, so that the rate is exact in the long run.
    pub(crate) const fn next(&mut self, carry: &mut u64, bytes: u32) -> Duration {
        if bytes != self.bytes {
            let bit_nanos = bytes as u64 * 8_000_000_000;
            self.bytes = bytes;
            self.nanos = bit_nanos / self.rate;
            self.remainder = bit_nanos % self.rate;
        }
        *carry += self.remainder;
        if *carry >= self.rate {
            *carry -= self.rate;
            return Duration::from_nanos(self.nanos + 1);
        }
        Duration::from_nanos(self.nanos)
    }

    pub(crate) const fn rate(&self) -> Rate {
        Rate::from_bits_per_second(self.rate)
    }
}

/// Sends packets one after the other at a rate.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    pace: Pace,
    carry: u64,
}

impl Transmitter {
    pub(crate) const fn new(rate: Rate) -> Self {
        Self { pace: Pace::new(rate), carry: 0 }
    }

    /// How long the next packet, of `bytes` bytes, takes.
    pub(crate) const fn next(&mut self, bytes: u32) -> Duration {
        self.pace.next(&mut self.carry, bytes)
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.pace.rate()
    }
}

/// A packet's size as the packet carries it.
pub(crate) fn wire_bytes(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_does_not_divide_is_exact_in_the_long_run() {
        let mut transmitter = Transmitter::new(Rate::from_bits_per_second(3_000_000));
        let total: u64 = (0..3_000_000).map(|_| transmitter.next(1).as_nanos()).sum();
        assert_eq!(total, 8_000_000_000);
        let mut fast = Transmitter::new(Rate::from_bits_per_second(100_000_000_000));
        assert_eq!(fast.next(1500).as_nanos(), 120);
    }
}
