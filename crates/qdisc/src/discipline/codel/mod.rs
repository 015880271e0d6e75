//! CoDel: drops packets at the head, ever more often, while the queue's delay stays above a target.
//!
//! A burst makes a queue that goes away by itself; the queue that stays is the one to fight. CoDel tells them apart by
//! the smallest delay within an interval: it does nothing as long as some packet of each interval waits less than
//! `target`.
//!
//! **Source.** RFC 8289, section 5 (Nichols, Jacobson, McGregor, Iyengar, 2018): the pseudocode, with the return to the
//! dropping state as in Linux. Marking and `ce_threshold` as tc-codel(8).
//!
//! **Deviations.** A mark counts as a signal and the packet leaves, so one call marks at most once, as in Linux; the
//! RFC leaves it open. The inverse square root is exact; Linux takes one Newton step.
//!
//! **Cost.** A push and a pop, and two comparisons; a square root and a division for each signal.

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::queue::fifo::Fifo;
use crate::queue::signal::discard;
use crate::queue::tagged::Stamped;
use crate::{
    Bytes, Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Time,
};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{Backlog, CodelCore, CodelVerdict, control_law};

/// The configuration of [`Codel`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 1000 packets, as tc-codel(8).
    pub limit: Size,
    /// The target and the interval.
    pub codel: CodelParameters,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(1000), codel: CodelParameters::default() }
    }
}

/// CoDel's own parameters, for all disciplines that build on CoDel.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct CodelParameters {
    /// The acceptable standing delay, above 0. Default: 5 ms, RFC 8289, section 4.3.
    pub target: Duration,
    /// The time for which the delay may be above `target` before the first signal, above 0; about a round-trip time.
    /// Default: 100 ms, RFC 8289, section 4.3.
    pub interval: Duration,
    /// No packet is signalled while at most this many bytes stay queued behind it; at least 1 byte. Default: 1514
    /// bytes, an Ethernet frame, as tc-codel(8).
    pub mtu: Bytes,
    /// Marks packets that can be marked instead of dropping them; the limit always drops. Default: `false`, as
    /// tc-codel(8).
    pub ecn: bool,
    /// Marks each packet that can be marked and waited longer than this, regardless of CoDel's decision; above 0.
    /// Default: `None`, none is marked for that, as tc-codel(8).
    pub ce_threshold: Option<Duration>,
}

impl Default for CodelParameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes::new(1514),
            ecn: false,
            ce_threshold: None,
        }
    }
}

impl CodelParameters {
    /// Checks every value.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::duration("target", self.target)?;
        check::duration("interval", self.interval)?;
        check::bytes("mtu", self.mtu)?;
        self.ce_threshold.map_or(Ok(()), |threshold| check::duration("ce_threshold", threshold))
    }
}

impl<P: Packet> Backlog<P> for Fifo<Stamped<P>> {
    fn head(&self) -> Option<(u32, Time)> {
        let head = self.packet(self.front()?)?;
        Some((head.bytes(), head.tag))
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<P> {
        Self::pop(self).map(|stamped| stamped.packet)
    }

    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }
}

/// CoDel over a FIFO.
#[derive(Debug)]
pub struct Codel<P> {
    buffer: Buffer<Stamped<P>>,
    parameters: CodelParameters,
    core: CodelCore,
}

impl<P: Packet> Codel<P> {
    /// Creates an empty queue. CoDel draws no random numbers: the seed is not used.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, _seed: Seed) -> Result<Self, ParameterError> {
        check::size("limit", config.limit)?;
        config.codel.validate()?;
        Ok(Self { buffer: Buffer::new(config.limit), parameters: config.codel, core: CodelCore::new() })
    }
}

impl<P: Packet> Qdisc<P> for Codel<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.overflows(packet.bytes()) {
            return discard(now, packet, Reason::Limit, &mut self.buffer.counters, sink);
        }
        self.buffer.fifo.push(Stamped::new(packet, now));
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        let Buffer { fifo, counters, .. } = &mut self.buffer;
        let packet = self.core.dequeue(&self.parameters, now, fifo, counters, sink);
        if let Some(packet) = &packet {
            counters.departed.add(packet.bytes());
        }
        packet
    }

    fn status(&self) -> Status {
        self.buffer.status()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
