//! PI2: squares its controller's probability for classic flows, so that it needs no tables to be stable.
//!
//! A classic flow's rate falls with the square root of its signals, so squaring the controller's output makes it
//! linear. Scalable flows, whose rate falls in proportion, are marked with the output itself, times `coupling_factor`:
//! the two share a link evenly.
//!
//! **Source.** De Schepper, Bondarenko, Tsang, Briscoe, "PI2: A Linearized AQM for both Classic and Scalable TCP",
//! CoNEXT 2016. PiParameters, defaults and overload as RFC 9332 and tc-dualpi2(8); the paper's gains were 0.3125 and
//! 3.125.
//!
//! **Deviations.** The delay is the wait of the queue's head at the update, as in RFC 9332. Missed updates are made up
//! for at the next call, at most 4096 of them (a minute).
//!
//! **Cost.** A push and a pop and one or two random numbers; an update every `tupdate`.

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::queue::fifo::Fifo;
use crate::queue::signal::{discard, mark};
use crate::queue::tagged::Stamped;
use crate::{
    Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time,
};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{PiCore, PiVerdict};

/// The configuration of [`Pi2`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 10000 packets, as tc-dualpi2(8).
    pub limit: Size,
    /// The controller.
    pub pi: PiParameters,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(10_000), pi: PiParameters::default() }
    }
}

/// The controller's parameters, for PI2 and DualPI2.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct PiParameters {
    /// The delay to which the controller steers, above 0. Default: 15 ms, RFC 9332, appendix A.1.
    pub target: Duration,
    /// The time between updates of the probability, above 0. Default: 16 ms, as tc-dualpi2(8).
    pub tupdate: Duration,
    /// The probability that an update adds for each second of delay above `target`, 0 to [`MOST_GAIN`]. Default: 0.16,
    /// as tc-dualpi2(8).
    pub alpha: f64,
    /// The probability that an update adds for each second by which the delay has grown, 0 to [`MOST_GAIN`]. Default:
    /// 3.2, as tc-dualpi2(8).
    pub beta: f64,
    /// The ratio of scalable flows' marks to the square root of classic flows' signals (k), 1 to 255. Default: 2, RFC
    /// 9332, section 2.1.
    pub coupling_factor: f64,
    /// Drops packets of all flows with the classic probability once marking every scalable packet is not enough;
    /// otherwise the limit does it. Default: `true`, RFC 9332, appendix A.2.
    pub drop_overload: bool,
}

/// The largest gain of the controller, [`PiParameters::alpha`] and [`PiParameters::beta`]: an assumption, far above any
/// that is stable.
pub const MOST_GAIN: f64 = 1000.0;

impl Default for PiParameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling_factor: 2.0,
            drop_overload: true,
        }
    }
}

impl PiParameters {
    /// Returns the same with `tupdate`, `alpha` and `beta` for round-trip times up to `max_rtt`, as RFC 9332, appendix
    /// A.1, derives them: the smaller of `target` and `max_rtt` / 3, 0.1 `tupdate` / `max_rtt`^2 and 0.3 / `max_rtt`.
    #[must_use]
    pub fn with_max_rtt(self, max_rtt: Duration) -> Self {
        let third = Duration::from_nanos((max_rtt.as_nanos() / 3).max(1));
        Self { tupdate: self.target.min(third), ..self }.with_gains_for(max_rtt)
    }

    /// Returns the same with `alpha` and `beta` for `max_rtt` and `tupdate`.
    pub(crate) fn with_gains_for(self, max_rtt: Duration) -> Self {
        let (period, rtt) = (self.tupdate.as_nanos() as f64, max_rtt.as_nanos() as f64);
        let alpha = (0.1e9 * period / (rtt * rtt)).min(MOST_GAIN);
        let beta = (0.3e9 / rtt).min(MOST_GAIN);
        Self { alpha, beta, ..self }
    }

    /// Checks every value.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::duration("target", self.target)?;
        check::duration("tupdate", self.tupdate)?;
        check::number("alpha", self.alpha, 0.0..=MOST_GAIN)?;
        check::number("beta", self.beta, 0.0..=MOST_GAIN)?;
        check::number("coupling_factor", self.coupling_factor, 1.0..=255.0)
    }
}

#[cfg(test)]
impl PiParameters {
    /// Returns the defaults, without any update for an hour.
    pub(crate) fn frozen() -> Self {
        Self { tupdate: Duration::from_millis(3_600_000), ..Self::default() }
    }
}

/// Tells whether a packet is of a scalable flow; it must be one that can be marked.
pub(crate) fn is_scalable<P: Packet>(packet: &P) -> bool {
    packet.l4s() && packet.ecn_capable()
}

/// Returns the arrival of the head of `fifo`.
pub(crate) fn head_arrival<P: Packet>(fifo: &Fifo<Stamped<P>>) -> Option<Time> {
    fifo.front().and_then(|place| fifo.packet(place)).map(|stamped| stamped.tag)
}

/// PI2 over a FIFO.
#[derive(Debug)]
pub struct Pi2<P> {
    buffer: Buffer<Stamped<P>>,
    core: PiCore,
    rolls: Stream,
}

impl<P: Packet> Pi2<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        let Config { limit, pi } = config;
        check::size("limit", limit)?;
        pi.validate()?;
        Ok(Self { buffer: Buffer::new(limit), core: PiCore::new(pi), rolls: seed.stream("pi2") })
    }

    fn run_timer(&mut self, now: Time) {
        let Self { buffer, core, .. } = self;
        core.run_timer(now, || head_arrival(&buffer.fifo));
    }

    /// Draws with the probability p_C = p'^2, as two draws with p'.
    fn classic(&mut self) -> bool {
        let probability = self.core.probability();
        self.rolls.chance(probability) && self.rolls.chance(probability)
    }

    /// Decides on an arriving packet.
    fn test(&mut self, packet: &P) -> PiVerdict {
        let overload = self.core.is_overloaded();
        if is_scalable(packet) {
            if overload && self.classic() {
                return PiVerdict::Drop;
            }
            let scalable = self.core.scalable();
            return if self.rolls.chance(scalable) { PiVerdict::Mark } else { PiVerdict::Pass };
        }
        if !self.classic() {
            PiVerdict::Pass
        } else if packet.ecn_capable() && !overload {
            PiVerdict::Mark
        } else {
            PiVerdict::Drop
        }
    }
}

impl<P: Packet> Qdisc<P> for Pi2<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.run_timer(now);
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.overflows(packet.bytes()) {
            return discard(now, packet, Reason::Limit, &mut self.buffer.counters, sink);
        }
        let fate = match self.test(&packet) {
            PiVerdict::Drop => return discard(now, packet, Reason::Early, &mut self.buffer.counters, sink),
            PiVerdict::Mark => mark(now, &mut packet, Reason::Early, &mut self.buffer.counters, sink),
            PiVerdict::Pass => Fate::Queued,
        };
        self.buffer.fifo.push(Stamped::new(packet, now));
        fate
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.run_timer(now);
        self.buffer.depart().map(|stamped| stamped.packet)
    }

    fn status(&self) -> Status {
        self.buffer.status()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
