//! All mistakes of a file at once.

use fairlane_scenario::Document;

fn mistakes(text: &str) -> Vec<(usize, String)> {
    let document = Document::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let mistakes = document.mistakes();
    assert_eq!(mistakes.is_empty(), document.scenario().is_ok());
    mistakes.iter().map(|error| (error.line_column().map_or(0, |(line, _)| line), error.key().to_owned())).collect()
}

/// Would catch a mistake that hides those after it, one that is named twice, and one that follows from another only.
#[test]
fn each_is_named_once() {
    let text = r#"durations = "10s"
warmup = "1"

[tcp]
preset = "modren"
tick = 5

[bottleneck]
delay = "20"
queue = { kind = "chok", limit = "300p", nonsense = 1 }
reverse = { queue = { kind = "red", min = "50p", max = "20p", limit = 5 } }

[access]
rate = "1gbti"

[[flows]]
name = "a"
kind = "tcp"
source = "vidoe"
segment = "4s"

[[flows]]
name = "b"
kind = "udp"
count = 0
class = "cs9"

[[flows]]
name = "c"
kind = "tcp"
cc = "qubic"
start = "5s"
stop = "2s"
"#;
    let expected = [
        (1, "duration"),
        (1, "durations"),
        (2, "warmup"),
        (5, "tcp.preset"),
        (6, "tcp.tick"),
        (8, "bottleneck.rate"),
        (9, "bottleneck.delay"),
        (10, "bottleneck.queue.kind"),
        (11, "bottleneck.reverse.queue.limit"),
        (11, "bottleneck.reverse.queue.min"),
        (14, "access.rate"),
        (19, "flows.a.source"),
        (22, "flows.b.rate"),
        (25, "flows.b.count"),
        (26, "flows.b.class"),
        (31, "flows.c.cc"),
        (33, "flows.c.stop"),
    ];
    let mut found = mistakes(text);
    found.sort();
    let mut expected = expected.map(|(line, key)| (line, key.to_owned()));
    expected.sort();
    assert_eq!(found, expected);
}

/// Would catch a mistake of the only group, or of a link that a path needs, that brings others with it.
#[test]
fn what_follows_is_not_named() {
    let group = "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"a\"\nkind = \"tpc\"\nrate = \"1mbit\"\n";
    assert_eq!(mistakes(group), [(6, "flows.a.kind".to_owned())]);
    let good = group.replace("tpc", "udp");
    assert_eq!(mistakes(&good), []);
    assert_eq!(mistakes("x = 1\n").len(), 3, "an unknown key, no duration and no network");
}
