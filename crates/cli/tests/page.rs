//! `--html`: the data in the pages. `tests/browser` tests their appearance and behaviour.

mod common;

use std::collections::BTreeMap;
use std::fs;

use common::{Place, fairlane, printed};
use serde_json::Value;

/// The data that a page's script draws.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The figures of a kind.
fn figures<'a>(data: &'a Value, kind: &str) -> Vec<&'a Value> {
    data["figures"].as_array().unwrap().iter().filter(|figure| figure["kind"] == kind).collect()
}

/// The table called `label`: its titles and its columns.
fn table(data: &Value, label: &str) -> (Vec<String>, Vec<Vec<Value>>) {
    let tables = figures(data, "records");
    let table = tables.iter().find(|table| table["label"] == label).unwrap_or_else(|| panic!("no {label}"));
    let fields = table["fields"].as_array().unwrap().iter();
    fields
        .map(|field| (field["title"].as_str().unwrap().to_owned(), field["cells"].as_array().unwrap().clone()))
        .unzip()
}

/// The column with a number: numbers as they are, or as steps, base 32 in the digits of base64, the lowest first, 32
/// added to all but the last, the sign in the lowest bit.
fn column(data: &Value, number: &Value) -> Vec<f64> {
    let column = &data["columns"][number.as_u64().unwrap() as usize];
    if let Some(plain) = column.as_array() {
        return plain.iter().map(|value| value.as_f64().unwrap()).collect();
    }
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut values, mut sum, mut step, mut place) = (Vec::new(), 0_i64, 0_i64, 0);
    for digit in column["steps"].as_str().unwrap().chars() {
        let digit = digits.find(digit).unwrap() as i64;
        step |= (digit & 31) << place;
        place += 5;
        if digit < 32 {
            sum += if step & 1 == 1 { -(step >> 1) } else { step >> 1 };
            values.push(sum as f64 * column["unit"].as_f64().unwrap());
            (step, place) = (0, 0);
        }
    }
    values
}

/// The panel of a stack that is called `title`.
fn panel<'a>(data: &'a Value, title: &str) -> &'a Value {
    let panels = figures(data, "stack").into_iter().flat_map(|stack| stack["panels"].as_array().unwrap());
    panels.into_iter().find(|panel| panel["title"] == title).unwrap_or_else(|| panic!("no {title}"))
}

const TWO_BOTTLENECKS: &str = r#"
duration = "8s"
warmup = "2s"
[[links]]
name = "first"
from = "a"
to = "b"
rate = "2mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "20p" }
[[links]]
name = "second"
from = "b"
to = "c"
rate = "1mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "20p" }
[[flows]]
name = "tcp"
kind = "tcp"
count = 4
from = "a"
to = "c"
[[flows]]
name = "udp"
kind = "udp"
rate = "100kbit"
from = "a"
to = "c"
"#;

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
    let data = data(&page);
    let (titles, columns) = table(&data, "All groups");
    assert_eq!(titles[..5], ["discipline", "group", "transport", "flows", "throughput_bps"]);
    let mut rows = 0..columns[0].len();
    for outcome in json["outcomes"].as_array().unwrap() {
        for group in outcome["groups"].as_array().unwrap() {
            let row = rows.next().unwrap();
            assert_eq!([&columns[1][row], &columns[2][row]], [&group["name"], &group["transport"]]);
            // The JSON is rounded to a whole number of digits; the page is not.
            let measured = group["throughput_bps"].as_f64().unwrap();
            let shown = columns[4][row].as_f64().unwrap();
            assert!((shown - measured).abs() <= 1e-6 * measured.max(1.0), "{row}: {shown}, {measured}");
        }
    }
    assert_eq!(rows.next(), None);
    let [scatter] = figures(&data, "scatter")[..] else { panic!("no scatter") };
    let places = scatter["panels"][0]["places"].as_array().unwrap();
    assert_eq!([&places[0]["name"], &places[1]["name"]], ["droptail", "choke"]);
    for (place, outcome) in places.iter().zip(json["outcomes"].as_array().unwrap()) {
        let delay = outcome["queues"][0]["delay_s"]["mean"].as_f64().unwrap();
        assert!((place["x"].as_f64().unwrap() - 1e3 * delay).abs() <= 1e-3 * (1.0 + delay), "{place}");
    }
    for title in ["Share of the throughput and delay", "What the queue is made of", "Drops by reason"] {
        assert!(page.contains(&format!("aria-label=\"{title}\"")), "no {title}");
    }
    assert!(page.contains("fairlane compare") && page.contains("--queue 'droptail,choke'"), "the command is missing");
    assert!(page.contains("name = &quot;small&quot;"), "the scenario is missing");
}

/// Two bottlenecks of 2 and 1 Mbit/s behind each other, four TCP flows over both and UDP of 100 kbit/s: by max-min
/// fairness UDP has a tenth of what leaves the second. Would catch a page that shows one queue for both, or mixes them
/// up, and a fair share by numbers of flows.
#[test]
fn each_queue_is_shown_by_its_name() {
    let place = Place::new();
    let file = place.write("two.toml", TWO_BOTTLENECKS);
    let page = place.name("page.html");
    let args = ["compare", &file, "--runs", "2", "--json", "--html", &page];
    let json = common::json(&args);
    let page = fs::read_to_string(page).unwrap();
    let means = |name: &str| -> Vec<f64> {
        let outcomes = json["outcomes"].as_array().unwrap().iter();
        let queue = |outcome: &Value| {
            let mut queues = outcome["queues"].as_array().unwrap().iter();
            queues.find(|queue| queue["name"] == name).unwrap()["delay_s"]["mean"].as_f64().unwrap()
        };
        outcomes.map(queue).collect()
    };
    let data = data(&page);
    let scatters = figures(&data, "scatter");
    for (scatter, name) in scatters.iter().zip(["first", "second"]) {
        assert!(page.contains(&format!("Each at its mean delay and throughput: {name}")));
        let places = scatter["panels"][0]["places"].as_array().unwrap();
        assert_eq!(places.len(), means(name).len());
        for (place, mean) in places.iter().zip(means(name)) {
            assert!((place["x"].as_f64().unwrap() - 1e3 * mean).abs() <= 1e-3 * (1.0 + mean), "{place} {mean}");
        }
    }
    assert_eq!(scatters.len(), 2);
    for part in ["mean delay: first", "mean delay: second", ">max-min fair</th>", ">10.0 %</data>", ">90.0 %</data>"] {
        assert!(page.contains(part), "no {part}");
    }
    let only = place.name("only.html");
    printed(&["compare", &file, "--runs", "1", "--at", "second", "--html", &only]);
    let only = fs::read_to_string(only).unwrap();
    assert!(only.contains("queue second") && !only.contains("mean delay: first"));
}

/// The page's timeline has the values that `--series` writes at the same moments, and recording it does not change the
/// outcome.
#[test]
fn course_is_that_of_the_series() {
    let (place, file) = Place::with_small();
    let (alone, beside) = (place.name("alone.html"), place.name("beside.html"));
    let plain = printed(&["run", &file]);
    assert_eq!(printed(&["run", &file, "--html", &alone]), plain);
    // The page shows 800 moments of the four seconds.
    let series = place.name("series.csv");
    printed(&["run", &file, "--html", &beside, "--series", &series, "--interval", "5ms"]);
    let (alone, beside) = (fs::read_to_string(alone).unwrap(), fs::read_to_string(beside).unwrap());
    let data = data(&alone);
    assert_eq!(data["columns"], self::data(&beside)["columns"]);
    let goodput = panel(&data, "Goodput");
    let lines = goodput["lines"].as_array().unwrap();
    assert_eq!([&lines[0]["name"], &lines[1]["name"]], ["ftp", "cbr"]);
    assert!(goodput["warmup"].is_null(), "there is none");
    let times = column(&data, &lines[0]["x"]);
    assert_eq!(times.len(), 800);
    let mut written: BTreeMap<(String, String), f64> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(place.path("series.flows.csv")).unwrap();
    let titles = reader.headers().unwrap().clone();
    let place_of = |title: &str| titles.iter().position(|there| there == title).unwrap();
    let (time, flow, rate) = (place_of("time_s"), place_of("flow_name"), place_of("goodput_bps"));
    for row in reader.records() {
        let row = row.unwrap();
        let group = row[flow].split('/').next().unwrap().to_owned();
        *written.entry((format!("{:.3}", number(&row[time])), group)).or_default() += number(&row[rate]);
    }
    for line in lines {
        let group = line["name"].as_str().unwrap();
        let values = column(&data, &line["y"]);
        let largest = values.iter().copied().fold(0.0, f64::max);
        for (time, value) in times.iter().zip(values) {
            let expected = written[&(format!("{time:.3}"), group.to_owned())] / 1e6;
            // Four digits of the largest value.
            assert!((value - expected).abs() <= 5.001e-4 * largest, "{group} at {time}: {value}, {expected}");
        }
    }
    // Packets are whole, and the thresholds are those of the file.
    let lengths = panel(&data, "Length of the queue");
    let packets = column(&data, &lengths["lines"][0]["y"]);
    let mut reader = csv::Reader::from_path(place.path("series.queues.csv")).unwrap();
    let titles = reader.headers().unwrap().clone();
    let place_of = |title: &str| titles.iter().position(|there| there == title).unwrap();
    let (queue, backlog) = (place_of("queue"), place_of("backlog_packets"));
    let rows = reader.records().map(Result::unwrap).filter(|row| &row[queue] == "bottleneck");
    assert_eq!(packets, rows.map(|row| number(&row[backlog])).collect::<Vec<_>>());
}

/// The figure shows each point once, against the key that was varied.
#[test]
fn sweep_has_every_point() {
    let (place, file) = Place::with_small();
    let page = place.name("page.html");
    let vary = ["--vary", "flows.cbr.rate=500kbit,1mbit,2mbit", "--vary", "bottleneck.queue.kind=red,choke"];
    printed(&["sweep", &file, vary[0], vary[1], vary[2], vary[3], "--html", &page]);
    let page = fs::read_to_string(page).unwrap();
    let data = data(&page);
    let charts = figures(&data, "chart");
    let chart = charts.iter().map(|figure| &figure["chart"]).find(|chart| chart["title"] == "Share of cbr").unwrap();
    assert_eq!(chart["x"]["label"], "flows.cbr.rate (Mb/s)");
    let lines = chart["lines"].as_array().unwrap();
    assert_eq!([&lines[0]["name"], &lines[1]["name"]], ["red", "choke"]);
    for line in lines {
        assert_eq!(column(&data, &line["x"]), [0.5, 1.0, 2.0]);
    }
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
        (vec!["sweep", &file, "--vary", "seed=1,2", "--html", &same, "--table", &same], "name the same file"),
    ] {
        let output = fairlane(&args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
        assert!(output.stdout.is_empty());
    }
}
