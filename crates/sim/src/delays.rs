//! Delays of flows from end to end.

use std::ops::Range;

use fairlane_outcome::PathRun;
use fairlane_qdisc::Time;

use crate::packet::{Packet, PacketKind};

/// The number of flows from which delays are not counted: with more, the counts are in no cache, and each packet would wait for them.
const MAX_FLOWS: usize = 20_000;

/// The delays of each flow since the measurement began.
#[derive(Debug)]
pub(crate) struct Delays(Vec<FlowDelays>);

#[derive(Clone, Copy, Debug, Default)]
struct FlowDelays {
    sums: PathRun,
    /// The delay of the last data packet, in nanoseconds; `None` before the first.
    last: Option<u64>,
}

impl Delays {
    /// Returns the counts of `flows` flows; none if these are too many.
    pub(crate) fn new(flows: usize) -> Self {
        Self(if flows < MAX_FLOWS { vec![FlowDelays::default(); flows] } else { Vec::new() })
    }

    /// Counts a packet that has reached its host at `now`; with `tcp` an acknowledgement ends a round trip.
    pub(crate) fn arrived(&mut self, now: Time, packet: &Packet, tcp: bool) {
        let Some(FlowDelays { sums, last }) = self.0.get_mut(packet.flow as usize) else { return };
        let delay = (now - packet.sent).as_nanos();
        match packet.kind() {
            PacketKind::Data => {
                let before = last.replace(delay).unwrap_or(delay);
                sums.delay_ns = sums.delay_ns.saturating_add(delay);
                sums.variation_ns = sums.variation_ns.saturating_add(delay.abs_diff(before));
            }
            PacketKind::Ack if tcp => {
                sums.round_trip_ns = sums.round_trip_ns.saturating_add(delay);
                sums.round_trips += 1;
            }
            PacketKind::Ack | PacketKind::Syn | PacketKind::SynAck | PacketKind::OpeningAck => {}
        }
    }

    /// Starts the measurement.
    pub(crate) fn begin(&mut self) {
        for flow in &mut self.0 {
            flow.sums = PathRun::default();
        }
    }

    /// Takes the counts of `flows` from those of another part of the run.
    pub(crate) fn take_over(&mut self, part: &Self, flows: Range<u32>) {
        let flows = flows.start as usize..flows.end as usize;
        if let (Some(own), Some(others)) = (self.0.get_mut(flows.clone()), part.0.get(flows)) {
            own.copy_from_slice(others);
        }
    }

    /// Returns the counts of flow number `flow`.
    pub(crate) fn of(&self, flow: usize) -> Option<PathRun> {
        self.0.get(flow).map(|flow| flow.sums)
    }
}
