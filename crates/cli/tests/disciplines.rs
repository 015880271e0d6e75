//! The table in `docs/disciplines.md`: every discipline under the same traffic, by `fairlane compare --queue all`.
#![allow(missing_docs, reason = "a test program has no public interface")]

use std::fmt::Write as _;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

const PAGE: &str = "../../docs/disciplines.md";

fn json(args: &[&str]) -> Value {
    let output = Command::cargo_bin("fairlane").unwrap().args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Formats a row of the table: the flood's share, TCP's throughput and Jain's index, the wait, drops, state and cost.
fn row(kind: &Value, outcome: &Value) -> String {
    let queue = &outcome["queues"][0];
    let group = |name: &str| {
        let mut groups = outcome["groups"].as_array().unwrap().iter();
        groups.find(|group| group["name"] == name).unwrap_or_else(|| panic!("no group {name}")).clone()
    };
    let (ftp, cbr) = (group("ftp"), group("cbr"));
    let name = kind["kind"].as_str().unwrap();
    assert_eq!(queue["kind"], name);
    let dropped: f64 = queue["dropped"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| !key.ends_with("_ci95"))
        .map(|(_, n)| number(n))
        .sum();
    let experimental = if kind["experimental"] == true { " *" } else { "" };
    let cost = |key: &str| number(&kind["cost_ns"][key]);
    format!(
        "| [`{name}`](qdiscs/{name}.md){experimental} | {:.1} ± {:.1} % | {:.0} ± {:.0} | {:.2} | {:.0} | {:.0} | {:.1} % | {} | {:.0} | {:.0} |",
        100.0 * number(&cbr["share"]),
        100.0 * number(&cbr["share_ci95"]),
        number(&ftp["throughput_bps"]) / 1e3,
        number(&ftp["throughput_bps_ci95"]) / 1e3,
        number(&ftp["jain"]),
        number(&queue["delay_s"]["mean"]) * 1e3,
        number(&queue["delay_s"]["p95"]) * 1e3,
        100.0 * dropped / number(&queue["arrived"]),
        kind["flow_state"].as_str().unwrap(),
        cost("33_flows"),
        cost("10001_flows"),
    )
}

fn page() -> String {
    let kinds = json(&["qdiscs", "--json"]);
    let compared = json(&["compare", "--queue", "all", "--json"]);
    let outcomes = compared["outcomes"].as_array().unwrap();
    let mut page = include_str!("disciplines.head.md").to_owned();
    for (kind, outcome) in kinds.as_array().unwrap().iter().zip(outcomes) {
        writeln!(page, "{}", row(kind, outcome)).unwrap();
    }
    let machine = include_str!("../../console/src/costs.csv").lines().next().unwrap();
    let machine = machine.trim_start_matches("# ").split(';').next().unwrap();
    page + &include_str!("disciplines.foot.md").replace("MACHINE", machine)
}

/// Would catch a change to a discipline or a transport that silently changes a number of the published table.
#[test]
fn the_table_of_all_disciplines_is_what_compare_finds() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap();
    for (ours, theirs) in page.lines().zip(published.lines()) {
        assert_eq!(ours, theirs, "set UPDATE_DOCS=1 to write the page anew, and look at what changed");
    }
    assert_eq!(page.lines().count(), published.lines().count());
}
