//! The tables in `docs/disciplines.md`, every discipline under the same traffic, by `fairlane compare --queue all`; and
//! in `docs/deploy.md`, what a flood keeps, by `scenarios/flood.toml`.
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
    let cost = |unit: &str, key: &str| number(&kind[unit][key]);
    format!(
        "| [`{name}`](qdiscs/{name}.md){experimental} | {:.1} ± {:.1} % | {:.0} ± {:.0} | {} | {:.0} | {:.0} | {:.1} % | {} | {:.0} | {:.0} | {:.0} | {:.0} |",
        100.0 * number(&cbr["share"]),
        100.0 * number(&cbr["share_ci95"]),
        number(&ftp["throughput_bps"]) / 1e3,
        number(&ftp["throughput_bps_ci95"]) / 1e3,
        // Nobody's rates have no index.
        ftp["jain"].as_f64().map_or_else(|| "–".to_owned(), |jain| format!("{jain:.2}")),
        number(&queue["delay_s"]["mean"]) * 1e3,
        number(&queue["delay_s"]["p95"]) * 1e3,
        100.0 * dropped / number(&queue["arrived"]),
        kind["flow_state"].as_str().unwrap(),
        cost("cost_instructions", "33_flows"),
        cost("cost_instructions", "10001_flows"),
        cost("cost_ns", "33_flows"),
        cost("cost_ns", "10001_flows"),
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

/// The disciplines, the numbers of downloads and the delays of the table in `docs/deploy.md`.
const FLOODED: [&str; 7] = ["choke", "gchoke", "bare", "sfb", "codel", "pie", "fq-codel"];
const DOWNLOADS: [u32; 4] = [1, 4, 12, 32];
const DELAYS: [(&str, u32, &str); 3] =
    [("100us", 200, "below 1 ms"), ("10ms", 20_000, "20 ms"), ("50ms", 100_000, "100 ms")];

/// Returns the share of the link that the flood of `scenarios/flood.toml` keeps under each of [`FLOODED`].
fn flood_shares(rate_mbit: u32, downloads: u32, delay: &str) -> Vec<f64> {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/flood.toml");
    let sets = [
        format!("flows.download.count={downloads}"),
        format!("bottleneck.delay={delay}"),
        format!("bottleneck.rate={rate_mbit}mbit"),
        format!("flows.flood.rate={}mbit", 2 * rate_mbit),
    ];
    let queues = FLOODED.join(",");
    let mut args = vec!["compare", scenario, "--queue", &queues, "--runs", "3", "--json"];
    args.extend(sets.iter().flat_map(|set| ["--set", set]));
    let compared = json(&args);
    let share = |outcome: &Value| {
        let groups = outcome["groups"].as_array().unwrap();
        number(&groups.iter().find(|group| group["name"] == "flood").unwrap()["share"])
    };
    compared["outcomes"].as_array().unwrap().iter().map(share).collect()
}

/// Would catch a change to a discipline or a transport that silently changes what `fairlane explain` and
/// `docs/deploy.md` say of floods, and a link of other rate to which that does not apply.
#[test]
fn what_floods_keep_is_what_compare_finds() {
    let mut lines = vec![
        "# The share of a link of 10 Mbit/s that a flood keeps: scenarios/flood.toml, by tests/disciplines.rs"
            .to_owned(),
    ];
    lines.push("kind,flows,rtt_us,share".to_owned());
    let (mut table, mut middle) = (String::new(), Vec::new());
    for downloads in DOWNLOADS {
        for (delay, rtt_us, name) in DELAYS {
            let shares = flood_shares(10, downloads, delay);
            lines.extend(
                FLOODED.iter().zip(&shares).map(|(kind, share)| format!("{kind},{downloads},{rtt_us},{share:.3}")),
            );
            let cells: String = shares.iter().map(|share| format!(" {:.0} % |", 100.0 * share)).collect();
            writeln!(table, "| {downloads}, {name} |{cells}").unwrap();
            if (downloads, delay) == (4, "10ms") {
                middle = shares;
            }
        }
    }
    // As many packets fill a link of four times the rate and a quarter of the delay.
    for ((kind, here), there) in FLOODED.iter().zip(middle).zip(flood_shares(40, 4, "2500us")) {
        assert!((here - there).abs() < 0.1, "{kind}: {here} at 10 Mbit/s, {there} at 40");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (csv, page) = (root.join("crates/console/src/floods.csv"), root.join("docs/deploy.md"));
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("| TCP flows, round trip |").expect("the table");
    let heading: String =
        FLOODED.map(|kind| format!(" `{kind}` |")).concat() + "\n|---|" + &"---|".repeat(FLOODED.len()) + "\n";
    let behind = rest.split_once("\n\n").expect("something behind the table").1;
    let expected = [
        (&csv, lines.join("\n") + "\n"),
        (&page, format!("{before}| TCP flows, round trip |{heading}{table}\n{behind}")),
    ];
    for (file, expected) in expected {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(file, &expected).unwrap();
        }
        let published = std::fs::read_to_string(file).unwrap();
        let how = "set UPDATE_DOCS=1 to write it anew, and look at what changed";
        assert!(published == expected, "{}: {how}", file.display());
    }
}
