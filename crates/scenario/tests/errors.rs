//! Messages about wrong files: the place, the problem and the remedy.

mod editor;

use std::fmt::Write;

use fairlane_scenario::{Document, Scenario, ScenarioError};

const DUMBBELL: &str = r#"name     = "test"
duration = "120s"
warmup   = "20s"
seed     = 1

[tcp]
preset = "ns2-1999"

[bottleneck]
rate  = "1mbit"
delay = "1ms"
queue = { kind = "choke", limit = "300p", min = "100p", max = "200p" }

[access]
rate  = "10mbit"
delay = "1ms"

[[flows]]
name = "ftp"
kind = "tcp"
count = 32
cc = "reno"
packet = "1000b"
window = 300
start = "0s..1s"

[[flows]]
name = "cbr"
kind = "udp"
rate = "2mbit"
packet = "1000b"
"#;

const GENERAL: &str = r#"duration = "60s"

[[links]]
from = "a"
to = "b"
rate = "1mbit"

[[links]]
from = "b"
to = "c"
rate = "1mbit"

[[links]]
name = "far"
from = "x"
to = "y"
rate = "1mbit"

[[flows]]
name = "long"
kind = "tcp"
from = "a"
to = "c"

[[flows]]
name = "short"
kind = "udp"
rate = "100kbit"
path = ["b", "c"]
"#;

/// The place that the error must point to, in the text of a case.
const HERE: char = '‸';

/// A slip: the text that is replaced in a valid file, its replacement with the place marked, and parts of the expected
/// message.
type Case = (&'static str, &'static str, &'static [&'static str]);

const DUMBBELL_CASES: &[Case] = &[
    // TOML itself.
    ("rate  = \"1mbit\"", "rate  = ‸1mbit", &["not TOML", "write \"1mbit\""]),
    ("seed     = 1", "seed     = 1\n‸seed = 2", &["not TOML", "duplicate key"]),
    ("seed     = 1", "seed     = ‸99999999999999999999", &["seed: ", "99999999999999999999", "too large"]),
    // Keys.
    ("warmup ", "‸warmpu ", &["no key \"warmpu\"", "did you mean \"warmup\"?", "duration, warmup, seed"]),
    ("delay = \"1ms\"\nqueue", "‸latency = \"1ms\"\nqueue", &["bottleneck.latency: ", "`delay`"]),
    ("preset", "‸presett", &["tcp.presett: ", "did you mean \"preset\"?"]),
    ("preset = \"ns2-1999\"", "‸window = 10", &["tcp.window: ", "[[flows]] window = 300"]),
    ("cc = \"reno\"", "‸rate = \"1mbit\"", &["flows.ftp.rate: ", "kind = \"udp\""]),
    ("cc = \"reno\"", "‸ecn = true", &["flows.ftp.ecn: ", "tcp = { ecn = true }"]),
    ("rate = \"2mbit\"", "rate = \"2mbit\"\n‸cc = \"reno\"", &["flows.cbr.cc: ", "UDP has no congestion control"]),
    ("seed     = 1", "seed     = 1\n‸nodes = [\"a\"]", &["nodes need no list"]),
    // Missing.
    ("rate  = \"1mbit\"\n", "", &["bottleneck.rate: `rate` is missing", "rate = \"1mbit\""]),
    ("rate = \"2mbit\"\n", "", &["flows.cbr.rate: `rate` is missing", "rate = \"2mbit\""]),
    ("kind = \"choke\", ", "", &["bottleneck.queue.kind: `kind` is missing", "kind = \"choke\""]),
    ("name = \"cbr\"\n", "", &["name: `name` is missing"]),
    // Units and types.
    ("\"120s\"", "‸120", &["duration: ", "120 has no unit", "write for example \"120s\""]),
    ("\"120s\"", "‸\"120sec\"", &["duration: ", "\"sec\"", "ns, us, ms, s"]),
    ("\"120s\"", "‸\"-3s\"", &["duration: ", "\"-3s\"", "not negative"]),
    ("\"1mbit\"", "‸\"1mbps\"", &["bottleneck.rate: ", "bytes per second"]),
    ("\"1mbit\"", "‸true", &["bottleneck.rate: ", "text with a unit", "true"]),
    ("max = \"200p\"", "max = ‸200", &["bottleneck.queue.max: ", "200", "\"200p\""]),
    ("max = \"200p\"", "max = ‸[1]", &["bottleneck.queue.max: ", "[1]", "a list"]),
    ("count = 32", "count = ‸\"32\"", &["flows.ftp.count: ", "\"32\"", "without quotes"]),
    ("count = 32", "count = ‸-1", &["flows.ftp.count: ", "-1", "from 1 to 100000000"]),
    ("count = 32", "count = ‸0", &["flows.ftp.count: ", "0", "from 1"]),
    ("count = 32", "count = ‸1.5", &["flows.ftp.count: ", "1.5", "whole number"]),
    ("cc = \"reno\"", "class = ‸\"cs8\"", &["flows.ftp.class: ", "no traffic class \"cs8\"", "cs0, cs1"]),
    ("window = 300", "window = ‸0", &["flows.ftp.window: ", "from 1 to 1000000"]),
    ("window = 300", "window = ‸\"300p\"", &["flows.ftp.window: ", "\"300p\"", "plain whole number"]),
    ("seed     = 1", "seed     = ‸-1", &["seed: ", "-1", "from 0"]),
    ("seed     = 1", "seed     = ‸1979-05-27", &["seed: ", "1979-05-27"]),
    ("name     = \"test\"", "name     = ‸7", &["name: ", "text in quotes", "7"]),
    ("preset = \"ns2-1999\"", "delayed_ack = ‸true", &["tcp.delayed_ack: ", "true"]),
    ("[access]", "[‸access.rate]\n[access.x]", &[]),
    // Ranges.
    ("\"120s\"", "‸\"0s\"", &["duration: ", "\"0s\"", "out of range"]),
    ("\"1mbit\"", "‸\"0bit\"", &["bottleneck.rate: ", "out of range", "1bit to 10tbit"]),
    ("\"2mbit\"", "‸\"0mbit\"", &["flows.cbr.rate: ", "out of range"]),
    ("packet = \"1000b\"\nwindow", "packet = ‸\"0b\"\nwindow", &["flows.ftp.packet: ", "1b to 65535b"]),
    ("packet = \"1000b\"\nwindow", "packet = ‸\"64kib\"\nwindow", &["flows.ftp.packet: ", "1b to 65535b"]),
    ("rate = \"2mbit\"\npacket = \"1000b\"", "rate = ‸\"100gbit\"\npacket = \"1b\"", &["less than a nanosecond"]),
    ("rate = \"2mbit\"", "rate = \"2mbit\"\njitter = ‸1.5", &["flows.cbr.jitter: ", "1.5", "from 0 to 1"]),
    ("rate = \"2mbit\"", "rate = \"2mbit\"\njitter = ‸nan", &["flows.cbr.jitter: ", "nan", "from 0 to 1"]),
    ("rate = \"2mbit\"", "rate = \"2mbit\"\njitter = ‸\"10%\"", &["flows.cbr.jitter: ", "plain number"]),
    ("preset = \"ns2-1999\"", "delayed_ack = ‸\"1s\"", &["tcp.delayed_ack: ", "500ms"]),
    // Contradictions.
    ("\"20s\"", "‸\"120s\"", &["warmup: ", "warm-up of 120s", "nothing to measure", "duration of 120s", "shorter"]),
    ("count = 32", "count = ‸1000000", &["flows.ftp.count: ", "1000000 flows", "100000", "max_flows = 1000000"]),
    ("\"0s..1s\"", "‸\"200s\"", &["flows.ftp.start: ", "\"200s\"", "after the end", "120s"]),
    ("\"0s..1s\"", "‸\"0s..200s\"", &["flows.ftp.start: ", "after the end"]),
    ("\"0s..1s\"", "‸\"2s..1s\"", &["flows.ftp.start: ", "ends before it begins"]),
    ("\"0s..1s\"", "‸\"0..1s\"", &["flows.ftp.start: ", "\"0\"", "\"0s..1s\""]),
    ("\"0s..1s\"", "\"0s..1s\"\nstop = ‸\"1s\"", &["flows.ftp.stop: ", "not after the last start"]),
    ("preset = \"ns2-1999\"", "min_rto = ‸\"100s\"", &["tcp.min_rto: ", "100s", "max_rto, 64s"]),
    ("preset = \"ns2-1999\"", "max_rto = ‸\"1s\"", &["tcp.max_rto: ", "initial_rto is 6s", "max_rto, 1s"]),
    ("preset = \"ns2-1999\"", "‸hystart = true", &["tcp.hystart: ", "slow_start = \"hystart\""]),
    ("preset = \"ns2-1999\"", "‸sack = true", &["tcp.sack: ", "recovery = \"sack\""]),
    ("preset = \"ns2-1999\"", "slow_start = ‸\"hystart+\"", &["tcp.slow_start: ", "standard, hystart, hystart++"]),
    ("preset = \"ns2-1999\"", "recovery = ‸\"tahoe\"", &["tcp.recovery: ", "reno, newreno, sack, rack"]),
    ("cc = \"reno\"", "cc = \"newreno\"\ntcp = { recovery = ‸\"sack\" }", &["newreno is always newreno", "\"reno\""]),
    (
        "cc = \"reno\"",
        "cc = \"bbr\"\ntcp = { recovery = ‸\"reno\" }",
        &["tcp.recovery: ", "bbr is always sack or rack"],
    ),
    ("cc = \"reno\"", "cc = \"vegas\"\ntcp = { slow_start = ‸\"hystart\" }", &["slow_start: ", "its own slow start"]),
    ("cc = \"reno\"", "cc = \"dctcp\"\ntcp = { ecn = ‸false }", &["flows.ftp.tcp.ecn: ", "dctcp goes by ECN marks"]),
    ("cc = \"reno\"", "cc = \"bbr\"\ntcp = { pacing = ‸false }", &["flows.ftp.tcp.pacing: ", "bbr always paces"]),
    ("\"cbr\"", "‸\"ftp\"", &["already a group", "\"ftp\""]),
    ("\"cbr\"", "‸\"c/br\"", &["\"c/br\" is not a name", "letters"]),
    ("\"cbr\"", "‸\"\"", &["is not a name"]),
    ("min = \"100p\"", "min = ‸\"300p\"", &["bottleneck.queue.min: ", "300p"]),
    ("min = \"100p\"", "‸min_th = \"100p\"", &["bottleneck.queue.min_th: ", "did you mean \"min\"?"]),
    ("min = \"100p\"", "probability = ‸1.5", &["bottleneck.queue.probability: ", "1.5"]),
    // Choices.
    ("\"choke\"", "‸\"chok\"", &["bottleneck.queue.kind: ", "\"chok\"", "did you mean \"choke\"?"]),
    ("kind = \"udp\"", "kind = ‸\"dcp\"", &["flows.cbr.kind: ", "\"dcp\"", "tcp, udp, tfrc"]),
    (
        "kind = \"udp\"\nrate",
        "kind = \"endpoint\"\n‸rate",
        &["flows.cbr.rate: ", "an endpoint finds its rate by itself"],
    ),
    (
        "kind = \"udp\"\nrate = \"2mbit\"\npacket",
        "kind = \"endpoint\"\n‸packet",
        &["flows.cbr.packet: ", "gives each datagram its size"],
    ),
    ("cc = \"reno\"", "cc = ‸\"qubic\"", &["flows.ftp.cc: ", "no congestion control", "did you mean \"cubic\"?"]),
    ("cc = \"reno\"", "cc = ‸\"new-reno\"", &["flows.ftp.cc: ", "did you mean \"newreno\"?"]),
    ("preset = \"ns2-1999\"", "preset = ‸\"ns2\"", &["tcp.preset: ", "ns2-1999, modern"]),
    // Structure.
    ("cc = \"reno\"", "to = ‸\"left\"", &["flows.ftp.to: ", "`from` and `to` go together"]),
    ("cc = \"reno\"", "from = ‸\"lef\"\nto = \"right\"", &["no node \"lef\"", "did you mean \"left\"?"]),
    ("queue = { kind", "queue = ‸\"choke\"\nreverse = { kind", &["bottleneck.queue: ", "a table"]),
    // Wires.
    ("queue = { kind", "loss = ‸1.5\nqueue = { kind", &["bottleneck.loss: ", "from 0 to 1"]),
    ("queue = { kind", "loss = ‸\"1%\"\nqueue = { kind", &["bottleneck.loss: ", "a plain number"]),
    ("queue = { kind", "loss = ‸{ p = 0.1 }\nqueue = { kind", &["bottleneck.loss.r: ", "missing", "r = 0.3"]),
    ("queue = { kind", "loss = { p = 0.1, r = 1, ‸h = 0.5 }\nqueue = { kind", &["no key \"h\"", "1-h = 1.0"]),
    (
        "queue = { kind",
        "loss = { p = 0.1, r = 1, 1-h = ‸-1 }\nqueue = { kind",
        &["bottleneck.loss.1-h: ", "from 0 to 1"],
    ),
    ("queue = { kind", "jitter = ‸\"2ms\"\nqueue = { kind", &["jitter of 2ms", "delay of 1ms", "raise `delay`"]),
    ("queue = { kind", "reorder = ‸true\nqueue = { kind", &["without jitter", "jitter = \"2ms\""]),
    ("queue = { kind", "reverse = { loss = ‸true }\nqueue = { kind", &["bottleneck.reverse.loss: ", "a plain number"]),
    ("rate  = \"10mbit\"", "‸loss = 0.1", &["no key \"loss\"", "links between nodes"]),
    ("rate  = \"1mbit\"", "rate = { steps = ‸3 }", &["bottleneck.rate.steps: ", "a list of times and rates"]),
    ("rate  = \"1mbit\"", "rate = ‸{ }", &["`steps` is missing", "[[\"0s\", \"10mbit\"]"]),
    ("rate  = \"1mbit\"", "rate = { steps = ‸[] }", &["there are no steps"]),
    ("rate  = \"1mbit\"", "rate = { steps = [‸\"1mbit\"] }", &["a time and a rate", "is text"]),
    ("rate  = \"1mbit\"", "rate = { steps = [‸[\"0s\"]] }", &["not a time and a rate", "[\"5s\", \"2mbit\"]"]),
    ("rate  = \"1mbit\"", "rate = { steps = [[‸\"1s\", \"1mbit\"]] }", &["first step is at \"0s\"", "1s"]),
    (
        "rate  = \"1mbit\"",
        "rate = { steps = [[\"0s\", \"1mbit\"], [‸\"0ms\", \"2mbit\"]] }",
        &["not after the step before it"],
    ),
    ("rate  = \"1mbit\"", "rate = { steps = [[\"0s\", ‸\"100tbit\"]] }", &["out of range", "from 0bit to 10tbit"]),
    (
        "rate  = \"1mbit\"",
        "rate = { steps = ‸[[\"0s\", \"1mbit\"], [\"1s\", \"0bit\"]] }",
        &["stops for good", "every"],
    ),
    (
        "rate  = \"1mbit\"",
        "rate = { steps = [[\"0s\", \"1mbit\"], [\"1s\", \"2mbit\"]], every = ‸\"1s\" }",
        &["not after the last step"],
    ),
    ("rate  = \"1mbit\"", "rate = { steps = [[\"0s\", \"1mbit\"]], ‸repeat = true }", &["called `every`"]),
];

const GENERAL_CASES: &[Case] = &[
    ("to = \"c\"\n\n[[flows]]", "to = ‸\"y\"\n\n[[flows]]", &["from \"a\" to \"y\"", "from \"a\" one reaches b, c"]),
    ("to = \"c\"\n\n[[flows]]", "to = ‸\"d\"\n\n[[flows]]", &["no node \"d\"", "a, b, c, x, y"]),
    ("to = \"c\"\n\n[[flows]]", "to = ‸\"a\"\n\n[[flows]]", &["begin and end at the same node", "\"a\""]),
    ("[\"b\", \"c\"]", "‸[\"a\", \"c\"]", &["flows.short.path: ", "no link joins \"a\" and \"c\""]),
    ("[\"b\", \"c\"]", "[\"b\", \"c\", ‸\"b\"]", &["visits \"b\" twice"]),
    ("[\"b\", \"c\"]", "‸[\"b\"]", &["two nodes at least"]),
    ("[\"b\", \"c\"]", "[\"b\", ‸3]", &["a name in quotes", "3"]),
    ("[\"b\", \"c\"]", "‸[\"b\", \"c\"]\nto = \"c\"", &["either `path` or `from` and `to`"]),
    ("to = \"y\"", "to = ‸\"x\"", &["begins and ends at \"x\""]),
    ("\"far\"", "‸\"a-b\"", &["already a link called \"a-b\"", "give each link a different name"]),
    ("\"y\"\nrate = \"1mbit\"", "\"y\"\nrate = ‸\"fast\"", &["links.far.rate: ", "\"fast\""]),
    ("\"b\"\nrate = \"1mbit\"", "\"b\"\n‸speed = 1", &["no key \"speed\""]),
    ("[[flows]]\nname = \"long\"", "[‸bottleneck]\n[[flows]]\nname = \"long\"", &[]),
];

fn check(text: &str) -> Result<Scenario, ScenarioError> {
    let read = Document::parse("test.toml", text).and_then(|document| document.scenario());
    editor::agrees(text, &read);
    read
}

/// The error of a case, after its position has been checked.
fn refused(valid: &str, (from, to, parts): &Case) -> ScenarioError {
    assert!(valid.contains(from), "nothing to replace: {from}");
    let marked = valid.replacen(from, to, 1);
    let text = marked.replace(HERE, "");
    let Err(error) = check(&text) else { panic!("not refused: {to}") };
    let shown = error.to_string();
    for part in *parts {
        assert!(shown.contains(part), "{part:?} is not in: {shown}");
    }
    if let (Some(place), false) = (marked.find(HERE), parts.is_empty()) {
        let before = &marked[..place];
        let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
        let column = before.len() - before.rfind('\n').map_or(0, |newline| newline + 1) + 1;
        assert_eq!(error.line_column(), Some((line, column)), "{shown}");
        assert!(shown.starts_with(&format!("test.toml:{line}:{column}: ")), "{shown}");
    }
    error
}

#[test]
fn the_files_under_test_are_valid() {
    for text in [DUMBBELL, GENERAL] {
        check(text).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_path_is_no_longer_than_a_packets_time_to_live() {
    let chain = |links: usize| {
        let link = |i: usize| format!("[[links]]\nfrom = \"n{i}\"\nto = \"n{}\"\nrate = \"1mbit\"\n", i + 1);
        let links = (0..links).map(link).collect::<String>() + &format!("[[flows]]\nto = \"n{links}\"\n");
        check(&format!("duration = \"1s\"\n{links}name = \"a\"\nkind = \"tcp\"\nfrom = \"n0\"\n"))
    };
    assert_eq!(chain(255).map(|scenario| scenario.flows[0].path.len()).ok(), Some(255));
    let error = chain(256).expect_err("too long").to_string();
    assert!(error.contains("flows.a: the path has 256 links"), "{error}");
}

#[test]
fn every_slip_is_placed_and_explained() {
    let mut all = String::new();
    for (valid, cases) in [(DUMBBELL, DUMBBELL_CASES), (GENERAL, GENERAL_CASES)] {
        for case in cases {
            let error = refused(valid, case);
            writeln!(all, "{error}\n").expect("a text can be written");
        }
    }
    // Read as a whole: is each of these a help to somebody?
    insta::assert_snapshot!(all);
}

/// An engine's refusal points at what it cannot do; where the file does not say it, at the table that it would be in.
#[test]
fn an_engine_refuses_with_the_place() {
    let mut document = Document::parse("test.toml", DUMBBELL).unwrap();
    document.set("flows.cbr.jitter", "0.5").unwrap();
    let place = |key: &str| document.refuse(key, "no", "do this").to_string();
    assert_eq!(place("bottleneck.rate"), "test.toml:10:9: bottleneck.rate: no; do this");
    assert_eq!(place("flows.cbr.kind"), "test.toml:29:8: flows.cbr.kind: no; do this");
    assert!(place("bottleneck.loss").starts_with("test.toml:9:1: bottleneck.loss: no"), "{}", place("bottleneck.loss"));
    assert!(place("flows.cbr.jitter").starts_with("--set flows.cbr.jitter=0.5: flows.cbr.jitter: no"));
    assert!(place("flows").starts_with("test.toml:"), "{}", place("flows"));
    assert_eq!(place("links"), "test.toml: links: no; do this");
}
