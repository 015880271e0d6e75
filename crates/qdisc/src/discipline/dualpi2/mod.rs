//! DualPI2: couples the signals of a queue for scalable (L4S) flows with those of a queue for classic flows, so that
//! all flows share the link evenly while scalable packets wait a millisecond at most.
//!
//! One PI controller follows the longer of the two delays. Classic packets are signalled with the square of its output,
//! scalable ones with `coupling_factor` times it, or more when their own queue is too long.
//!
//! **Source.** RFC 9332 (De Schepper, Briscoe, White, 2023), sections 2 and 4.2 and appendix A; parameters, step and
//! weighted round robin as tc-dualpi2(8).
//!
//! **Deviations.** p' is kept within 0..1, and a likelihood above 1 counts as 1: the RFC's pseudocode leaves that out.
//! Missed updates are made up for at the next call, at most 4096 of them (a minute). A packet is of the L queue if it
//! is ECT(1) or CE, as in the RFC; a host may classify by other identifiers.
//!
//! **Cost.** A push and a pop and two comparisons of times; no random numbers. An update every `tupdate`.

use crate::discipline::pi2::{self, PiCore, PiVerdict, head_arrival, is_scalable};
use crate::error::check;
use crate::queue::fifo::Fifo;
use crate::queue::room::Room;
use crate::queue::signal::{discard, mark};
use crate::queue::tagged::Stamped;
use crate::{Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Time};

#[cfg(test)]
mod tests;

/// The configuration of [`DualPi2`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that both queues hold together, in packets or bytes. Default: 10000 packets, as tc-dualpi2(8).
    pub limit: Size,
    /// The controller.
    pub pi: pi2::PiParameters,
    /// The L queue's own marks. Default: a step at 1 ms, as tc-dualpi2(8).
    pub laqm: Laqm,
    /// The packets that must stay behind a packet in the L queue for the queue's own mark, 0 to 65536. Default: 0,
    /// as tc-dualpi2(8); RFC 9332 has 1 with [`Laqm::Ramp`] (Th_len).
    pub min_qlen_step: u32,
    /// The packets of 1514 bytes that must stay behind in both queues together for a signal of the controller, 0 to
    /// 65536. Default: 0, as RFC 9332, which has no such rule; Linux has 2.
    pub spare_mtus: u32,
    /// The percentage of the link, 0 to 100, that the classic queue is sure of while both queues have packets. Default:
    /// 10, as tc-dualpi2(8).
    pub classic_protection: u32,
}

/// The native AQM of the L queue, which marks by that queue's own delay (RFC 9332, section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Laqm {
    /// Marks every packet from a delay on.
    Step {
        /// That delay, above 0. The default of tc-dualpi2(8) is 1 ms.
        threshold: Duration,
    },
    /// Marks with a likelihood that rises linearly from 0 to 1 (RFC 9332, appendix A.1).
    Ramp {
        /// The delay at which it begins to rise, above 0. The RFC's default is 800 us.
        min: Duration,
        /// The further delay after which it is 1, above 0. The RFC's default is 400 us.
        range: Duration,
    },
}

impl Default for Laqm {
    fn default() -> Self {
        Self::Step { threshold: Duration::from_millis(1) }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(10_000),
            pi: pi2::PiParameters::default(),
            laqm: Laqm::default(),
            min_qlen_step: 0,
            spare_mtus: 0,
            classic_protection: 10,
        }
    }
}

impl Config {
    /// Checks every value.
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        self.pi.validate()?;
        match self.laqm {
            Laqm::Step { threshold } => check::duration("step_thresh", threshold)?,
            Laqm::Ramp { min, range } => {
                check::duration("min_thresh", min)?;
                check::duration("range", range)?;
            }
        }
        check::count("min_qlen_step", self.min_qlen_step, 0..=65_536)?;
        check::count("spare_mtus", self.spare_mtus, 0..=65_536)?;
        check::count("classic_protection", self.classic_protection, 0..=100)
    }
}

/// The L queue's own marks, ready for use.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NativeMarks {
    /// The delay from which packets are marked.
    from: Duration,
    /// The likelihood for each nanosecond beyond `from`; infinite for a step.
    slope: f64,
    /// The packets that must stay behind.
    behind: usize,
}

impl NativeMarks {
    fn new(laqm: Laqm, min_qlen_step: u32) -> Self {
        let (from, slope) = match laqm {
            Laqm::Step { threshold } => (threshold, f64::INFINITY),
            Laqm::Ramp { min, range } => (min, 1.0 / range.as_nanos() as f64),
        };
        Self { from, slope, behind: min_qlen_step as usize }
    }

    /// Returns the likelihood of a mark for a packet that `waited` and leaves `behind` packets.
    fn likelihood(&self, waited: Duration, behind: usize) -> f64 {
        if behind < self.behind || waited < self.from {
            return 0.0;
        }
        if self.slope == f64::INFINITY {
            return 1.0;
        }
        ((waited.as_nanos() - self.from.as_nanos()) as f64 * self.slope).min(1.0)
    }
}

/// One of the two queues, and the sum of its packets' likelihoods since the last signal.
#[derive(Debug)]
struct Lane<P> {
    fifo: Fifo<Stamped<P>>,
    sum: f64,
}

impl<P: Packet> Lane<P> {
    const fn new() -> Self {
        Self { fifo: Fifo::new(), sum: 0.0 }
    }

    /// Tells whether an event of `likelihood` happens; events are evenly spread, not at random (RFC 9332's `recur`).
    fn recur(&mut self, likelihood: f64) -> bool {
        self.sum += likelihood.min(1.0);
        if self.sum > 1.0 {
            self.sum -= 1.0;
            return true;
        }
        false
    }
}

/// DualPI2.
#[derive(Debug)]
pub struct DualPi2<P> {
    room: Room,
    core: PiCore,
    native: NativeMarks,
    /// The controller signals no packet that leaves fewer bytes behind.
    spare: u64,
    /// The classic queue's weight, in percent.
    classic_weight: i64,
    scalable: Lane<P>,
    classic: Lane<P>,
    /// The classic queue's turn if above 0, else the L queue's, while both have packets.
    credit: i64,
    counters: Counters,
}

impl<P: Packet> DualPi2<P> {
    /// Creates an empty queue. DualPI2 draws no random numbers: the seed is not used.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, _seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let classic_weight = i64::from(config.classic_protection);
        Ok(Self {
            room: Room::of(config.limit),
            core: PiCore::new(config.pi),
            native: NativeMarks::new(config.laqm, config.min_qlen_step),
            spare: MTU * u64::from(config.spare_mtus),
            classic_weight,
            scalable: Lane::new(),
            classic: Lane::new(),
            credit: first_credit(classic_weight),
            counters: Counters::default(),
        })
    }

    fn run_timer(&mut self, now: Time) {
        let Self { core, scalable, classic, .. } = self;
        core.run_timer(now, || match (head_arrival(&scalable.fifo), head_arrival(&classic.fifo)) {
            (Some(scalable), Some(classic)) => Some(scalable.min(classic)),
            (one, other) => one.or(other),
        });
    }

    /// Takes a packet from the queue whose turn it is. Returns it, whether it is of the L queue, and the credit for it.
    fn schedule(&mut self) -> Option<(Stamped<P>, bool, i64)> {
        let both = self.scalable.fifo.packets() > 0 && self.classic.fifo.packets() > 0;
        let from_scalable = self.classic.fifo.packets() == 0 || (both && self.credit <= 0);
        let (lane, weight) = if from_scalable {
            (&mut self.scalable, self.classic_weight)
        } else {
            (&mut self.classic, self.classic_weight - PERCENT)
        };
        let Some(stamped) = lane.fifo.pop() else {
            self.credit = first_credit(self.classic_weight);
            return None;
        };
        let weight = if both { weight } else { 0 };
        let credit = weight * i64::from(stamped.packet.bytes());
        Some((stamped, from_scalable, credit))
    }

    /// Decides on a packet of the L queue that `waited`.
    fn test_scalable(&mut self, waited: Duration) -> PiVerdict {
        if self.bytes() < self.spare {
            let native = self.native.likelihood(waited, self.scalable.fifo.packets());
            return if self.scalable.recur(native) { PiVerdict::Mark } else { PiVerdict::Pass };
        }
        let coupled = self.core.scalable();
        let overload = self.core.is_overloaded();
        if overload {
            let classic = self.core.classic();
            if self.scalable.recur(classic) {
                return PiVerdict::Drop;
            }
        }
        let native = if overload { 0.0 } else { self.native.likelihood(waited, self.scalable.fifo.packets()) };
        if self.scalable.recur(native.max(coupled)) { PiVerdict::Mark } else { PiVerdict::Pass }
    }

    /// Decides on a packet of the classic queue.
    fn test_classic(&mut self, ecn_capable: bool) -> PiVerdict {
        let overload = self.core.is_overloaded();
        let classic = self.core.classic();
        if self.bytes() < self.spare || !self.classic.recur(classic) {
            PiVerdict::Pass
        } else if ecn_capable && !overload {
            PiVerdict::Mark
        } else {
            PiVerdict::Drop
        }
    }
}

/// Returns the credit after an idle time: the heavier queue is served first, by one packet.
const fn first_credit(classic_weight: i64) -> i64 {
    MTU as i64 * (2 * classic_weight - PERCENT)
}

/// The largest packet on Ethernet, with its header.
const MTU: u64 = 1514;

/// The sum of the two queues' weights.
const PERCENT: i64 = 100;

impl<P: Packet> Qdisc<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.run_timer(now);
        self.counters.arrived.add(packet.bytes());
        if self.room.is_exceeded(self.packets() + 1, self.bytes() + u64::from(packet.bytes())) {
            return discard(now, packet, Reason::Limit, &mut self.counters, sink);
        }
        let lane = if is_scalable(&packet) { &mut self.scalable } else { &mut self.classic };
        lane.fifo.push(Stamped::new(packet, now));
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        self.run_timer(now);
        loop {
            let (stamped, from_scalable, credit) = self.schedule()?;
            let waited = stamped.sojourn(now);
            let mut packet = stamped.packet;
            let verdict =
                if from_scalable { self.test_scalable(waited) } else { self.test_classic(packet.ecn_capable()) };
            match verdict {
                PiVerdict::Drop => {
                    discard(now, packet, Reason::AqmDequeue, &mut self.counters, sink);
                    continue;
                }
                PiVerdict::Mark => {
                    mark(now, &mut packet, Reason::AqmDequeue, &mut self.counters, sink);
                }
                PiVerdict::Pass => {}
            }
            self.credit += credit;
            self.counters.departed.add(packet.bytes());
            return Some(packet);
        }
    }

    fn status(&self) -> Status {
        Status::new(
            self.scalable.fifo.packets() + self.classic.fifo.packets(),
            self.scalable.fifo.bytes() + self.classic.fifo.bytes(),
        )
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
