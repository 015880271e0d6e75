//! The scenario of each section: its flows, their rates, their phases and their queues, as RFC 7928 has them.

use fairlane_characterize::{Buffer, Checklist, Plan, PlannedCase, Settings, Subject};
use fairlane_qdisc::{Bytes, Duration, Kind, QdiscParameters, Rate, Size};
use fairlane_scenario::{Application, Congestion, FlowGroup, Phase, Scenario, Score, Tcp, Traffic};
use fairlane_sim::Control;

fn plan(only: &str) -> Plan {
    let codel = Subject::new(QdiscParameters::new(Kind::Codel));
    let settings = Settings { only: vec![only.to_owned()], ..Settings::default() };
    Plan::new(vec![codel], settings, &Control::default()).unwrap_or_else(|error| panic!("{only}: {error}"))
}

/// The scenarios of each case with its name: DropTail's and CoDel's.
fn cases(plan: &Plan) -> Vec<(&str, Vec<&Scenario>)> {
    let of = |case: &'static str, planned| (case, plan.scenarios(planned).collect());
    plan.sections()[0].cases.iter().map(|planned: &PlannedCase| of(&planned.case.name, planned)).collect()
}

/// The scenario of the only case under DropTail.
fn only_case(plan: &Plan) -> Scenario {
    let cases = cases(plan);
    assert_eq!(cases.len(), 1);
    assert_eq!(cases[0].1.len(), 2, "one under DropTail and one under CoDel");
    cases[0].1[0].clone()
}

fn tcp(group: &FlowGroup) -> &Tcp {
    match &group.traffic {
        Traffic::Tcp(tcp) => tcp,
        other => panic!("{} is {other}", group.name),
    }
}

fn udp_bps(group: &FlowGroup) -> u64 {
    match &group.traffic {
        Traffic::Udp(udp) => udp.rate.bits_per_second(),
        other => panic!("{} is {other}", group.name),
    }
}

/// The round trip of a group in ms without transmissions.
fn rtt_ms(scenario: &Scenario, group: &FlowGroup) -> f64 {
    let links: f64 = group.path.iter().map(|hop| scenario.links[hop.link].forward.delay.as_secs()).sum();
    let hosts: f64 = [&group.source, &group.sink].into_iter().flatten().map(|access| access.delay.as_secs()).sum();
    (2e6 * (links + hosts)).round() / 1e3
}

fn counts(scenario: &Scenario) -> Vec<(&str, u32)> {
    scenario.flows.iter().map(|group| (group.name.as_str(), group.count)).collect()
}

/// Each id of the checklist, in the order of the RFC's sections as they are described; every one is planned, in full
/// and quick, for a discipline with a queue, one with thresholds and one with queues of flows.
#[test]
fn every_section_is_planned() {
    let ids: Vec<&str> = Checklist::get().entries.iter().map(|entry| entry.id.as_str()).collect();
    let expected = "ecn scheduling friendly friendly-iw aggressive unresponsive unresponsive-mix lbe rtt burst-1 burst-2 burst-3 burst-4 mild \
                    medium heavy levels capacity-slow capacity-fast parameters mix two-way multi-aqm sizes cost operator";
    assert_eq!(ids, expected.split_whitespace().collect::<Vec<_>>());
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_experimental()) {
        for quick in [true, false] {
            let subject = Subject::new(QdiscParameters::new(kind));
            let plan = Plan::new(vec![subject], Settings { quick, ..Settings::default() }, &Control::default());
            let plan = plan.unwrap_or_else(|error| panic!("{kind}: {error}"));
            assert_eq!(plan.sections().len(), ids.len());
            for section in plan.sections().iter().filter(|section| section.entry.discussion.is_none()) {
                let missing = section.entry.needs.is_some() && section.cases.is_empty();
                assert!(missing || !section.cases.is_empty(), "{kind}: {}", section.entry.id);
                // It remembers the last flow: with a single one nothing would pass.
                let left_out = section.cases.iter().flat_map(|case| &case.left_out).collect::<Vec<_>>();
                assert!(left_out.is_empty() || kind == Kind::MlocChoke, "{kind}: {left_out:?}");
            }
        }
    }
}

/// Section 3: 10 Mbit/s and 100 ms are 83 packets of 1500 bytes, which is the buffer, the same for all disciplines;
/// hosts are ten times as fast; NewReno with SACK and an initial window of 3; DropTail is always there.
#[test]
fn the_set_up_is_that_of_section_3() {
    let plan = plan("friendly");
    let cases = cases(&plan);
    let (name, scenarios) = &cases[0];
    assert_eq!(*name, "newreno");
    for (scenario, kind) in scenarios.iter().zip([Kind::DropTail, Kind::Codel]) {
        let link = &scenario.links[0].forward;
        assert_eq!((link.rate.bits_per_second(), link.queue.kind()), (10_000_000, kind));
        let limit =
            link.queue.parameters().given().find(|(key, _)| *key == "limit").map(|(_, value)| value.to_string());
        assert_eq!(limit.as_deref(), Some("83p"));
        let [group] = &*scenario.flows else { panic!("one flow") };
        assert_eq!((group.count, group.packet, rtt_ms(scenario, group)), (1, Bytes::new(1500), 100.0));
        assert_eq!(group.source.as_ref().map(|access| access.rate.bits_per_second()), Some(100_000_000));
        assert_eq!((tcp(group).congestion, tcp(group).initial_window, tcp(group).ecn), (Congestion::Sack, 3, false));
        assert_eq!(tcp(group).application, Application::Ftp);
        assert_eq!((scenario.duration, scenario.warmup), (Duration::from_secs(300.0), Duration::from_secs(30.0)));
    }
}

/// Section 5.1.2: more than 10 packets and less than 100, windows of 3 and 10, after the first flow is steady.
#[test]
fn short_transfers_begin_beside_a_steady_flow() {
    let plan = plan("friendly-iw");
    let found: Vec<(Size, u32)> = cases(&plan)
        .iter()
        .map(|(_, scenarios)| {
            let [long, short] = &*scenarios[0].flows else { panic!("two flows") };
            assert_eq!(tcp(long).application, Application::Ftp);
            assert_eq!(short.start_from, scenarios[0].warmup);
            let Application::Transfers(transfers) = &tcp(short).application else { panic!("short transfers") };
            (transfers.size, tcp(short).initial_window)
        })
        .collect();
    let size = |packets| Size::Packets(fairlane_scenario::Packets::new(packets));
    assert_eq!(found, [(size(11), 3), (size(11), 10), (size(99), 3), (size(99), 10)]);
}

/// Sections 5.2 and 5.3: CUBIC; UDP above the rate; UDP of more than half of the rate and at most all of it, with TCP.
#[test]
fn aggressive_and_unresponsive_senders() {
    let aggressive = plan("aggressive");
    let controls: Vec<Congestion> = cases(&aggressive).iter().map(|(_, it)| tcp(&it[0].flows[0]).congestion).collect();
    assert_eq!(controls, [Congestion::Cubic, Congestion::Bbr]);
    let above = plan("unresponsive");
    for (name, scenarios) in cases(&above) {
        assert!(udp_bps(&scenarios[0].flows[0]) > 10_000_000 && scenarios[0].flows.len() == 1, "{name}");
    }
    let beside = plan("unresponsive-mix");
    for (name, scenarios) in cases(&beside) {
        let [udp, other] = &*scenarios[0].flows else { panic!("two flows") };
        assert!((5_000_001..=10_000_000).contains(&udp_bps(udp)), "{name}");
        assert_eq!(tcp(other).congestion, Congestion::Sack);
    }
}

/// Section 5.4: LEDBAT with a target of 5 ms and a gain of 10.
#[test]
fn the_background_sender_is_ledbat() {
    let plan = plan("lbe");
    let ledbat = tcp(&cases(&plan)[0].1[0].flows[1]).clone();
    assert_eq!(
        (ledbat.congestion, ledbat.ledbat.target, ledbat.ledbat.gain),
        (Congestion::Ledbat, Duration::from_millis(5), 10.0)
    );
}

/// Section 6: category I has a round trip of 100 ms, category II one from 5 to 560 ms. Section 4.5 repeats some with
/// ECN.
#[test]
fn round_trips_are_those_of_section_6() {
    let fairness = plan("rtt");
    let others: Vec<f64> = cases(&fairness)
        .iter()
        .map(|(_, scenarios)| {
            let [first, second] = &*scenarios[1].flows else { panic!("two flows") };
            assert_eq!(rtt_ms(scenarios[1], first), 100.0);
            rtt_ms(scenarios[1], second)
        })
        .collect();
    let expected = [5, 8, 10, 16, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 500, 560].map(f64::from);
    assert_eq!(others, expected);
    let marked = plan("ecn");
    for (_, scenarios) in cases(&marked) {
        assert!(scenarios.iter().all(|scenario| scenario.flows.iter().all(|group| tcp(group).ecn)));
        let given = scenarios[1].links[0].forward.queue.parameters().given().any(|(key, _)| key == "ecn");
        assert!(given, "CoDel marks");
    }
}

/// Section 7.2: 50 objects of at least 1 kB over six connections with a window of 10, a page when the last is complete,
/// and its four cases.
#[test]
fn bursts_have_their_four_cases() {
    let expected: [(&str, &[&str]); 4] = [
        ("burst-1", &["web", "cbr"]),
        ("burst-2", &["web", "cbr", "bulk"]),
        ("burst-3", &["web", "cbr", "video"]),
        ("burst-4", &["web", "cbr", "video", "bulk"]),
    ];
    for (id, names) in expected {
        let plan = plan(id);
        for ((_, scenarios), depth) in cases(&plan).iter().zip([1, 2, 4]) {
            let groups = &scenarios[0].flows;
            assert_eq!(groups.iter().map(|group| &*group.name).collect::<Vec<_>>(), names);
            let Application::Web(web) = &tcp(&groups[0]).application else { panic!("pages") };
            assert_eq!((web.objects, web.connections, web.think), (50, 6, Duration::ZERO));
            assert_eq!((web.least, tcp(&groups[0]).initial_window), (Size::Bytes(Bytes::new(1000)), 10));
            let limit = scenarios[0].links[0].forward.queue.parameters().given().find(|(key, _)| *key == "limit");
            assert_eq!(limit.map(|(_, value)| value.to_string()), Some(format!("{}p", 83 * depth)));
            if let Some(video) = groups.iter().find(|group| group.name == "video") {
                adaptive_video(video);
            }
        }
    }
}

/// Video over TCP in segments of 4 s, with a ladder from 0.3 to 8 Mbit/s, whose player chooses the bit rate; its path
/// is scored.
fn adaptive_video(group: &FlowGroup) {
    let Application::Video(video) = &tcp(group).application else { panic!("{} is no video", group.name) };
    assert_eq!((video.segment, video.buffer), (Duration::from_secs(4.0), Duration::from_secs(40.0)));
    let ends = [video.ladder[0], video.highest()].map(Rate::bits_per_second);
    assert_eq!((ends, group.score), ([300_000, 8_000_000], Some(Score::VideoStreaming)));
}

/// Section 8.2.1, by hand: S = 83 + 83, and N = S √(l/0.76) is 6.02, 13.46 and 19.04 for 0.1 %, 0.5 % and 1 %.
#[test]
fn levels_have_their_numbers_of_flows() {
    for (id, flows) in [("mild", 6), ("medium", 13), ("heavy", 19)] {
        assert_eq!(counts(&only_case(&plan(id))), [("tcp", flows)], "{id}");
    }
    // With a buffer of 4 BDP, S = 415: 15.05, 33.66 and 47.6.
    let deep = Settings { buffer: Buffer::Packets(332), ..Settings::default() };
    assert_eq!([0.001, 0.005, 0.01].map(|loss| deep.flows_for_loss(loss)), [15, 34, 48]);
}

/// Section 8.2.5: mild at all times, medium from 20 s, heavy from 40 s, and again each minute.
#[test]
fn the_level_varies_every_20_s() {
    let plan = plan("levels");
    let scenario = only_case(&plan);
    assert_eq!(counts(&scenario), [("mild", 6), ("medium", 7), ("heavy", 6)]);
    assert_eq!((scenario.flows[0].stop, scenario.warmup), (None, Duration::from_secs(60.0)));
    let of = |group: &FlowGroup| {
        let first = Phase { from: group.start_from, to: group.stop.unwrap_or_default() };
        [&[first][..], &group.later_phases].concat()
    };
    let each = |from: f64| -> Vec<Phase> {
        let phase = |minute: u32| 60.0 * f64::from(minute);
        (0..5)
            .map(|minute| Phase {
                from: Duration::from_secs(phase(minute) + from),
                to: Duration::from_secs(phase(minute) + 60.0),
            })
            .collect()
    };
    assert_eq!((of(&scenario.flows[1]), of(&scenario.flows[2])), (each(20.0), each(40.0)));
}

/// Section 8.2.6: 100 Mbit/s and 10 Mbit/s, for 20 s or for 100 ms each.
#[test]
fn the_capacity_varies_by_ten() {
    for (id, each) in [("capacity-slow", 20_000), ("capacity-fast", 100)] {
        let plan = plan(id);
        let scenario = only_case(&plan);
        let rates = scenario.links[0].forward.wire.rates.as_ref().expect("it varies");
        let steps: Vec<(u64, u64)> =
            rates.steps().iter().map(|(at, rate)| (at.as_nanos() / 1_000_000, rate.bits_per_second())).collect();
        assert_eq!(steps, [(0, 100_000_000), (each, 10_000_000)], "{id}");
        assert_eq!(rates.every(), Some(Duration::from_millis(2 * each)));
        assert_eq!(counts(&scenario), [("tcp", 6)]);
    }
}

/// Section 8.3: each number of CoDel at half, 0.7, 1.4 and twice its default, and the defaults, under mild and heavy
/// congestion.
#[test]
fn parameters_are_halved_and_doubled() {
    let plan = plan("parameters");
    let expected = [
        "droptail",
        "codel",
        "codel target=2.5ms",
        "codel target=3.5ms",
        "codel target=7ms",
        "codel target=10ms",
        "codel interval=50ms",
        "codel interval=70ms",
        "codel interval=140ms",
        "codel interval=200ms",
        "codel mtu=757b",
        "codel mtu=1060b",
        "codel mtu=2120b",
        "codel mtu=3028b",
    ];
    let flows: Vec<u32> = plan.sections()[0]
        .cases
        .iter()
        .map(|case| {
            assert_eq!(case.labels, expected);
            plan.scenarios(case).map(|scenario| scenario.flows[0].count).max().unwrap_or_default()
        })
        .collect();
    assert_eq!(flows, [6, 19]);
}

/// Section 9.1: a call both ways, six downloads of pages, a constant rate, video over TCP, five bulk flows.
#[test]
fn the_mix_has_its_classes() {
    let plan = plan("mix");
    let scenario = only_case(&plan);
    let expected = [("call", 1), ("call-back", 1), ("web", 36), ("cbr", 1), ("video", 1), ("bulk", 5)];
    assert_eq!(counts(&scenario), expected);
    assert!(!scenario.flows[0].path[0].reverse && scenario.flows[1].path[0].reverse);
    // G.711: 50 packets of 200 bytes a second.
    assert_eq!((udp_bps(&scenario.flows[0]), scenario.flows[0].packet), (50 * 200 * 8, Bytes::new(200)));
    let call = Some(Score::Voip { jitter_buffer: Duration::from_millis(60) });
    assert_eq!([0, 1, 2].map(|group| scenario.flows[group].score), [call, call, Some(Score::Web)]);
    adaptive_video(&scenario.flows[4]);
}

/// Section 9.2: mild congestion in both directions of an asymmetric link, with the AQM in one of them and in both.
#[test]
fn both_directions_are_congested() {
    let plan = plan("two-way");
    let cases = cases(&plan);
    let kinds: Vec<[Kind; 2]> = cases
        .iter()
        .map(|(_, scenarios)| {
            assert_eq!(counts(scenarios[1]), [("forward", 6), ("back", 6), ("small", 1), ("small-back", 1)]);
            let small = &scenarios[1].flows[3];
            assert_eq!((udp_bps(small), small.packet, small.path[0].reverse), (10_000, Bytes::new(100), true));
            assert!(scenarios[1].flows[1].path[0].reverse);
            let link = &scenarios[1].links[0];
            assert_eq!(link.reverse.rate.bits_per_second() * 10, link.forward.rate.bits_per_second());
            [link.forward.queue.kind(), link.reverse.queue.kind()]
        })
        .collect();
    assert_eq!(kinds, [[Kind::Codel, Kind::DropTail], [Kind::Codel, Kind::Codel]]);
}

/// Section 10.2: two AQMs in sequence, the flows of mild congestion shared equally.
#[test]
fn aqms_follow_each_other() {
    let plan = plan("multi-aqm");
    let cases = cases(&plan);
    let kinds: Vec<[Kind; 2]> = cases
        .iter()
        .map(|(_, scenarios)| {
            assert_eq!(counts(scenarios[1]), [("through", 3), ("cross", 3)]);
            assert_eq!([scenarios[1].flows[0].path.len(), scenarios[1].flows[1].path.len()], [2, 1]);
            [0, 1].map(|link| scenarios[1].links[link].forward.queue.kind())
        })
        .collect();
    assert_eq!(kinds, [[Kind::Codel, Kind::Codel], [Kind::Codel, Kind::Codel], [Kind::Codel, Kind::Pie]]);
    assert_eq!(cases[1].1[1].links[0].forward.rate.bits_per_second(), 15_000_000);
}

/// Section 4.4: half of the flows of mild congestion with packets of 500 bytes, half with 1500.
#[test]
fn half_of_the_packets_are_small() {
    let plan = plan("sizes");
    let scenario = only_case(&plan);
    let sizes: Vec<(u32, u64)> = scenario.flows.iter().map(|group| (group.count, group.packet.get())).collect();
    assert_eq!(sizes, [(3, 500), (3, 1500)]);
}

/// Sections 4.6, 11.2 and 12.2 run nothing.
#[test]
fn discussions_need_no_runs() {
    for id in ["scheduling", "cost", "operator"] {
        assert_eq!(plan(id).runs(), 0, "{id}");
    }
    let unknown = Settings { only: vec!["rt".to_owned()], ..Settings::default() };
    let error = Plan::new(Vec::new(), unknown, &Control::default()).expect_err("no such section");
    assert!(error.to_string().contains("there is no section \"rt\"; there are ecn"), "{error}");
}
