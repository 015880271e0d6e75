//! What a router would tell, for tests of how it is told: no two numbers are the same.

use fairlane_linux::{BridgeCounts, KernelQueue, Report, WayCounts};
use fairlane_qdisc::{Count, Counters, Reason, Time};

/// A report of a router, without a bridge's counts.
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
        kernel: Some(KernelQueue { waiting: 14, dropped_full: 15, dropped_unread: 16, ..KernelQueue::default() }),
        ..Report::default()
    }
}

/// A bridge's counts: from 31 on what goes out, from 41 on what comes in.
pub(super) fn bridge() -> BridgeCounts {
    let way = |first| WayCounts {
        received: first,
        forwarded: first + 1,
        kernel_dropped: first + 2,
        unfit: first + 3,
        no_memory: first + 4,
        refused: first + 5,
        joined: first + 6,
    };
    BridgeCounts { forth: way(31), back: way(41) }
}
