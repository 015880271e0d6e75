//! COBALT: CoDel for flows that react, BLUE for those that do not.
//!
//! CoDel's count rises by one for a signal and falls by one for each that would be due when the delay is good again, so it
//! finds the frequency that a queue needs instead of starting anew. When the queue overflows all the same, BLUE's
//! probability grows, and packets are dropped by it whether they can be marked or not; when the queue runs empty it falls.
//!
//! **Source.** Palmei et al., "Design and Evaluation of COBALT Queue Discipline", IEEE LANMAN 2019; CAKE's `cobalt_*`; ns-3's
//! growth of BLUE's probability beyond `blue_threshold`.
//!
//! **Deviations.** The inverse square root is exact. A signal that BLUE overrules is a drop and not also a mark.
//!
//! **Cost.** A push and a pop and a few comparisons; a square root and a division for each signal, and a random number while
//! BLUE's probability is not 0.

use crate::buffer::Buffer;
use crate::codel::judge_interval;
use crate::config::shared::{INTERVAL, TARGET};
use crate::config::{About, Domain, FlowState, Origin, Parameter, ParameterError, Resolver, parameter};
use crate::delay::{LIMIT_1000, MARK, judge_target, packets};
use crate::signal::{discard, mark};
use crate::tagged::Stamped;
use crate::{Bytes, Counters, Duration, Fate, Packet, Qdisc, Reason, Seed, Size, Stream, Time};

mod core;
#[cfg(test)]
mod tests;

pub(crate) use self::core::{CobaltCore, CobaltSettings, Verdict};

/// What is known of it.
pub(crate) const ABOUT: About = About {
    name: "cobalt",
    summary: "CoDel whose frequency falls as it rose, and BLUE for those that do not react",
    source: "Palmei, Gupta, Imputato, Morton, Tahiliani, Avallone, Täht: Design and Evaluation of COBALT Queue Discipline, \
             IEEE LANMAN 2019",
    year: Some(2019),
    needs: "each packet's time of arrival",
    flow_state: FlowState::None,
    experimental: false,
    parameters: &[LIMIT_1000, TARGET, INTERVAL, COBALT_ECN, BLUE_THRESHOLD],
};

pub(crate) const COBALT_ECN: Parameter = MARK.default("true, as CAKE");
const BLUE_THRESHOLD: Parameter = parameter(
    "blue_threshold",
    Domain::Duration,
    "400ms, as ns-3",
    "delay from which BLUE's probability grows although the queue is not full",
)
.elsewhere(&["BlueThreshold"]);

/// What it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    limit: Size,
    cobalt: CobaltSettings,
}

/// What it is told by what was given.
pub(crate) fn resolve(r: &mut Resolver<'_>) -> Result<Settings, ParameterError> {
    let limit = r.limit_or(Origin::Default("as codel in tc(8)"), packets(1000))?;
    let target = r.take("target", Origin::Default("as CoDel"), Duration::from_millis(5))?;
    let interval = r.take("interval", Origin::Default("as CoDel"), Duration::from_millis(100))?;
    let ecn = r.take("ecn", Origin::Default("as CAKE"), true)?;
    let blue_threshold = r.take("blue_threshold", Origin::Default("as ns-3"), Duration::from_millis(400))?;
    judge_target(r, target, Bytes::new(1514));
    judge_interval(r, target, interval);
    if blue_threshold <= target {
        r.warn(alloc::format!("blue_threshold {blue_threshold} is not above target {target}: BLUE does all the work"));
    }
    let cobalt = CobaltSettings { target, interval, floor: Duration::ZERO, blue_threshold, ecn };
    Ok(Settings { limit, cobalt })
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
    pub(crate) fn new(settings: Settings, seed: Seed) -> Self {
        let Settings { limit, cobalt } = settings;
        Self { buffer: Buffer::new(limit), settings: cobalt, core: CobaltCore::new(), rolls: seed.stream("blue") }
    }
}

impl<P: Packet> Qdisc<P> for Cobalt<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.counters.arrived.add(packet.bytes());
        if self.buffer.overflows(packet.bytes()) {
            self.core.full(&self.settings, now);
            discard(now, packet, Reason::Limit, &mut self.buffer.counters, fate);
        } else {
            self.buffer.fifo.push(Stamped::new(packet, now));
        }
    }

    fn dequeue(&mut self, now: Time, fate: &mut impl Fate<P>) -> Option<P> {
        let Self { buffer: Buffer { fifo, counters, .. }, settings, core, rolls } = self;
        while let Some(stamped) = fifo.pop() {
            let waited = stamped.sojourn(now);
            let mut packet = stamped.packet;
            match core.test(settings, now, waited, packet.ecn_capable(), rolls) {
                Verdict::Codel => discard(now, packet, Reason::AqmDequeue, counters, fate),
                Verdict::Blue => discard(now, packet, Reason::Early, counters, fate),
                verdict => {
                    if verdict == Verdict::Mark {
                        mark(now, &mut packet, Reason::AqmDequeue, counters, fate);
                    }
                    counters.departed.add(packet.bytes());
                    return Some(packet);
                }
            }
        }
        core.empty(settings, now);
        None
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
}
