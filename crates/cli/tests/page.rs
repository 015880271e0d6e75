//! `--html`: the data in the pages. `tests/browser` tests their appearance and behaviour.

mod common;

use std::collections::BTreeMap;
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Place, fairlane, printed};

/// The rows of the table that a page offers for download as `name`; the first has the titles.
fn table(page: &str, name: &str) -> Vec<Vec<String>> {
    let (before, _) = page.split_once(&format!("download=\"{name}\"")).unwrap_or_else(|| panic!("no {name}"));
    let (_, data) = before.rsplit_once("href=\"data:text/csv;charset=utf-8;base64,").unwrap();
    let bytes = STANDARD.decode(data.trim_end().trim_end_matches('"')).unwrap();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(bytes.as_slice());
    reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap_or_else(|_| panic!("{cell} is no number"))
}

/// The page and the JSON of the same runs have the same numbers.
#[test]
fn comparison_holds_what_was_measured() {
    let (place, file) = Place::with_small();
    let page = place.name("page.html");
    let args = ["compare", &file, "--queue", "droptail,choke", "--runs", "2", "--json", "--html", &page];
    let json = common::json(&args);
    let page = fs::read_to_string(page).unwrap();
    let groups = table(&page, "all-groups.csv");
    assert_eq!(groups[0][..5], ["bottleneck", "group", "transport", "flows", "throughput_bps"]);
    let mut rows = groups[1..].iter();
    for outcome in json["outcomes"].as_array().unwrap() {
        for group in outcome["groups"].as_array().unwrap() {
            let row = rows.next().unwrap();
            assert_eq!([&row[1], &row[2]], ["name", "transport"].map(|key| group[key].as_str().unwrap()));
            // The JSON is rounded to a whole number of digits; the page is not.
            let measured = group["throughput_bps"].as_f64().unwrap();
            assert!((number(&row[4]) - measured).abs() <= 1e-6 * measured.max(1.0), "{row:?} {measured}");
        }
    }
    assert_eq!(rows.next(), None);
    for figure in
        ["share-of-the-throughput", "what-the-queue-is-made-of", "why-packets-were-dropped", "delay-in-the-queue"]
    {
        assert!(table(&page, &format!("{figure}.csv")).len() > 1, "{figure} has no data");
    }
    assert!(page.contains("fairlane compare") && page.contains("--queue 'droptail,choke'"), "the command is missing");
    assert!(page.contains("name = &quot;small&quot;"), "the scenario is missing");
}

/// The page's timeline has the values that `--series` writes at the same moments, and recording it does not change the outcome.
#[test]
fn course_is_that_of_the_series() {
    let (place, file) = Place::with_small();
    let (alone, beside) = (place.name("alone.html"), place.name("beside.html"));
    let plain = printed(&["run", &file]);
    assert_eq!(printed(&["run", &file, "--html", &alone]), plain);
    // The page shows 400 moments of the four seconds.
    let series = place.name("series.csv");
    printed(&["run", &file, "--html", &beside, "--series", &series, "--interval", "10ms"]);
    let (alone, beside) = (fs::read_to_string(alone).unwrap(), fs::read_to_string(beside).unwrap());
    let name = "throughput-of-each-group-over-time.csv";
    let rows = table(&alone, name);
    assert_eq!(rows, table(&beside, name));
    assert_eq!(rows[0], ["time (s)", "ftp", "cbr"]);
    assert_eq!(rows.len(), 401);
    let mut written: BTreeMap<(String, String), f64> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(place.path("series.flows.csv")).unwrap();
    let titles = reader.headers().unwrap().clone();
    let column = |title: &str| titles.iter().position(|there| there == title).unwrap();
    let (time, flow, rate) = (column("time_s"), column("flow_name"), column("throughput_bps"));
    for row in reader.records() {
        let row = row.unwrap();
        let group = row[flow].split('/').next().unwrap().to_owned();
        *written.entry((format!("{:.3}", number(&row[time])), group)).or_default() += number(&row[rate]);
    }
    for row in &rows[1..] {
        for (cell, group) in row[1..].iter().zip(["ftp", "cbr"]) {
            let expected = written[&(format!("{:.3}", number(&row[0])), group.to_owned())] / 1e6;
            assert!((number(cell) - expected).abs() < 1e-9, "{group} at {}: {cell}, {expected}", row[0]);
        }
    }
}

/// The figure shows each point once, against the key that was varied.
#[test]
fn sweep_has_every_point() {
    let (place, file) = Place::with_small();
    let page = place.name("page.html");
    let vary = ["--vary", "flows.cbr.rate=500kbit,1mbit,2mbit", "--vary", "bottleneck.queue.kind=red,choke"];
    printed(&["sweep", &file, vary[0], vary[1], vary[2], vary[3], "--html", &page]);
    let page = fs::read_to_string(page).unwrap();
    let rows = table(&page, "share-of-cbr.csv");
    assert_eq!(rows[0], ["flows.cbr.rate (Mb/s)", "red", "choke"]);
    let rates: Vec<f64> = rows[1..].iter().map(|row| number(&row[0])).collect();
    assert_eq!(rates, [0.5, 1.0, 2.0]);
}

/// Nothing is computed for a page that cannot be written.
#[test]
fn places_that_will_not_do_are_refused() {
    let (place, file) = Place::with_small();
    let folder = place.path("").display().to_string();
    let nowhere = place.name("none/page.html");
    let same = place.name("same.csv");
    for (args, words) in [
        (vec!["compare", "--html", &nowhere], "make its folder first"),
        (vec!["run", &file, "--html", &folder], "is a folder"),
        (vec!["run", &file, "--html", &same, "--trace", &same], "--html and --trace name the same file"),
        (vec!["sweep", &file, "--vary", "seed=1,2", "--html", &same, "--out", &same], "name the same file"),
    ] {
        let output = fairlane(&args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}
