//! xCHOKe: CHOKe with a table of hits, which punishes flows harder the more often they matched.
//!
//! Each match of an arrival with a candidate is a hit of its flow. An arrival of a flow with n hits in the table is
//! dropped with probability p_b 2^n before anything else, p_b being RED's base probability; if it passes, RED only
//! drops it where every packet is dropped.
//!
//! **Source.** Chhabra, Chuig, Goel, John, Kumar, Saran, Shorey, "xCHOKe: malicious source control for congestion
//! avoidance at Internet gateways", ICNP 2002.
//!
//! **Deviations.** The table is bounded and hits are halved over time. The paper forgets nothing, so that in the end
//! every long-lived TCP flow is in the table and is punished like a flood. A flow is hit by chance as often as packets
//! arrive, so the default interval of the halving is a number of packets, not of seconds.
//!
//! **Cost.** CHOKe's, and a look-up in a hash table for each arrival while the average is above the lower threshold.

use super::candidates::Drawn;
use super::{Draw, candidates};
use crate::discipline::red::{self, Red};
use crate::error::check;
use crate::flow::hits::{HitTable, MAX_HITS, MAX_TABLE, two_to_the};
use crate::queue::fifo::Place;
use crate::seed::Throw;
use crate::{
    Counters, DropSink, Duration, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status,
    Stream, Time,
};

/// The number of mean packets that the link sends between two halvings: 10 s of the paper's link of 1 Mbit/s.
const PACKETS_TO_HALVE: u64 = 1250;

/// The configuration of [`Xchoke`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets.
    pub limit: Size,
    /// RED's part: the average, the thresholds and the drop probability. Default: thresholds of 100 and 200 packets.
    pub red: red::RedParameters,
    /// Where the drop candidate comes from. Default: [`Draw::Random`].
    pub draw: Draw,
    /// Compares arrivals while the average is at or above the upper threshold, too. Default: `true`.
    pub compare_above_max: bool,
    /// The number of flows in the table of hits, 1 to 1,048,576; the longest unused makes room. Default: 64.
    pub table_size: u32,
    /// The most hits that count, 1 to 63. Default: 30; 2^30 is certain at any probability that matters.
    pub hit_cap: u32,
    /// The interval at which the hits of a flow are halved. Default: `None`, the time that the link takes for 1250 mean
    /// packets, 10 s at 1 Mbit/s; as long as the link's rate is not known, hits are not halved.
    pub age: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            red: red::RedParameters::default(),
            draw: Draw::Random,
            compare_above_max: true,
            table_size: 64,
            hit_cap: 30,
            age: None,
        }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::count("table_size", self.table_size, 1..=MAX_TABLE)?;
        check::count("hit_cap", self.hit_cap, 1..=MAX_HITS)?;
        self.age.map_or(Ok(()), |age| check::duration("age", age))
    }

    /// Returns the interval at which hits are halved on a link of `rate`; `None` where neither is known.
    pub(crate) fn age_at(&self, rate: Option<Rate>) -> Option<Duration> {
        let rate = self.red.bandwidth.or(rate).filter(|rate| rate.bits_per_second() > 0);
        let of_packets = |rate: Rate| {
            let packet = rate.transmission(self.red.avpkt.get()).as_nanos().max(1);
            Duration::from_nanos(packet.saturating_mul(PACKETS_TO_HALVE))
        };
        self.age.or(rate.map(of_packets))
    }
}

/// CHOKe with a table of hits.
#[derive(Debug)]
pub struct Xchoke<P> {
    config: Config,
    red: Red<P>,
    hits: HitTable,
    /// The stream of the candidates, and that of the drops for hits.
    draws: Stream,
    rolls: Stream,
    drawn: Drawn,
}

impl<P: Packet> Xchoke<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or the thresholds contradict each other.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let mut hits = HitTable::new(config.table_size, seed);
        hits.halve_every(config.age_at(None));
        Ok(Self {
            config,
            red: Red::new(red::Config { limit: config.limit, red: config.red, ..red::Config::default() }, seed)?,
            hits,
            draws: seed.stream("choke"),
            rolls: seed.stream("table"),
            drawn: Drawn::with_room_for(1),
        })
    }

    /// Tells whether `flow` has hits, or that an arrival of it is dropped for them, with probability p_b 2^hits.
    fn punish(&mut self, now: Time, flow: FlowKey) -> Result<bool, Reason> {
        let Some(hits) = self.hits.touch(now, flow) else { return Ok(false) };
        let dropped = self.rolls.chance(self.red.core.base_probability() * two_to_the(hits));
        if dropped { Err(Reason::Table) } else { Ok(true) }
    }

    /// Compares an arrival of `flow` with one candidate and drops that if it is of the same flow, which counts as a
    /// hit.
    fn drop_match(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> bool {
        let candidate = candidates::one(&self.red.buffer.fifo, self.config.draw, &mut self.draws);
        self.drop_if_match(now, flow, candidate, sink)
    }

    /// Does the same with a `candidate` that has been drawn.
    fn drop_if_match(
        &mut self,
        now: Time,
        flow: FlowKey,
        candidate: Option<Place>,
        sink: &mut dyn DropSink<P>,
    ) -> bool {
        let buffer = &mut self.red.buffer;
        let matched = candidates::drop_if_match(buffer, now, candidate, flow, sink);
        if matched {
            self.hits.count(now, flow, self.config.hit_cap);
        } else if let Some(candidate) = candidate {
            self.drawn.set(&buffer.fifo, candidate);
        }
        matched
    }

    /// Does all that comes before RED: returns why an arrival of `flow` is dropped, or whether its flow has hits.
    fn choke(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> Result<bool, Reason> {
        let (min, max) = self.red.core.thresholds();
        let average = self.red.core.average();
        if average <= min {
            return Ok(false);
        }
        let has_hits = self.punish(now, flow)?;
        if (average < max || self.config.compare_above_max) && self.drop_match(now, flow, sink) {
            return Err(Reason::MatchArrival);
        }
        Ok(has_hits)
    }
}

impl<P: Packet> Xchoke<P> {
    /// Does [`Qdisc::enqueue`] for any configuration and state.
    #[inline(never)]
    fn enqueue_any(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.red.arrive(now, &packet);
        self.judge(now, packet, sink)
    }

    /// Decides on an arrival that is in the average.
    #[inline(never)]
    fn judge(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        match self.choke(now, packet.flow(), sink) {
            Err(reason) => self.red.buffer.discard(now, packet, reason, sink),
            // A packet that passed the table is not tried again. Where RED drops every packet p_b is 1, and nothing
            // passes.
            Ok(true) => self.red.buffer.admit(now, packet, None, sink),
            Ok(false) => self.red.decide(now, packet, sink),
        }
    }

    /// Compares an arrival, whose flow may have hits, with the packet that `hit` is, or that the throw in it hits; and
    /// decides on it while the average is between the thresholds.
    #[inline(never)]
    fn compare(
        &mut self,
        now: Time,
        packet: P,
        has_hits: bool,
        hit: Result<Place, Throw>,
        sink: &mut dyn DropSink<P>,
    ) -> Fate {
        let candidate = match hit {
            Ok(candidate) => candidate,
            Err(throw) => self.red.buffer.fifo.hit(throw, &mut self.draws),
        };
        if self.drop_if_match(now, packet.flow(), Some(candidate), sink) {
            return self.red.buffer.discard(now, packet, Reason::MatchArrival, sink);
        }
        self.decide_between(now, packet, has_hits, sink)
    }

    /// Decides on an arrival whose candidate is of another flow while the average is between the thresholds.
    #[inline(always)]
    fn decide_between(&mut self, now: Time, packet: P, has_hits: bool, sink: &mut dyn DropSink<P>) -> Fate {
        if has_hits {
            self.red.buffer.admit(now, packet, None, sink)
        } else {
            self.red.decide_between(now, packet, sink)
        }
    }
}

impl<P: Packet> Qdisc<P> for Xchoke<P> {
    /// Does what most arrivals need, as CHOKe does.
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.drawn.clear();
        if self.config.draw != Draw::Random || !self.red.core.is_straight() {
            return self.enqueue_any(now, packet, sink);
        }
        self.red.arrive_straight(&packet);
        if !self.red.is_between() {
            return self.judge(now, packet, sink);
        }
        let flow = packet.flow();
        let hits = self.hits.touch(now, flow);
        if let Some(hits) = hits
            && self.rolls.chance(self.red.core.probability_between() * two_to_the(hits))
        {
            return self.red.buffer.discard(now, packet, Reason::Table, sink);
        }
        let Self { red, draws, drawn, .. } = self;
        let hit = match red.buffer.fifo.look::<false>(flow, draws) {
            Ok((candidate, false)) => {
                drawn.set(&red.buffer.fifo, candidate);
                return self.decide_between(now, packet, hits.is_some(), sink);
            }
            Ok((candidate, true)) => Ok(candidate),
            Err(throw) => Err(throw),
        };
        self.compare(now, packet, hits.is_some(), hit, sink)
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        self.red.dequeue(now, sink)
    }

    fn status(&self) -> Status {
        Status { flows: Some(self.hits.flows()), ..self.red.status() }
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        self.red.link_rate(rate);
        self.hits.halve_every(self.config.age_at(Some(rate)));
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.drawn.tell(&self.red.buffer.fifo, each);
    }
}
