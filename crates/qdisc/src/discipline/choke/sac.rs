//! SAC: CHOKe for transports that do not slow down, with as many candidates as they need. Experimental.
//!
//! Only arrivals of unresponsive transports are compared ([`Packet::responsive`]). Once an interval the number of
//! candidates grows by one while unresponsive packets have more than their share of the queue, and falls by one while
//! few of the compared arrivals match.
//!
//! **Source.** Jiang, Hamdi, Liu, "Self adjustable CHOKe: an active queue management algorithm for congestion control
//! and fair bandwidth allocation", ISCC 2003.
//!
//! **Deviations.** Only the abstract is followed; what it leaves open is decided in `docs/qdiscs/sac.md`. The number of
//! candidates has an upper bound, which the abstract does not mention.
//!
//! **Cost.** RED's, and for an unresponsive arrival one random number and one cache line a candidate.

use super::candidates::Drawn;
use super::{Draw, MAX_CANDIDATES, candidates};
use crate::discipline::red::{self, Red};
use crate::error::check;
use crate::queue::fifo::Fifo;
use crate::{
    Counters, DropSink, Duration, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status,
    Stream, Time,
};

/// The configuration of [`Sac`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets.
    pub limit: Size,
    /// RED's part: the average, the thresholds and the drop probability. Default: thresholds of 100 and 200 packets.
    pub red: red::RedParameters,
    /// The interval at which the number of candidates is adapted, above zero. Default: 500 ms, as Floyd's Adaptive RED.
    pub interval: Duration,
    /// The part of the queue that unresponsive packets may have, above 0 and at most 1. Default: 0.1; the abstract has
    /// none.
    pub share: f64,
    /// The part of the compared arrivals that must match for the candidates not to become fewer, above 0 and at most 1.
    /// Default: 0.05; the abstract has none.
    pub hit_ratio: f64,
    /// The upper bound of the number of candidates, 1 to 64. Default: 10.
    pub max_candidates: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            red: red::RedParameters::default(),
            interval: Duration::from_millis(500),
            share: 0.1,
            hit_ratio: 0.05,
            max_candidates: 10,
        }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::duration("interval", self.interval)?;
        check::ratio("share", self.share)?;
        check::ratio("hit_ratio", self.hit_ratio)?;
        check::count("max_candidates", self.max_candidates, 1..=MAX_CANDIDATES)
    }
}

/// The controller of the number of candidates.
#[derive(Debug)]
struct CandidateController {
    config: Config,
    candidates: u32,
    acted: Time,
    /// The arrivals compared since the last action, and how many of them matched.
    compared: u32,
    matched: u32,
    /// The unresponsive packets in the queue.
    unresponsive: usize,
}

impl CandidateController {
    const fn new(config: Config) -> Self {
        Self { config, candidates: 1, acted: Time::ZERO, compared: 0, matched: 0, unresponsive: 0 }
    }

    /// Adapts the number of candidates if the interval is over; an arrival finds `queued` packets.
    fn act(&mut self, now: Time, queued: usize) {
        let Config { interval, share, hit_ratio, max_candidates, .. } = self.config;
        if now.since(self.acted) < interval {
            return;
        }
        self.acted = now;
        let fewer = f64::from(self.matched) < hit_ratio * f64::from(self.compared);
        if self.unresponsive as f64 > share * queued as f64 && self.candidates < max_candidates {
            self.candidates += 1;
        }
        if fewer && self.candidates > 1 {
            self.candidates -= 1;
        }
        (self.compared, self.matched) = (0, 0);
    }

    /// Counts an arrival that was compared.
    fn compared(&mut self, matched: bool) {
        self.compared = self.compared.saturating_add(1);
        self.matched = self.matched.saturating_add(u32::from(matched));
    }

    /// Counts a packet that was queued.
    fn queued(&mut self, responsive: bool) {
        self.unresponsive += usize::from(!responsive);
    }

    /// Counts a packet that leaves the queue.
    fn left(&mut self, responsive: bool) {
        // A host whose packets answer differently later must not bring the count below zero.
        self.unresponsive = self.unresponsive.saturating_sub(usize::from(!responsive));
    }
}

/// CHOKe for transports that do not slow down.
#[derive(Debug)]
pub struct Sac<P> {
    red: Red<P>,
    controller: CandidateController,
    draws: Stream,
    drawn: Drawn,
}

impl<P: Packet> Sac<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or the thresholds contradict each other.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        Ok(Self {
            red: Red::new(red::Config { limit: config.limit, red: config.red, ..red::Config::default() }, seed)?,
            controller: CandidateController::new(config),
            draws: seed.stream("choke"),
            drawn: Drawn::with_room_for(config.max_candidates),
        })
    }

    /// Compares an arrival of `flow` with candidates and drops those of the same flow; tells whether there were any.
    fn drop_matches(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> bool {
        let Self { red: Red { buffer, .. }, controller, draws, drawn, .. } = self;
        let drawn = drawn.from(&buffer.fifo);
        let may_match = candidates::several(&buffer.fifo, Draw::Random, controller.candidates, flow, draws, drawn);
        let mut leaving = |fifo: &Fifo<P>, place| {
            if let Some(victim) = fifo.packet(place) {
                controller.left(victim.responsive());
            }
        };
        let matched = may_match && candidates::drop_all_matches(buffer, now, drawn, flow, sink, &mut leaving);
        controller.compared(matched);
        matched
    }
}

impl<P: Packet> Qdisc<P> for Sac<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.red.arrive(now, &packet);
        self.drawn.clear();
        self.controller.act(now, self.red.buffer.fifo.packets());
        let responsive = packet.responsive();
        let (min, _) = self.red.core.thresholds();
        if !responsive && self.red.core.average() > min && self.drop_matches(now, packet.flow(), sink) {
            return self.red.buffer.discard(now, packet, Reason::MatchArrival, sink);
        }
        let fate = self.red.decide(now, packet, sink);
        if !fate.is_dropped() {
            self.controller.queued(responsive);
        }
        fate
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = self.red.depart(now)?;
        self.controller.left(packet.responsive());
        Some(packet)
    }

    fn status(&self) -> Status {
        self.red.status()
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        self.red.link_rate(rate);
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.drawn.tell(&self.red.buffer.fifo, each);
    }
}
