//! Counts by flow at a queue.

use std::collections::HashMap;

use fairlane_lab::{FlowCounts, LinkPacket, QueueCounts};
use fairlane_link::LinkObserver;
use fairlane_linux::DelayHistogram;
use fairlane_outcome::{FlowSample, QueueFlowRun, QueueRun};
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{Packet, Reason, Time};

/// The most flows that are counted one by one; those that come later are counted together.
const MOST_FLOWS: usize = 20_000;

/// A flow of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkFlow {
    /// `None` for the flows that are counted together.
    pub(crate) name: Option<FlowId>,
    /// Bytes lost on the wire.
    pub(crate) lost_bytes: u64,
}

/// The counts since the start.
#[derive(Debug)]
pub(crate) struct Meter {
    queue: QueueCounts,
    /// By number; `None` for the flows that are counted together.
    names: Vec<Option<FlowId>>,
    numbers: HashMap<FlowId, u32>,
    /// The flows that have had events since the last sample, and the number of that sample by flow.
    active: Vec<u32>,
    sampled: Vec<u32>,
    samples: u32,
    delays: DelayHistogram,
    /// The seconds in which the discipline dropped or marked packets, and the bytes that departed in each.
    signalled: Vec<(u64, u64)>,
    /// The present second, the bytes that have departed in it, and whether the discipline has dropped or marked any.
    second: (u64, u64, bool),
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            queue: QueueCounts::new(0),
            names: Vec::new(),
            numbers: HashMap::new(),
            active: Vec::new(),
            sampled: Vec::new(),
            samples: 0,
            delays: DelayHistogram::default(),
            signalled: Vec::new(),
            second: (0, 0, false),
        }
    }
}

impl Meter {
    /// Returns the number of a flow.
    pub(crate) fn number(&mut self, name: FlowId) -> u32 {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        if self.names.len() > MOST_FLOWS {
            return MOST_FLOWS as u32;
        }
        let together = self.names.len() == MOST_FLOWS;
        let number = self.queue.add_flow() as u32;
        self.names.push((!together).then_some(name));
        self.sampled.push(u32::MAX);
        if !together {
            self.numbers.insert(name, number);
        }
        number
    }

    /// Returns the names of the flows by number; `None` for those that are counted together.
    pub(crate) fn names(&self) -> &[Option<FlowId>] {
        &self.names
    }

    /// Returns the times in the queue of the packets that have left it.
    pub(crate) const fn delays(&self) -> &DelayHistogram {
        &self.delays
    }

    /// Returns the counts of the flows that have had events since the last call.
    pub(crate) fn sample(&mut self) -> Vec<FlowSample> {
        self.samples += 1;
        let flows = self.queue.flows();
        self.active.sort_unstable();
        self.active.drain(..).map(|flow| sample(flow, &flows[flow as usize])).collect()
    }

    /// Returns the counts up to `now`, of a queue of this name before a link of this rate, and its flows.
    pub(crate) fn finish(
        &mut self,
        now: Time,
        name: &str,
        kind: &'static str,
        rate_bps: f64,
    ) -> (QueueRun, Vec<LinkFlow>) {
        let queue = self.queue.measured(now, name, kind, rate_bps);
        let named = self.names.iter().zip(self.queue.flows());
        (queue, named.map(|(name, flow)| LinkFlow { name: *name, lost_bytes: flow.lost_bytes() }).collect())
    }

    /// Returns the seconds in which the discipline dropped or marked packets, and the bytes that departed in each. The
    /// last second is not whole and is left out.
    pub(crate) fn signalled(&self) -> &[(u64, u64)] {
        &self.signalled
    }

    /// Returns the bytes of the second of `now`, and whether the discipline has dropped or marked packets in it.
    fn second(&mut self, now: Time) -> (&mut u64, &mut bool) {
        let number = now.as_nanos() / 1_000_000_000;
        if number != self.second.0 {
            let (before, bytes, signalled) = std::mem::replace(&mut self.second, (number, 0, false));
            self.signalled.extend(signalled.then_some((before, bytes)));
        }
        (&mut self.second.1, &mut self.second.2)
    }

    fn flow(&mut self, packet: &LinkPacket) -> &mut FlowCounts {
        let sampled = &mut self.sampled[packet.tag.flow as usize];
        if *sampled != self.samples {
            *sampled = self.samples;
            self.active.push(packet.tag.flow);
        }
        self.queue.flow(packet.tag.flow).expect("number has added it")
    }
}

/// Returns the counts of the flow of this number.
fn sample(flow: u32, counts: &FlowCounts) -> FlowSample {
    let QueueFlowRun { arrived, departed, departed_bytes, lost, dropped, .. } = counts.counts();
    let bytes = departed_bytes - counts.lost_bytes();
    FlowSample {
        flow,
        sent: *arrived,
        delivered: departed - lost,
        delivered_bytes: bytes,
        unique_bytes: bytes,
        dropped: dropped.iter().sum(),
        lost: *lost,
        ..FlowSample::default()
    }
}

impl LinkObserver<LinkPacket> for Meter {
    fn arrived(&mut self, now: Time, packet: &LinkPacket) {
        self.flow(packet).arrived(now);
    }

    fn departed(&mut self, now: Time, packet: &LinkPacket) {
        let bytes = packet.bytes();
        self.flow(packet).departed(now, bytes);
        self.queue.record_delay(now, packet.tag.since);
        self.delays.add(now.since(packet.tag.since));
        *self.second(now).0 += u64::from(bytes);
    }

    fn dropped(&mut self, now: Time, packet: LinkPacket, reason: Reason) {
        self.flow(&packet).dropped(now, reason);
        if reason != Reason::Policed {
            *self.second(now).1 = true;
        }
    }

    fn marked(&mut self, now: Time, packet: &LinkPacket, _reason: Reason) {
        self.flow(packet).marked();
        *self.second(now).1 = true;
    }

    fn lost(&mut self, _now: Time, packet: LinkPacket) {
        self.flow(&packet).lost(packet.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch flows that are counted under the addresses of another one.
    #[test]
    fn flows_beyond_the_most_are_counted_together() {
        let mut meter = Meter::default();
        let flow = |port: u16| FlowId::Ip {
            protocol: 17,
            source: [198, 18, 0, 2].into(),
            destination: [192, 0, 2, 7].into(),
            ports: Some((port, 53)),
        };
        let numbers: Vec<u32> = (0..MOST_FLOWS as u16 + 3).map(|port| meter.number(flow(port))).collect();
        let most = MOST_FLOWS as u32;
        let expected: Vec<u32> = (0..most).chain([most; 3]).collect();
        assert_eq!(numbers, expected);
        assert_eq!(meter.names()[MOST_FLOWS - 1..], [Some(flow(MOST_FLOWS as u16 - 1)), None]);
        assert_eq!(meter.queue.flows().len(), MOST_FLOWS + 1);
    }
}
