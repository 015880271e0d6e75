//! DualPI2: a queue for scalable (L4S) flows and one for classic flows, whose signals are coupled so that all flows share
//! the link evenly while scalable packets wait a millisecond at most.
//!
//! One PI controller follows the longer of the two delays. Classic packets are signalled with the square of its output,
//! scalable ones with `coupling_factor` times it, or more when their own queue is too long.
//!
//! **Source.** RFC 9332 (De Schepper, Briscoe, White, 2023), sections 2 and 4.2 and appendix A; parameters, step and
//! weighted round robin as tc-dualpi2(8).
//!
//! **Deviations.** p' is kept within 0..1, and a likelihood above 1 counts as 1: the RFC's pseudocode leaves that out.
//! The timer is made up for at the next call, for at most 4096 periods (a minute). A packet is of the L queue if it is
//! ECT(1) or CE, as in the RFC; other identifiers are the host's to decide.
//!
//! **Cost.** A push and a pop and two comparisons of times; no random numbers. An update every `tupdate`.

use alloc::format;

use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::delay::{LIMIT_10000, Room, packets};
use crate::fifo::Fifo;
use crate::pi2::{
    ALPHA, BETA, COUPLING_FACTOR, DROP_OVERLOAD, MAX_RTT, PI_TARGET, PI_TUPDATE, PiCore, PiSettings, head_arrival,
    is_scalable,
};
use crate::signal::{discard, mark};
use crate::tagged::Stamped;
use crate::{Counters, Duration, Fate, Packet, Qdisc, Reason, Seed, Time};

#[cfg(test)]
mod tests;

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "dualpi2",
    summary: "a queue for scalable and one for classic flows, with coupled signals",
    source: "De Schepper, Briscoe, White: Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and \
             Scalable Throughput (L4S), RFC 9332",
    year: Some(2023),
    needs: "the delay and its change, and which packets are of scalable flows",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[
        LIMIT_10000,
        PI_TARGET,
        PI_TUPDATE,
        ALPHA,
        BETA,
        MAX_RTT,
        COUPLING_FACTOR,
        DROP_OVERLOAD,
        LAQM,
        STEP_THRESH,
        MIN_THRESH,
        RANGE,
        MIN_QLEN_STEP,
        CLASSIC_PROTECTION,
    ],
};

const LAQM: Parameter = parameter(
    "laqm",
    Domain::Choice(&["step", "ramp"]),
    "step, as tc(8); ramp is RFC 9332, appendix A.1",
    "how the L queue's own marks begin: at `step_thresh`, or more and more over `range` from `min_thresh`",
);
const STEP_THRESH: Parameter = parameter(
    "step_thresh",
    Domain::Duration,
    "1ms, as tc(8)",
    "delay from which every packet of the L queue is marked, with `laqm = step`",
);
const MIN_THRESH: Parameter = parameter(
    "min_thresh",
    Domain::Duration,
    "800us, RFC 9332",
    "delay from which some packets of the L queue are marked, with `laqm = ramp`",
)
.elsewhere(&["minTh"]);
const RANGE: Parameter = parameter(
    "range",
    Domain::Duration,
    "400us, RFC 9332",
    "how much longer than `min_thresh` the delay is when every packet of the L queue is marked, with `laqm = ramp`",
);
const MIN_QLEN_STEP: Parameter = parameter(
    "min_qlen_step",
    Domain::Count { min: 0, max: 65_536, infinite: false },
    "0, as tc(8); 1, RFC 9332's Th_len, with `laqm = ramp`",
    "packets that must stay behind in the L queue for its own marks",
)
.elsewhere(&["Th_len"]);
const CLASSIC_PROTECTION: Parameter = parameter(
    "classic_protection",
    Domain::Count { min: 0, max: 100, infinite: false },
    "10, as tc(8)",
    "percent of the link that the classic queue is sure of while both queues have packets",
);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    room: Room,
    pi: PiSettings,
    drop_overload: bool,
    native: Native,
    classic_weight: i64,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("as tc(8)"), packets(10_000))?;
    let (pi, drop_overload) = PiSettings::resolve(r)?;
    let native = Native::resolve(r)?;
    let percent = r.take("classic_protection", Origin::Default("as tc(8)"), 10_u32)?;
    if percent == 0 {
        r.warn("classic_protection 0: scalable flows that do not react starve the classic ones".into());
    }
    if percent > 50 {
        r.warn(format!(
            "classic_protection {percent}: the L queue waits for the classic one, and its delay is no longer low"
        ));
    }
    Ok(Settings { room: Room::new(limit, u64::MAX), pi, drop_overload, native, classic_weight: i64::from(percent) })
}

/// The L queue's own marks.
#[derive(Clone, Copy, Debug)]
struct Native {
    /// No mark below.
    from: Duration,
    /// Beyond `from`, the part of a mark for each nanosecond; a step is infinitely steep.
    slope: f64,
    /// Packets that must stay behind.
    behind: usize,
}

impl Native {
    fn resolve(r: &mut Resolver<'_>) -> Result<Self, ParameterError> {
        let ramp = r.take("laqm", Origin::Default("as tc(8)"), "step")? == "ramp";
        let step = r.take("step_thresh", Origin::Default("as tc(8)"), Duration::from_millis(1))?;
        let from = r.take("min_thresh", Origin::Default("RFC 9332, appendix A.1"), Duration::from_nanos(800_000))?;
        let range = r.take("range", Origin::Default("RFC 9332, appendix A.1"), Duration::from_nanos(400_000))?;
        let behind = if ramp {
            r.take("min_qlen_step", Origin::Default("RFC 9332's Th_len"), 1_u32)?
        } else {
            r.take("min_qlen_step", Origin::Default("as tc(8)"), 0_u32)?
        };
        let first = if ramp { from } else { step };
        if r.rate().bits_per_second() > 0 && behind == 0 && r.rate().transmission(1514) > first {
            let packet = 1e3 * r.rate().transmission(1514).as_secs();
            r.warn(format!(
                "a packet of 1514 bytes takes {packet:.3} ms, longer than {first}: one that only waits for another is marked"
            ));
        }
        let slope = if ramp { 1.0 / range.as_nanos() as f64 } else { f64::INFINITY };
        Ok(Self { from: first, slope, behind: behind as usize })
    }

    /// The likelihood of a mark for a packet that `waited` and leaves `behind` packets.
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

/// A queue, and what its likelihoods have added up to.
#[derive(Debug)]
struct Lane<P> {
    fifo: Fifo<Stamped<P>>,
    sum: f64,
}

impl<P: Packet> Lane<P> {
    const fn new() -> Self {
        Self { fifo: Fifo::new(), sum: 0.0 }
    }

    /// Whether an event of `likelihood` happens: evenly spread, not at random (RFC 9332's `recur`).
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
    settings: Settings,
    core: PiCore,
    scalable: Lane<P>,
    classic: Lane<P>,
    /// Whose turn it is while both queues have packets: the classic queue's if it is above 0.
    credit: i64,
    counters: Counters,
}

impl<P: Packet> DualPi2<P> {
    pub(crate) fn new(settings: Settings, _seed: Seed) -> Self {
        let core = PiCore::new(settings.pi);
        let (scalable, classic) = (Lane::new(), Lane::new());
        Self { settings, core, scalable, classic, credit: first_credit(&settings), counters: Counters::default() }
    }

    fn run_timer(&mut self, now: Time) {
        let Self { core, scalable, classic, .. } = self;
        core.run_timer(now, || match (head_arrival(&scalable.fifo), head_arrival(&classic.fifo)) {
            (Some(scalable), Some(classic)) => Some(scalable.min(classic)),
            (one, other) => one.or(other),
        });
    }

    /// Takes a packet from the queue whose turn it is; whether that is the L queue, and the credit for it.
    fn schedule(&mut self) -> Option<(Stamped<P>, bool, i64)> {
        let both = self.scalable.fifo.packets() > 0 && self.classic.fifo.packets() > 0;
        let from_scalable = self.classic.fifo.packets() == 0 || (both && self.credit <= 0);
        let (lane, weight) = if from_scalable {
            (&mut self.scalable, self.settings.classic_weight)
        } else {
            (&mut self.classic, self.settings.classic_weight - PERCENT)
        };
        let Some(stamped) = lane.fifo.pop() else {
            self.credit = first_credit(&self.settings);
            return None;
        };
        let weight = if both { weight } else { 0 };
        let credit = weight * i64::from(stamped.packet.bytes());
        Some((stamped, from_scalable, credit))
    }

    /// What becomes of a packet of the L queue that `waited`.
    fn test_scalable(&mut self, waited: Duration) -> Verdict {
        let coupled = self.core.scalable();
        let overload = self.settings.drop_overload && coupled >= 1.0;
        if overload {
            let classic = self.core.classic();
            if self.scalable.recur(classic) {
                return Verdict::Drop;
            }
        }
        let native = if overload { 0.0 } else { self.settings.native.likelihood(waited, self.scalable.fifo.packets()) };
        if self.scalable.recur(native.max(coupled)) { Verdict::Mark } else { Verdict::Pass }
    }

    /// What becomes of a packet of the classic queue.
    fn test_classic(&mut self, ecn_capable: bool) -> Verdict {
        let overload = self.settings.drop_overload && self.core.scalable() >= 1.0;
        let classic = self.core.classic();
        if !self.classic.recur(classic) {
            Verdict::Pass
        } else if ecn_capable && !overload {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }
}

/// What becomes of a packet that is due to leave.
enum Verdict {
    Pass,
    Mark,
    Drop,
}

/// The credit after an idle time: the heavier queue goes first, by one packet.
fn first_credit(settings: &Settings) -> i64 {
    1514 * (2 * settings.classic_weight - PERCENT)
}

/// The two queues' weights together.
const PERCENT: i64 = 100;

impl<P: Packet> Qdisc<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.run_timer(now);
        self.counters.arrived.add(packet.bytes());
        if self.settings.room.is_exceeded(self.packets() + 1, self.bytes() + u64::from(packet.bytes())) {
            discard(now, packet, Reason::Limit, &mut self.counters, fate);
            return;
        }
        let lane = if is_scalable(&packet) { &mut self.scalable } else { &mut self.classic };
        lane.fifo.push(Stamped::new(packet, now));
    }

    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        self.run_timer(now);
        loop {
            let (stamped, from_scalable, credit) = self.schedule()?;
            let waited = stamped.sojourn(now);
            let mut packet = stamped.packet;
            let verdict =
                if from_scalable { self.test_scalable(waited) } else { self.test_classic(packet.ecn_capable()) };
            match verdict {
                Verdict::Drop => {
                    discard(now, packet, Reason::AqmDequeue, &mut self.counters, fate);
                    continue;
                }
                Verdict::Mark => mark(now, &mut packet, Reason::AqmDequeue, &mut self.counters, fate),
                Verdict::Pass => {}
            }
            self.credit += credit;
            self.counters.departed.add(packet.bytes());
            return Some(packet);
        }
    }

    fn packets(&self) -> usize {
        self.scalable.fifo.packets() + self.classic.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.scalable.fifo.bytes() + self.classic.fifo.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}
