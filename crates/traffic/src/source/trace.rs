//! Recorded packets.

use fairlane_qdisc::Duration;
use fairlane_scenario as scenario;

/// A flow of a trace.
#[derive(Debug)]
pub(crate) struct Trace {
    trace: scenario::Trace,
    flow: u32,
    /// The number of packets so far.
    count: usize,
}

impl Trace {
    pub(crate) const fn new(trace: scenario::Trace, flow: u32) -> Self {
        Self { trace, flow, count: 0 }
    }

    /// Returns the time to the next packet, from the packet before or from the flow's start; `u64::MAX` ns after the
    /// last one.
    pub(crate) fn next(&mut self) -> Duration {
        let packets = self.trace.flow(self.flow);
        let Some(packet) = packets.get(self.count) else { return Duration::from_nanos(u64::MAX) };
        let before = self.count.checked_sub(1).map_or(0, |before| packets[before].at.as_nanos());
        self.count += 1;
        Duration::from_nanos(packet.at.as_nanos() - before)
    }

    /// Returns the size of that packet.
    pub(crate) fn bytes(&self) -> Option<u32> {
        let last = self.count.checked_sub(1)?;
        self.trace.flow(self.flow).get(last).map(|packet| u32::try_from(packet.bytes.get()).unwrap_or(u32::MAX))
    }
}
