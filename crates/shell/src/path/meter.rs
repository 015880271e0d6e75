//! Counts by flow at a queue.

use std::collections::HashMap;

use fairlane_link::LinkObserver;
use fairlane_linux::QueuedPacket;
use fairlane_outcome::{QueueFlowRun, QueueRun};
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{Packet, Reason, Tagged, Time};
use hdrhistogram::Histogram;

/// The longest time in the queue that is recorded: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// The most flows that are counted one by one; those that come later are counted with the last one.
const MOST_FLOWS: usize = 20_000;

/// The arrival of a packet at the queue, and the number of its flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    since: Time,
    flow: u32,
}

/// A flow of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkFlow {
    pub(crate) name: FlowId,
    /// Bytes lost on the wire.
    pub(crate) lost_bytes: u64,
}

/// A packet of the link.
pub(crate) type LinkPacket = Tagged<QueuedPacket, Entry>;

/// The counts since the start.
#[derive(Debug)]
pub(crate) struct Meter {
    flows: Vec<FlowMeter>,
    names: Vec<FlowId>,
    numbers: HashMap<FlowId, u32>,
    delay_ns: Histogram<u64>,
    /// The seconds in which the discipline dropped or marked packets, and the bytes that departed in each.
    signalled: Vec<(u64, u64)>,
    /// The present second, the bytes that have departed in it, and whether the discipline has dropped or marked any.
    second: (u64, u64, bool),
    /// Packets that were dropped or lost since the last call of [`gone`](Self::gone).
    gone: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct FlowMeter {
    counts: QueueFlowRun,
    /// Bytes lost on the wire.
    lost_bytes: u64,
    backlog: u32,
    /// The integral of the backlog in packet-nanoseconds, up to `until`.
    area: u128,
    until: Time,
}

impl FlowMeter {
    fn integrate_to(&mut self, now: Time) {
        self.area += u128::from(self.backlog) * u128::from(now.since(self.until).as_nanos());
        self.until = now;
    }

    fn leave(&mut self, now: Time) {
        self.integrate_to(now);
        self.backlog = self.backlog.saturating_sub(1);
    }
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            flows: Vec::new(),
            names: Vec::new(),
            numbers: HashMap::new(),
            delay_ns: Histogram::new(3).expect("three digits are as many as it can tell apart"),
            signalled: Vec::new(),
            second: (0, 0, false),
            gone: Vec::new(),
        }
    }
}

impl Meter {
    /// Returns `packet`, which arrives at `now`, with the number of its flow.
    pub(crate) fn admit(&mut self, now: Time, packet: QueuedPacket) -> LinkPacket {
        let name = packet.flow_id();
        let flow = match self.numbers.get(&name) {
            Some(number) => *number,
            None => self.number(name),
        };
        Tagged::new(packet, Entry { since: now, flow })
    }

    fn number(&mut self, name: FlowId) -> u32 {
        if self.flows.len() == MOST_FLOWS {
            return MOST_FLOWS as u32 - 1;
        }
        let number = self.flows.len() as u32;
        let counts = QueueFlowRun { flow: number, ..QueueFlowRun::default() };
        self.flows.push(FlowMeter { counts, ..FlowMeter::default() });
        self.names.push(name);
        self.numbers.insert(name, number);
        number
    }

    /// Removes and returns the packets that were dropped or lost.
    pub(crate) fn gone(&mut self) -> std::vec::Drain<'_, u32> {
        self.gone.drain(..)
    }

    /// Returns the counts up to `now`, of a queue of this name before a link of this rate, and its flows.
    pub(crate) fn finish(
        &mut self,
        now: Time,
        name: &str,
        kind: &'static str,
        rate_bps: f64,
    ) -> (QueueRun, Vec<LinkFlow>) {
        let nanos = now.since(Time::ZERO).as_nanos().max(1) as f64;
        let counts = |flow: &mut FlowMeter| {
            flow.integrate_to(now);
            QueueFlowRun { mean_packets: flow.area as f64 / nanos, ..flow.counts.clone() }
        };
        let flows: Vec<QueueFlowRun> = self.flows.iter_mut().map(counts).collect();
        let queue = QueueRun {
            name: name.to_owned(),
            kind: kind.into(),
            rate_bps,
            edge_bytes: 0.0,
            mean_packets: flows.iter().map(|flow| flow.mean_packets).sum(),
            mean_avg: None,
            delay_ns: self.delay_ns.clone(),
            flows,
        };
        let named = self.names.iter().zip(&self.flows);
        (queue, named.map(|(name, flow)| LinkFlow { name: *name, lost_bytes: flow.lost_bytes }).collect())
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

    fn flow(&mut self, packet: &LinkPacket) -> &mut FlowMeter {
        &mut self.flows[packet.tag.flow as usize]
    }
}

impl LinkObserver<LinkPacket> for Meter {
    fn arrived(&mut self, now: Time, packet: &LinkPacket) {
        let flow = self.flow(packet);
        flow.integrate_to(now);
        flow.backlog += 1;
        flow.counts.arrived += 1;
    }

    fn departed(&mut self, now: Time, packet: &LinkPacket) {
        let bytes = packet.bytes();
        let flow = self.flow(packet);
        flow.leave(now);
        flow.counts.departed += 1;
        flow.counts.departed_bytes += u64::from(bytes);
        let delay = now.since(packet.tag.since).as_nanos().min(LONGEST_NS);
        self.delay_ns.record(delay).expect("it grows to any value");
        *self.second(now).0 += u64::from(bytes);
    }

    fn dropped(&mut self, now: Time, packet: LinkPacket, reason: Reason) {
        let flow = self.flow(&packet);
        flow.leave(now);
        flow.counts.dropped[reason.index()] += 1;
        if reason != Reason::Policed {
            *self.second(now).1 = true;
        }
        self.gone.push(packet.packet.id);
    }

    fn marked(&mut self, now: Time, packet: &LinkPacket, _reason: Reason) {
        self.flow(packet).counts.marked += 1;
        *self.second(now).1 = true;
    }

    fn lost(&mut self, _now: Time, packet: LinkPacket) {
        let bytes = packet.bytes();
        let flow = self.flow(&packet);
        flow.counts.lost += 1;
        flow.lost_bytes += u64::from(bytes);
        self.gone.push(packet.packet.id);
    }
}
