//! COBALT: CoDel for flows that react, BLUE for those that do not.
//!
//! CoDel's count rises by one with each signal and falls by one for each signal that would be due once the delay is
//! good again, so it finds the rate of signals that a queue needs instead of starting anew. When the queue overflows
//! all the same, BLUE's probability grows; BLUE drops packets whether they can be marked or not. When the queue runs
//! empty the probability falls.
//!
//! **Source.** Palmei et al., "Design and Evaluation of COBALT Queue Discipline", IEEE LANMAN 2019; CAKE's `cobalt_*`;
//! ns-3's growth of BLUE's probability beyond `blue_threshold`.
//!
//! **Deviations.** The inverse square root is exact. A signal that BLUE overrules is a drop and not also a mark. The
//! first signal is due an interval after the delay has risen above `target`; sch_cake's is due at once if the queue has
//! been at rest for more than an interval, since it asks whether the signal is late of the time before.
//!
//! **Cost.** A push and a pop and a few comparisons; a square root and a division for each signal, and a random number
//! while BLUE's probability is not 0.

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::queue::signal::{discard, mark};
use crate::queue::tagged::Stamped;
use crate::{
    Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time,
};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{CobaltCore, CobaltSettings, CobaltVerdict};

/// The configuration of [`Cobalt`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 1000 packets, as tc-codel(8).
    pub limit: Size,
    /// The acceptable standing delay, above 0. Default: 5 ms, as CoDel (RFC 8289, section 4.3).
    pub target: Duration,
    /// The time for which the delay may be above `target` before the first signal, above 0. Default: 100 ms, as CoDel
    /// (RFC 8289, section 4.3).
    pub interval: Duration,
    /// Marks packets that can be marked instead of dropping them at CoDel's signals; BLUE and the limit always drop.
    /// Default: `true`, as CAKE.
    pub ecn: bool,
    /// The delay above which BLUE's probability grows even though the queue is not full, above 0. Default: 400 ms, as
    /// ns-3.
    pub blue_threshold: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(1000),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: true,
            blue_threshold: Duration::from_millis(400),
        }
    }
}

impl Config {
    /// Checks every value.
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::duration("target", self.target)?;
        check::duration("interval", self.interval)?;
        check::duration("blue_threshold", self.blue_threshold)
    }
}

/// COBALT over a FIFO.
#[derive(Debug)]
pub struct Cobalt<P> {
    buffer: Buffer<Stamped<P>>,
    settings: CobaltSettings,
    core: CobaltCore,
    rolls: Stream,
}

impl<P: Packet> Cobalt<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, target, interval, ecn, blue_threshold } = config;
        let settings = CobaltSettings { target, interval, floor: Duration::ZERO, blue_threshold, ecn };
        Ok(Self { buffer: Buffer::new(limit), settings, core: CobaltCore::new(), rolls: seed.stream("blue") })
    }
}

impl<P: Packet> Qdisc<P> for Cobalt<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.overflows(packet.bytes()) {
            self.core.full(&self.settings, now);
            return discard(now, packet, Reason::Limit, &mut self.buffer.counters, sink);
        }
        self.buffer.fifo.push(Stamped::new(packet, now));
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        let Self { buffer: Buffer { fifo, counters, .. }, settings, core, rolls } = self;
        while let Some(stamped) = fifo.pop() {
            let waited = stamped.sojourn(now);
            let mut packet = stamped.packet;
            match core.test(settings, now, waited, packet.ecn_capable(), rolls) {
                CobaltVerdict::Codel => discard(now, packet, Reason::AqmDequeue, counters, sink),
                CobaltVerdict::Blue => discard(now, packet, Reason::Early, counters, sink),
                verdict => {
                    if verdict == CobaltVerdict::Mark {
                        mark(now, &mut packet, Reason::AqmDequeue, counters, sink);
                    }
                    counters.departed.add(packet.bytes());
                    return Some(packet);
                }
            };
        }
        core.empty(settings, now);
        None
    }

    fn status(&self) -> Status {
        self.buffer.status()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
