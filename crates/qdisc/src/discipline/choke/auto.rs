//! CHOKe steered by the delay: a controller says how many packets must go, and the rate of matches how many draws find
//! them.
//!
//! CHOKe's thresholds are numbers of packets, which fit one link and one load. Here there are none. PI2's controller
//! turns the delay into p, the part of the arrivals that must be dropped. An arrival is compared with pairs of packets
//! drawn at random: if both are of its flow, it is dropped with one of them. The discipline measures how many packets a
//! comparison drops in the mean, g, and makes p / g comparisons for each arrival. With few flows they match often and
//! few are made; with many flows they match rarely and many are made. What the most comparisons do not find is sought
//! by comparing with single packets, as CHOKe does, and what these do not find either is dropped at random, as RED
//! does.
//!
//! A pair matches with the square of the flow's part of the queue, so that flows with few packets in the queue hardly
//! lose any. Where each flow has about one packet in the queue there are no pairs, and single packets are compared.
//!
//! An arrival that finds the queue full makes all of its comparisons at once. If none matches it takes the place of a
//! packet drawn at random, which is most likely one of a flood.
//!
//! **Source.** Ours, of known parts: Pan, Prabhakar, Psounis, "CHOKe", INFOCOM 2000 (the comparison, and that both
//! packets go); De Schepper, Bondarenko, Tsang, Briscoe, "PI2", CoNEXT 2016, with the gains of tc-dualpi2(8) (the
//! controller and its square).
//!
//! **Limits.** It sees a flow only by its packets in the queue, as CHOKe does: a flood that is a small part of the
//! queue is not held at its share. It drops what could be marked.
//!
//! **Cost.** A push and a pop, and one random number for each packet drawn; none while the delay is below its target.

use crate::discipline::choke::candidates::{self, Drawn};
use crate::discipline::choke::{Draw, MAX_CANDIDATES};
use crate::discipline::pi2::{PiCore, PiParameters, head_arrival};
use crate::error::check;
use crate::queue::buffer::Buffer;
use crate::queue::fifo::Place;
use crate::queue::signal::discard;
use crate::queue::tagged::Stamped;
use crate::{
    Counters, DropSink, Duration, Fate, FlowKey, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Stream,
    Time,
};

/// The configuration of [`ChokeAuto`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 10000 packets, as PI2.
    pub limit: Size,
    /// The delay to which the controller steers, above 0. Default: 15 ms, RFC 9332, appendix A.1.
    pub target: Duration,
    /// The most pairs, and the most single packets, that an arrival is compared with, 1 to 64. Default: 64.
    pub candidates: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(10_000), target: Duration::from_millis(15), candidates: MAX_CANDIDATES }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::duration("target", self.target)?;
        check::count("candidates", self.candidates, 1..=MAX_CANDIDATES)
    }
}

/// The weight of a comparison in the mean number of packets that one drops.
const WEIGHT: f64 = 1.0 / 256.0;

/// The mean number of packets that a comparison drops, before the first one: all that it can.
const FIRST_GAIN: f64 = 2.0;

/// The candidates with which an arrival is compared.
#[derive(Clone, Copy, Debug)]
enum Compared {
    /// Two packets: both must be of the arrival's flow.
    Pair,
    /// One packet, as in CHOKe.
    Single,
}

/// CHOKe steered by the delay.
#[derive(Debug)]
pub struct ChokeAuto<P> {
    buffer: Buffer<Stamped<P>>,
    controller: PiCore,
    /// The most comparisons of each kind for an arrival.
    most: f64,
    /// The mean number of packets that a comparison drops, by [`Compared`].
    gains: [f64; 2],
    draws: Stream,
    drawn: Drawn,
}

impl<P: Packet> ChokeAuto<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, target, candidates } = config;
        Ok(Self {
            buffer: Buffer::new(limit),
            controller: PiCore::new(PiParameters { target, ..PiParameters::default() }),
            most: f64::from(candidates),
            gains: [FIRST_GAIN; 2],
            draws: seed.stream("choke-auto"),
            drawn: Drawn::with_room_for(2 * candidates),
        })
    }

    fn run_timer(&mut self, now: Time) {
        let Self { buffer, controller, .. } = self;
        controller.run_timer(now, || head_arrival(&buffer.fifo));
    }

    /// Compares an arrival of `flow` as often as the delay asks for, and drops the queued packets that match; tells
    /// whether the arrival is dropped, too. Nothing is dropped with fewer than two packets in the queue.
    fn test(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> Option<Reason> {
        let mut wanted = self.controller.classic();
        if wanted == 0.0 || self.buffer.fifo.packets() < 2 {
            return None;
        }
        let mut matches = 0;
        for compared in [Compared::Pair, Compared::Single] {
            let gain = self.gains[compared as usize];
            let trials = (wanted / gain).min(self.most);
            // The cast truncates.
            let whole = trials as u32;
            for _ in 0..whole + u32::from(self.draws.chance(trials - f64::from(whole))) {
                matches += u32::from(self.compare(now, flow, compared, matches > 0, sink));
            }
            if trials < self.most {
                return (matches > 0).then_some(Reason::MatchArrival);
            }
            wanted = (wanted - trials * gain).max(0.0);
        }
        if matches > 0 {
            return Some(Reason::MatchArrival);
        }
        self.draws.chance(wanted).then_some(Reason::Early)
    }

    /// Compares an arrival of `flow` that finds the queue full with pairs until one matches, and drops one of it; tells
    /// whether it did. These comparisons end with a match, so they say nothing about the mean.
    #[cold]
    fn test_full(&mut self, now: Time, flow: FlowKey, sink: &mut dyn DropSink<P>) -> bool {
        let trials = self.most as u32;
        let found = (0..trials).find_map(|_| self.draw(flow, Compared::Pair));
        if let Some(place) = found {
            self.drop_queued(now, place, Reason::MatchVictim, sink);
        }
        found.is_some()
    }

    /// Compares an arrival of `flow` once; tells whether a queued packet matched and was dropped. The arrival counts as
    /// dropped with the first match: `matched` tells that it was before.
    fn compare(
        &mut self,
        now: Time,
        flow: FlowKey,
        compared: Compared,
        matched: bool,
        sink: &mut dyn DropSink<P>,
    ) -> bool {
        let found = self.draw(flow, compared);
        if let Some(place) = found {
            self.drop_queued(now, place, Reason::MatchVictim, sink);
        }
        let dropped = found.map_or(0.0, |_| if matched { 1.0 } else { 2.0 });
        let gain = &mut self.gains[compared as usize];
        *gain += WEIGHT * (dropped - *gain);
        found.is_some()
    }

    /// Draws a pair or a single packet; returns the first one drawn if all are of `flow`.
    fn draw(&mut self, flow: FlowKey, compared: Compared) -> Option<Place> {
        let first = self.draw_of(flow)?;
        match compared {
            Compared::Single => {}
            Compared::Pair if self.buffer.fifo.packets() < 2 => return None,
            Compared::Pair => while self.draw_of(flow)? == first {},
        }
        Some(first)
    }

    /// Draws a packet; returns its place if it is of `flow`.
    fn draw_of(&mut self, flow: FlowKey) -> Option<Place> {
        let candidate = candidates::one(&self.buffer.fifo, Draw::Random, &mut self.draws)?;
        if self.buffer.fifo.is_of(candidate, flow) {
            return Some(candidate);
        }
        self.drawn.add(&self.buffer.fifo, Some(candidate));
        None
    }

    /// Drops the packet at `place`.
    fn drop_queued(&mut self, now: Time, place: Place, reason: Reason, sink: &mut dyn DropSink<P>) {
        let Buffer { fifo, counters, .. } = &mut self.buffer;
        let numbering = fifo.numbering();
        if let Some(stamped) = fifo.remove(place) {
            discard(now, stamped.packet, reason, counters, sink);
        }
        fifo.settle();
        if fifo.numbering() != numbering {
            // The places of the candidates before this one are not valid any more.
            self.drawn.clear();
        }
    }

    /// Drops packets drawn at random until `bytes` more bytes fit, which they do in an empty queue.
    #[cold]
    fn make_room(&mut self, now: Time, bytes: u32, sink: &mut dyn DropSink<P>) {
        while self.buffer.overflows(bytes) {
            let Some(place) = self.buffer.fifo.draw(&mut self.draws) else { return };
            self.drop_queued(now, place, Reason::BufferSteal, sink);
        }
    }
}

impl<P: Packet> Qdisc<P> for ChokeAuto<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.run_timer(now);
        self.buffer.counters.arrived.add(packet.bytes());
        self.drawn.clear();
        let (flow, bytes) = (packet.flow(), packet.bytes());
        let reason = if self.buffer.never_fits(bytes) {
            Some(Reason::Limit)
        } else if self.buffer.overflows(bytes) {
            self.test_full(now, flow, sink).then_some(Reason::MatchArrival)
        } else {
            self.test(now, flow, sink)
        };
        if let Some(reason) = reason {
            return discard(now, packet, reason, &mut self.buffer.counters, sink);
        }
        self.make_room(now, bytes, sink);
        self.buffer.fifo.push(Stamped::new(packet, now));
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.run_timer(now);
        self.buffer.depart().map(|stamped| stamped.packet)
    }

    fn status(&self) -> Status {
        Status { probability: Some(self.controller.classic()), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.drawn.tell(&self.buffer.fifo, &mut |stamped| each(&stamped.packet));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// Returns a queue of which the controller has the probability `p` for classic packets, as long as time stands
    /// still.
    fn at(p: f64) -> ChokeAuto<SimplePacket> {
        let mut queue = ChokeAuto::new(Config::default(), Seed::new(1)).expect("it is valid");
        queue.controller = PiCore::new(PiParameters::frozen()).with(libm::sqrt(p), 0.0);
        queue
    }

    /// Would catch a gain that is not what comparisons drop: whether pairs match often, or only single packets do, or
    /// hardly any, the part p of the arrivals is dropped.
    #[test]
    fn drops_the_part_that_the_delay_asks_for() {
        for (flows, p) in [(2, 0.01), (5, 0.1), (30, 0.05), (300, 0.2), (100_000, 0.1)] {
            let mut queue = at(p);
            let mut chance = Seed::new(2).stream("flows");
            let mut dropped_before = 0;
            for arrival in 0..300_000_u64 {
                let packet = SimplePacket::new(u64::from(chance.below(flows)), 1000);
                queue.enqueue(Time::ZERO, packet, &mut ());
                while queue.packets() > 200 {
                    queue.dequeue(Time::ZERO, &mut ());
                }
                if arrival == 99_999 {
                    dropped_before = queue.counters().dropped_total().packets;
                }
            }
            let part = (queue.counters().dropped_total().packets - dropped_before) as f64 / 200_000.0;
            assert!((part / p - 1.0).abs() < 0.05, "{flows} flows: {part} for {p}");
        }
    }

    /// Would catch draws without a reason: they would cost time and drop packets of a queue without delay.
    #[test]
    fn compares_nothing_without_delay() {
        let mut queue = ChokeAuto::new(Config::default(), Seed::new(1)).expect("it is valid");
        for _ in 0..1000 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
            queue.candidates(&mut |_| panic!("it was compared"));
        }
        assert_eq!((queue.packets(), queue.counters().dropped_total().packets), (1000, 0));
    }

    /// Would catch candidates that are told although they matched, have left, or are of an earlier arrival.
    #[test]
    fn tells_the_candidates_that_did_not_match() {
        let mut queue = at(0.2);
        let mut told = 0;
        for id in 0..5000 {
            let packet = SimplePacket::new(id * 7 % 11, 1000).with_id(id);
            queue.enqueue(Time::ZERO, packet, &mut ());
            let fifo = &queue.buffer.fifo;
            let places = core::iter::successors(fifo.front(), |place| fifo.after(*place));
            let queued: alloc::vec::Vec<_> =
                places.filter_map(|place| fifo.packet(place)).map(|stamped| stamped.packet.id).collect();
            queue.candidates(&mut |candidate| {
                assert!(candidate.flow != packet.flow && queued.contains(&candidate.id));
                told += 1;
            });
            while queue.packets() > 60 {
                queue.dequeue(Time::ZERO, &mut ());
            }
        }
        assert!(told > 1000, "{told}");
    }

    /// Would catch a full queue that is closed to all flows but the flood that filled it.
    #[test]
    fn a_full_queue_of_a_flood_has_room_for_others() {
        let config = Config { limit: Size::packets(20), ..Config::default() };
        let mut queue = ChokeAuto::new(config, Seed::new(1)).expect("it is valid");
        for _ in 0..20 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        }
        queue.enqueue(Time::ZERO, SimplePacket::new(2, 1000), &mut ());
        assert_eq!((queue.packets(), queue.counters().dropped(Reason::BufferSteal).packets), (20, 1));
        // The flood itself matches: both packets go.
        queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        let matched =
            [Reason::MatchArrival, Reason::MatchVictim].map(|reason| queue.counters().dropped(reason).packets);
        assert_eq!((queue.packets(), matched), (19, [1, 1]));
    }

    /// Would catch a constructor that accepts values that are refused as text.
    #[test]
    fn what_cannot_work_is_refused() {
        let refused = |config| {
            ChokeAuto::<SimplePacket>::new(config, Seed::new(1))
                .err()
                .map(|error| alloc::string::String::from(error.key()))
        };
        let none = Config { candidates: 0, ..Config::default() };
        assert_eq!(refused(none).as_deref(), Some("candidates"));
        let instant = Config { target: Duration::ZERO, ..Config::default() };
        assert_eq!(refused(instant).as_deref(), Some("target"));
        assert_eq!(refused(Config { limit: Size::packets(u32::MAX), ..Config::default() }).as_deref(), Some("limit"));
    }
}
