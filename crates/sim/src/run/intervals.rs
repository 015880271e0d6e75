//! Rows per interval, from samples of counts since the start.

use std::collections::BTreeMap;

use fairlane_outcome::{FlowRow, FlowSample, QueueRow, QueueSample};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Scenario;

use crate::build::names::link_name;

/// Converts samples into rows, each with the differences to the sample before. For observers with an
/// [interval](crate::Observer::interval).
#[derive(Clone, Debug)]
pub struct Intervals {
    scenario: Scenario,
    flows: Vec<(String, Time, FlowSample)>,
    queues: BTreeMap<u32, (String, Time, QueueSample)>,
}

impl Intervals {
    /// Returns the state at the start of a run of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let start = |name| (name, Time::ZERO, FlowSample::default());
        Self { scenario: scenario.clone(), flows: scenario.flow_names().map(start).collect(), queues: BTreeMap::new() }
    }

    /// Adds a flow that is not the scenario's: its number is the next one.
    pub fn add_flow(&mut self, name: String) {
        self.flows.push((name, Time::ZERO, FlowSample::default()));
    }

    /// As [`flow`](Self::flow), of a flow that had nothing to count before `since`: its row begins there.
    pub fn flow_since(&mut self, since: Time, at: Time, now: &FlowSample) -> Option<FlowRow<'_>> {
        self.flows.get_mut(now.flow as usize)?.1 = since;
        self.flow(at, now)
    }

    /// Returns the flow's row; `None` for an unknown flow, or if no time has passed.
    pub fn flow(&mut self, at: Time, now: &FlowSample) -> Option<FlowRow<'_>> {
        let (name, before, last) = self.flows.get_mut(now.flow as usize)?;
        let seconds = at.since(std::mem::replace(before, at)).as_secs();
        let last = std::mem::replace(last, *now);
        (seconds > 0.0).then(|| FlowRow {
            time_s: at.as_secs(),
            flow: now.flow,
            flow_name: name,
            sent: now.sent - last.sent,
            delivered: now.delivered - last.delivered,
            dropped: now.dropped - last.dropped,
            lost: now.lost - last.lost,
            retransmitted: now.retransmitted - last.retransmitted,
            timeouts: now.timeouts - last.timeouts,
            throughput_bps: bits(now.delivered_bytes - last.delivered_bytes) / seconds,
            goodput_bps: bits(now.unique_bytes - last.unique_bytes) / seconds,
            cwnd: now.cwnd,
            srtt_s: now.srtt.map(Duration::as_secs),
        })
    }

    /// Returns the queue's row; `None` if no time has passed.
    pub fn queue(&mut self, at: Time, now: &QueueSample) -> Option<QueueRow<'_>> {
        let start = || (link_name(&self.scenario, now.link), Time::ZERO, QueueSample::default());
        let (name, before, last) = self.queues.entry(now.link).or_insert_with(start);
        let seconds = at.since(std::mem::replace(before, at)).as_secs();
        let last = std::mem::replace(last, *now);
        (seconds > 0.0).then(|| QueueRow {
            time_s: at.as_secs(),
            queue: name,
            arrived: now.arrived.packets - last.arrived.packets,
            departed: now.departed.packets - last.departed.packets,
            dropped: now.dropped.packets - last.dropped.packets,
            marked: now.marked.packets - last.marked.packets,
            throughput_bps: bits(now.departed.bytes - last.departed.bytes) / seconds,
            backlog_packets: now.backlog.packets,
            backlog_bytes: now.backlog.bytes,
            avg: now.average,
            probability: now.probability,
        })
    }
}

fn bits(bytes: u64) -> f64 {
    bytes as f64 * 8.0
}
