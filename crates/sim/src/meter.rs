//! What is counted at a queue.

use std::ops::Range;

use fairlane_outcome::QueueFlowRun;
use fairlane_qdisc::{Reason, Time};
use hdrhistogram::Histogram;

/// One flow's counts at one queue since the measurement began.
#[derive(Clone, Debug, Default)]
struct FlowMeter {
    arrived: u64,
    departed: u64,
    departed_bytes: u64,
    marked: u64,
    lost: u64,
    /// The sum of all times of leaving less the sum of all times of coming, in packet-nanoseconds modulo 2^64: with
    /// `backlog` times the present added it is the area under the flow's queue.
    area: u64,
    backlog: u32,
    /// It has been here, be it before the measurement.
    seen: bool,
}

impl FlowMeter {
    fn leave(&mut self, now: Time) {
        self.area = self.area.wrapping_add(now.as_nanos());
        self.backlog -= 1;
    }

    const fn area_at(&self, now: Time) -> u64 {
        self.area.wrapping_add((self.backlog as u64).wrapping_mul(now.as_nanos()))
    }

    /// Forgets everything but what is queued.
    fn begin(&mut self, now: Time) {
        let (backlog, seen) = (self.backlog, self.seen);
        *self = Self { backlog, seen, ..Self::default() };
        self.area = self.area_at(now).wrapping_neg();
    }
}

/// Counts a queue's packets by flow.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The numbers of the flows that may come, in ranges that rise and do not touch, each with the place of its first flow in `flows`.
    ranges: Vec<(Range<u32>, u32)>,
    flows: Vec<FlowMeter>,
    /// By reason, each flow's packets dropped. A column is made when its reason first comes up: a discipline has few.
    dropped: [Vec<u64>; Reason::COUNT],
    from: Time,
    average: (f64, u64),
    delay_ns: Histogram<u64>,
}

/// The longest time in a queue that is told apart: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

impl Meter {
    /// A meter for the flows of `ranges`, which rise.
    pub(crate) fn new(ranges: impl IntoIterator<Item = Range<u32>>) -> Self {
        let mut known: Vec<(Range<u32>, u32)> = Vec::new();
        let mut flows = 0;
        for range in ranges {
            match known.last_mut() {
                Some((before, _)) if before.end == range.start => before.end = range.end,
                _ => known.push((range.clone(), flows)),
            }
            flows += range.end - range.start;
        }
        Self::of(known, flows as usize)
    }

    /// A meter for flows that are not known beforehand; see [`reach`](Self::reach).
    pub(crate) fn of_any() -> Self {
        Self::of(vec![(0..u32::MAX, 0)], 0)
    }

    fn of(ranges: Vec<(Range<u32>, u32)>, flows: usize) -> Self {
        Self {
            ranges,
            flows: vec![FlowMeter::default(); flows],
            dropped: [const { Vec::new() }; Reason::COUNT],
            from: Time::ZERO,
            average: (0.0, 0),
            // It grows as it needs: most queues of a large network never see a long delay.
            delay_ns: Histogram::new(3).expect("three digits are as many as it can tell apart"),
        }
    }

    /// Where `flow` is counted. Mostly there is one range.
    fn place(&self, flow: u32) -> usize {
        let after = self.ranges.partition_point(|(range, _)| range.start <= flow);
        let (range, first) = &self.ranges[after.saturating_sub(1)];
        (first + (flow - range.start)) as usize
    }

    /// Makes room for a flow that nobody knew of when the meter was made.
    pub(crate) fn reach(&mut self, flow: u32) {
        if flow as usize >= self.flows.len() {
            self.flows.resize(flow as usize + 1, FlowMeter::default());
        }
    }

    /// A packet of `flow` came.
    pub(crate) fn arrived(&mut self, now: Time, flow: u32) {
        let place = self.place(flow);
        let flow = &mut self.flows[place];
        flow.arrived += 1;
        flow.backlog += 1;
        flow.seen = true;
        flow.area = flow.area.wrapping_sub(now.as_nanos());
    }

    /// Packets of `flow` that came.
    pub(crate) fn arrivals(&self, flow: u32) -> u64 {
        self.flows.get(self.place(flow)).map_or(0, |flow| flow.arrived)
    }

    /// The discipline's average after an arrival.
    pub(crate) fn averaged(&mut self, average: Option<f64>) {
        if let Some(average) = average {
            self.average.0 += average;
            self.average.1 += 1;
        }
    }

    /// The link began to send a packet of `flow` that came at `at`.
    pub(crate) fn departed(&mut self, now: Time, flow: u32, bytes: u32, at: Time) {
        let place = self.place(flow);
        let flow = &mut self.flows[place];
        flow.departed += 1;
        flow.departed_bytes += u64::from(bytes);
        flow.leave(now);
        let delay = (now - at).as_nanos().min(LONGEST_NS);
        self.delay_ns.record(delay).expect("it grows to any value");
    }

    /// A packet of `flow` was dropped, whether it had been queued or just came.
    pub(crate) fn dropped(&mut self, now: Time, flow: u32, reason: Reason) {
        let place = self.place(flow);
        self.flows[place].leave(now);
        let column = &mut self.dropped[reason.index()];
        if column.len() <= place {
            column.resize(self.flows.len(), 0);
        }
        column[place] += 1;
    }

    /// A packet of `flow` was marked.
    pub(crate) fn marked(&mut self, flow: u32) {
        let place = self.place(flow);
        self.flows[place].marked += 1;
    }

    /// A packet of `flow` that had departed was lost on the wire.
    pub(crate) fn lost(&mut self, flow: u32) {
        let place = self.place(flow);
        self.flows[place].lost += 1;
    }

    /// Forgets everything but what is queued: the measurement begins.
    pub(crate) fn begin(&mut self, now: Time) {
        for flow in &mut self.flows {
            flow.begin(now);
        }
        for column in &mut self.dropped {
            column.fill(0);
        }
        self.from = now;
        self.average = (0.0, 0);
        self.delay_ns.reset();
    }

    /// Each flow's counts since the beginning of the measurement, for the flows that came here.
    pub(crate) fn flows(&self, now: Time) -> Vec<QueueFlowRun> {
        let length = (now - self.from).as_nanos();
        let mean = |area: u64| if length == 0 { 0.0 } else { area as f64 / length as f64 };
        let counts = |(place, (id, flow)): (usize, (u32, &FlowMeter))| QueueFlowRun {
            flow: id,
            arrived: flow.arrived,
            departed: flow.departed,
            departed_bytes: flow.departed_bytes,
            marked: flow.marked,
            lost: flow.lost,
            dropped: std::array::from_fn(|reason| self.dropped[reason].get(place).copied().unwrap_or(0)),
            mean_packets: mean(flow.area_at(now)),
        };
        let numbers = self.ranges.iter().flat_map(|(range, _)| range.clone());
        numbers.zip(&self.flows).enumerate().filter(|(_, (_, flow))| flow.seen).map(counts).collect()
    }

    /// The discipline's average, averaged over the arrivals since the beginning of the measurement.
    pub(crate) fn mean_average(&self) -> Option<f64> {
        (self.average.1 > 0).then(|| self.average.0 / self.average.1 as f64)
    }

    /// Time in the queue of the packets that left it by the link.
    pub(crate) const fn delay_ns(&self) -> &Histogram<u64> {
        &self.delay_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch counts that end at another flow's place, or under another number.
    #[test]
    fn flows_keep_their_numbers_in_any_ranges() {
        let mut meter = Meter::new([2..5, 5..6, 9..9, 100..102]);
        assert_eq!(meter.flows.len(), 6);
        for (flow, packets) in [(2, 1), (4, 2), (5, 3), (101, 4)] {
            for _ in 0..packets {
                meter.arrived(Time::ZERO, flow);
                meter.dropped(Time::ZERO, flow, Reason::Limit);
            }
        }
        let counts = meter.flows(Time::ZERO);
        let counts: Vec<_> = counts.iter().map(|of| (of.flow, of.arrived, of.dropped[Reason::Limit.index()])).collect();
        assert_eq!(counts, [(2, 1, 1), (4, 2, 2), (5, 3, 3), (101, 4, 4)]);
        let mut any = Meter::of_any();
        any.reach(7);
        any.arrived(Time::ZERO, 7);
        assert_eq!(any.flows(Time::ZERO).len(), 1);
    }
}
