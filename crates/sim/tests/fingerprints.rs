//! The fingerprint of each scenario is the recorded one, in debug and release builds and on every platform.
//!
//! `scenarios/fingerprints.csv` has a line for each scenario: the simulated time, the strict fingerprint (every event,
//! in nanoseconds) and the loose one (packets delivered and dropped by flow and second). `UPDATE_FINGERPRINTS=1`
//! records new ones. A change of the order of events may change the strict fingerprint alone; a change of the loose one
//! means other results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fairlane_scenario::Document;
use fairlane_sim::{Control, Fingerprint, run};

const HEADER: &str = "scenario,until,strict,loose";

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Returns the simulated time: long enough for the queues to fill, short enough for a debug build.
fn until(name: &str) -> &'static str {
    match name {
        "overload" | "peers-100mbit" | "peers-1gbit" => "2s",
        // The last flows start by then.
        "blue-fig6" => "62s",
        _ => "12s",
    }
}

fn fingerprint(name: &str) -> Fingerprint {
    let path = scenarios().join(name).with_extension("toml");
    let mut document = Document::load(&path).unwrap_or_else(|error| panic!("{error}"));
    for (key, value) in [("warmup", "0s"), ("duration", until(name))] {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
    let mut fingerprint = Fingerprint::default();
    run(&scenario, 0, &Control::default(), &mut fingerprint).unwrap_or_else(|error| panic!("{error}"));
    fingerprint
}

/// Would catch any change of a result.
#[test]
fn are_those_on_record() {
    let files = std::fs::read_dir(scenarios()).expect("the folder of scenarios");
    let mut names: Vec<String> = files
        .filter_map(|file| file.ok().map(|file| file.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() >= 10, "{names:?}");
    let mut now = format!("{HEADER}\n");
    for name in &names {
        let fingerprint = fingerprint(name);
        let (strict, loose) = (fingerprint.strict(), fingerprint.loose());
        writeln!(now, "{name},{},{strict:016x},{loose:016x}", until(name)).expect("writing to a string cannot fail");
    }
    let record = scenarios().join("fingerprints.csv");
    if std::env::var_os("UPDATE_FINGERPRINTS").is_some() {
        std::fs::write(&record, &now).expect("the record can be written");
    }
    let recorded = std::fs::read_to_string(&record).unwrap_or_default();
    let of = |text: &str| -> BTreeMap<String, String> {
        text.lines().filter_map(|line| line.split_once(',')).map(|(name, rest)| (name.into(), rest.into())).collect()
    };
    let (was, is) = (of(&recorded), of(&now));
    let changed: Vec<String> = is
        .iter()
        .filter(|(name, line)| was.get(*name) != Some(line))
        .map(|(name, line)| format!("{name}: {line}, recorded {}", was.get(name).map_or("nothing", String::as_str)))
        .collect();
    assert!(changed.is_empty(), "changed:\n{}", changed.join("\n"));
    assert_eq!(was.len(), is.len(), "the record has scenarios that no longer exist");
}

/// Would catch a fingerprint that does not depend on the seed, the queue or the flows.
#[test]
fn change_with_the_scenario() {
    let print = |key: &str, value: &str| {
        let mut document =
            Document::load(scenarios().join("choke-fig3.toml")).unwrap_or_else(|error| panic!("{error}"));
        for (key, value) in [("warmup", "0s"), ("duration", "5s"), (key, value)] {
            document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
        }
        let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
        let mut fingerprint = Fingerprint::default();
        run(&scenario, 0, &Control::default(), &mut fingerprint).unwrap_or_else(|error| panic!("{error}"));
        (fingerprint.strict(), fingerprint.loose())
    };
    let base = print("seed", "1");
    for (key, value) in [("seed", "2"), ("bottleneck.queue.max", "201p"), ("flows.cbr.rate", "2001kbit")] {
        let other = print(key, value);
        assert_ne!(base.0, other.0, "{key}");
    }
    assert_ne!(base.1, print("seed", "2").1);
}
