//! Outcomes to print: made up, in the manner of one unresponsive flow among 32 TCP flows.

use fairlane_outcome::{Cost, Expected, FlowRun, Outcome, QueueFlowRun, QueueRun, Reason, Run};
use hdrhistogram::Histogram;

/// The results of a discipline.
pub(crate) struct Made {
    pub(crate) kind: &'static str,
    /// Packets of the UDP flow that departed in 100 s, of 25 000 that arrived.
    pub(crate) cbr: u64,
    /// Packets of all TCP flows that departed.
    pub(crate) ftp: u64,
    pub(crate) queued: f64,
    pub(crate) average: Option<f64>,
    pub(crate) delay_ms: [u64; 2],
    /// Drops by reason, in percent.
    pub(crate) reasons: &'static [(Reason, u64)],
}

pub(crate) const DROPTAIL: Made = Made {
    kind: "droptail",
    cbr: 12_110,
    ftp: 390,
    queued: 298.6,
    average: None,
    delay_ms: [2380, 2400],
    reasons: &[(Reason::Limit, 100)],
};

pub(crate) const RED: Made = Made {
    kind: "red",
    cbr: 12_023,
    ftp: 477,
    queued: 198.2,
    average: Some(197.4),
    delay_ms: [1580, 1680],
    reasons: &[(Reason::Early, 61), (Reason::Forced, 39)],
};

pub(crate) const CHOKE: Made = Made {
    kind: "choke",
    cbr: 3_080,
    ftp: 9_413,
    queued: 118.4,
    average: Some(117.9),
    delay_ms: [921, 1140],
    reasons: &[(Reason::Early, 18), (Reason::MatchArrival, 41), (Reason::MatchVictim, 41)],
};

/// Makes the outcome of `runs` runs that differ a little, with `flows` TCP flows.
pub(crate) fn outcome(made: &Made, flows: u32, runs: u32) -> Outcome {
    Outcome::from_runs((0..runs).map(|run| one(made, flows, run))).unwrap()
}

fn one(made: &Made, flows: u32, run: u32) -> Run {
    let cbr = made.cbr + u64::from(run * 7 % 5) * 11;
    let mut parts: Vec<QueueFlowRun> = (0..flows)
        .map(|flow| {
            let uneven = u64::from(flow * 7 % 11 + 20) * 2;
            let departed = made.ftp * uneven / 50 / u64::from(flows);
            part(flow, [departed * 100 / 95, departed], made, made.queued / f64::from(flows) * 0.3)
        })
        .collect();
    parts.push(part(flows, [25_000, cbr], made, made.queued * 0.7));
    let mut delay_ns = Histogram::new(3).unwrap();
    delay_ns.record_n(made.delay_ms[0] * 1_000_000, 94).unwrap();
    delay_ns.record_n(made.delay_ms[1] * 1_000_000, 6).unwrap();
    Run {
        scenario: "One unresponsive flow".to_owned(),
        engine: "sim".into(),
        seed: 1,
        run,
        from_s: 20.0,
        to_s: 120.0,
        partial: false,
        flows: parts.iter().map(|part| flow(part, flows)).collect(),
        queues: vec![QueueRun {
            name: "bottleneck".to_owned(),
            kind: made.kind.into(),
            rate_bps: 1e6,
            edge_bytes: 0.0,
            mean_packets: made.queued,
            mean_avg: made.average,
            delay_ns,
            flows: parts,
        }],
        cost: Cost::default(),
        // Unlimited data and a flood: equal rates.
        expected: Expected { fair_bps: fair(flows).into(), notes: Vec::new() },
    }
}

fn fair(flows: u32) -> [(String, f64); 2] {
    let each = 1e6 / f64::from(flows + 1);
    [("ftp".to_owned(), each * f64::from(flows)), ("cbr".to_owned(), each)]
}

fn part(flow: u32, [arrived, departed]: [u64; 2], made: &Made, mean_packets: f64) -> QueueFlowRun {
    let mut dropped = [0; Reason::COUNT];
    for (reason, percent) in made.reasons {
        dropped[reason.index()] = (arrived - departed) * percent / 100;
    }
    QueueFlowRun { flow, arrived, departed, departed_bytes: departed * 1000, marked: 0, lost: 0, dropped, mean_packets }
}

fn flow(part: &QueueFlowRun, cbr: u32) -> FlowRun {
    let tcp = part.flow != cbr;
    FlowRun {
        id: part.flow,
        name: if tcp { format!("ftp/{}", part.flow).into() } else { "cbr/0".into() },
        group: if tcp { "ftp" } else { "cbr" }.into(),
        kind: if tcp { "tcp" } else { "udp" }.into(),
        transport: if tcp { "tcp reno" } else { "udp" }.into(),
        exit: Some(0),
        sent: part.arrived,
        delivered: part.departed,
        unique_bytes: part.departed * if tcp { 980 } else { 1000 },
        dropped: part.dropped.iter().sum(),
        lost: 0,
        retransmitted: if tcp { part.departed / 50 } else { 0 },
        timeouts: if tcp { part.departed / 200 } else { 0 },
        ..FlowRun::default()
    }
}
