//! Sources of data for TCP: their meaning in a file, and the messages about mistakes.

use fairlane_scenario::{
    Application, Bytes, Document, Duration, OnOff, Packets, Periods, Scenario, ScenarioError, Size, Sizes, Traffic,
    Transfers, Web,
};

fn check(keys: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        "duration = \"10s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"t\"\nkind = \"tcp\"\n{keys}\n"
    );
    Document::parse("test.toml", &text)?.scenario()
}

fn application(keys: &str) -> Application {
    let scenario = check(keys).unwrap_or_else(|error| panic!("{error}"));
    match scenario.flows.into_iter().next().map(|group| group.traffic) {
        Some(Traffic::Tcp(tcp)) => tcp.application,
        other => panic!("{other:?} is not TCP"),
    }
}

/// Would catch a handshake of long connections or of ns-2, and one that cannot be switched.
#[test]
fn short_connections_of_today_open_by_a_handshake() {
    let handshake = |tcp: &str, source: &str| {
        let text = format!(
            "duration = \"1s\"\n[tcp]\n{tcp}\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n{source}\n"
        );
        let scenario = Document::parse("handshake.toml", &text).and_then(|document| document.scenario());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let Traffic::Tcp(tcp) = &scenario.flows[0].traffic else { panic!("it is TCP") };
        tcp.handshake
    };
    let (transfers, web) =
        ("source = \"transfers\"\nsize = \"1p\"", "source = \"web\"\nsize = \"1p\"\nobjects = 2\nconnections = 1");
    let (old, new) = ("preset = \"ns2-1999\"", "preset = \"modern\"");
    assert_eq!([transfers, web, ""].map(|source| handshake(new, source)), [true, true, false]);
    assert_eq!([transfers, web, ""].map(|source| handshake(old, source)), [false; 3]);
    assert!(!handshake("preset = \"modern\"\nhandshake = false", web));
    assert!(handshake("handshake = true", "") && handshake(old, "tcp = { handshake = true }"));
    assert!(handshake(old, &format!("{transfers}\ntcp = {{ preset = \"modern\" }}")));
}

#[test]
fn each_application_is_read() {
    assert_eq!(application(""), Application::Ftp);
    assert_eq!(application("source = \"ftp\"\ncc = \"sack\""), Application::Ftp);
    let size = Size::Bytes(Bytes::new(30_000));
    let once = Transfers { size, sizes: Sizes::Fixed, think: None };
    assert_eq!(application("source = \"transfers\"\nsize = \"30kb\""), Application::Transfers(once.clone()));
    let think = Some(Duration::from_millis(1500));
    for (sizes, keys) in [
        (Sizes::Exponential, "sizes = \"exponential\""),
        (Sizes::Pareto { shape: 1.5 }, "sizes = \"pareto\""),
        (Sizes::Pareto { shape: 1.2 }, "sizes = \"pareto\"\nshape = 1.2"),
        (Sizes::Lognormal { sigma: 0.5 }, "sizes = \"lognormal\"\nsigma = 0.5"),
    ] {
        let keys = format!("source = \"transfers\"\nsize = \"12p\"\nthink = \"1500ms\"\n{keys}");
        let transfers = Transfers { size: Size::Packets(Packets::new(12)), sizes, think };
        assert_eq!(application(&keys), Application::Transfers(transfers));
    }
    let web = "source = \"web\"\nobjects = 50\nconnections = 6\nsize = \"20kb\"\nmin_size = \"1kb\"";
    let expected = Web {
        objects: 50,
        connections: 6,
        size: Size::Bytes(Bytes::new(20_000)),
        sizes: Sizes::Fixed,
        least: Size::Bytes(Bytes::new(1000)),
        think: Duration::ZERO,
    };
    assert_eq!(application(web), Application::Web(expected));
    let counts = ["", "\ncount = 12"].map(|count| check(&format!("{web}{count}")).map(|it| it.flows[0].count).ok());
    assert_eq!(counts, [Some(6), Some(12)]);
    for (periods, name) in [(Periods::Exponential, "exponential"), (Periods::Pareto { shape: 1.5 }, "pareto")] {
        let (on, off) = (Duration::from_millis(2000), Duration::from_millis(3000));
        let keys = format!("source = \"{name}\"\non = \"2s\"\noff = \"3s\"");
        assert_eq!(application(&keys), Application::OnOff(OnOff { on, off, periods }));
    }
}

#[test]
fn a_slip_is_explained() {
    let cases = [
        ("source = \"transfer\"", 7, "did you mean \"transfers\"? There are ftp, transfers, web, exponential, pareto"),
        ("source = \"poisson\"", 7, "there is no source of TCP \"poisson\""),
        ("size = \"1mb\"", 7, "`size` is for source = \"transfers\""),
        ("think = \"1s\"", 7, "`think` is for source = \"transfers\""),
        ("on = \"1s\"", 7, "for source = \"exponential\" and \"pareto\""),
        (
            "source = \"transfers\"",
            4,
            "flows.t.size: `size` is missing; write for example size = \"100kb\" or \"100p\"",
        ),
        ("source = \"transfers\"\nsize = 100", 8, "100 has no unit"),
        ("source = \"transfers\"\nsize = \"0p\"", 8, "\"0p\" is out of range"),
        ("source = \"transfers\"\nsize = \"1mb\"\nsizes = \"weibull\"", 9, "no distribution of sizes \"weibull\""),
        ("source = \"transfers\"\nsize = \"1mb\"\nshape = 1.2", 9, "it is for sizes = \"pareto\""),
        (
            "source = \"transfers\"\nsize = \"1mb\"\nsizes = \"pareto\"\nsigma = 1",
            10,
            "it is for sizes = \"lognormal\"",
        ),
        ("source = \"transfers\"\nsize = \"1mb\"\nsizes = \"lognormal\"", 4, "`sigma` is missing"),
        ("objects = 5", 7, "`objects` is for source = \"web\""),
        ("source = \"web\"\nsize = \"1p\"\nconnections = 6", 4, "`objects` is missing"),
        (
            "source = \"web\"\nsize = \"1p\"\nconnections = 6\nobjects = 50\ncount = 9",
            11,
            "9 connections are not whole browsers of 6 each",
        ),
        ("phases = []", 7, "there is no phase"),
        ("phases = [[\"0s\"]]", 7, "is not a start and an end"),
        ("phases = [[\"2s\", \"1s\"]]", 7, "1s is not after the start, 2s"),
        ("phases = [[\"0s\", \"2s\"], [\"2s\", \"3s\"]]", 7, "2s is not after the end of the phase before, 2s"),
        ("phases = [[\"20s\", \"21s\"]]", 7, "20s is after the end: the scenario lasts 10s"),
        ("phases = [[\"0s\", \"2s\"]]\nstop = \"3s\"", 8, "a group has either `phases` or `stop`"),
        (
            "phases = [[\"0s\", \"2s\"]]\nsource = \"transfers\"\nsize = \"1p\"",
            7,
            "phases are for TCP with unlimited data",
        ),
        ("tcp = { ledbat_gain = 2 }", 7, "reno has no `ledbat_gain`"),
        ("cc = \"ledbat\"\ntcp = { slow_start = \"hystart\" }", 8, "ledbat has no slow start"),
        ("source = \"transfers\"\nsize = \"1mb\"\non = \"1s\"", 9, "for source = \"exponential\" and \"pareto\""),
        ("source = \"pareto\"\non = \"2s\"", 4, "`off` is missing"),
        ("source = \"pareto\"\non = \"2s\"\noff = \"3s\"\nrate = \"1mbit\"", 10, "`rate` is for kind = \"udp\""),
    ];
    for (keys, line, said) in cases {
        let Err(error) = check(keys) else { panic!("not refused: {keys}") };
        let shown = error.to_string();
        assert!(shown.contains(said), "{said:?} is not in: {shown}");
        assert_eq!(error.line_column().map(|(line, _)| line), Some(line), "{shown}");
    }
}
