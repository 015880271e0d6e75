//! Counts by flow at the queue.

use std::collections::HashMap;

use fairlane_linux::{PacketObserver, QueuedPacket};
use fairlane_outcome::QueueRun;
use fairlane_qdisc::{Packet, Reason, Time};
use fairlane_scenario::LinkSide;

use crate::queue_counts::{FlowCounts, QueueCounts};

/// The counts since the start of the measurement.
#[derive(Debug)]
pub(crate) struct Meter {
    queue: QueueCounts,
    /// Each flow's drops and losses before the start of the measurement.
    before: Vec<(u64, u64)>,
    /// The flow of each packet in the queue, by the packet's number.
    inside: HashMap<u32, u32>,
    average: (f64, u64),
}

impl Meter {
    /// Creates a meter for `flows` flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self { queue: QueueCounts::new(flows), before: vec![(0, 0); flows], inside: HashMap::new(), average: (0.0, 0) }
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
        self.before = self.dropped_since_start().zip(self.lost_since_start()).collect();
        self.average = (0.0, 0);
        self.queue.begin(now);
    }

    /// Returns the start of the measurement.
    pub(crate) const fn from(&self) -> Time {
        self.queue.from()
    }

    /// Returns the counts up to `now` of the queue `name` before the link `side`.
    pub(crate) fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> QueueRun {
        let mean_avg = (self.average.1 > 0).then(|| self.average.0 / self.average.1 as f64);
        let rate_bps = side.rate.bits_per_second() as f64;
        QueueRun { mean_avg, ..self.queue.measured(now, name, side.queue.kind().name(), rate_bps) }
    }

    /// Counts a packet that was dropped at an unknown time since it arrived at `since`. Its time in the queue counts as
    /// none.
    pub(crate) fn dropped_inside(&mut self, now: Time, packet: &QueuedPacket, reason: Reason, since: Time) {
        let since = since.max(self.from());
        if let Some(flow) = self.flow(packet) {
            flow.forget_wait(now, since);
        }
        self.dropped(now, packet, reason);
    }

    /// Notes that a packet of `flow`, of `bytes` bytes, was lost on the wire.
    pub(crate) fn lost(&mut self, flow: u32, bytes: u32) {
        if let Some(flow) = self.queue.flow(flow) {
            flow.lost(bytes);
        }
    }

    /// Returns, by flow, the bytes lost on the wire since the start of the measurement.
    pub(crate) fn lost_bytes(&self) -> Vec<u64> {
        self.queue.flows().iter().map(FlowCounts::lost_bytes).collect()
    }

    /// Returns the drops of each flow since the start of the run.
    pub(crate) fn dropped_since_start(&self) -> impl Iterator<Item = u64> {
        let flows = self.queue.flows().iter().zip(&self.before);
        flows.map(|(flow, (before, _))| before + flow.counts().dropped.iter().sum::<u64>())
    }

    /// Returns the losses of each flow since the start of the run.
    pub(crate) fn lost_since_start(&self) -> impl Iterator<Item = u64> {
        self.queue.flows().iter().zip(&self.before).map(|(flow, (_, before))| before + flow.counts().lost)
    }

    fn flow(&mut self, packet: &QueuedPacket) -> Option<&mut FlowCounts> {
        self.queue.flow(*self.inside.get(&packet.id)?)
    }
}

impl PacketObserver for Meter {
    fn arrived(&mut self, now: Time, packet: &QueuedPacket) {
        if let Some(flow) = self.flow(packet) {
            flow.arrived(now);
        }
    }

    fn departed(&mut self, now: Time, packet: &QueuedPacket, since: Time) {
        if let Some(flow) = self.flow(packet) {
            flow.departed(now, packet.bytes());
        }
        self.inside.remove(&packet.id);
        self.queue.record_delay(now, since);
    }

    fn dropped(&mut self, now: Time, packet: &QueuedPacket, reason: Reason) {
        if let Some(flow) = self.flow(packet) {
            flow.dropped(now, reason);
        }
        self.inside.remove(&packet.id);
    }

    fn marked(&mut self, packet: &QueuedPacket, _reason: Reason) {
        if let Some(flow) = self.flow(packet) {
            flow.marked();
        }
    }
}
