//! What is counted at a queue.

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
    /// A meter for `flows` flows.
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            flows: vec![FlowMeter::default(); flows],
            dropped: [const { Vec::new() }; Reason::COUNT],
            from: Time::ZERO,
            average: (0.0, 0),
            delay_ns: Histogram::new_with_max(LONGEST_NS, 3).expect("three digits up to 1000 s is a range it can hold"),
        }
    }

    /// Makes room for a flow that nobody knew of when the meter was made.
    pub(crate) fn reach(&mut self, flow: u32) {
        if flow as usize >= self.flows.len() {
            self.flows.resize(flow as usize + 1, FlowMeter::default());
        }
    }

    /// A packet of `flow` came.
    pub(crate) fn arrived(&mut self, now: Time, flow: u32) {
        let flow = &mut self.flows[flow as usize];
        flow.arrived += 1;
        flow.backlog += 1;
        flow.seen = true;
        flow.area = flow.area.wrapping_sub(now.as_nanos());
    }

    /// Packets of `flow` that came.
    pub(crate) fn arrivals(&self, flow: u32) -> u64 {
        self.flows.get(flow as usize).map_or(0, |flow| flow.arrived)
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
        let flow = &mut self.flows[flow as usize];
        flow.departed += 1;
        flow.departed_bytes += u64::from(bytes);
        flow.leave(now);
        self.delay_ns.saturating_record((now - at).as_nanos());
    }

    /// A packet of `flow` was dropped, whether it had been queued or just came.
    pub(crate) fn dropped(&mut self, now: Time, flow: u32, reason: Reason) {
        self.flows[flow as usize].leave(now);
        let column = &mut self.dropped[reason.index()];
        if column.len() <= flow as usize {
            column.resize(self.flows.len(), 0);
        }
        column[flow as usize] += 1;
    }

    /// A packet of `flow` was marked.
    pub(crate) fn marked(&mut self, flow: u32) {
        self.flows[flow as usize].marked += 1;
    }

    /// A packet of `flow` that had departed was lost on the wire.
    pub(crate) fn lost(&mut self, flow: u32) {
        self.flows[flow as usize].lost += 1;
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
        let counts = |(id, flow): (usize, &FlowMeter)| QueueFlowRun {
            flow: id as u32,
            arrived: flow.arrived,
            departed: flow.departed,
            departed_bytes: flow.departed_bytes,
            marked: flow.marked,
            lost: flow.lost,
            dropped: std::array::from_fn(|reason| self.dropped[reason].get(id).copied().unwrap_or(0)),
            mean_packets: mean(flow.area_at(now)),
        };
        self.flows.iter().enumerate().filter(|(_, flow)| flow.seen).map(counts).collect()
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
