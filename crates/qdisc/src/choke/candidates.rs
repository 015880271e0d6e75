//! Which queued packets an arrival is compared with: where they come from, and how many they are.

use alloc::boxed::Box;

use super::control::{Control, ControlSettings};
use super::factor::{Factor, FactorSettings};
use super::{Choke, ChokeSettings};
use crate::fifo::Place;
use crate::red::RedCore;
use crate::{Fate, FlowKey, Packet, Reason, Seed, Time};

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
    /// Uniformly from the half that came last, then from the half that leaves first.
    Halves,
}

/// How many candidates an arrival is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// In proportion to the average, distinct.
    Average(Average),
    /// By a factor that follows the queue; one after another until one matches.
    Factor(FactorSettings),
    /// By a control of the share that unresponsive flows have of the queue, distinct.
    Control(ControlSettings),
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

/// Candidates in proportion to the average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Average {
    /// Candidates for each unit of the average.
    pub(crate) scale: f64,
    /// No more than these.
    pub(crate) most: u32,
}

impl Average {
    /// How many at `average`.
    pub(crate) fn candidates(self, average: f64) -> u32 {
        // A cast saturates.
        (libm::round(average * self.scale) as u32).min(self.most)
    }
}

/// How many candidates there are, as it stands.
#[derive(Debug)]
pub(super) enum Count {
    Fixed(u32),
    Regions { regions: u32, rule: Rule },
    Geometric(u32),
    Average(Average),
    Factor(Box<Factor>),
    Control(Box<Control>),
}

impl Count {
    pub(super) fn new(settings: &ChokeSettings, seed: Seed) -> Self {
        match settings.candidates {
            Candidates::Fixed(count) => Self::Fixed(count),
            Candidates::Regions { regions, rule } => Self::Regions { regions, rule },
            Candidates::Geometric(most) => Self::Geometric(most),
            Candidates::Average(average) => Self::Average(average),
            Candidates::Factor(settings) => Self::Factor(Box::new(Factor::new(settings, seed))),
            Candidates::Control(settings) => Self::Control(Box::new(Control::new(settings))),
        }
    }

    /// The most candidates that one arrival has at the same time.
    pub(super) const fn most(&self) -> u32 {
        match self {
            Self::Fixed(count) => *count,
            Self::Regions { regions, rule } => rule.candidates(*regions),
            Self::Geometric(_) | Self::Factor(_) => 1,
            Self::Average(average) => average.most,
            Self::Control(control) => control.most(),
        }
    }
}

/// The average's region, 1..=`regions`; above `max` the last one. It is divided last: a factor for it would put some averages that
/// are a region's lower end into the one below.
fn region(red: Option<&RedCore>, regions: u32) -> u32 {
    let Some(red) = red else { return 1 };
    let (above, width) = (red.average() - red.settings().min, red.settings().max - red.settings().min);
    // A cast saturates, cuts towards zero, and makes 0 of what is no number.
    ((f64::from(regions) * above / width) as u32).min(regions - 1) + 1
}

impl<P: Packet> Choke<P> {
    /// Compares an arrival of `flow` with candidates, and drops those that are of it; how many they were.
    pub(super) fn compare(&mut self, now: Time, packet: &P, fate: &mut impl Fate<P>) -> u32 {
        let flow = packet.flow();
        let wanted = match &mut self.count {
            // One candidate needs no list.
            Count::Fixed(1) => return self.compare_while_matching(now, flow, 1, fate),
            Count::Fixed(count) => *count,
            Count::Regions { regions, rule } => rule.candidates(region(self.red.as_ref(), *regions)),
            Count::Geometric(most) => {
                let most = *most;
                return self.compare_while_matching(now, flow, most, fate);
            }
            Count::Average(average) => average.candidates(self.red.as_ref().map_or(0.0, RedCore::average)),
            Count::Factor(factor) => {
                let wanted = factor.candidates(packet.class());
                return self.compare_until_match(now, flow, wanted, fate);
            }
            Count::Control(control) => control.candidates(),
        };
        self.compare_distinct(now, flow, wanted, fate)
    }

    /// Compares with `wanted` distinct candidates.
    fn compare_distinct(&mut self, now: Time, flow: FlowKey, wanted: u32, fate: &mut impl Fate<P>) -> u32 {
        self.pick_distinct(wanted);
        let mut matched = 0;
        for i in 0..self.picks.len() {
            let place = self.picks[i];
            if self.buffer.fifo.is_of(place, flow) {
                self.drop_victim(now, place, fate);
                matched += 1;
            }
        }
        if matched > 0 {
            self.buffer.fifo.settle();
            self.halves.follow(&self.buffer.fifo);
        }
        if let Count::Control(control) = &mut self.count {
            control.compared(matched > 0);
        }
        matched
    }

    /// Draws and drops candidates while they are of `flow`, at most `most`; how many they were.
    fn compare_while_matching(&mut self, now: Time, flow: FlowKey, most: u32, fate: &mut impl Fate<P>) -> u32 {
        let mut matched = 0;
        while matched < most && self.draws_match(flow, now, fate) {
            matched += 1;
        }
        matched
    }

    /// Draws candidates, at most `most`, and drops the first that is of `flow`; how many that were.
    fn compare_until_match(&mut self, now: Time, flow: FlowKey, most: u32, fate: &mut impl Fate<P>) -> u32 {
        u32::from((0..most).any(|_| self.draws_match(flow, now, fate)))
    }

    /// Whether one candidate is of `flow`; it is dropped then.
    fn draws_match(&mut self, flow: FlowKey, now: Time, fate: &mut impl Fate<P>) -> bool {
        let Some(place) = self.pick().filter(|&place| self.buffer.fifo.is_of(place, flow)) else { return false };
        self.buffer.evict(now, place, Reason::MatchVictim, fate);
        self.buffer.fifo.settle();
        true
    }

    /// Whether a candidate is of `flow`. Nothing is dropped.
    pub(super) fn meets(&mut self, flow: FlowKey) -> bool {
        self.pick().is_some_and(|place| self.buffer.fifo.is_of(place, flow))
    }

    /// Drops the candidate at `place`.
    fn drop_victim(&mut self, now: Time, place: Place, fate: &mut impl Fate<P>) {
        self.halves.removed(place);
        if let (Count::Control(control), Some(victim)) = (&mut self.count, self.buffer.fifo.packet(place)) {
            control.left(victim.responsive());
        }
        self.buffer.evict(now, place, Reason::MatchVictim, fate);
    }

    /// One candidate.
    fn pick(&mut self) -> Option<Place> {
        match self.source {
            Source::Random | Source::Halves => self.buffer.fifo.draw(&mut self.draws),
            Source::Linux => self.buffer.fifo.draw_as_linux(&mut self.draws),
            Source::Front => self.buffer.fifo.front(),
            Source::Back => self.buffer.fifo.back(),
        }
    }

    /// Fills `picks` with `wanted` distinct candidates, or as many as there are packets.
    fn pick_distinct(&mut self, wanted: u32) {
        self.picks.clear();
        let wanted = (wanted as usize).min(self.buffer.fifo.packets());
        if self.source == Source::Halves {
            return self.halves.pick(&self.buffer.fifo, wanted, &mut self.draws, &mut self.picks);
        }
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
}
