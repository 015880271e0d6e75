//! Counts by flow at the queue.

use std::collections::HashMap;

use fairlane_linux::{PacketObserver, QueuedPacket};
use fairlane_outcome::{QueueFlowRun, QueueRun};
use fairlane_qdisc::{Packet, Reason, Time};
use fairlane_scenario::LinkSide;
use hdrhistogram::Histogram;

/// The longest time in the queue that is recorded exactly: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// The counts since the start of the measurement.
#[derive(Debug)]
pub(crate) struct Meter {
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
    /// Drops and losses before the start of the measurement.
    dropped_before: u64,
    lost_before: u64,
    /// Bytes lost on the wire.
    lost_bytes: u64,
    backlog: u32,
    /// The integral of the backlog in packet-nanoseconds, up to `until`.
    area: u128,
    until: Time,
}

impl FlowMeter {
    /// Extends the integral to `now`.
    fn integrate_to(&mut self, now: Time) {
        self.area += u128::from(self.backlog) * u128::from(now.since(self.until).as_nanos());
        self.until = now;
    }

    fn leave(&mut self, now: Time) {
        self.integrate_to(now);
        self.backlog -= 1;
    }

    /// Returns the drops since the start of the run.
    fn dropped(&self) -> u64 {
        self.dropped_before + self.counts.dropped.iter().sum::<u64>()
    }

    /// Returns the losses since the start of the run.
    const fn lost(&self) -> u64 {
        self.lost_before + self.counts.lost
    }
}

impl Meter {
    /// Creates a meter for `flows` flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            flows: vec![FlowMeter::default(); flows],
            inside: HashMap::new(),
            average: (0.0, 0),
            delay_ns: Histogram::new(3).expect("three digits are as many as it can tell apart"),
            from: Time::ZERO,
        }
    }

    /// Notes that the next packet, `id`, belongs to `flow`.
    pub(crate) fn assign(&mut self, id: u32, flow: u32) {
        self.inside.insert(id, flow);
    }

    /// Notes the discipline's average after an arrival.
    pub(crate) fn add_average(&mut self, average: Option<f64>) {
        if let Some(average) = average {
            self.average.0 += average;
            self.average.1 += 1;
        }
    }

    /// Starts the measurement: clears all counts except the present backlog.
    pub(crate) fn begin(&mut self, now: Time) {
        for flow in &mut self.flows {
            let (backlog, dropped_before, lost_before) = (flow.backlog, flow.dropped(), flow.lost());
            *flow = FlowMeter { backlog, dropped_before, lost_before, until: now, ..FlowMeter::default() };
        }
        self.average = (0.0, 0);
        self.delay_ns.reset();
        self.from = now;
    }

    /// Returns the start of the measurement.
    pub(crate) const fn from(&self) -> Time {
        self.from
    }

    /// Returns the counts up to `now` of the queue `name` before the link `side`.
    pub(crate) fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> QueueRun {
        let nanos = now.since(self.from).as_nanos().max(1) as f64;
        let counts = |(id, flow): (usize, &mut FlowMeter)| {
            flow.integrate_to(now);
            QueueFlowRun { flow: id as u32, mean_packets: flow.area as f64 / nanos, ..flow.counts.clone() }
        };
        let flows: Vec<QueueFlowRun> = self.flows.iter_mut().enumerate().map(counts).collect();
        QueueRun {
            name: name.to_owned(),
            kind: side.queue.kind().name().into(),
            rate_bps: side.rate.bits_per_second() as f64,
            edge_bytes: 0.0,
            mean_packets: flows.iter().map(|flow| flow.mean_packets).sum(),
            mean_avg: (self.average.1 > 0).then(|| self.average.0 / self.average.1 as f64),
            delay_ns: self.delay_ns.clone(),
            flows,
        }
    }

    /// Counts a packet that was dropped at an unknown time since it arrived at `since`. Its time in the queue counts as
    /// none.
    pub(crate) fn dropped_inside(&mut self, now: Time, packet: &QueuedPacket, reason: Reason, since: Time) {
        let counted = now.since(since.max(self.from)).as_nanos();
        if let Some(flow) = self.flow(packet) {
            flow.integrate_to(now);
            flow.area -= u128::from(counted).min(flow.area);
        }
        self.dropped(now, packet, reason);
    }

    /// Notes that a packet of `flow`, of `bytes` bytes, was lost on the wire.
    pub(crate) fn lost(&mut self, flow: u32, bytes: u32) {
        if let Some(flow) = self.flows.get_mut(flow as usize) {
            flow.counts.lost += 1;
            flow.lost_bytes += u64::from(bytes);
        }
    }

    /// Returns, by flow, the bytes lost on the wire since the start of the measurement.
    pub(crate) fn lost_bytes(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.lost_bytes).collect()
    }

    /// Returns the drops of each flow since the start of the run.
    pub(crate) fn dropped_since_start(&self) -> impl Iterator<Item = u64> {
        self.flows.iter().map(FlowMeter::dropped)
    }

    /// Returns the losses of each flow since the start of the run.
    pub(crate) fn lost_since_start(&self) -> impl Iterator<Item = u64> {
        self.flows.iter().map(FlowMeter::lost)
    }

    fn flow(&mut self, packet: &QueuedPacket) -> Option<&mut FlowMeter> {
        let flow = *self.inside.get(&packet.id)?;
        self.flows.get_mut(flow as usize)
    }
}

impl PacketObserver for Meter {
    fn arrived(&mut self, now: Time, packet: &QueuedPacket) {
        if let Some(flow) = self.flow(packet) {
            flow.integrate_to(now);
            flow.backlog += 1;
            flow.counts.arrived += 1;
        }
    }

    fn departed(&mut self, now: Time, packet: &QueuedPacket, since: Time) {
        if let Some(flow) = self.flow(packet) {
            flow.leave(now);
            flow.counts.departed += 1;
            flow.counts.departed_bytes += u64::from(packet.bytes());
        }
        self.inside.remove(&packet.id);
        let delay = now.since(since).as_nanos().min(LONGEST_NS);
        self.delay_ns.record(delay).expect("it grows to any value");
    }

    fn dropped(&mut self, now: Time, packet: &QueuedPacket, reason: Reason) {
        if let Some(flow) = self.flow(packet) {
            flow.leave(now);
            flow.counts.dropped[reason.index()] += 1;
        }
        self.inside.remove(&packet.id);
    }

    fn marked(&mut self, packet: &QueuedPacket, _reason: Reason) {
        if let Some(flow) = self.flow(packet) {
            flow.counts.marked += 1;
        }
    }
}
