//! What is counted at the queue, flow by flow.

use std::collections::HashMap;

use fairlane_outcome::{QueueFlowRun, QueueRun};
use fairlane_qdisc::{Packet, Reason, Time};
use fairlane_scenario::LinkSide;
use hdrhistogram::Histogram;

use crate::engine::Witness;
use crate::packet::Held;

/// The longest time in a queue that is told apart: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// Counts since the measurement began.
#[derive(Debug)]
pub(super) struct Meter {
    flows: Vec<FlowMeter>,
    /// The flow of each packet in the queue, by the packet's number.
    inside: HashMap<u32, u32>,
    average: (f64, u64),
    delay_ns: Histogram<u64>,
    from: Time,
}

#[derive(Clone, Debug, Default)]
struct FlowMeter {
    counts: QueueFlowRun,
    /// Drops before the measurement began.
    dropped_before: u64,
    backlog: u32,
    /// The area under the backlog in packet-nanoseconds, up to `until`.
    area: u128,
    until: Time,
}

impl FlowMeter {
    /// Keeps the area up to `now`.
    fn reach(&mut self, now: Time) {
        self.area += u128::from(self.backlog) * u128::from(now.since(self.until).as_nanos());
        self.until = now;
    }

    fn leave(&mut self, now: Time) {
        self.reach(now);
        self.backlog -= 1;
    }

    /// Drops since the start of the run.
    fn dropped(&self) -> u64 {
        self.dropped_before + self.counts.dropped.iter().sum::<u64>()
    }
}

impl Meter {
    /// A meter for so many flows.
    pub(super) fn new(flows: usize) -> Self {
        Self {
            flows: vec![FlowMeter::default(); flows],
            inside: HashMap::new(),
            average: (0.0, 0),
            delay_ns: Histogram::new(3).expect("three digits are as many as it can tell apart"),
            from: Time::ZERO,
        }
    }

    /// The packet `id`, which comes next, is of `flow`.
    pub(super) fn expect(&mut self, id: u32, flow: u32) {
        self.inside.insert(id, flow);
    }

    /// The discipline's average after an arrival.
    pub(super) fn averaged(&mut self, average: Option<f64>) {
        if let Some(average) = average {
            self.average.0 += average;
            self.average.1 += 1;
        }
    }

    /// Forgets everything but what is queued: the measurement begins.
    pub(super) fn begin(&mut self, now: Time) {
        for flow in &mut self.flows {
            let (backlog, dropped_before) = (flow.backlog, flow.dropped());
            *flow = FlowMeter { backlog, dropped_before, until: now, ..FlowMeter::default() };
        }
        self.average = (0.0, 0);
        self.delay_ns.reset();
        self.from = now;
    }

    /// What was counted of the queue `name` before the link `side`, up to `now`.
    pub(super) fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> QueueRun {
        let nanos = now.since(self.from).as_nanos().max(1) as f64;
        let counts = |(id, flow): (usize, &mut FlowMeter)| {
            flow.reach(now);
            QueueFlowRun { flow: id as u32, mean_packets: flow.area as f64 / nanos, ..flow.counts.clone() }
        };
        let flows: Vec<QueueFlowRun> = self.flows.iter_mut().enumerate().map(counts).collect();
        QueueRun {
            name: name.to_owned(),
            kind: side.queue.kind().name(),
            rate_bps: side.rate.bits_per_second() as f64,
            mean_packets: flows.iter().map(|flow| flow.mean_packets).sum(),
            mean_avg: (self.average.1 > 0).then(|| self.average.0 / self.average.1 as f64),
            delay_ns: self.delay_ns.clone(),
            flows,
        }
    }

    /// Drops of each flow since the start of the run.
    pub(super) fn dropped_since_start(&self) -> impl Iterator<Item = u64> {
        self.flows.iter().map(FlowMeter::dropped)
    }

    fn flow(&mut self, packet: &Held) -> Option<&mut FlowMeter> {
        let flow = *self.inside.get(&packet.id)?;
        self.flows.get_mut(flow as usize)
    }
}

impl Witness for Meter {
    fn arrived(&mut self, now: Time, packet: &Held) {
        if let Some(flow) = self.flow(packet) {
            flow.reach(now);
            flow.backlog += 1;
            flow.counts.arrived += 1;
        }
    }

    fn departed(&mut self, now: Time, packet: &Held, since: Time) {
        if let Some(flow) = self.flow(packet) {
            flow.leave(now);
            flow.counts.departed += 1;
            flow.counts.departed_bytes += u64::from(packet.bytes());
        }
        self.inside.remove(&packet.id);
        let delay = now.since(since).as_nanos().min(LONGEST_NS);
        self.delay_ns.record(delay).expect("it grows to any value");
    }

    fn dropped(&mut self, now: Time, packet: &Held, reason: Reason) {
        if let Some(flow) = self.flow(packet) {
            flow.leave(now);
            flow.counts.dropped[reason.index()] += 1;
        }
        self.inside.remove(&packet.id);
    }

    fn marked(&mut self, packet: &Held, _reason: Reason) {
        if let Some(flow) = self.flow(packet) {
            flow.counts.marked += 1;
        }
    }
}
