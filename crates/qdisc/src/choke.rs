//! The CHOKe family: an arriving packet is compared with queued ones, and those of its own flow are dropped with it.
//!
//! A flow that fills the queue finds itself there, so it is punished in proportion to what it takes, and no flow
//! has to be remembered. The family is one composition: where candidates come from, how many there are, and what
//! is remembered, over the average and the curve of RED.
//!
//! | kind | from | how many | remembered |
//! |---|---|---|---|
//! | choke | random | `candidates` | nothing |
//! | choke-adaptive | random | by the average's region | nothing |
//! | front-choke, back-choke | head, tail | `candidates` | nothing |
//! | gchoke | random | up to `maxcomp`, while they match | nothing |
//! | xchoke | random | 1 | hits of flows that matched |
//! | mloc-choke | - | 0 | the last flows admitted |
//!
//! **Source.** Pan, Prabhakar, Psounis, "CHOKe, A stateless active queue management scheme for approximating fair
//! bandwidth allocation", INFOCOM 2000, and its technical report of 1999; Chhabra et al., "xCHOKe", ICNP 2002;
//! Eshete and Jiang, "Generalizing the CHOKe flow protection", arXiv 1202.0789, 2012.
//!
//! **Deviations.** Candidates are exactly uniform over live packets and distinct; Linux's three throws are
//! `sampling = linux`. A match leaves RED's count alone, as in Linux. A victim's memory is given back within
//! amortised constant time, so holes never count against the limit.
//!
//! **Cost.** RED's, and one random number and one cache line a candidate.

pub(crate) mod kinds;
mod table;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::fifo::Place;
use crate::red::{RedCore, RedSettings, Verdict, carry_out};
use crate::{Counters, Duration, Fate, FlowKey, Packet, Qdisc, Reason, Seed, Size, Stream, Time};
use table::FlowTable;

/// Where candidates come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Anywhere, uniformly.
    Random,
    /// Anywhere, as Linux draws.
    Linux,
    /// The next to leave.
    Front,
    /// The last admitted.
    Back,
}

/// How many candidates an arrival is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// Always as many, distinct.
    Fixed(u32),
    /// By the region of the average: `regions` of equal width between the thresholds.
    Regions {
        /// How many regions.
        regions: u32,
        /// How many candidates in region i.
        rule: Rule,
    },
    /// One after another while they match, up to so many.
    Geometric(u32),
}

/// How many candidates there are in region i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// 2i.
    Double,
    /// 2i-1.
    DoubleLessOne,
    /// i.
    Linear,
}

/// What is remembered of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Nothing.
    Nothing,
    /// How often flows matched.
    Hits {
        /// Flows in the table.
        size: u32,
        /// More hits than these do not count.
        cap: u32,
        /// Hits are halved this often, if ever.
        age: Option<Duration>,
    },
    /// The last flows admitted, so many.
    Last(u32),
}

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

/// What is remembered of flows, as it stands.
#[derive(Debug)]
enum Remembered {
    Nothing,
    Hits(Box<Hits>),
    Last(Box<FlowTable>),
}

/// xCHOKe's table and its own stream of chance.
#[derive(Debug)]
struct Hits {
    table: FlowTable,
    cap: u32,
    rolls: Stream,
}

/// CHOKe and its family.
#[derive(Debug)]
pub struct Choke<P> {
    buffer: Buffer<P>,
    red: Option<RedCore>,
    source: Source,
    candidates: Candidates,
    compare_above_max: bool,
    /// Regions for each unit of the average.
    region_scale: f64,
    remembered: Remembered,
    draws: Stream,
    /// The candidates of one arrival. It never grows: its room is for the most that the settings allow.
    picks: Vec<Place>,
}

impl<P: Packet> Choke<P> {
    pub(crate) fn new(settings: ChokeSettings, seed: Seed) -> Self {
        let remembered = match settings.memory {
            Memory::Nothing | Memory::Last(0) => Remembered::Nothing,
            Memory::Hits { size, cap, age } => {
                Remembered::Hits(Box::new(Hits { table: FlowTable::new(size, age), cap, rolls: seed.stream("table") }))
            }
            Memory::Last(size) => Remembered::Last(Box::new(FlowTable::new(size, None))),
        };
        let region_scale = match (settings.candidates, settings.red) {
            (Candidates::Regions { regions, .. }, Some(red)) if red.max > red.min => {
                f64::from(regions) / (red.max - red.min)
            }
            _ => 0.0,
        };
        Self {
            buffer: Buffer::new(settings.limit),
            red: settings.red.map(|red| RedCore::new(red, seed)),
            source: settings.source,
            candidates: settings.candidates,
            compare_above_max: settings.compare_above_max,
            region_scale,
            remembered,
            draws: seed.stream("choke"),
            picks: Vec::with_capacity(settings.candidates.most() as usize),
        }
    }

    /// One candidate.
    fn pick(&mut self) -> Option<Place> {
        match self.source {
            Source::Random => self.buffer.fifo.draw(&mut self.draws),
            Source::Linux => self.buffer.fifo.draw_as_linux(&mut self.draws),
            Source::Front => self.buffer.fifo.front(),
            Source::Back => self.buffer.fifo.back(),
        }
    }

    /// Fills `picks` with `wanted` distinct candidates, or as many as there are packets.
    fn pick_distinct(&mut self, wanted: u32) {
        self.picks.clear();
        let wanted = (wanted as usize).min(self.buffer.fifo.packets());
        while self.picks.len() < wanted {
            let next = match (self.source, self.picks.last()) {
                (Source::Front, Some(&last)) => self.buffer.fifo.after(last),
                (Source::Back, Some(&last)) => self.buffer.fifo.before(last),
                _ => self.pick(),
            };
            let Some(place) = next else { return };
            if !self.picks.contains(&place) {
                self.picks.push(place);
            }
        }
    }

    /// Drops the candidates that are of `flow`; how many they were.
    fn compare(&mut self, now: Time, flow: FlowKey, fate: &mut impl Fate<P>) -> u32 {
        let wanted = match self.candidates {
            Candidates::Fixed(count) => count,
            Candidates::Regions { regions, rule } => rule.candidates(self.region(regions)),
            Candidates::Geometric(most) => return self.compare_while_matching(now, flow, most, fate),
        };
        self.pick_distinct(wanted);
        let mut matched = 0;
        for i in 0..self.picks.len() {
            let place = self.picks[i];
            if self.buffer.fifo.flow(place) == flow {
                self.buffer.evict(now, place, Reason::MatchVictim, fate);
                matched += 1;
            }
        }
        if matched > 0 {
            self.buffer.fifo.settle();
        }
        matched
    }

    /// Draws and drops candidates while they are of `flow`, at most `most`; how many they were.
    fn compare_while_matching(&mut self, now: Time, flow: FlowKey, most: u32, fate: &mut impl Fate<P>) -> u32 {
        let mut matched = 0;
        while matched < most {
            let Some(place) = self.pick().filter(|&place| self.buffer.fifo.flow(place) == flow) else { break };
            self.buffer.evict(now, place, Reason::MatchVictim, fate);
            self.buffer.fifo.settle();
            matched += 1;
        }
        matched
    }

    /// The average's region, 1..=`regions`; above `max` the last one.
    fn region(&self, regions: u32) -> u32 {
        let above = self.red.as_ref().map_or(0.0, |red| red.average() - red.settings().min);
        // A cast saturates, and cuts towards zero.
        ((above * self.region_scale) as u32).min(regions - 1) + 1
    }

    /// What the thresholds say of an arrival, before RED.
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

    /// Why memory drops a packet of `flow`, if it does; and whether the flow stands in the table of hits.
    fn recall(&mut self, now: Time, flow: FlowKey) -> (Option<Reason>, bool) {
        let Remembered::Hits(hits) = &mut self.remembered else { return (None, false) };
        let Some(count) = hits.table.touch(now, flow) else { return (None, false) };
        let base = self.red.as_ref().map_or(0.0, RedCore::base_probability);
        // 2^n is exact up to the largest cap.
        let probability = base * (1_u64 << count.min(MAX_HITS)) as f64;
        (hits.rolls.chance(probability).then_some(Reason::Table), true)
    }

    /// Why an arrival of `flow` is dropped before RED is asked, if it is; and whether RED's early test still applies.
    fn choke(&mut self, now: Time, flow: FlowKey, fate: &mut impl Fate<P>) -> (Option<Reason>, bool) {
        if let Remembered::Last(last) = &self.remembered {
            return (last.contains(flow).then_some(Reason::MatchArrival), true);
        }
        let stage = self.stage();
        if stage == Stage::Idle {
            return (None, true);
        }
        let (reason, tabled) = self.recall(now, flow);
        if reason.is_some() {
            return (reason, false);
        }
        if stage == Stage::Compare && self.compare(now, flow, fate) > 0 {
            if let Remembered::Hits(hits) = &mut self.remembered {
                hits.table.count(now, flow, hits.cap);
            }
            return (Some(Reason::MatchArrival), false);
        }
        (None, !tabled)
    }

    /// Prepares the next arrival's draw, if it will have one.
    fn anticipate(&self) {
        if matches!(self.source, Source::Random | Source::Linux) && self.stage() == Stage::Compare {
            self.buffer.fifo.anticipate(&self.draws);
        }
    }

    /// RED's stage. A flow that was tried by the table is not tried again, only forced.
    fn red_stage(&mut self, packet: &P, early: bool) -> Verdict {
        let backlog = self.buffer.fifo.packets();
        let Some(red) = &mut self.red else { return Verdict::Pass };
        let signal = if early || red.is_forced() { red.test(backlog, packet.bytes()) } else { None };
        red.signal(signal, packet.ecn_capable())
    }
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

impl Candidates {
    /// The most candidates that one arrival has at the same time.
    const fn most(self) -> u32 {
        match self {
            Self::Fixed(count) => count,
            Self::Regions { regions, rule } => rule.candidates(regions),
            Self::Geometric(_) => 1,
        }
    }
}

impl Rule {
    /// The candidates in `region`.
    pub(crate) const fn candidates(self, region: u32) -> u32 {
        match self {
            Self::Double => 2 * region,
            Self::DoubleLessOne => 2 * region - 1,
            Self::Linear => region,
        }
    }
}

impl<P: Packet> Qdisc<P> for Choke<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.buffer.arrive(&packet);
        if let Some(red) = &mut self.red {
            red.arrive(now, &self.buffer);
        }
        let flow = packet.flow();
        let (reason, early) = self.choke(now, flow, fate);
        if let Some(reason) = reason {
            self.buffer.discard(now, packet, reason, fate);
            self.anticipate();
            return;
        }
        let verdict = self.red_stage(&packet, early);
        let admitted = carry_out(&mut self.buffer, now, packet, verdict, fate);
        if let (true, Remembered::Last(last)) = (admitted, &mut self.remembered) {
            last.insert(now, flow);
        }
        self.anticipate();
    }

    fn dequeue(&mut self, now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.buffer.depart();
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

/// The most hits that a cap may allow: 2^63 is the largest power of two in 64 bits.
const MAX_HITS: u32 = 63;
