//! `fairlane paper`: lists, shows, runs and judges the claims, and continues an interrupted run.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{Place, fairlane, json, keys, printed};
use serde_json::Value;

fn stderr(args: &[&str], code: i32) -> String {
    let output = fairlane(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

/// The numbers of the figures in text such as `Figures 7, 8 and 10 to 12, waits`.
fn figures(place: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    let Some((_, after)) = place.split_once("Figure") else { return numbers };
    let mut range = false;
    for word in after.trim_start_matches('s').split_whitespace() {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        match digits.parse() {
            Ok(number) if range => numbers.extend(numbers.last().map_or(number, |last| last + 1)..=number),
            Ok(number) => numbers.push(number),
            Err(_) if ["and", "to"].contains(&word) => {}
            Err(_) => break,
        }
        range = word == "to";
    }
    numbers
}

#[test]
fn figures_are_counted() {
    assert_eq!(figures("Figures 7, 8a and 10 to 12, waits 3"), [7, 8, 10, 11, 12]);
    assert!(figures("section III").is_empty());
}

/// Every experiment of the five papers has a claim, and each claim has a statement.
#[test]
fn lists_all_claims() {
    let list = json(&["paper", "list", "--json"]);
    let claims = list.as_array().unwrap();
    assert_eq!(
        keys(&claims[0]),
        ["id", "paper", "where", "says", "status", "remark", "experiments", "vectors", "checks"]
    );
    let places = |paper: &str| -> Vec<&str> {
        let of_paper = claims.iter().filter(|claim| claim["paper"] == paper);
        of_paper.map(|claim| claim["where"].as_str().unwrap()).collect()
    };
    // The figures and tables that the papers have.
    for (paper, last, tables) in [
        ("choke", 11, "Table I|Table II|Table III"),
        ("choke-report", 19, ""),
        ("blue-sfb", 19, "Table I|Table II|Table III"),
        ("bare", 12, ""),
        ("choke-variants", 13, "Table 1"),
    ] {
        let places = places(paper);
        let known: BTreeSet<u32> = places.iter().flat_map(|place| figures(place)).collect();
        assert_eq!(known, (1..=last).collect(), "{paper}: {places:?}");
        for table in tables.split('|') {
            assert!(places.iter().any(|place| place.contains(table)), "{paper} has no claim for {table}: {places:?}");
        }
    }
    let text = printed(&["paper", "list"]);
    for claim in claims {
        assert!(text.contains(claim["id"].as_str().unwrap()), "{claim} is not listed");
    }
}

#[test]
fn shows_a_claim() {
    let text = printed(&["paper", "show", "choke-fig5"]);
    for part in [
        "choke-fig5 (choke, Figure 5): met",
        "scenarios/choke-fig5.toml",
        "bottleneck.queue.kind",
        "70 to 79 % (paper 74.1, model 73.3, ns-2 75.5)",
    ] {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
    assert_eq!(json(&["paper", "show", "choke-fig5", "--json"])[0]["id"], "choke-fig5");
}

#[test]
fn an_unknown_claim_is_answered_with_the_nearest() {
    for verb in ["show", "run"] {
        let said = stderr(&["paper", verb, "choke-fgi5"], 2);
        assert!(said.contains("there is no claim \"choke-fgi5\"; did you mean \"choke-fig5\"?"), "{said}");
    }
}

/// Table III of the CHOKe paper is exact, so its claim is met to the last digit.
#[test]
fn runs_and_judges() {
    let place = Place::new();
    let state = place.name("state");
    let text = printed(&["paper", "run", "choke-table3", "--state", &state]);
    for part in ["✓  k = 1: 1 1 1 7: flow 4", "0.4375", "asked: 0.43745 to 0.43755 (paper 0.4375)", "1 claim: 1 met"]
    {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
    let answer = json(&["paper", "run", "choke-table3", "choke-fig2", "--state", &state, "--json"]);
    assert_eq!(keys(&answer), ["claims"]);
    assert_eq!(
        (&answer["claims"][1]["status"], &answer["claims"][0]["status"]),
        (&Value::from("met"), &Value::from("out"))
    );
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "nothing is left to go on with");
}

/// No TCP of 1999 gives UDP of Table I the paper's rate and short flows the paper's ratio at once, and NewReno misses
/// the rate by far: the claim is expected to fall short, and the exit code is 1.
#[test]
fn what_falls_short_is_said() {
    let place = Place::new();
    let (html, docs, state) = (place.name("report.html"), place.name("docs"), place.name("state"));
    let form = ["--short", "--runs", "4"];
    let files = ["--html", &html, "--docs", &docs, "--state", &state];
    let output = fairlane(&[&["paper", "run", "choke-table1-ratio"][..], &form, &files].concat());
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "choke-table1-ratio (choke, Table I, flows of one congested link and of two): fell short",
        "✗  UDP behind R2-R3 with NewReno",
        "1 claim: 1 fell short",
    ] {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
    let page = fs::read_to_string(&html).unwrap();
    for part in [
        "choke-table1-ratio",
        "fell short",
        "missed",
        "<figure id=\"figure-1\"",
        "scenarios/choke-table1.toml",
        "paper run choke-table1-ratio --short",
    ] {
        assert!(page.contains(part), "no {part} on the page");
    }
    // No document is written for a paper whose claims were not all run.
    assert!(!Path::new(&docs).join("choke.md").exists() && Path::new(&docs).join("README.md").exists());
}

/// A single run has no interval, so it decides nothing: that is neither success nor a claim that fell short, and the
/// exit code is 3.
#[test]
fn what_is_not_decided_is_said() {
    let place = Place::new();
    let (html, state) = (place.name("report.html"), place.name("state"));
    let run = ["paper", "run", "bare-fig12", "--short", "--runs", "1", "--state", &state];
    let output = fairlane(&[&run[..], &["--html", &html]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["Figure 12): not decided", "?  weight 4", "more runs are needed (--runs)", "1 claim: 1 not decided"] {
        assert!(text.contains(part), "no \"{part}\" in\n{text}");
    }
    assert!(fs::read_to_string(&html).unwrap().contains("not decided"));
    let output = fairlane(&[&run[..], &["--json"]].concat());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let claim = &answer["claims"][0];
    assert_eq!((&claim["status"], &claim["checks"][0]["verdict"]), (&"undecided".into(), &"undecided".into()));
    assert_eq!((&claim["checks"][0]["met"], output.status.code()), (&Value::Null, Some(3)));
}

#[test]
fn a_place_that_keeps_nothing_is_refused() {
    let place = Place::new();
    let file = place.write("file", "");
    let said = stderr(&["paper", "run", "choke-table3", "--state", &file], 2);
    assert!(said.contains("cannot keep the results in") && said.contains("--state"), "{said}");
    let said = stderr(&["paper", "run", "choke-table3", "--html", &place.name("no/page.html")], 2);
    assert!(said.contains("make its folder first"), "{said}");
}

/// A scenario and a claims file of a reviewer: a link of 1 Mbit/s carries half of 2 Mbit/s.
const OWN_SCENARIO: &str = "duration = \"4s\"\nwarmup = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"cbr\"\nkind = \"udp\"\nrate = \"2mbit\"\njitter = 0.5\n";
const OWN_CLAIMS: &str = r#"
[paper]
id = "mine"
title = "A paper"
authors = "A. Author"
where = "A place, 2026"

[[experiments]]
id = "half"
about = "A flow of twice the link's rate."
scenario = "link.toml"
vary.rate = { key = "flows.cbr.rate", values = ["2mbit", "4mbit"] }
measures = { got = '.groups[0].throughput_bps / 1e6' }

[[claims]]
id = "half-of-it"
where = "Figure 1"
says = "The link carries 1 Mbit/s."
experiments = ["half"]
checks = [{ what = "throughput", at = { rate = "2mbit" }, value = ".got", unit = "Mbit/s", demand = [0.9, 1.1] }]
"#;

/// Would catch own claims that are judged otherwise than those of the papers, that find a scenario in another folder
/// than theirs, and runs that are kept although a file has changed.
#[test]
fn own_claims_are_judged_as_those_of_the_papers() {
    let place = Place::new();
    place.write("link.toml", OWN_SCENARIO);
    let file = place.write("mine.toml", OWN_CLAIMS);
    let state = place.name("state");
    let run = |file: &str| fairlane(&["paper", "run", file, "--runs", "3", "--state", &state, "--json"]);
    let output = run(&file);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let verdicts: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdicts["claims"][0]["status"], "met", "{verdicts}");
    let shown = printed(&["paper", "show", &file]);
    assert!(shown.contains("half-of-it (mine, Figure 1): not run") && shown.contains("link.toml"), "{shown}");
    let wrong = place.write("wrong.toml", &OWN_CLAIMS.replace("[0.9, 1.1]", "[1.9, 2.1]"));
    assert_eq!(run(&wrong).status.code(), Some(1));
    for (right, other, said) in [
        ("about", "abuot", "wrong.toml:10:1: "),
        ("\"link.toml\"", "\"lnik.toml\"", "wrong.toml:9: the experiment half: scenario: "),
        (".groups[0]", ".groups[", "wrong.toml:9: the experiment half: the measure got: "),
        ("flows.cbr.rate", "flows.cbr.rat", "wrong.toml:9: the experiment half: --set flows.cbr.rat=2mbit: "),
        ("experiments = [\"half\"]", "experiments = [\"none\"]", "wrong.toml:16: the claim half-of-it: "),
    ] {
        let wrong = place.write("wrong.toml", &OWN_CLAIMS.replace(right, other));
        let refused = String::from_utf8(run(&wrong).stderr).unwrap();
        assert!(refused.contains(said), "{other}: {refused}");
    }
    // A key that does not exist is a mistake, and no shortfall.
    let wrong =
        place.write("wrong.toml", &OWN_CLAIMS.replace(".groups[0].throughput_bps / 1e6", ".groups[0].throughput"));
    let refused = stderr(&["paper", "run", &wrong, "--state", &place.name("other-state")], 2);
    assert!(refused.contains("throughput: .got gives no number in any run"), "{refused}");
    assert!(stderr(&["paper", "run", &file, "choke-fig3"], 2).contains("one after the other"));
    assert!(stderr(&["paper", "run", &place.name("none.toml")], 2).contains("none.toml"));
}
