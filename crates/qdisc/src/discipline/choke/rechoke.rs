//! RECHOKe: RED that drops more of flows which are often found in the queue and which it signals often. Experimental.
//!
//! An arrival is compared with a candidate only to learn: both stay. A match is a hit of the flow, and each of RED's
//! drops and marks a signal; both are kept in a table and halved over time. A flow with enough of both is malicious:
//! its arrivals are dropped with probability p_b 2^hits, p_b being RED's base probability.
//!
//! **Source.** Govindaswamy, Zaruba, Balasekaran, "RECHOKe: a scheme for detection, control and punishment of malicious
//! flows in IP networks", GLOBECOM 2007.
//!
//! **Deviations.** Only the abstract is followed; what it leaves open is decided in `docs/qdiscs/rechoke.md`.
//!
//! **Cost.** RED's, one random number and one cache line, and two look-ups in hash tables, for each arrival while the
//! average is above the lower threshold.

use alloc::format;

use super::candidates::Drawn;
use super::{Draw, candidates};
use crate::discipline::red::{self, Red};
use crate::error::check;
use crate::flow::hits::{HitTable, MAX_HITS, MAX_TABLE, two_to_the};
use crate::queue::fifo::Place;
use crate::{
    Counters, DropSink, Duration, Fate, FlowKey, Packet, ParameterError, Qdisc, Rate, Reason, Seed, Size, Status,
    Stream, Time,
};

/// The configuration of [`Rechoke`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets.
    pub limit: Size,
    /// RED's part: the average, the thresholds and the drop probability. Default: thresholds of 100 and 200 packets.
    pub red: red::RedParameters,
    /// The number of flows in each of the two tables, 1 to 1,048,576; the longest unused makes room. Default: 64.
    pub table_size: u32,
    /// The most hits and signals that count, 1 to 63. Default: 30; 2^30 is certain at any probability that matters.
    pub hit_cap: u32,
    /// The number of hits that makes a flow suspect, 1 to `hit_cap`. Default: 3; the abstract has none.
    pub hits: u32,
    /// The number of RED's drops and marks that makes a suspect flow malicious, 1 to `hit_cap`. Default: 3; the
    /// abstract has none.
    pub drops: u32,
    /// The interval at which a flow's hits and signals are halved, above zero. Default: 5 s; the abstract has none.
    pub window: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Size::packets(300),
            red: red::RedParameters::default(),
            table_size: 64,
            hit_cap: 30,
            hits: 3,
            drops: 3,
            window: Duration::from_millis(5000),
        }
    }
}

impl Config {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let Self { hit_cap, hits, drops, .. } = *self;
        check::count("table_size", self.table_size, 1..=MAX_TABLE)?;
        check::count("hit_cap", hit_cap, 1..=MAX_HITS)?;
        for (key, needed) in [("hits", hits), ("drops", drops)] {
            check::count(key, needed, 1..=MAX_HITS)?;
            if needed > hit_cap {
                let message = format!("{needed} is above hit_cap, which is {hit_cap}: no flow ever has so many");
                return Err(ParameterError::new(key, message));
            }
        }
        check::duration("window", self.window)
    }
}

/// RED that drops more of flows which are often found in the queue and which it signals often.
#[derive(Debug)]
pub struct Rechoke<P> {
    config: Config,
    red: Red<P>,
    /// The numbers of times that flows were found in the queue, and that RED signalled them.
    hits: HitTable,
    signals: HitTable,
    /// The stream of the candidates, and that of the drops of malicious flows.
    draws: Stream,
    rolls: Stream,
    drawn: Drawn,
}

impl<P: Packet> Rechoke<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, or values contradict each other.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let table = || {
            let mut table = HitTable::new(config.table_size, seed);
            table.halve_every(Some(config.window));
            table
        };
        Ok(Self {
            config,
            red: Red::new(red::Config { limit: config.limit, red: config.red, ..red::Config::default() }, seed)?,
            hits: table(),
            signals: table(),
            draws: seed.stream("choke"),
            rolls: seed.stream("table"),
            drawn: Drawn::with_room_for(1),
        })
    }

    /// Compares an arrival of `flow` with one candidate, which stays; a match is a hit.
    fn learn(&mut self, now: Time, flow: FlowKey) {
        let fifo = &self.red.buffer.fifo;
        let candidate = candidates::one(fifo, Draw::Random, &mut self.draws);
        if let Some(candidate) = candidate {
            self.learn_from(now, flow, candidate);
        }
    }

    /// Compares an arrival of `flow` with its `candidate`.
    fn learn_from(&mut self, now: Time, flow: FlowKey, candidate: Place) {
        let fifo = &self.red.buffer.fifo;
        if fifo.is_of(candidate, flow) {
            self.hits.count(now, flow, self.config.hit_cap);
        } else {
            self.drawn.set(fifo, candidate);
        }
    }

    /// Does [`learn`](Self::learn) where candidates are many.
    #[inline(always)]
    fn learn_straight(&mut self, now: Time, flow: FlowKey) {
        let Self { red, draws, drawn, .. } = self;
        match red.buffer.fifo.look::<false>(flow, draws) {
            Ok((candidate, false)) => drawn.set(&red.buffer.fifo, candidate),
            Ok((candidate, true)) => self.learn_from(now, flow, candidate),
            Err(throw) => {
                let candidate = red.buffer.fifo.hit(throw, draws);
                self.learn_from(now, flow, candidate);
            }
        }
    }

    /// Returns the hits of `flow` if it is malicious.
    fn malicious(&mut self, now: Time, flow: FlowKey) -> Option<u32> {
        let hits = self.hits.touch(now, flow).filter(|&hits| hits >= self.config.hits);
        let signals = self.signals.touch(now, flow).filter(|&signals| signals >= self.config.drops);
        hits.filter(|_| signals.is_some())
    }

    /// Does all that comes before RED: tells whether an arrival of `flow` is of a malicious flow, and whether it is
    /// dropped for that.
    fn detect(&mut self, now: Time, flow: FlowKey) -> (bool, bool) {
        let (min, _) = self.red.core.thresholds();
        if self.red.core.average() <= min {
            return (false, false);
        }
        self.learn(now, flow);
        let Some(hits) = self.malicious(now, flow) else { return (false, false) };
        (true, self.rolls.chance(self.red.core.base_probability() * two_to_the(hits)))
    }
}

impl<P: Packet> Rechoke<P> {
    /// Does [`Qdisc::enqueue`] in any state.
    #[inline(never)]
    fn enqueue_any(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.red.arrive(now, &packet);
        self.judge(now, packet, sink)
    }

    /// Decides on an arrival that is in the average.
    #[inline(never)]
    fn judge(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let flow = packet.flow();
        let (malicious, dropped) = self.detect(now, flow);
        if dropped {
            return self.red.buffer.discard(now, packet, Reason::Table, sink);
        }
        // A packet that passed as malicious is not tried again. Where RED drops every packet p_b is 1, and nothing
        // passes so.
        if malicious {
            return self.red.buffer.admit(now, packet, None, sink);
        }
        let signal = self.red.core.test(self.red.buffer.fifo.packets(), packet.bytes());
        self.follow(now, packet, signal, sink)
    }

    /// Does what RED's `signal`, or none, and the limit ask for.
    #[inline(always)]
    fn follow(&mut self, now: Time, packet: P, signal: Option<Reason>, sink: &mut dyn DropSink<P>) -> Fate {
        if signal.is_some() || self.red.buffer.overflows(packet.bytes()) {
            return self.signal(now, packet, signal, sink);
        }
        self.red.buffer.fifo.push(packet);
        Fate::Queued
    }

    /// Counts RED's `signal`, if there is one, and leaves the rest to RED.
    #[inline(never)]
    fn signal(&mut self, now: Time, packet: P, signal: Option<Reason>, sink: &mut dyn DropSink<P>) -> Fate {
        if signal.is_some() {
            self.signals.count(now, packet.flow(), self.config.hit_cap);
        }
        self.red.signal(now, packet, signal, sink)
    }
}

impl<P: Packet> Qdisc<P> for Rechoke<P> {
    /// Does what most arrivals need, as CHOKe does.
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.drawn.clear();
        if !self.red.core.is_straight() {
            return self.enqueue_any(now, packet, sink);
        }
        self.red.arrive_straight(&packet);
        if !self.red.is_between() {
            return self.judge(now, packet, sink);
        }
        let flow = packet.flow();
        self.learn_straight(now, flow);
        if let Some(hits) = self.malicious(now, flow) {
            if self.rolls.chance(self.red.core.probability_between() * two_to_the(hits)) {
                return self.red.buffer.discard(now, packet, Reason::Table, sink);
            }
            return self.red.buffer.admit(now, packet, None, sink);
        }
        let signal = self.red.core.signals_between().then_some(Reason::Early);
        self.follow(now, packet, signal, sink)
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        self.red.dequeue(now, sink)
    }

    fn status(&self) -> Status {
        Status { flows: Some(self.hits.flows() + self.signals.flows()), ..self.red.status() }
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
