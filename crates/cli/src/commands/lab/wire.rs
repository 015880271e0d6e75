//! A run of the lab as bytes: the job for a guest, and its answer.

use fairlane_lab::{Check, Checks, LabError, LabSample, Measured};
use fairlane_outcome::{FlowSample, QueueSample, Run};
use fairlane_qdisc::{Count, Duration};
use serde::{Deserialize, Serialize};

/// The job of a guest.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// The text of the scenario file.
    pub(super) toml: String,
    /// The changes of the command line, key and value.
    pub(super) set: Vec<(String, String)>,
    /// The discipline to use instead of the file's.
    pub(super) kind: Option<String>,
    /// Whose discipline is measured.
    pub(super) whose: Whose,
    /// The seed of the scenario.
    pub(super) seed: u64,
    /// The hosts use IPv6.
    pub(super) ipv6: bool,
    /// Number of the run, from 0.
    pub(super) run: u32,
    /// The interval of samples in nanoseconds.
    pub(super) every_ns: Option<u64>,
}

/// Whose discipline is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Whose {
    /// The library's, in our process.
    Library,
    /// The kernel's own.
    Kernel,
    /// The library's, in the kernel.
    Bpf,
}

/// The answer of a guest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum LabAnswer {
    Measured { run: Box<Run>, checks: Vec<WireCheck>, samples: Vec<WireSample> },
    NotTheBottleneck(Vec<WireCheck>),
    Failed(String),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireCheck {
    what: String,
    found: String,
    needed: String,
    holds: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireSample {
    at_ns: u64,
    queues: Vec<WireQueue>,
    flows: Vec<WireFlow>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireQueue {
    link: u32,
    /// Arrived, departed, dropped, marked, backlog: packets and bytes.
    counts: [(u64, u64); 5],
    average: Option<f64>,
    probability: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireFlow {
    flow: u32,
    /// Sent, delivered, delivered bytes, unique bytes, dropped, lost, retransmitted, timeouts.
    counts: [u64; 8],
    cwnd: Option<f64>,
    srtt_ns: Option<u64>,
}

impl From<Result<Measured, LabError>> for LabAnswer {
    fn from(result: Result<Measured, LabError>) -> Self {
        match result {
            Ok(Measured { run, checks, samples }) => Self::Measured {
                run: Box::new(run),
                checks: to_wire(&checks),
                samples: samples.iter().map(WireSample::from).collect(),
            },
            Err(LabError::NotTheBottleneck(checks)) => Self::NotTheBottleneck(to_wire(&checks)),
            Err(error) => Self::Failed(error.to_string()),
        }
    }
}

impl From<LabAnswer> for Result<Measured, LabError> {
    fn from(answer: LabAnswer) -> Self {
        match answer {
            LabAnswer::Measured { run, checks, samples } => Ok(Measured {
                run: *run,
                checks: from_wire(checks),
                samples: samples.into_iter().map(LabSample::from).collect(),
            }),
            LabAnswer::NotTheBottleneck(checks) => Err(LabError::NotTheBottleneck(from_wire(checks))),
            LabAnswer::Failed(why) => Err(LabError::Elsewhere(why)),
        }
    }
}

fn to_wire(checks: &Checks) -> Vec<WireCheck> {
    let wire = |check: &Check| {
        let Check { what, found, needed, holds } = check.clone();
        WireCheck { what: what.into_owned(), found, needed, holds }
    };
    checks.all().iter().map(wire).collect()
}

fn from_wire(checks: Vec<WireCheck>) -> Checks {
    let check = |WireCheck { what, found, needed, holds }| Check { what: what.into(), found, needed, holds };
    checks.into_iter().map(check).collect()
}

impl From<&LabSample> for WireSample {
    fn from(LabSample { at, queues, flows }: &LabSample) -> Self {
        Self {
            at_ns: at.as_nanos(),
            queues: queues.iter().map(WireQueue::from).collect(),
            flows: flows.iter().map(WireFlow::from).collect(),
        }
    }
}

impl From<WireSample> for LabSample {
    fn from(WireSample { at_ns, queues, flows }: WireSample) -> Self {
        let queues = queues.into_iter().map(QueueSample::from).collect();
        Self { at: Duration::from_nanos(at_ns), queues, flows: flows.into_iter().map(FlowSample::from).collect() }
    }
}

impl From<&QueueSample> for WireQueue {
    fn from(sample: &QueueSample) -> Self {
        let QueueSample { link, arrived, departed, dropped, marked, backlog, average, probability } = *sample;
        let counts = [arrived, departed, dropped, marked, backlog].map(|count| (count.packets, count.bytes));
        Self { link, counts, average, probability }
    }
}

impl From<WireQueue> for QueueSample {
    fn from(WireQueue { link, counts, average, probability }: WireQueue) -> Self {
        let [arrived, departed, dropped, marked, backlog] = counts.map(|(packets, bytes)| Count { packets, bytes });
        Self { link, arrived, departed, dropped, marked, backlog, average, probability }
    }
}

impl From<&FlowSample> for WireFlow {
    fn from(sample: &FlowSample) -> Self {
        let FlowSample { flow, sent, delivered, delivered_bytes, unique_bytes, dropped, lost, .. } = *sample;
        let FlowSample { retransmitted, timeouts, cwnd, srtt, .. } = *sample;
        let counts = [sent, delivered, delivered_bytes, unique_bytes, dropped, lost, retransmitted, timeouts];
        Self { flow, counts, cwnd, srtt_ns: srtt.map(Duration::as_nanos) }
    }
}

impl From<WireFlow> for FlowSample {
    fn from(WireFlow { flow, counts, cwnd, srtt_ns }: WireFlow) -> Self {
        let [sent, delivered, delivered_bytes, unique_bytes, dropped, lost, retransmitted, timeouts] = counts;
        let srtt = srtt_ns.map(Duration::from_nanos);
        Self {
            flow,
            sent,
            delivered,
            delivered_bytes,
            unique_bytes,
            dropped,
            lost,
            retransmitted,
            timeouts,
            cwnd,
            srtt,
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_outcome::Outcome;
    use fairlane_scenario::Document;
    use fairlane_sim::Control;

    use super::*;

    /// A guest's answer is read as it was written: the counts of a run, its histogram, checks and samples.
    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let mut document = Document::builtin();
        for (key, value) in [("warmup", "0s"), ("duration", "3s")] {
            document.set(key, value).expect("a key");
        }
        let scenario = document.scenario().expect("a scenario");
        let run = fairlane_sim::run(&scenario, 0, &Control::default(), &mut ()).expect("it runs");
        let check = Check { what: "packets lost".into(), found: "0".into(), needed: "none".into(), holds: true };
        let count = |packets| Count { packets, bytes: 1000 * packets };
        let queue = QueueSample {
            link: 2,
            arrived: count(9),
            marked: count(1),
            probability: Some(0.1),
            ..QueueSample::default()
        };
        let srtt = Some(Duration::from_nanos(1_234_567_891));
        let flow = FlowSample {
            flow: 3,
            sent: 8,
            unique_bytes: 7,
            timeouts: 1,
            cwnd: Some(0.1 + 0.2),
            srtt,
            ..FlowSample::default()
        };
        let samples = vec![LabSample {
            at: Duration::from_millis(100),
            queues: vec![queue, QueueSample::default()],
            flows: vec![flow],
        }];
        let measured = Measured { run, checks: [check].into_iter().collect(), samples };
        let text = serde_json::to_string(&LabAnswer::from(Ok(measured.clone()))).expect("it is written");
        let read: Result<Measured, LabError> = serde_json::from_str::<LabAnswer>(&text).expect("it is read").into();
        let read = read.expect("it was measured");
        let json = |run: &Run| Outcome::from_runs([run.clone()]).map(|outcome| outcome.to_json());
        assert_eq!(json(&read.run), json(&measured.run));
        assert_eq!(read.run.queues[0].delay_ns, measured.run.queues[0].delay_ns);
        assert_eq!((read.checks, read.samples), (measured.checks, measured.samples));
    }

    /// Errors keep their words, and failed checks stay checks.
    #[test]
    fn an_error_is_one() {
        let failed = Check { what: "packets lost".into(), found: "2".into(), needed: "none".into(), holds: false };
        for error in
            [LabError::NotPermitted("no".to_owned()), LabError::NotTheBottleneck([failed].into_iter().collect())]
        {
            let said = error.to_string();
            let text = serde_json::to_string(&LabAnswer::from(Err(error))).expect("it is written");
            let read: Result<Measured, LabError> = serde_json::from_str::<LabAnswer>(&text).expect("it is read").into();
            assert_eq!(read.expect_err("an error").to_string(), said);
        }
    }
}
