//! Delays of flows from end to end.

use std::ops::Range;

use fairlane_outcome::PathRun;
use fairlane_outcome::score::ScoreRun;
use fairlane_qdisc::Time;
use fairlane_scenario::Scenario;

use crate::measure::scores::FlowScore;
use crate::packet::{Packet, PacketKind};

/// The number of flows from which delays are not counted: with more, the counts are in no cache, and each packet would
/// wait for them.
const MAX_FLOWS: usize = 20_000;

/// The delays of each flow since the measurement began.
#[derive(Clone, Debug)]
pub(crate) struct Delays {
    flows: Vec<FlowDelays>,
    /// The scores of the flows that have one; empty if none has.
    scores: Vec<Option<Box<FlowScore>>>,
}

#[derive(Clone, Copy, Debug)]
struct FlowDelays {
    sums: PathRun,
    /// The delay of the last data packet, in nanoseconds; [`NONE`] before the first.
    last: u64,
}

/// No delay.
const NONE: u64 = u64::MAX;

impl FlowDelays {
    /// Returns the counts before the first packet.
    fn new() -> Self {
        Self { sums: PathRun::default(), last: NONE }
    }
}

impl Delays {
    /// Returns the counts of the flows of `scenario`; none if these are too many.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let count: usize = scenario.flows.iter().map(|group| group.count as usize).sum();
        let flows = if count < MAX_FLOWS { vec![FlowDelays::new(); count] } else { Vec::new() };
        let scored = scenario.flows.iter().any(|group| group.score.is_some()) && !flows.is_empty();
        let each = scenario.flows.iter().flat_map(|group| (0..group.count).map(|_| FlowScore::new(scenario, group)));
        Self { flows, scores: if scored { each.collect() } else { Vec::new() } }
    }

    /// Counts a packet that has reached its host at `now`; with `tcp` an acknowledgement ends a round trip.
    #[inline(always)]
    pub(crate) fn arrived(&mut self, now: Time, packet: &Packet, tcp: bool) {
        let Some(FlowDelays { sums, last }) = self.flows.get_mut(packet.flow as usize) else { return };
        let delay = (now - packet.sent).as_nanos();
        if packet.flags.is_data() {
            let before = if *last == NONE { delay } else { *last };
            *last = delay;
            sums.delay_ns = sums.delay_ns.saturating_add(delay);
            sums.variation_ns = sums.variation_ns.saturating_add(delay.abs_diff(before));
        } else if tcp && packet.kind() == PacketKind::Ack {
            sums.round_trip_ns = sums.round_trip_ns.saturating_add(delay);
            sums.round_trips += 1;
        }
        if !self.scores.is_empty() {
            self.count_score(packet, delay);
        }
    }

    #[inline(never)]
    fn count_score(&mut self, packet: &Packet, delay: u64) {
        if let Some(Some(score)) = self.scores.get_mut(packet.flow as usize) {
            score.arrived(packet.kind(), packet.seq, delay);
        }
    }

    /// Starts the measurement.
    pub(crate) fn begin(&mut self) {
        for flow in &mut self.flows {
            flow.sums = PathRun::default();
        }
        self.scores.iter_mut().flatten().for_each(|score| score.begin());
    }

    /// Takes the counts of `flows` from those of another part of the run.
    pub(crate) fn take_over(&mut self, part: &Self, flows: Range<u32>) {
        let flows = flows.start as usize..flows.end as usize;
        if let (Some(own), Some(others)) = (self.flows.get_mut(flows.clone()), part.flows.get(flows.clone())) {
            own.copy_from_slice(others);
        }
        if let (Some(own), Some(others)) = (self.scores.get_mut(flows.clone()), part.scores.get(flows)) {
            own.clone_from_slice(others);
        }
    }

    /// Returns the counts of flow number `flow`.
    pub(crate) fn of(&self, flow: usize) -> Option<PathRun> {
        self.flows.get(flow).map(|flow| flow.sums)
    }

    /// Returns the measurements for the score of flow number `flow`, which has sent `all` packets, `measured` of them
    /// since the measurement began; `None` if it has no score.
    pub(crate) fn score(&self, flow: usize, all: u64, measured: u64) -> Option<ScoreRun> {
        self.scores.get(flow)?.as_ref().map(|score| score.run(all, measured))
    }
}
