//! Counts by flow at the queue.

use fairlane_link::LinkObserver;
use fairlane_outcome::QueueRun;
use fairlane_qdisc::{Packet, Reason, Time};
use fairlane_scenario::LinkSide;

use crate::path::LinkPacket;
use crate::queue_counts::{FlowCounts, QueueCounts};

/// The counts since the start of the measurement.
#[derive(Debug)]
pub(crate) struct Meter {
    queue: QueueCounts,
    /// Each flow's drops and losses before the start of the measurement.
    before: Vec<(u64, u64)>,
}

impl Meter {
    /// Creates a meter for `flows` flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self { queue: QueueCounts::new(flows), before: vec![(0, 0); flows] }
    }

    /// Returns `true` if there is a flow of this number.
    pub(crate) fn knows(&self, flow: u32) -> bool {
        (flow as usize) < self.before.len()
    }

    /// Starts the measurement: clears all counts except the present backlog.
    pub(crate) fn begin(&mut self, now: Time) {
        self.before = self.dropped_since_start().zip(self.lost_since_start()).collect();
        self.queue.begin(now);
    }

    /// Returns the start of the measurement.
    pub(crate) const fn from(&self) -> Time {
        self.queue.from()
    }

    /// Returns the counts up to `now` of the queue `name` before the link `side`.
    pub(crate) fn measured(&mut self, now: Time, name: &str, side: &LinkSide) -> QueueRun {
        self.queue.measured(now, name, side.queue.kind().name(), side.rate.bits_per_second() as f64)
    }

    /// Counts a packet that was dropped at an unknown time since it arrived. Its time in the queue counts as none.
    pub(crate) fn dropped_inside(&mut self, now: Time, packet: LinkPacket, reason: Reason) {
        let since = packet.tag.since.max(self.from());
        if let Some(flow) = self.flow(&packet) {
            flow.forget_wait(now, since);
        }
        self.dropped(now, packet, reason);
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

    fn flow(&mut self, packet: &LinkPacket) -> Option<&mut FlowCounts> {
        self.queue.flow(packet.tag.flow)
    }
}

impl LinkObserver<LinkPacket> for Meter {
    fn arrived(&mut self, now: Time, packet: &LinkPacket) {
        if let Some(flow) = self.flow(packet) {
            flow.arrived(now);
        }
    }

    fn departed(&mut self, now: Time, packet: &LinkPacket) {
        if let Some(flow) = self.flow(packet) {
            flow.departed(now, packet.bytes());
        }
        self.queue.record_delay(now, packet.tag.since);
    }

    fn dropped(&mut self, now: Time, packet: LinkPacket, reason: Reason) {
        if let Some(flow) = self.flow(&packet) {
            flow.dropped(now, reason);
        }
    }

    fn marked(&mut self, _now: Time, packet: &LinkPacket, _reason: Reason) {
        if let Some(flow) = self.flow(packet) {
            flow.marked();
        }
    }

    fn lost(&mut self, _now: Time, packet: LinkPacket) {
        let bytes = packet.bytes();
        if let Some(flow) = self.flow(&packet) {
            flow.lost(bytes);
        }
    }
}
