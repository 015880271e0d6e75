//! Counts at a queue, by flow.

use fairlane_outcome::{QueueFlowRun, QueueRun};
use fairlane_qdisc::{Reason, Time};
use hdrhistogram::Histogram;

/// The longest time in the queue that is recorded exactly: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// The counts of a queue since the start of the measurement. Flows are numbered from 0.
#[derive(Debug)]
pub struct QueueCounts {
    flows: Vec<FlowCounts>,
    delay_ns: Histogram<u64>,
    from: Time,
}

/// The counts of a flow at a queue.
#[derive(Clone, Debug, Default)]
pub struct FlowCounts {
    counts: QueueFlowRun,
    /// Bytes lost on the wire.
    lost_bytes: u64,
    backlog: u32,
    /// The integral of the backlog in packet-nanoseconds, up to `until`.
    area: u128,
    until: Time,
}

impl FlowCounts {
    fn integrate_to(&mut self, now: Time) {
        self.area += u128::from(self.backlog) * u128::from(now.since(self.until).as_nanos());
        self.until = now;
    }

    fn leave(&mut self, now: Time) {
        self.integrate_to(now);
        self.backlog = self.backlog.saturating_sub(1);
    }

    /// Counts a packet that arrives at the queue.
    pub fn arrived(&mut self, now: Time) {
        self.integrate_to(now);
        self.backlog += 1;
        self.counts.arrived += 1;
    }

    /// Counts a packet of `bytes` bytes that leaves the queue for the link.
    pub fn departed(&mut self, now: Time, bytes: u32) {
        self.leave(now);
        self.counts.departed += 1;
        self.counts.departed_bytes += u64::from(bytes);
    }

    /// Counts a packet that is dropped.
    pub fn dropped(&mut self, now: Time, reason: Reason) {
        self.leave(now);
        self.counts.dropped[reason.index()] += 1;
    }

    /// Counts a mark.
    pub const fn marked(&mut self) {
        self.counts.marked += 1;
    }

    /// Counts a packet of `bytes` bytes that is lost on the wire.
    pub fn lost(&mut self, bytes: u32) {
        self.counts.lost += 1;
        self.lost_bytes += u64::from(bytes);
    }

    /// Takes back the time of a packet in the queue since `since`.
    pub(crate) fn forget_wait(&mut self, now: Time, since: Time) {
        self.integrate_to(now);
        self.area -= u128::from(now.since(since).as_nanos()).min(self.area);
    }

    /// Returns the bytes lost on the wire.
    #[must_use]
    pub const fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Returns the counts of packets. Their mean in the queue is 0.
    #[must_use]
    pub const fn counts(&self) -> &QueueFlowRun {
        &self.counts
    }
}

impl QueueCounts {
    /// Returns the counts of `flows` flows, all of them 0. The measurement starts at time zero.
    ///
    /// # Panics
    /// Never: the histogram has three digits, which it can have.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        Self {
            flows: vec![FlowCounts::default(); flows],
            delay_ns: Histogram::new(3).expect("three digits are as many as it can tell apart"),
            from: Time::ZERO,
        }
    }

    /// Adds a flow, and returns its number.
    pub fn add_flow(&mut self) -> usize {
        self.flows.push(FlowCounts::default());
        self.flows.len() - 1
    }

    /// Returns the flows.
    #[must_use]
    pub fn flows(&self) -> &[FlowCounts] {
        &self.flows
    }

    /// Returns the flow of this number; `None` if there is none.
    pub fn flow(&mut self, number: u32) -> Option<&mut FlowCounts> {
        self.flows.get_mut(number as usize)
    }

    /// Starts the measurement at `now`: clears all counts except the present backlog.
    pub(crate) fn begin(&mut self, now: Time) {
        for flow in &mut self.flows {
            *flow = FlowCounts { backlog: flow.backlog, until: now, ..FlowCounts::default() };
        }
        self.delay_ns.reset();
        self.from = now;
    }

    /// Returns the start of the measurement.
    pub(crate) const fn from(&self) -> Time {
        self.from
    }

    /// Records the time in the queue of a packet that arrived at `since` and leaves at `now`.
    ///
    /// # Panics
    /// Never: the histogram grows to any value.
    pub fn record_delay(&mut self, now: Time, since: Time) {
        let delay = now.since(since).as_nanos().min(LONGEST_NS);
        self.delay_ns.record(delay).expect("it grows to any value");
    }

    /// Returns the counts up to `now` of a queue of this name and kind before a link of this rate.
    pub fn measured(&mut self, now: Time, name: &str, kind: &'static str, rate_bps: f64) -> QueueRun {
        let nanos = now.since(self.from).as_nanos().max(1) as f64;
        let counts = |(number, flow): (usize, &mut FlowCounts)| {
            flow.integrate_to(now);
            QueueFlowRun { flow: number as u32, mean_packets: flow.area as f64 / nanos, ..flow.counts.clone() }
        };
        let flows: Vec<QueueFlowRun> = self.flows.iter_mut().enumerate().map(counts).collect();
        QueueRun {
            name: name.to_owned(),
            kind: kind.into(),
            rate_bps,
            edge_bytes: 0.0,
            mean_packets: flows.iter().map(|flow| flow.mean_packets).sum(),
            mean_avg: None,
            delay_ns: self.delay_ns.clone(),
            flows,
        }
    }
}
