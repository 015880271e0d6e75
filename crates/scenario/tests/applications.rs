//! Sources of data for TCP: their meaning in a file, and the messages about mistakes.

mod editor;

use fairlane_scenario::{
    Application, Bytes, Document, Duration, OnOff, Packets, Periods, Rate, Rpc, Scenario, ScenarioError, Score, Size,
    Sizes, Traffic, Transfers, Video, Web,
};

fn check(keys: &str) -> Result<Scenario, ScenarioError> {
    let text = format!(
        "duration = \"10s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"t\"\nkind = \"tcp\"\n{keys}\n"
    );
    let read = Document::parse("test.toml", &text).and_then(|document| document.scenario());
    editor::agrees(&text, &read);
    read
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

/// Defaults: the ladder from 0.3 to 8 Mbit/s, and the player of Huang et al. (2014): segments of 4 s, 240 s, of which
/// 90 s are the reservoir and 126 s, up to 90 %, the cushion. Another buffer has the same parts.
#[test]
fn video_has_the_player_of_the_paper() {
    let seconds = |seconds: u64| Duration::from_millis(1000 * seconds);
    let Application::Video(video) = application("source = \"video\"") else { panic!("video") };
    assert_eq!((video.segment, video.buffer), (seconds(4), seconds(240)));
    assert_eq!((video.reservoir, video.cushion), (seconds(90), seconds(126)));
    let ends = [video.ladder.first(), video.ladder.last()].map(|rate| rate.map(|rate| rate.bits_per_second()));
    assert_eq!((ends, video.ladder.len()), ([Some(300_000), Some(8_000_000)], 9));
    let keys =
        "source = \"video\"\nsegment = \"2s\"\nladder = [\"1mbit\", \"2mbit\"]\nbuffer = \"40s\"\ncushion = \"10s\"";
    let expected = Video {
        segment: seconds(2),
        ladder: [1_000_000, 2_000_000].map(Rate::from_bits_per_second).to_vec(),
        buffer: seconds(40),
        reservoir: seconds(15),
        cushion: seconds(10),
    };
    assert_eq!(application(keys), Application::Video(expected));
    let rpc = Rpc { request: Bytes::new(100), response: Size::Bytes(Bytes::new(10_000)), sizes: Sizes::Fixed };
    assert_eq!(application("source = \"rpc\"\nrequest = \"100b\"\nsize = \"10kb\""), Application::Rpc(rpc));
}

/// A score belongs to its group; a call has a jitter buffer of 60 ms by default.
#[test]
fn groups_have_scores() {
    let score = |keys: &str| check(keys).unwrap_or_else(|error| panic!("{error}")).flows[0].score;
    assert_eq!(score(""), None);
    assert_eq!(score("score = \"video-conference\""), Some(Score::VideoConference));
    let call = |keys: &str| {
        let text = format!(
            "duration = \"10s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"t\"\nkind = \"udp\"\nrate = \"80kbit\"\n\
             packet = \"200b\"\nscore = \"voip\"\n{keys}\n"
        );
        let scenario = Document::parse("test.toml", &text).and_then(|document| document.scenario());
        scenario.unwrap_or_else(|error| panic!("{error}")).flows[0].score
    };
    for (keys, ms) in [("", 60), ("jitter_buffer = \"25ms\"", 25)] {
        assert_eq!(call(keys), Some(Score::Voip { jitter_buffer: Duration::from_millis(ms) }));
    }
}

#[test]
fn a_slip_is_explained() {
    let cases = [
        (
            "source = \"transfer\"",
            7,
            "did you mean \"transfers\"? There are ftp, transfers, web, video, rpc, cbr, exponential, pareto",
        ),
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
        ("segment = \"2s\"", 7, "`segment` is for source = \"video\""),
        ("buffer = \"20s\"", 7, "that of a link is its queue's `limit`"),
        ("source = \"video\"\nladder = [\"1mbit\", \"1mbit\"]", 8, "\"1mbit\" is not above the bit rate before, 1mbit"),
        ("source = \"video\"\nladder = []", 8, "there are 0 bit rates, and a ladder has 1 to 64"),
        ("source = \"video\"\nladder = \"1mbit\"", 8, "a list of bit rates"),
        ("source = \"video\"\nbuffer = \"7s\"", 8, "7s does not hold two segments of 4s"),
        (
            "source = \"video\"\nbuffer = \"20s\"\nreservoir = \"10s\"\ncushion = \"7s\"",
            9,
            "a reservoir of 10s and a cushion of 7s leave no room for a segment of 4s in a buffer of 20s",
        ),
        ("source = \"rpc\"\nrequest = \"100b\"", 4, "`size` is missing"),
        ("source = \"rpc\"\nsize = \"10kb\"\nrequest = \"1001b\"", 9, "from 1b to 1kb"),
        ("request = \"1b\"", 7, "`request` is for source = \"rpc\""),
        ("score = \"voip\"", 7, "a call is UDP at a constant rate"),
        ("score = \"email\"", 7, "there is no score \"email\""),
        ("score = \"web\"\njitter_buffer = \"20ms\"", 8, "a score of \"web\" has no jitter buffer"),
        ("jitter_buffer = \"20ms\"", 7, "there is no score that it belongs to"),
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
        ("source = \"pareto\"\non = \"2s\"\noff = \"3s\"\nrate = \"1mbit\"", 10, "`rate` is for source = \"cbr\""),
    ];
    for (keys, line, said) in cases {
        let Err(error) = check(keys) else { panic!("not refused: {keys}") };
        let shown = error.to_string();
        assert!(shown.contains(said), "{said:?} is not in: {shown}");
        assert_eq!(error.line_column().map(|(line, _)| line), Some(line), "{shown}");
    }
}
