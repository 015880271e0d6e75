//! Meaning of valid files: defaults, presets, networks, paths.

use fairlane_scenario::{
    Access, Bytes, Congestion, Document, Duration, FlowGroup, Hop, Kind, QdiscConfig, QdiscParameters, Rate, Scenario,
    Source, Tcp, Traffic,
};

fn scenario(text: &str) -> Scenario {
    Document::parse("test.toml", text)
        .and_then(|document| document.scenario())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn tcp_of(group: &FlowGroup) -> &Tcp {
    match &group.traffic {
        Traffic::Tcp(tcp) => tcp,
        other => panic!("{} is {other:?}", group.name),
    }
}

fn droptail(limit: &str) -> QdiscConfig {
    let parameters = QdiscParameters::new(Kind::DropTail).with("limit", limit);
    parameters.and_then(|parameters| parameters.resolve(mbit(1))).unwrap_or_else(|error| panic!("{error}"))
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000)
}

const SHORTEST: &str = r#"
    duration = "10s"
    [bottleneck]
    rate = "1mbit"
    [[flows]]
    name = "a"
    kind = "tcp"
    [[flows]]
    name = "b"
    kind = "udp"
    rate = "2mbit"
"#;

/// The code points of RFC 2474, 2597, 3246, 5865, 8622 and 9956, each four times: two bits are ECN's.
#[test]
fn a_traffic_class_is_its_code_point() {
    for (class, dscp) in [
        ("cs0", 0),
        ("cs2", 16),
        ("cs7", 56),
        ("af11", 10),
        ("af43", 38),
        ("ef", 46),
        ("voice-admit", 44),
        ("le", 1),
        ("nqb", 45),
    ] {
        let scenario = scenario(&format!("{SHORTEST}class = \"{class}\""));
        assert_eq!((scenario.flows[0].class, scenario.flows[1].class), (0, 4 * dscp), "{class}");
    }
}

/// The table of defaults of `docs/scenario.md`.
#[test]
fn the_shortest_file_gets_the_defaults() {
    let scenario = scenario(SHORTEST);
    assert_eq!((scenario.name.as_str(), scenario.seed, scenario.warmup), ("test", 1, Duration::ZERO));
    assert_eq!(scenario.nodes, ["left", "right"]);
    let link = &scenario.links[0];
    assert_eq!((link.name.as_str(), link.from, link.to), ("bottleneck", 0, 1));
    for side in [&link.forward, &link.reverse] {
        assert_eq!((side.rate, side.delay, &side.queue), (mbit(1), ms(1), &droptail("1000p")));
    }
    for group in &scenario.flows {
        assert_eq!((group.count, group.packet, group.class), (1, Bytes::new(1000), 0));
        assert_eq!((group.start_from, group.start_to, group.stop), (Duration::ZERO, ms(1000), None));
        assert_eq!(group.path, [Hop { link: 0, reverse: false }]);
        assert_eq!(group.back, [Hop { link: 0, reverse: true }]);
    }
    // Ten times the bottleneck, or ten times what a faster source sends: no link of a host limits a flow.
    for (group, rate) in scenario.flows.iter().zip([10, 20]) {
        let access = Access { rate: mbit(rate), delay: ms(1), queue: droptail("1000p") };
        assert_eq!((&group.source, &group.sink), (&Some(access.clone()), &Some(access)));
    }
    assert_eq!(tcp_of(&scenario.flows[0]), &Tcp::ns2_1999(Congestion::Reno, 10_000));
    let Traffic::Udp(udp) = &scenario.flows[1].traffic else { panic!("b is UDP") };
    assert_eq!((udp.rate, &udp.source, udp.ecn), (mbit(2), &Source::Cbr { jitter: 0.0 }, false));
}

#[test]
fn a_short_scenario_starts_its_flows_in_time() {
    let short = scenario(&SHORTEST.replace("10s", "300ms"));
    assert_eq!(short.flows[0].start_to, ms(300));
}

/// ns-2 as it was around 2000: a clock of 0.1 s, no minimum timeout but two ticks, 6 s before the first measurement and
/// 64 s at most, an initial window of 1, an acknowledgement of 40 bytes a packet. And RFC 6298 (1 s at first), RFC 6928
/// (a window of 10), RFC 3042, RFC 7323, RFC 1122.
#[test]
fn presets_are_of_their_time() {
    let tcp = |preset: &str| {
        let text = format!("{SHORTEST}\n[tcp]\npreset = \"{preset}\"");
        tcp_of(&scenario(&text).flows[0]).clone()
    };
    let old = tcp("ns2-1999");
    assert_eq!((old.tick, old.min_rto, old.max_rto, old.initial_rto), (ms(100), ms(200), ms(64_000), ms(6_000)));
    assert_eq!((old.initial_window, old.ack, old.delayed_ack), (1, Bytes::new(40), None));
    assert_eq!([old.limited_transmit, old.timestamps, old.ecn], [false, false, false]);
    let modern = tcp("modern");
    assert_eq!((modern.initial_rto, modern.initial_window), (ms(1_000), 10));
    assert_eq!([modern.limited_transmit, modern.timestamps, modern.ecn], [true, true, false]);
    assert!(modern.delayed_ack.is_some_and(|delay| delay <= ms(500)));
}

#[test]
fn a_group_changes_tcp_for_itself() {
    let text = format!(
        "{SHORTEST}{}",
        r#"
        [[flows]]
        name = "own"
        kind = "tcp"
        cc = "sack"
        window = 20
        tcp = { ecn = true, delayed_ack = "200ms" }
        [[flows]]
        name = "afresh"
        kind = "tcp"
        tcp = { preset = "modern", delayed_ack = false }
        [tcp]
        tick = "10ms"
        "#
    );
    let scenario = scenario(&text);
    let base = Tcp { tick: ms(10), ..Tcp::ns2_1999(Congestion::Reno, 10_000) };
    assert_eq!(tcp_of(&scenario.flows[0]), &base);
    let own = Tcp { ecn: true, delayed_ack: Some(ms(200)), tick: ms(10), ..Tcp::ns2_1999(Congestion::Sack, 20) };
    assert_eq!(tcp_of(&scenario.flows[2]), &own);
    let afresh = Tcp { delayed_ack: None, ..Tcp::modern(Congestion::Reno, 10_000) };
    assert_eq!(tcp_of(&scenario.flows[3]), &afresh);
}

/// Every name means what it says, and only DCTCP brings ECN with it, over a `[tcp]` that leaves it out.
#[test]
fn a_congestion_control_has_a_name() {
    let names = [
        ("tahoe", Congestion::Tahoe),
        ("reno", Congestion::Reno),
        ("newreno", Congestion::NewReno),
        ("sack", Congestion::Sack),
        ("vegas", Congestion::Vegas),
        ("cubic", Congestion::Cubic),
        ("bbr", Congestion::Bbr),
        ("bbr3", Congestion::Bbr3),
        ("dctcp", Congestion::Dctcp),
        ("ledbat", Congestion::Ledbat),
        ("prague", Congestion::Prague),
    ];
    for (name, congestion) in names {
        let text = SHORTEST.replacen("kind = \"tcp\"", &format!("kind = \"tcp\"\ncc = \"{name}\""), 1);
        let scenario = scenario(&format!("{text}\n[tcp]\necn = false\n"));
        let tcp = tcp_of(&scenario.flows[0]);
        assert_eq!((tcp.congestion, tcp.ecn), (congestion, matches!(name, "dctcp" | "prague")));
    }
}

#[test]
fn switches_are_off_until_they_are_set() {
    let switches = |text: &str| {
        let scenario = scenario(&format!("{SHORTEST}\n[tcp]\n{text}\n"));
        let tcp = tcp_of(&scenario.flows[0]).clone();
        [tcp.pacing, tcp.ecn_timeout]
    };
    assert_eq!(switches("preset = \"modern\""), [false; 2]);
    assert_eq!(switches("pacing = true"), [true, false]);
    assert_eq!(switches("ecn_timeout = true"), [false, true]);
    let counting = |text: &str| {
        let scenario = scenario(&format!("{SHORTEST}\n[tcp]\n{text}\n"));
        tcp_of(&scenario.flows[0]).byte_counting
    };
    let texts = ["", "byte_counting = true", "preset = \"modern\"", "preset = \"modern\"\nbyte_counting = false"];
    assert_eq!(texts.map(counting), [false, true, true, false]);
}

/// `reno` of 1999 is that of RFC 5681, and today's repairs by RACK, as all that are not named after another loss
/// recovery; CUBIC has HyStart++ there. `recovery` and `slow_start` say it explicitly, and leave controls without a
/// choice alone.
#[test]
fn each_preset_has_its_recovery_and_slow_start() {
    let of = |cc: &str, text: &str| {
        let file = SHORTEST.replacen("kind = \"tcp\"", &format!("kind = \"tcp\"\ncc = \"{cc}\""), 1);
        tcp_of(&scenario(&format!("{file}\n[tcp]\n{text}\n")).flows[0]).to_string()
    };
    for (cc, old, modern, newreno) in [
        ("tahoe", "tahoe", "tahoe", "tahoe"),
        ("reno", "reno", "reno, recovery rack", "reno, recovery newreno, slow start hystart++"),
        ("newreno", "newreno", "newreno", "newreno, slow start hystart++"),
        ("sack", "sack", "sack", "sack, slow start hystart++"),
        ("vegas", "vegas, recovery sack", "vegas, recovery rack", "vegas, recovery newreno"),
        (
            "cubic",
            "cubic, recovery sack",
            "cubic, recovery rack, slow start hystart++",
            "cubic, recovery newreno, slow start hystart++",
        ),
        ("dctcp", "dctcp, recovery sack", "dctcp, recovery rack", "dctcp, recovery newreno, slow start hystart++"),
        ("bbr", "bbr, recovery sack", "bbr, recovery rack", "bbr, recovery sack"),
        ("bbr3", "bbr3, recovery rack", "bbr3, recovery rack", "bbr3, recovery rack"),
        ("ledbat", "ledbat, recovery sack", "ledbat, recovery rack", "ledbat, recovery newreno"),
        ("prague", "prague, recovery sack", "prague, recovery rack", "prague, recovery newreno, slow start hystart++"),
    ] {
        assert_eq!([of(cc, ""), of(cc, "preset = \"modern\"")], [old, modern]);
        if cc != "tahoe" {
            assert_eq!(of(cc, "preset = \"modern\"\nrecovery = \"newreno\"\nslow_start = \"hystart++\""), newreno);
        }
    }
    assert_eq!(of("reno", "preset = \"modern\"\nrecovery = \"reno\""), "reno");
    assert_eq!(of("cubic", "preset = \"modern\"\nslow_start = \"standard\""), "cubic, recovery rack");
}

/// A group's own keys and its own preset take precedence over `[tcp]`, whose keys hold for its `cc`.
#[test]
fn a_group_has_its_own_recovery() {
    let text = SHORTEST.replacen("kind = \"tcp\"", "kind = \"tcp\"\ncc = \"cubic\"\ntcp = { recovery = \"reno\" }", 1);
    let own = scenario(&format!("{text}\n[tcp]\npreset = \"modern\"\nrecovery = \"newreno\"\n"));
    assert_eq!(tcp_of(&own.flows[0]).to_string(), "cubic, recovery reno, slow start hystart++");
    let afresh = text.replace("recovery = \"reno\"", "preset = \"modern\"");
    let afresh = scenario(&format!("{afresh}\n[tcp]\nrecovery = \"newreno\"\nslow_start = \"hystart\"\n"));
    assert_eq!(tcp_of(&afresh.flows[0]).to_string(), "cubic, recovery rack, slow start hystart++");
}

#[test]
fn the_reverse_direction_differs_where_it_says_so() {
    let text = SHORTEST.replace(
        "rate = \"1mbit\"",
        r#"rate = "1mbit"
        delay = "7ms"
        reverse = { rate = "256kbit", queue = { kind = "red", limit = "20p" } }"#,
    );
    let reverse = scenario(&text).links.remove(0).reverse;
    assert_eq!((reverse.rate, reverse.delay), (Rate::from_bits_per_second(256_000), ms(7)));
    assert_eq!(reverse.queue.kind(), Kind::Red);
}

#[test]
fn a_groups_access_inherits_what_it_does_not_say() {
    let text = SHORTEST.replace("kind = \"udp\"", "kind = \"udp\"\naccess = { rate = \"1gbit\" }");
    let text = format!("{text}\n[access]\ndelay = \"5ms\"\nqueue = {{ kind = \"droptail\", limit = \"50p\" }}");
    let scenario = scenario(&text);
    let [a, b] = [&scenario.flows[0], &scenario.flows[1]].map(|group| group.sink.as_ref().expect("a host"));
    assert_eq!((a.rate, a.delay, &a.queue), (mbit(10), ms(5), &droptail("50p")));
    assert_eq!((b.rate, b.delay, &b.queue), (mbit(1000), ms(5), &droptail("50p")));
}

const NETWORK: &str = r#"
    duration = "10s"
    links = [
        { from = "a", to = "b", rate = "1mbit" },
        { from = "c", to = "b", rate = "2mbit" },
        { from = "a", to = "c", rate = "3mbit", name = "detour" },
        { from = "c", to = "d", rate = "4mbit" },
    ]
    [[flows]]
    name = "shortest"
    kind = "tcp"
    from = "b"
    to = "d"
    [[flows]]
    name = "named"
    kind = "tcp"
    path = ["b", "a", "c", "d"]
"#;

#[test]
fn paths_run_both_ways_through_links() {
    let scenario = scenario(NETWORK);
    assert_eq!(scenario.nodes, ["a", "b", "c", "d"]);
    let names = scenario.links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["a-b", "c-b", "detour", "c-d"]);
    let hops = |path: &[Hop]| path.iter().map(|hop| (hop.link, hop.reverse)).collect::<Vec<_>>();
    assert_eq!(hops(&scenario.flows[0].path), [(1, true), (3, false)]);
    assert_eq!(hops(&scenario.flows[0].back), [(3, true), (1, false)]);
    assert_eq!(hops(&scenario.flows[1].path), [(0, true), (2, false), (3, false)]);
    assert_eq!(hops(&scenario.flows[1].back), [(3, true), (2, true), (0, false)]);
}

#[test]
fn hosts_are_nodes_where_nothing_is_said_of_access() {
    assert!(scenario(NETWORK).flows.iter().all(|group| group.source.is_none() && group.sink.is_none()));
    let with_access = scenario(&format!("{NETWORK}\n[access]\nrate = \"5mbit\""));
    assert!(with_access.flows.iter().all(|group| group.source.as_ref().is_some_and(|access| access.rate == mbit(5))));
    let own = scenario(&NETWORK.replace("path =", "access = { delay = \"3ms\" }\npath ="));
    assert_eq!(own.flows[0].source, None);
    assert_eq!(own.flows[1].source.as_ref().map(|access| (access.rate, access.delay)), Some((mbit(40), ms(3))));
}

#[test]
fn more_flows_than_usual_are_possible_when_meant() {
    let text = SHORTEST.replace("kind = \"udp\"", "kind = \"udp\"\ncount = 200000");
    let error = Document::parse("test.toml", &text).and_then(|document| document.scenario()).expect_err("too many");
    assert_eq!(error.key(), "flows.b.count");
    assert!(error.help().is_some_and(|help| help.contains("max_flows = 200001")), "{error}");
    assert_eq!(scenario(&format!("max_flows = 200001\n{text}")).flows[1].count, 200_000);
}

#[test]
fn a_program_builds_figure_3_as_the_file_does() {
    let queue = Document::builtin().scenario().unwrap_or_else(|error| panic!("{error}")).links.remove(0).forward.queue;
    let built = Scenario::dumbbell(mbit(1), ms(120_000))
        .name("One unresponsive flow")
        .warmup(ms(20_000))
        .seed(1)
        .delay(ms(1))
        .queue(queue.parameters())
        .access(mbit(10), ms(1))
        .preset("ns2-1999")
        .tcp("ftp", 32, Congestion::Reno, 300)
        .udp("cbr", 1, mbit(2));
    let file = Document::builtin().scenario().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(built.scenario().unwrap_or_else(|error| panic!("{error}")), file);
    // The later of two settings counts, and what cannot be is refused as in a file.
    let odd = built.name("a \"quoted\" name").seed(2);
    assert_eq!(
        odd.scenario().map(|scenario| (scenario.name, scenario.seed)).ok(),
        Some(("a \"quoted\" name".into(), 2))
    );
    let error = odd.udp("cbr", 1, mbit(1)).scenario().expect_err("a name twice");
    assert!(error.to_string().contains("already a group"), "{error}");
}
