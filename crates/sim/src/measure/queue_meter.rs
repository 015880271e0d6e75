//! Per-flow counts at a queue.

use std::ops::Range;

use fairlane_outcome::QueueFlowRun;
use fairlane_qdisc::prefetch::prefetch;
use fairlane_qdisc::{Reason, Time};
use hdrhistogram::Histogram;

use crate::measure::delay_histogram::DelayCounts;

/// One flow's counts at one queue since the measurement began.
#[derive(Clone, Debug, Default)]
struct FlowMeter {
    arrived: u64,
    departed: u64,
    departed_bytes: u64,
    /// The sum of all departure times minus the sum of all arrival times, in packet-nanoseconds modulo 2^64. With the
    /// queued packets times the current time added it is the time integral of the flow's queue.
    area: u64,
}

impl FlowMeter {
    fn leave_queue(&mut self, now: Time) {
        self.area = self.area.wrapping_add(now.as_nanos());
    }
}

/// Per-flow counters at the start of the measurement.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    /// The packets in the queue.
    backlog: u32,
    /// The flow had had packets here.
    seen: bool,
}

/// A count of each flow that is 0 for most: it takes memory from the first packet on.
#[derive(Debug, Default)]
struct Column(Vec<u64>);

impl Column {
    /// Adds one to the count at `index`, of `flows` in all.
    fn add(&mut self, index: usize, flows: usize) {
        if self.0.len() <= index {
            self.0.resize(flows, 0);
        }
        self.0[index] += 1;
    }

    fn get(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }
}

/// The numbers of the flows that can reach a queue, in rising ranges.
pub(crate) type FlowRanges = Vec<Range<u32>>;

/// Counts a queue's packets by flow.
#[derive(Debug)]
pub(crate) struct Meter {
    /// The flows that can reach the queue, in rising ranges that do not touch, each with the index of its first flow in
    /// `flows`.
    ranges: Vec<(Range<u32>, u32)>,
    /// The first flow, if there is one range.
    only: Option<u32>,
    flows: Vec<FlowMeter>,
    /// Each flow's counters at the start of the measurement; empty if there had been no packets.
    before: Vec<Before>,
    marked: Column,
    lost: Column,
    /// The dropped packets of each flow, by reason; a discipline has few.
    dropped: [Column; Reason::COUNT],
    from: Time,
    /// The sum and the number of the discipline's averages.
    average: (f64, u64),
    delays: DelayCounts,
    edges: Edges,
    /// The index of the last drop's reason; the next drop mostly has the same.
    dropped_last: usize,
}

/// The packet that the link sends, and the bytes of those that it sent across an end of the measurement.
#[derive(Debug, Default)]
struct Edges {
    /// When the link began to send the last packet, when it ends, and its bytes.
    last: (Time, Time, u32),
    /// Bytes of the packet that was being sent when the measurement began, sent after that.
    carried_in: f64,
}

impl Edges {
    /// Returns the bytes of the last packet that are sent after `now`.
    fn sent_after(&self, now: Time) -> f64 {
        let (from, to, bytes) = self.last;
        if to <= now || to <= from {
            return 0.0;
        }
        f64::from(bytes) * (to - now.max(from)).as_nanos() as f64 / (to - from).as_nanos() as f64
    }
}

impl Meter {
    /// Returns a meter for the flows of `ranges`, which are in rising order.
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
        Self::with_ranges(known, flows as usize)
    }

    /// Returns a meter for flows that are not known in advance; see [`ensure`](Self::ensure).
    pub(crate) fn for_any_flow() -> Self {
        Self::with_ranges(vec![(0..u32::MAX, 0)], 0)
    }

    fn with_ranges(ranges: Vec<(Range<u32>, u32)>, flows: usize) -> Self {
        Self {
            only: if let [(range, 0)] = &ranges[..] { Some(range.start) } else { None },
            ranges,
            flows: vec![FlowMeter::default(); flows],
            before: Vec::new(),
            marked: Column::default(),
            lost: Column::default(),
            dropped: Default::default(),
            from: Time::ZERO,
            average: (0.0, 0),
            delays: DelayCounts::default(),
            edges: Edges::default(),
            dropped_last: 0,
        }
    }

    /// Returns the index of `flow`, which is in one of the ranges, in `flows`. Mostly there is one range.
    #[inline(always)]
    fn index(&self, flow: u32) -> usize {
        match self.only {
            Some(first) => flow.wrapping_sub(first) as usize,
            None => self.index_in_ranges(flow),
        }
    }

    #[inline(never)]
    fn index_in_ranges(&self, flow: u32) -> usize {
        let after = self.ranges.partition_point(|(range, _)| range.start <= flow);
        let (range, first) = &self.ranges[after.saturating_sub(1)];
        (first + (flow - range.start)) as usize
    }

    /// Makes room for `flow`, which was not known when the meter was created.
    pub(crate) fn ensure(&mut self, flow: u32) {
        if flow as usize >= self.flows.len() {
            self.flows.resize(flow as usize + 1, FlowMeter::default());
        }
    }

    /// Counts an arrival of `flow`.
    #[inline]
    pub(crate) fn arrived(&mut self, now: Time, flow: u32) {
        let index = self.index(flow);
        let flow = &mut self.flows[index];
        flow.arrived += 1;
        flow.area = flow.area.wrapping_sub(now.as_nanos());
    }

    /// [Asks for](crate::network::prefetch) the counts of `flow`.
    #[inline(always)]
    pub(crate) fn prefetch(&self, flow: u32) {
        prefetch(self.flows.get(self.index(flow)));
    }

    /// Asks for what else is counted if a packet of `flow` is dropped.
    #[inline(always)]
    pub(crate) fn prefetch_dropped(&self, flow: u32) {
        prefetch(self.dropped[self.dropped_last].0.get(self.index(flow)));
    }

    /// Records the discipline's average after an arrival.
    #[inline]
    pub(crate) fn averaged(&mut self, average: Option<f64>) {
        if let Some(average) = average {
            self.average.0 += average;
            self.average.1 += 1;
        }
    }

    /// Counts a packet of `flow` that arrived at `at` and that the link begins to send.
    #[inline]
    pub(crate) fn departed(&mut self, now: Time, flow: u32, bytes: u32, at: Time) {
        let index = self.index(flow);
        let flow = &mut self.flows[index];
        flow.departed += 1;
        flow.departed_bytes += u64::from(bytes);
        flow.leave_queue(now);
        self.delays.add(now - at);
    }

    /// Notes that the link sends a packet of `bytes` from `from` to `to`.
    pub(crate) const fn transmits(&mut self, from: Time, to: Time, bytes: u32) {
        self.edges.last = (from, to, bytes);
    }

    /// Returns the bytes that the link sent from the start of the measurement to `now`, less those that were given to
    /// it then.
    pub(crate) fn edge_bytes(&self, now: Time) -> f64 {
        self.edges.carried_in - self.edges.sent_after(now)
    }

    /// Counts a dropped packet of `flow`, whether it was queued or just arrived.
    pub(crate) fn dropped(&mut self, now: Time, flow: u32, reason: Reason) {
        let index = self.index(flow);
        self.flows[index].leave_queue(now);
        self.dropped_last = reason.index();
        self.dropped[self.dropped_last].add(index, self.flows.len());
    }

    /// Counts a marked packet of `flow`.
    pub(crate) fn marked(&mut self, flow: u32) {
        let index = self.index(flow);
        self.marked.add(index, self.flows.len());
    }

    /// Counts a packet of `flow` that was lost during transmission.
    pub(crate) fn lost(&mut self, flow: u32) {
        let index = self.index(flow);
        self.lost.add(index, self.flows.len());
    }

    /// Starts the measurement: resets all counts but those of the queued packets.
    pub(crate) fn begin(&mut self, now: Time) {
        if self.flows.iter().any(|flow| flow.arrived > 0) || !self.before.is_empty() {
            let before = |index| Before { backlog: self.backlog(index) as u32, seen: self.seen(index) };
            self.before = (0..self.flows.len()).map(before).collect();
        }
        self.flows.fill(FlowMeter::default());
        for (flow, before) in self.flows.iter_mut().zip(&self.before) {
            flow.area = u64::from(before.backlog).wrapping_mul(now.as_nanos()).wrapping_neg();
        }
        for column in self.dropped.iter_mut().chain([&mut self.marked, &mut self.lost]) {
            column.0.fill(0);
        }
        self.from = now;
        self.edges.carried_in = self.edges.sent_after(now);
        self.average = (0.0, 0);
        self.delays = DelayCounts::default();
    }

    /// Returns the packets in the queue of the flow at `index`.
    fn backlog(&self, index: usize) -> u64 {
        let FlowMeter { arrived, departed, .. } = self.flows[index];
        let before = self.before.get(index).map_or(0, |before| u64::from(before.backlog));
        before + arrived - departed - self.dropped.iter().map(|column| column.get(index)).sum::<u64>()
    }

    /// Returns true if the flow at `index` has had packets here, possibly before the measurement.
    fn seen(&self, index: usize) -> bool {
        self.flows[index].arrived > 0 || self.before.get(index).is_some_and(|before| before.seen)
    }

    /// Returns the counts since the start of the measurement, for each flow that has had packets here.
    pub(crate) fn flows(&self, now: Time) -> Vec<QueueFlowRun> {
        let length = (now - self.from).as_nanos();
        let mean = |area: u64| if length == 0 { 0.0 } else { area as f64 / length as f64 };
        let counts = |(index, (id, flow)): (usize, (u32, &FlowMeter))| QueueFlowRun {
            flow: id,
            arrived: flow.arrived,
            departed: flow.departed,
            departed_bytes: flow.departed_bytes,
            marked: self.marked.get(index),
            lost: self.lost.get(index),
            dropped: std::array::from_fn(|reason| self.dropped[reason].get(index)),
            mean_packets: mean(flow.area.wrapping_add(self.backlog(index).wrapping_mul(now.as_nanos()))),
        };
        let numbers = self.ranges.iter().flat_map(|(range, _)| range.clone());
        numbers.zip(&self.flows).enumerate().filter(|(index, _)| self.seen(*index)).map(counts).collect()
    }

    /// Returns the mean of the discipline's average over the arrivals since the start of the measurement.
    pub(crate) fn mean_average(&self) -> Option<f64> {
        (self.average.1 > 0).then(|| self.average.0 / self.average.1 as f64)
    }

    /// Returns the time in the queue, in nanoseconds, of the packets that the link has sent.
    pub(crate) fn delay_ns(&self) -> Histogram<u64> {
        self.delays.histogram()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of two packets that are queued when the measurement begins at 10 ns, one leaves at 20 ns and is marked,
    /// so until 30 ns the mean is (2 · 10 + 10) / 20. Would catch a queue that is forgotten when the measurement
    /// begins, and counts from before.
    #[test]
    fn the_measurement_begins_with_what_is_queued() {
        let at = Time::from_nanos;
        let mut meter = Meter::new([0..1, 1..3]);
        for _ in 0..4 {
            meter.arrived(at(0), 1);
        }
        meter.dropped(at(0), 1, Reason::Limit);
        meter.departed(at(5), 1, 100, at(0));
        meter.marked(1);
        meter.lost(1);
        meter.begin(at(10));
        meter.departed(at(20), 1, 100, at(0));
        meter.marked(1);
        let counts = meter.flows(at(30));
        let [of] = counts.as_slice() else { panic!("{counts:?}") };
        assert_eq!((of.flow, of.arrived, of.departed, of.departed_bytes), (1, 0, 1, 100));
        assert_eq!((of.marked, of.lost, of.dropped[Reason::Limit.index()], of.mean_packets), (1, 0, 0, 1.5));
        meter.begin(at(30));
        assert_eq!(meter.flows(at(40))[0].mean_packets, 1.0);
        assert_eq!(size_of::<FlowMeter>(), 32);
    }

    /// Would catch counts that are added to another flow, or shown under another number.
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
        let mut any = Meter::for_any_flow();
        any.ensure(7);
        any.arrived(Time::ZERO, 7);
        assert_eq!(any.flows(Time::ZERO).len(), 1);
    }
}
