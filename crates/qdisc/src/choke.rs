//! The CHOKe family: an arriving packet is compared with queued ones, and those of its own flow are dropped with it.
//!
//! A flow that fills the queue finds itself there, so it is punished in proportion to what it takes, and no flow
//! has to be remembered. The family is one composition: where candidates come from, how many there are, and what
//! is remembered, over the average and the curve of RED. chokew and choker have no RED: a queue above a threshold is
//! what makes them compare.
//!
//! | kind | from | how many | remembered |
//! |---|---|---|---|
//! | choke | random | `candidates` | nothing |
//! | choke-adaptive | random | by the average's region | nothing |
//! | front-choke, back-choke | head, tail | `candidates` | nothing |
//! | gchoke | random | up to `maxcomp`, while they match | nothing |
//! | xchoke | random | 1 | hits of flows that matched |
//! | mloc-choke | - | 0 | the last flows admitted |
//! | chokew, choker | random | by a factor, until one matches | nothing |
//! | choked | rear half, then front half | by the average | nothing |
//! | sac | random | by a control, for unresponsive flows | nothing |
//! | rechoke | random | 1, which is spared | hits and RED's signals |
//!
//! **Source.** Pan, Prabhakar, Psounis, "CHOKe, A stateless active queue management scheme for approximating fair
//! bandwidth allocation", INFOCOM 2000, and its technical report of 1999; Chhabra et al., "xCHOKe", ICNP 2002;
//! Eshete and Jiang, "Generalizing the CHOKe flow protection", arXiv 1202.0789, 2012. The last four rows are
//! experimental: see `successors`.
//!
//! **Deviations.** Candidates are exactly uniform over live packets and distinct; Linux's three throws are
//! `sampling = linux`. A match leaves RED's count alone, as in Linux. A victim's memory is given back within
//! amortised constant time, so holes never count against the limit.
//!
//! **Cost.** RED's, and one random number and one cache line a candidate.

mod candidates;
mod control;
mod factor;
pub(crate) mod kinds;
mod memory;
pub(crate) mod successors;
mod table;

use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::fifo::{Halves, Place};
use crate::red::{RedCore, RedSettings, Verdict, carry_out};
use crate::{Counters, Fate, FlowKey, Packet, Qdisc, Reason, Seed, Size, Stream, Time};
use candidates::{Candidates, Count, Rule, Source};
use memory::{Memory, Recalled, Remembered};

/// What CHOKe is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChokeSettings {
    /// The hard limit.
    pub(crate) limit: Size,
    /// RED's part; without it there are no thresholds and memory works at any queue.
    pub(crate) red: Option<RedSettings>,
    /// Where candidates come from.
    pub(crate) source: Source,
    /// How many there are.
    pub(crate) candidates: Candidates,
    /// What is remembered.
    pub(crate) memory: Memory,
    /// Whether arrivals are compared while the average is at or above `max`.
    pub(crate) compare_above_max: bool,
}

/// CHOKe and its family.
#[derive(Debug)]
pub struct Choke<P> {
    buffer: Buffer<P>,
    red: Option<RedCore>,
    source: Source,
    count: Count,
    compare_above_max: bool,
    remembered: Remembered,
    draws: Stream,
    halves: Halves,
    /// The candidates of one arrival. It never grows: its room is for the most that the settings allow.
    picks: Vec<Place>,
}

/// What is done with an arrival before RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing: the average is at or below `min`.
    Idle,
    /// Memory is asked, and no candidate.
    Table,
    /// Memory is asked, and then the candidates.
    Compare,
}

/// What was decided of an arrival before RED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choked {
    /// It is dropped.
    Dropped(Reason),
    /// It is left to RED.
    Passed,
    /// It was tried by memory: RED may only force it.
    Tried,
}

impl<P: Packet> Choke<P> {
    pub(crate) fn new(settings: ChokeSettings, seed: Seed) -> Self {
        let count = Count::new(&settings, seed);
        let picks = Vec::with_capacity(count.most() as usize);
        Self {
            buffer: Buffer::new(settings.limit),
            red: settings.red.map(|red| RedCore::new(red, seed)),
            source: settings.source,
            count,
            compare_above_max: settings.compare_above_max,
            remembered: Remembered::new(settings.memory, seed),
            draws: seed.stream("choke"),
            halves: Halves::default(),
            picks,
        }
    }

    /// Takes what an arrival sees of the queue into all that follows it; what is to be done with the arrival.
    fn arrive(&mut self, now: Time, packet: &P) -> Stage {
        self.buffer.arrive(packet);
        if let Some(red) = &mut self.red {
            red.arrive(now, &self.buffer);
        }
        match &mut self.count {
            Count::Factor(factor) => {
                let compares = factor.follow(self.buffer.fifo.packets(), self.buffer.fifo.bytes());
                return if compares { Stage::Compare } else { Stage::Idle };
            }
            Count::Control(control) => {
                control.act(now, self.buffer.fifo.packets());
                if packet.responsive() {
                    return Stage::Idle;
                }
            }
            _ => {}
        }
        self.stage()
    }

    /// What RED's thresholds say of an arrival.
    fn stage(&self) -> Stage {
        let Some(red) = &self.red else { return Stage::Idle };
        let RedSettings { min, max, .. } = *red.settings();
        if red.average() <= min {
            Stage::Idle
        } else if red.average() >= max && !self.compare_above_max {
            Stage::Table
        } else {
            Stage::Compare
        }
    }

    /// What is decided of an arrival before RED.
    fn choke(&mut self, now: Time, packet: &P, stage: Stage, fate: &mut impl Fate<P>) -> Choked {
        let flow = packet.flow();
        if let Remembered::Last(last) = &self.remembered {
            return if last.contains(flow) { Choked::Dropped(Reason::MatchArrival) } else { Choked::Passed };
        }
        if stage == Stage::Idle {
            return Choked::Passed;
        }
        let recalled = self.recall(now, flow);
        if recalled == Recalled::Dropped {
            return Choked::Dropped(Reason::Table);
        }
        let compares = stage == Stage::Compare && !matches!(self.remembered, Remembered::Suspects(_));
        if compares && self.compare(now, packet, fate) > 0 {
            if let Remembered::Hits(hits) = &mut self.remembered {
                hits.count(now, flow);
            }
            return Choked::Dropped(Reason::MatchArrival);
        }
        if recalled == Recalled::Unknown { Choked::Passed } else { Choked::Tried }
    }

    /// What memory says of an arrival of `flow`.
    fn recall(&mut self, now: Time, flow: FlowKey) -> Recalled {
        let met = match &self.remembered {
            Remembered::Nothing | Remembered::Last(_) => return Recalled::Unknown,
            Remembered::Hits(_) => false,
            Remembered::Suspects(_) => self.meets(flow),
        };
        let base = self.red.as_ref().map_or(0.0, RedCore::base_probability);
        match &mut self.remembered {
            Remembered::Nothing | Remembered::Last(_) => Recalled::Unknown,
            Remembered::Hits(hits) => hits.recall(now, flow, base),
            Remembered::Suspects(suspects) => suspects.recall(now, flow, met, base),
        }
    }

    /// RED's stage. A flow that was tried by the table is not tried again, only forced.
    fn red_stage(&mut self, now: Time, packet: &P, early: bool) -> Verdict {
        let backlog = self.buffer.fifo.packets();
        let Some(red) = &mut self.red else { return Verdict::Pass };
        let signal = if early || red.is_forced() { red.test(backlog, packet.bytes()) } else { None };
        if let (Some(_), Remembered::Suspects(suspects)) = (signal, &mut self.remembered) {
            suspects.signalled(now, packet.flow());
        }
        red.signal(signal, packet.ecn_capable())
    }
}

impl<P: Packet> Qdisc<P> for Choke<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        let stage = self.arrive(now, &packet);
        let choked = self.choke(now, &packet, stage, fate);
        if let Choked::Dropped(reason) = choked {
            self.buffer.discard(now, packet, reason, fate);
            return;
        }
        let (flow, responsive) = (packet.flow(), packet.responsive());
        let verdict = self.red_stage(now, &packet, choked == Choked::Passed);
        if carry_out(&mut self.buffer, now, packet, verdict, fate) {
            if let Remembered::Last(last) = &mut self.remembered {
                last.insert(now, flow);
            }
            if let Count::Control(control) = &mut self.count {
                control.queued(responsive);
            }
        }
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.buffer.depart();
        self.halves.popped();
        if let (Some(packet), Count::Control(control)) = (&packet, &mut self.count) {
            control.left(packet.responsive());
        }
        if let (None, Some(red)) = (&packet, &mut self.red) {
            red.idle(now);
        }
        packet
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

    fn average(&self) -> Option<f64> {
        self.red.as_ref().map(RedCore::average)
    }
}
