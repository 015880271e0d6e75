//! Packets that were recorded.

use fairlane_qdisc::Duration;
use fairlane_scenario as scenario;

use crate::link::wire_bytes;

/// A flow of a trace.
#[derive(Debug)]
pub(crate) struct Trace {
    trace: scenario::Trace,
    flow: u32,
    /// Packets that have been told of.
    told: usize,
}

impl Trace {
    pub(crate) const fn new(trace: scenario::Trace, flow: u32) -> Self {
        Self { trace, flow, told: 0 }
    }

    /// From the packet before, or from the flow's start, to the next packet; for ever when there is none.
    pub(crate) fn next(&mut self) -> Duration {
        let packets = self.trace.flow(self.flow);
        let Some(packet) = packets.get(self.told) else { return Duration::from_nanos(u64::MAX) };
        let before = self.told.checked_sub(1).map_or(0, |before| packets[before].at.as_nanos());
        self.told += 1;
        Duration::from_nanos(packet.at.as_nanos() - before)
    }

    /// The size of that packet.
    pub(crate) fn bytes(&self) -> Option<u32> {
        let last = self.told.checked_sub(1)?;
        self.trace.flow(self.flow).get(last).map(|packet| wire_bytes(packet.bytes))
    }
}
