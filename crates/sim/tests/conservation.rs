//! Conservation of packets: none is unaccounted for, and none is delivered that was not sent.

use std::collections::HashMap;

use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, PacketEvent, PacketKind, QueueEvent, run};
use proptest::prelude::*;

/// Follows every data packet through one bottleneck.
#[derive(Default)]
struct Auditor {
    arrived: u64,
    departed: u64,
    dropped: u64,
    delivered: HashMap<(u32, u32), u32>,
    sent_again: HashMap<(u32, u32), u32>,
    last: u64,
}

impl Observer for Auditor {
    fn packet(&mut self, event: &PacketEvent) {
        assert!(event.at.as_nanos() >= self.last, "time runs backwards");
        self.last = event.at.as_nanos();
        match event.queue_event {
            QueueEvent::Arrived => self.arrived += 1,
            QueueEvent::Departed { .. } => self.departed += 1,
            QueueEvent::Dropped(_) => self.dropped += 1,
            QueueEvent::Marked(_) | QueueEvent::Lost => {}
        }
        if event.kind == PacketKind::Data && matches!(event.queue_event, QueueEvent::Departed { .. }) {
            *self.sent_again.entry((event.flow, event.seq)).or_default() += 1;
        }
    }
    fn delivered(&mut self, _at: fairlane_qdisc::Time, flow: u32, seq: u32) {
        *self.delivered.entry((flow, seq)).or_default() += 1;
    }
}

fn queues() -> impl Strategy<Value = String> {
    let kinds = prop::sample::select(vec![
        "droptail",
        "red",
        "ared",
        "choke",
        "choke-adaptive",
        "choke-auto",
        "front-choke",
        "back-choke",
        "mloc-choke",
        "xchoke",
        "gchoke",
    ]);
    (kinds, 0..60_u32, 1..30_u32, 1..30_u32).prop_map(|(kind, limit, min, more)| match kind {
        "droptail" | "choke-auto" | "mloc-choke" => format!(r#"{{ kind = "{kind}", limit = "{limit}p" }}"#),
        _ => format!(r#"{{ kind = "{kind}", limit = "{limit}p", min = "{min}p", max = "{}p" }}"#, min + more),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch a packet that is lost or doubled, for any queue and any mix of traffic, and any difference between
    /// what the observer sees and what the run reports. The engine's own check at the end of a run in debug builds
    /// takes part.
    #[test]
    fn balance_for_any_queue_and_traffic(
        queue in queues(),
        tcps in 1..12_u32,
        cc in prop::sample::select(vec!["tahoe", "reno", "newreno", "sack"]),
        preset in prop::sample::select(vec!["ns2-1999", "modern"]),
        application in prop::sample::select(vec![
            "",
            "source = \"transfers\"\nsize = \"6kb\"\nsizes = \"pareto\"\nthink = \"50ms\"",
            "source = \"transfers\"\nsize = \"1p\"\nthink = \"1ms\"",
            "source = \"pareto\"\non = \"200ms\"\noff = \"300ms\"",
        ]),
        udp in 1..4000_u32,
        ecn in any::<bool>(),
        handshake in any::<bool>(),
        seed in any::<u16>(),
    ) {
        let text = format!(r#"
            duration = "8s"
            seed = {seed}
            [tcp]
            preset = "{preset}"
            ecn = {ecn}
            handshake = {handshake}
            [bottleneck]
            rate = "1mbit"
            delay = "5ms"
            queue = {queue}
            [[flows]]
            name = "ftp"
            kind = "tcp"
            count = {tcps}
            cc = "{cc}"
            window = 50
            start = "0s..1s"
            {application}
            [[flows]]
            name = "rate-controlled"
            kind = "tfrc"
            count = 2
            ecn = {ecn}
            [[flows]]
            name = "cbr"
            kind = "udp"
            rate = "{udp}kbit"
            jitter = 0.1
        "#);
        let scenario = Document::parse("conservation.toml", &text).and_then(|document| document.scenario());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let mut auditor = Auditor::default();
        let result = run(&scenario, 0, &Control::default(), &mut auditor).expect("it runs");
        let queue = &result.queues[0];
        let sum = |count: fn(&fairlane_outcome::QueueFlowRun) -> u64| queue.flows.iter().map(count).sum::<u64>();
        prop_assert_eq!(sum(|flow| flow.arrived), auditor.arrived);
        prop_assert_eq!(sum(|flow| flow.departed), auditor.departed);
        prop_assert_eq!(sum(|flow| flow.dropped.iter().sum()), auditor.dropped);
        prop_assert!(auditor.arrived >= auditor.departed + auditor.dropped);
        for (packet, times) in &auditor.delivered {
            prop_assert!(auditor.sent_again.get(packet) >= Some(times), "{packet:?} was delivered more often than sent");
        }
        let delivered: u64 = auditor.delivered.values().map(|times| u64::from(*times)).sum();
        prop_assert_eq!(result.flows.iter().map(|flow| flow.delivered).sum::<u64>(), delivered);
        for flow in &result.flows {
            let distinct = auditor.delivered.keys().filter(|(of, _)| *of == flow.id).count() as u64;
            prop_assert_eq!(flow.unique_bytes, distinct * 1000);
            prop_assert!(flow.sent >= flow.delivered + flow.dropped);
        }
    }
}

/// Enough flows for prefetching. Would catch a prefetch that reads out of bounds or changes the result, and a link
/// that is not full all the time.
#[test]
fn balance_for_many_flows() {
    let text = r#"
        duration = "400ms"
        [tcp]
        preset = "modern"
        [bottleneck]
        rate = "2gbit"
        queue = { kind = "choke", limit = "4000p", min = "1000p", max = "3000p" }
        [[flows]]
        name = "tcp"
        kind = "tcp"
        cc = "sack"
        count = 19000
        start = "0s..200ms"
        [[flows]]
        name = "web"
        kind = "tcp"
        count = 500
        source = "transfers"
        size = "3p"
        think = "1ms"
        [[flows]]
        name = "cbr"
        kind = "udp"
        count = 500
        rate = "1mbit"
        [[flows]]
        name = "tfrc"
        kind = "tfrc"
        count = 100
    "#;
    let scenario = Document::parse("many.toml", text).and_then(|document| document.scenario()).unwrap();
    let mut auditor = Auditor::default();
    let watched = run(&scenario, 0, &Control::default(), &mut auditor).unwrap();
    let alone = run(&scenario, 0, &Control::default(), &mut ()).unwrap();
    assert_eq!(watched.flows, alone.flows);
    let delivered: u64 = alone.flows.iter().map(|flow| flow.delivered).sum();
    assert_eq!(delivered, auditor.delivered.values().map(|times| u64::from(*times)).sum::<u64>());
    // 2 Gbit/s for 0.4 s, minus the start and the delay to the receivers.
    assert!((80_000..=100_000).contains(&delivered), "{delivered}");
}

/// Would catch packets of the warm-up in the counts: one packet every 8 ms for 10 s, of which 4 s do not count, makes
/// 750. The link has spare capacity, so none is dropped.
#[test]
fn what_came_before_the_measurement_does_not_count() {
    let text = r#"
        duration = "10s"
        warmup = "4s"
        [bottleneck]
        rate = "1500kbit"
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "1mbit"
    "#;
    let scenario = Document::parse("warm.toml", text).and_then(|document| document.scenario()).unwrap();
    let run = run(&scenario, 0, &Control::default(), &mut ()).unwrap();
    let flow = &run.flows[0];
    assert!(flow.sent.abs_diff(750) <= 1 && flow.delivered.abs_diff(750) <= 1, "{flow:?}");
    assert_eq!(flow.unique_bytes, 1000 * flow.delivered);
}
