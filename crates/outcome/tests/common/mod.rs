//! A run whose numbers can be worked out by hand.

use fairlane_outcome::{Cost, Expected, FlowRun, QueueFlowRun, QueueRun, Reason, Run};
use hdrhistogram::Histogram;

/// Ten seconds at a queue of 1 Mbit/s; packets of 1000 bytes. The expected values are in `by_hand.json`.
pub(crate) fn run() -> Run {
    Run {
        scenario: "By hand".to_owned(),
        engine: "sim".into(),
        seed: 7,
        run: 0,
        from_s: 10.0,
        to_s: 20.0,
        partial: false,
        queues: vec![QueueRun {
            name: "bottleneck".to_owned(),
            kind: "choke".into(),
            rate_bps: 1e6,
            edge_bytes: 0.0,
            mean_packets: 8.0,
            mean_avg: Some(7.5),
            delay_ns: delays(),
            flows: vec![
                part(0, [100, 90], 2, [5, 3, 2], 1.5),
                part(1, [50, 45], 0, [5, 0, 0], 0.5),
                part(2, [1000, 405], 0, [45, 275, 275], 6.0),
            ],
        }],
        flows: vec![
            FlowRun { delivered: 91, unique_bytes: 85_000, retransmitted: 9, timeouts: 1, ..flow(0, "ftp/0", 100, 10) },
            FlowRun { delivered: 45, unique_bytes: 45_000, ..flow(1, "ftp/1", 60, 6) },
            FlowRun {
                group: "cbr".into(),
                kind: "udp".into(),
                transport: "udp".into(),
                delivered: 405,
                unique_bytes: 405_000,
                ..flow(2, "cbr/0", 1000, 595)
            },
        ],
        cost: Cost { events: 4000, packet_hops: 3000, cpu_s: 0.5, wall_s: 0.75, peak_rss_bytes: 1 << 20 },
        expected: Expected::default(),
    }
}

/// 98 packets that waited 1 µs and two that waited 2 µs; small enough for every bin to hold one value.
fn delays() -> Histogram<u64> {
    let mut delays = Histogram::new(3).unwrap();
    delays.record_n(1000, 98).unwrap();
    delays.record_n(2000, 2).unwrap();
    delays
}

/// A flow's part of the queue: arrived and departed, marked, dropped early and as CHOKe's arrival and victim.
fn part(flow: u32, [arrived, departed]: [u64; 2], marked: u64, drops: [u64; 3], mean_packets: f64) -> QueueFlowRun {
    let mut dropped = [0; Reason::COUNT];
    for (reason, packets) in [Reason::Early, Reason::MatchArrival, Reason::MatchVictim].into_iter().zip(drops) {
        dropped[reason.index()] = packets;
    }
    QueueFlowRun { flow, arrived, departed, departed_bytes: departed * 1000, marked, lost: 0, dropped, mean_packets }
}

/// A TCP flow that leaves by the first queue.
pub(crate) fn flow(id: u32, name: &str, sent: u64, dropped: u64) -> FlowRun {
    FlowRun {
        id,
        name: name.into(),
        group: "ftp".into(),
        kind: "tcp".into(),
        transport: "tcp reno".into(),
        exit: Some(0),
        sent,
        delivered: 0,
        unique_bytes: 0,
        dropped,
        ..FlowRun::default()
    }
}
