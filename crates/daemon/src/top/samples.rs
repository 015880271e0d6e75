//! Two states of a router, for tests.

use std::collections::BTreeMap;

use crate::state::{Count, Delays, Discipline, Kernel, Link, Reasons, State, TopFlow};

const fn count(packets: u64, bytes: u64) -> Count {
    Count { packets, bytes }
}

fn reasons(of: &[(&str, u64)]) -> Reasons {
    of.iter().map(|(reason, packets)| ((*reason).to_owned(), count(*packets, 1000 * packets))).collect()
}

fn delays(below_50_ms: u64) -> Delays {
    Delays {
        count: 500 + below_50_ms,
        max: Some(0.061),
        classes: vec![(Some(0.04), 400), (Some(0.05), below_50_ms), (None, 100)],
        ..Delays::default()
    }
}

fn flow(name: &str, matched: u64, lost: u64, departed_bytes: u64) -> TopFlow {
    TopFlow {
        flow: name.to_owned(),
        matched_packets: matched,
        lost_packets: lost,
        missed_packets: 0,
        arrived: count(0, 0),
        departed: count(departed_bytes / 1000, departed_bytes),
        dropped: reasons(&[("match_arrival", matched / 2), ("match_victim", matched / 2), ("early", lost - matched)]),
        marked: reasons(&[]),
    }
}

/// CHOKe at 10 Mbit/s under a flood.
pub(super) fn state() -> State {
    let parameters = [("limit", "300p"), ("min", "60p"), ("max", "120p"), ("weight", "0.002")];
    let parameters: BTreeMap<String, String> =
        parameters.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    State {
        version: "0.1.0".to_owned(),
        direction: None,
        path: "queue 0".to_owned(),
        bridge: None,
        interfaces: vec!["eth0".to_owned()],
        flows_by: "five-tuple".to_owned(),
        uptime_s: 3600.0,
        at_s: 5000.0,
        link: Link { rate_bps: 10_000_000, layer: "overhead 38b, mpu 84b, noatm".to_owned() },
        autorate: None,
        discipline: Discipline { kind: "choke".to_owned(), parameters },
        arrived: count(100_000, 100_000_000),
        departed: count(60_000, 60_000_000),
        dropped: reasons(&[("match_arrival", 18_000), ("match_victim", 18_000), ("early", 3900), ("limit", 0)]),
        marked: reasons(&[("early", 0)]),
        flushed: count(0, 0),
        backlog: count(100, 100_000),
        average: Some(84.25),
        sojourn_s: delays(60_000),
        lateness_s: Delays::default(),
        kernel: Some(Kernel { waiting_packets: 100, dropped_full_packets: 0, dropped_unread_packets: 3 }),
        overruns: 0,
        unsent_verdicts: 0,
        unknown_verdicts: 0,
        malformed_messages: 0,
        reloads: 0,
        top_flows: vec![
            flow("udp/10.1.0.2:5000>10.2.0.2:9", 36_000, 36_440, 15_000_000),
            flow("tcp/10.1.0.3:40000>10.2.0.2:80", 24, 60, 900_000),
        ],
    }
}

/// The state of the same router two seconds later.
pub(super) fn later() -> State {
    State {
        uptime_s: 3602.0,
        at_s: 5002.0,
        arrived: count(106_000, 106_000_000),
        departed: count(62_375, 62_375_000),
        dropped: reasons(&[("match_arrival", 19_780), ("match_victim", 19_780), ("early", 3940), ("limit", 0)]),
        backlog: count(125, 125_000),
        sojourn_s: delays(62_375),
        kernel: Some(Kernel { waiting_packets: 125, dropped_full_packets: 0, dropped_unread_packets: 10 }),
        top_flows: vec![
            flow("udp/10.1.0.2:5000>10.2.0.2:9", 39_560, 40_000, 15_625_000),
            flow("tcp/10.1.0.3:40000>10.2.0.2:80", 26, 64, 1_025_000),
            flow("tcp/[2001:db8:1234:5678:9abc:def0:1234:5678]:40001>[2001:db8::2]:443", 0, 1, 0),
        ],
        ..state()
    }
}
