//! `fairlane characterize`: its output in each form, and its refusals.

mod common;

use std::fs;

use common::{Place, fairlane, json, printed};

/// A run of a few seconds.
const SHORT: [&str; 7] = ["characterize", "codel", "--quick", "--runs", "1", "--only", "friendly,cost"];

fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SHORT.into_iter().chain(more.iter().copied()).collect()
}

/// Would catch a report without DropTail, without the facts that RFC 7928 wants to be disclosed, or with a verdict that
/// the RFC does not know.
#[test]
fn the_terminal_shows_each_section() {
    // However wide the terminal is.
    let text = printed(&short(&[])).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "droptail, codel",
        "friendly TCP-friendly sender, one initial window, section 5.1.1: characterised",
        "cost Cost of the implementation, section 11.2: discussed",
        "83 packets; one BDP is 83",
        "mild 6 (0.1 %), medium 13 (0.5 %), heavy 19 (1 %)",
        "quick",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// Would catch a folder without the scenarios, a scenario that cannot be run by itself, and a page without its figure.
#[test]
fn json_files_and_a_page() {
    let place = Place::new();
    let (out, page) = (place.name("out"), place.name("page.html"));
    let report = json(&short(&["--json", "--out", &out, "--html", &page]));
    assert_eq!(report["subjects"], serde_json::json!(["droptail", "codel"]));
    assert_eq!(report["sections"][0]["verdict"], "characterised");
    let subjects = report["sections"][0]["cases"][0]["subjects"].as_array().unwrap();
    let used = |index: usize| subjects[index]["queue"]["utilisation"]["mean"].as_f64().unwrap();
    assert!(used(0) > 0.9 && used(1) > 0.7, "{} {}", used(0), used(1));
    let written: serde_json::Value = serde_json::from_slice(&fs::read(place.path("out/report.json")).unwrap()).unwrap();
    assert_eq!(written, report);
    let checked = printed(&["check", &place.name("out/friendly-newreno.toml")]);
    assert!(checked.contains("10mbit"), "{checked}");
    let html = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(html.contains("<polygon") || html.contains("class=\"point\""), "no figure");
    assert!(html.contains("characterised") && html.contains("fairlane characterize codel"));
}

#[test]
fn what_it_refuses() {
    for (more, parts) in [
        (&["--only", "frindly"][..], &["no section \"frindly\"", "there are ecn"][..]),
        (&["--buffer", "0p"], &["--buffer", "2bdp"]),
        (&["--rate", "0mbit"], &["above zero"]),
        (&["target=0ms"], &["target"]),
        (&["targt=5ms"], &["targt"]),
    ] {
        let output = fairlane(&["characterize", "codel", "--quick"].iter().chain(more).copied().collect::<Vec<_>>());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{more:?}: {stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{more:?}: {stderr}");
    }
}
