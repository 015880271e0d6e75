//! Settings, and a report in which no two numbers are the same, for tests of their output formats.

use fairlane_linux::{BridgeCounts, DirectionCounts, Exempt, FlowsBy, KernelQueue, Report};
use fairlane_qdisc::{Count, Counters, Duration, Reason, Time};

use super::settings::Settings;
use crate::args::router::{Log, Metrics};

/// Returns settings without a queue.
pub(super) fn settings() -> Settings {
    Settings {
        ways: Vec::new(),
        autorate: None,
        chosen: None,
        flows: FlowsBy::AddressPair,
        interfaces: vec!["eth7".to_owned()],
        exempt: Exempt::default(),
        ours: None,
        drain: Duration::ZERO,
        metrics: Metrics::Off,
        log: Log::Text,
        doubts: Vec::new(),
    }
}

/// Returns the report of a router, without a bridge's counts.
pub(super) fn report() -> Report {
    let mut counters = Counters::default();
    counters.arrived = Count { packets: 11, bytes: 1100 };
    counters.departed = Count { packets: 12, bytes: 1200 };
    counters.count_drop(Reason::MatchVictim, 130);
    counters.count_mark(Reason::Early, 140);
    counters.count_mark(Reason::Early, 140);
    Report {
        at: Time::from_nanos(9_500_000_000),
        counters,
        packets: 17,
        bytes: 1700,
        average: Some(18.5),
        overruns: 19,
        unknown: 20,
        malformed: 21,
        unsent: 22,
        reloads: 23,
        flushed: Count { packets: 24, bytes: 2400 },
        kernel: Some(KernelQueue { waiting: 14, dropped_full: 15, dropped_unread: 16, ..KernelQueue::default() }),
        ..Report::default()
    }
}

/// Returns a bridge's counts: from 31 for frames going out, from 41 for frames coming in.
pub(super) fn bridge() -> BridgeCounts {
    let way = |first| DirectionCounts {
        received: first,
        forwarded: first + 1,
        kernel_dropped: first + 2,
        unfit: first + 3,
        no_memory: first + 4,
        refused: first + 5,
        gso_frames: first + 6,
        exempt: first + 7,
    };
    BridgeCounts { forward: way(31), reverse: way(41) }
}
