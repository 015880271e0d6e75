//! A document that a program reads, changes and writes.

use fairlane_scenario::{Document, Kind, Scenario, ScenarioError, Vary};
use toml::Value;

const FILE: &str = r#"# A comment
duration = "10s"
[[links]]
from = "r1"
to = "r2"
rate = "1mbit"
queue = { kind = "choke", limit = "300p", min = "30p", max = "60p", candidates = 2 }
[[flows]]
name = "ftp"
kind = "tcp"
path = ["r1", "r2"]
"#;

fn file() -> Document {
    Document::parse("test.toml", FILE).unwrap_or_else(|error| panic!("{error}"))
}

fn changed(key: &str, value: impl Into<Value>) -> Result<Document, ScenarioError> {
    let mut document = file();
    document.put(key, &value.into(), &format!("scenario[\"{key}\"]"))?;
    document.scenario().map(|_| document)
}

fn scenario(document: &Document) -> Scenario {
    document.scenario().unwrap_or_else(|error| panic!("{error}"))
}

fn again(document: &Document) -> Document {
    Document::parse("test.toml", &document.to_toml()).unwrap_or_else(|error| panic!("{error}"))
}

/// Would catch a value that is lost, or of another type, on the way through a table and through text.
#[test]
fn what_is_read_is_written() {
    assert_eq!(file().to_toml(), FILE);
    let table = file().to_table();
    let made = Document::from_table("made", &table).unwrap();
    assert_eq!(made.to_table(), table);
    assert_eq!(
        format!("{:?}", scenario(&made)),
        format!("{:?}", Scenario { name: "made".into(), ..scenario(&file()) })
    );
    let builtin = Document::builtin();
    assert_eq!(Document::from_table("builtin", &builtin.to_table()).unwrap().to_table(), builtin.to_table());
}

#[test]
fn values_are_found_by_the_keys_that_set_them() {
    let document = file();
    assert_eq!(document.get("duration"), Some("10s".into()));
    assert_eq!(document.get("links.r1-r2.queue.candidates"), Some(2.into()));
    assert_eq!(document.get("flows.ftp.path"), Some(vec!["r1", "r2"].into()));
    assert_eq!(document.get("links.r1-r2.queue").unwrap().as_table().map(toml::Table::len), Some(5));
    for absent in ["", "seed", "flows.udp", "flows.ftp.path.r1", "duration.s", "links.r1-r2.queue.min.x"] {
        assert_eq!(document.get(absent), None, "{absent}");
    }
}

#[test]
fn a_change_is_as_if_the_file_said_so() {
    let document = changed("links.r1-r2.queue.min", "50p").unwrap();
    assert_eq!(document.get("links.r1-r2.queue.min"), Some("50p".into()));
    assert_eq!(again(&document).to_table(), document.to_table());
    // A new table takes the discipline's defaults, and nothing of what stood there.
    let queue: toml::Table = "kind = 'choke'\nmin = '7p'".parse().unwrap();
    let document = changed("links.r1-r2.queue", queue).unwrap();
    let given: Vec<_> = scenario(&document).links[0].forward.queue.parameters().given().map(|(key, _)| key).collect();
    assert_eq!(given, ["min"]);
    // RED has no candidates.
    let document = changed("links.r1-r2.queue.kind", "red").unwrap();
    let queue = &scenario(&again(&document)).links[0].forward.queue;
    assert_eq!(queue.kind(), Kind::Red);
    assert_eq!(queue.parameters().given().map(|(key, _)| key).collect::<Vec<_>>(), ["limit", "min", "max"]);
}

/// Would catch a change that is refused without saying which, or as if it stood in the file.
#[test]
fn refusals_name_the_statement() {
    for (key, value, expected) in [
        (
            "links.r1-r2.rate",
            Value::from(10),
            "scenario[\"links.r1-r2.rate\"]: links.r1-r2.rate: 10 has no unit: write for example \"10mbit\"",
        ),
        (
            "links.r1-r2.rate",
            Value::from(1_000_000),
            "scenario[\"links.r1-r2.rate\"]: links.r1-r2.rate: 1000000 has no unit: write for example \"1000000bit\"",
        ),
        ("duration", Value::from(10), "scenario[\"duration\"]: duration: 10 has no unit: write for example \"10s\""),
        ("seed", "1".into(), "scenario[\"seed\"]: seed: \"1\" is not a count"),
        ("sede", 1.into(), "scenario[\"sede\"]: sede: there is no key \"sede\" here; did you mean \"seed\"?"),
        ("flows.web.rate", "1mbit".into(), "scenario[\"flows.web.rate\"]: `flows` has no \"web\"; there are ftp"),
        ("duration.s", 1.into(), "scenario[\"duration.s\"]: `duration` is a value and has no keys"),
        ("links.r1-r2.queue.limt", "5p".into(), "choke has no parameter \"limt\": did you mean \"limit\"?"),
        ("links.r1-r2.queue.min", "90p".into(), "scenario[\"links.r1-r2.queue.min\"]: links.r1-r2.queue.min: "),
        ("a..b", 1.into(), "\"a..b\" is not a key"),
    ] {
        let error = changed(key, value).expect_err(key).to_string();
        assert!(error.contains(expected), "{key}: {error}");
    }
    assert!(Vary::of("seed", Vec::new()).unwrap_err().to_string().contains("there are no values"));
}
