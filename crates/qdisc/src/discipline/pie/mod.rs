//! PIE: drops arriving packets with a probability that a controller moves so that the delay comes to its target.
//!
//! Every 15 ms the probability changes with the deviation of the delay from `target` and with the change of the delay
//! (proportional and integral control). Bursts after a quiet time pass.
//!
//! **Source.** RFC 8033 (Pan, Natarajan, Baker, White, 2017): section 4, the options of section 5 and the pseudocode of
//! its appendices; parameters and defaults as tc-pie(8). The 2 % for a delay beyond 250 ms and the controller's excess
//! over 1, which holds floods, as in Linux.
//!
//! **Deviations.** The probability of a quiet queue is 0 once it has decayed below 2^-32. Missed updates are made up
//! for at the next call, at most 4096 of them (a minute); a longer silence counts as one minute.
//!
//! **Cost.** A push and a pop, and one random number for a packet that may be signalled; an update every `tupdate`.

use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::queue::signal::{discard, mark};
use crate::queue::tagged::Stamped;
use crate::{
    Bytes, Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream, Time,
};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{MOST_PERIODS, Periods, PieCore, PieSettings};

/// The configuration of [`Pie`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 1000 packets, as tc-pie(8).
    pub limit: Size,
    /// The controller and the signals.
    pub pie: PieParameters,
    /// Switches PIE on only when a third of `limit` is queued, and off when the queue is empty and the probability 0
    /// (RFC 8033, section 5.3). Default: `false`, always on, as tc-pie(8).
    pub onoff: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(1000), pie: PieParameters::default(), onoff: false }
    }
}

/// PIE's own parameters, for all disciplines that build on PIE.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct PieParameters {
    /// The delay to which the controller steers (QDELAY_REF), above 0. Default: 15 ms, RFC 8033, section 4.1.
    pub target: Duration,
    /// The time between updates of the probability (T_UPDATE), above 0. Default: 15 ms, RFC 8033, section 4.2.
    pub tupdate: Duration,
    /// The gain of the deviation from `target`, 0 to 32 in sixteenths of 1/s as tc-pie(8). Default: 2, which is 0.125
    /// Hz, RFC 8033, section 4.2.
    pub alpha: u32,
    /// The gain of the change of the delay, 0 to 32 in sixteenths of 1/s as tc-pie(8). Default: 20, which is 1.25 Hz,
    /// RFC 8033, section 4.2.
    pub beta: u32,
    /// The time after a quiet time for which no packet is signalled (MAX_BURST), above 0. Default: 150 ms, RFC 8033,
    /// section 4.4.
    pub max_burst: Duration,
    /// The mean packet: no packet is signalled while at most two of them are queued; the unit of `bytemode`. Default:
    /// 1000 bytes, as ns-3.
    pub avpkt: Bytes,
    /// Makes the probability proportional to the packet's size over `avpkt`. Default: `false`, as tc-pie(8).
    pub bytemode: bool,
    /// Takes the backlog over the measured departure rate as the delay (RFC 8033, section 5.2), instead of the wait of
    /// the last packet. Default: `false`, as tc-pie(8).
    pub dq_rate_estimator: bool,
    /// Marks packets that can be marked instead of dropping them; the limit always drops. Default: `false`, as
    /// tc-pie(8).
    pub ecn: bool,
    /// The probability, 0 to 100 percent, above which packets are dropped even if they can be marked. Default: 10, RFC
    /// 8033, section 5.1.
    pub ecn_prob: u32,
}

impl Default for PieParameters {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            alpha: 2,
            beta: 20,
            max_burst: Duration::from_millis(150),
            avpkt: Bytes::new(1000),
            bytemode: false,
            dq_rate_estimator: false,
            ecn: false,
            ecn_prob: 10,
        }
    }
}

impl PieParameters {
    /// Checks every value.
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        check::duration("target", self.target)?;
        check::duration("tupdate", self.tupdate)?;
        check::count("alpha", self.alpha, 0..=32)?;
        check::count("beta", self.beta, 0..=32)?;
        check::duration("max_burst", self.max_burst)?;
        check::bytes("avpkt", self.avpkt)?;
        check::count("ecn_prob", self.ecn_prob, 0..=100)
    }
}

/// The factor of the probability at an update without delay (RFC 8033, section 4.2).
const DECAY: f64 = 0.98;

/// PIE over a FIFO.
#[derive(Debug)]
pub struct Pie<P> {
    buffer: Buffer<Stamped<P>>,
    settings: PieSettings,
    core: PieCore,
    timer: Periods,
    rolls: Stream,
}

impl<P: Packet> Pie<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        let Config { limit, pie, onoff } = config;
        check::size("limit", limit)?;
        pie.validate()?;
        let bytes = match limit {
            Size::Packets(packets) => u64::from(packets.get()) * pie.avpkt.get(),
            Size::Bytes(bytes) => bytes.get(),
        };
        let settings = PieSettings::new(&pie, DECAY, onoff.then_some(bytes / 3));
        Ok(Self {
            buffer: Buffer::new(limit),
            core: PieCore::new(&settings),
            timer: Periods::new(pie.tupdate),
            rolls: seed.stream("pie"),
            settings,
        })
    }

    fn run_timer(&mut self, now: Time) {
        let (periods, _) = self.timer.ended(now);
        if periods > 0 {
            self.core.catch_up(&self.settings, periods, self.buffer.fifo.bytes());
        }
    }
}

impl<P: Packet> Qdisc<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.run_timer(now);
        let Self { buffer, settings, core, rolls, .. } = self;
        buffer.counters.arrived.add(packet.bytes());
        if buffer.overflows(packet.bytes()) {
            core.overflow();
            return discard(now, packet, Reason::Limit, &mut buffer.counters, sink);
        }
        let mut fate = Fate::Queued;
        if core.test(settings, packet.bytes(), buffer.fifo.bytes(), rolls) {
            if !settings.marks(packet.ecn_capable(), core.control()) {
                return discard(now, packet, Reason::Early, &mut buffer.counters, sink);
            }
            fate = mark(now, &mut packet, Reason::Early, &mut buffer.counters, sink);
        }
        buffer.fifo.push(Stamped::new(packet, now));
        core.arrived(settings, buffer.fifo.bytes());
        fate
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.run_timer(now);
        let Self { buffer, settings, core, .. } = self;
        let stamped = buffer.depart()?;
        core.departed(settings, now, stamped.packet.bytes(), stamped.sojourn(now), buffer.fifo.bytes());
        Some(stamped.packet)
    }

    fn status(&self) -> Status {
        Status { probability: Some(self.core.probability()), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
