//! PIE: arriving packets are dropped with a probability that a controller moves so that the delay comes to its target.
//!
//! Every 15 ms the probability rises with how far the delay is from `target` and with how fast it grows (proportional and
//! integral control). Bursts after a quiet time pass.
//!
//! **Source.** RFC 8033 (Pan, Natarajan, Baker, White, 2017): section 4, the options of section 5 and the pseudocode of its
//! appendices; parameters and defaults as tc-pie(8). The 2 % for a delay beyond 250 ms as in Linux.
//!
//! **Deviations.** The probability of a quiet queue is 0 once it has decayed below 2^-32. The timer is made up for at the
//! next call, for at most 4096 periods (a minute); a longer silence is as if it had been one minute.
//!
//! **Cost.** A push and a pop, and one random number for a packet that may be signalled; an update every `tupdate`.

use crate::buffer::Buffer;
use crate::config::shared::TARGET;
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::delay::{LIMIT_1000, MARK, TUPDATE, packets};
use crate::signal::{discard, mark};
use crate::tagged::Stamped;
use crate::{Bytes, Counters, Duration, Fate, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{MOST_PERIODS, Periods, PieCore, PieSettings};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "pie",
    summary: "drops arrivals with a probability that a controller moves towards a delay",
    source: "Pan, Natarajan, Baker, White: Proportional Integral Controller Enhanced (PIE), RFC 8033",
    year: Some(2017),
    needs: "the delay and its change",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[
        LIMIT_1000,
        PIE_TARGET,
        TUPDATE,
        ALPHA,
        BETA,
        MAX_BURST,
        AVPKT,
        BYTEMODE,
        DQ_RATE_ESTIMATOR,
        MARK,
        ECN_PROB,
        ONOFF,
    ],
};

pub(crate) const PIE_TARGET: Parameter = TARGET.default("15ms, RFC 8033");
pub(crate) const ALPHA: Parameter = parameter(
    "alpha",
    Domain::Count { min: 0, max: 32, infinite: false },
    "2, which is 0.125 Hz, RFC 8033",
    "weight of the deviation from `target`, in sixteenths as tc(8)",
)
.elsewhere(&["A"]);
pub(crate) const BETA: Parameter = parameter(
    "beta",
    Domain::Count { min: 0, max: 32, infinite: false },
    "20, which is 1.25 Hz, RFC 8033",
    "weight of the change of the delay, in sixteenths as tc(8)",
)
.elsewhere(&["B"]);
pub(crate) const MAX_BURST: Parameter = parameter(
    "max_burst",
    Domain::Duration,
    "150ms, RFC 8033",
    "for how long after a quiet time no packet is signalled",
)
.elsewhere(&["MaxBurstAllowance", "MAX_BURST", "burst_allowance"]);
pub(crate) const AVPKT: Parameter = parameter(
    "avpkt",
    Domain::Bytes,
    "1000b, as ns-3",
    "mean packet: no packet is signalled while at most two of them are queued; the unit of `bytemode`",
)
.elsewhere(&["mean_pkt", "MeanPktSize", "MEAN_PKTSIZE"]);
pub(crate) const BYTEMODE: Parameter = parameter(
    "bytemode",
    Domain::Switch,
    "false, as tc(8)",
    "the probability is proportional to the packet's size over `avpkt`",
);
pub(crate) const DQ_RATE_ESTIMATOR: Parameter = parameter(
    "dq_rate_estimator",
    Domain::Switch,
    "false, as tc(8)",
    "the delay is the backlog over the measured departure rate, instead of what the last packet waited",
)
.elsewhere(&["UseDequeueRateEstimator"]);
pub(crate) const ECN_PROB: Parameter = parameter(
    "ecn_prob",
    Domain::Count { min: 0, max: 100, infinite: false },
    "10, RFC 8033",
    "percent of probability up to which packets are marked; above they are dropped even so",
)
.elsewhere(&["MarkEcnThreshold", "mark_ecnth"]);
const ONOFF: Parameter = parameter(
    "onoff",
    Domain::Switch,
    "false, as tc(8)",
    "PIE is off until a third of `limit` is queued, and again once it has nothing to do (RFC 8033, appendix B)",
)
.elsewhere(&["ActiveThreshold"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    pie: PieSettings,
    tupdate: Duration,
    marks: Marks,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("as tc(8)"), packets(1000))?;
    let (pie, avpkt) = resolve_core(r)?;
    let marks = Marks::resolve(r)?;
    let onoff = r.take("onoff", Origin::Default("as tc(8)"), false)?;
    let room = match limit {
        Size::Packets(packets) => u64::from(packets.get()) * avpkt.get(),
        Size::Bytes(bytes) => bytes.get(),
    };
    let on_from = onoff.then_some(room / 3);
    Ok(Settings { limit, pie: PieSettings { on_from, ..pie }, tupdate: pie.tupdate, marks })
}

/// What PIE itself is told, and the mean packet.
pub(crate) fn resolve_core(r: &mut Resolver<'_>) -> Result<(PieSettings, Bytes), ParameterError> {
    let target = r.take("target", Origin::Default("RFC 8033, section 4.1"), Duration::from_millis(15))?;
    let tupdate = r.take("tupdate", Origin::Default("RFC 8033, section 4.2"), Duration::from_millis(15))?;
    let alpha = r.take("alpha", Origin::Default("RFC 8033, section 4.2"), 2_u32)?;
    let beta = r.take("beta", Origin::Default("RFC 8033, section 4.2"), 20_u32)?;
    let max_burst = r.take("max_burst", Origin::Default("RFC 8033, section 4.4"), Duration::from_millis(150))?;
    let avpkt = r.take("avpkt", Origin::Default("as ns-3"), Bytes::new(1000))?;
    let bytemode = r.take("bytemode", Origin::Default("as tc(8)"), false)?;
    let dq_rate_estimator = r.take("dq_rate_estimator", Origin::Default("as tc(8)"), false)?;
    judge(r, target, tupdate, (alpha, beta), avpkt);
    let pie = PieSettings {
        target: target.as_secs(),
        tupdate,
        alpha: f64::from(alpha) / 16.0,
        beta: f64::from(beta) / 16.0,
        max_burst,
        spared: 2 * avpkt.get(),
        per_avpkt: bytemode.then_some(1.0 / avpkt.get() as f64),
        dq_rate_estimator,
        decay: 0.98,
        on_from: None,
    };
    Ok((pie, avpkt))
}

/// Says what looks wrong.
fn judge(r: &mut Resolver<'_>, target: Duration, tupdate: Duration, (alpha, beta): (u32, u32), avpkt: Bytes) {
    let spared = r.rate().transmission(2 * avpkt.get());
    if r.rate().bits_per_second() > 0 && spared > target {
        r.warn(alloc::format!(
            "two packets of {avpkt} take {:.3} ms and are always spared: target {target} is out of reach, and what finds \
             more is dropped",
            1e3 * spared.as_secs()
        ));
    }
    if tupdate > target {
        r.warn(alloc::format!(
            "tupdate {tupdate} is longer than target {target}: the queue changes faster than PIE looks"
        ));
    }
    if alpha == 0 {
        r.warn("alpha 0 does not steer to the target at all: the delay stays wherever it is".into());
    }
    if beta < alpha {
        r.warn(alloc::format!("beta {beta} is below alpha {alpha}: the delay will swing"));
    }
}

/// Whom a signal marks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    ecn: bool,
    below: f64,
}

impl Marks {
    pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Self, ParameterError> {
        let ecn = r.take("ecn", Origin::Default("as tc(8)"), false)?;
        let percent = r.take("ecn_prob", Origin::Default("RFC 8033, section 5.1"), 10_u32)?;
        Ok(Self { ecn, below: f64::from(percent) / 100.0 })
    }

    /// Whether a signal at `probability` marks a packet that is `ecn_capable` or not.
    pub(crate) fn apply(self, ecn_capable: bool, probability: f64) -> bool {
        self.ecn && ecn_capable && probability <= self.below
    }
}

/// PIE over a FIFO.
#[derive(Debug)]
pub struct Pie<P> {
    buffer: Buffer<Stamped<P>>,
    settings: PieSettings,
    marks: Marks,
    core: PieCore,
    timer: Periods,
    rolls: Stream,
}

impl<P: Packet> Pie<P> {
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { limit, pie, tupdate, marks } = settings;
        Self {
            buffer: Buffer::new(limit),
            settings: pie,
            marks,
            core: PieCore::new(&pie),
            timer: Periods::new(tupdate),
            rolls: seed.stream("pie"),
        }
    }

    fn run_timer(&mut self, now: Time) {
        let (periods, _) = self.timer.ended(now);
        if periods > 0 {
            self.core.catch_up(&self.settings, periods, self.buffer.fifo.bytes());
        }
    }
}

impl<P: Packet> Qdisc<P> for Pie<P> {
    fn enqueue(&mut self, now: Time, mut packet: P, fate: &mut impl Fate<P>) {
        self.run_timer(now);
        let Self { buffer, settings, marks, core, rolls, .. } = self;
        buffer.counters.arrived.add(packet.bytes());
        if buffer.overflows(packet.bytes()) {
            core.overflow();
            discard(now, packet, Reason::Limit, &mut buffer.counters, fate);
            return;
        }
        if core.test(settings, packet.bytes(), buffer.fifo.bytes(), rolls) {
            if !marks.apply(packet.ecn_capable(), core.probability()) {
                discard(now, packet, Reason::Early, &mut buffer.counters, fate);
                return;
            }
            mark(now, &mut packet, Reason::Early, &mut buffer.counters, fate);
        }
        buffer.fifo.push(Stamped::new(packet, now));
        core.arrived(settings, buffer.fifo.bytes());
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        self.run_timer(now);
        let Self { buffer, settings, core, .. } = self;
        let stamped = buffer.depart()?;
        core.departed(settings, now, stamped.packet.bytes(), stamped.sojourn(now), buffer.fifo.bytes());
        Some(stamped.packet)
    }

    fn packets(&self) -> usize {
        self.buffer.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.buffer.fifo.bytes()
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn probability(&self) -> Option<f64> {
        Some(self.core.probability())
    }
}
