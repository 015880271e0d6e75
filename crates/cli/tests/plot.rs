//! `fairlane plot`, `--svg`, `--pdf`, `compare --series`, `--flent` and `--mahimahi`.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

use common::{Place, fairlane, json, printed};
use serde_json::Value;

type Row = BTreeMap<String, String>;

fn rows(path: &str) -> Vec<Row> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// Runs the program and returns its standard output; standard error is not looked at.
fn refusal(args: &[&str]) -> String {
    let output = fairlane(args);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// The same figure from every form in which a sweep is saved, and from the sweep itself. Would catch a number that a
/// form loses.
#[test]
fn every_saved_form_gives_the_same_figure() {
    let (place, file) = Place::with_small();
    let (csv, parquet, svg) = (place.name("s.csv"), place.name("s.parquet"), place.name("s.svg"));
    let vary =
        ["--vary", "flows.cbr.rate=500kbit..4mbit/3log", "--vary", "bottleneck.queue.kind=red,choke", "--runs", "2"];
    let swept = |files: &[&str]| printed(&[&["sweep", &file, "--json"], &vary[..], files].concat());
    let saved = place.write("s.json", &swept(&["--table", &csv, "--svg", &svg]));
    swept(&["--table", &parquet]);
    let drawn = fs::read_to_string(&svg).unwrap();
    assert!(drawn.contains("Share of ftp") && drawn.contains("flows.cbr.rate (Mb/s)") && drawn.contains(">choke<"));
    for (index, form) in [&saved, &csv, &parquet].into_iter().enumerate() {
        let figure = place.name(&format!("{index}.svg"));
        assert_eq!(printed(&["plot", form, "--svg", &figure]), "");
        assert_eq!(fs::read_to_string(&figure).unwrap(), drawn, "{form}");
    }
    let figure = place.name("delay.svg");
    printed(&["plot", &csv, "--measure", "delay", "--svg", &figure]);
    assert!(fs::read_to_string(&figure).unwrap().contains("mean delay (ms)"));
}

/// Each kind of figure, of a comparison and of its tables, and as PDF.
#[test]
fn every_kind_of_figure_is_drawn() {
    let (place, file) = Place::with_small();
    let folder = place.name("tables");
    let (svg, pdf) = (place.name("a.svg"), place.name("a.pdf"));
    let args = ["compare", &file, "--queue", "droptail,choke", "--json", "--out", &folder];
    let series = ["--series", &place.name("x.csv"), "--svg", &svg, "--pdf", &pdf];
    let saved = place.write("c.json", &printed(&[&args[..], &series].concat()));
    assert!(fs::read_to_string(&svg).unwrap().contains("max-min fair"));
    assert!(fs::read(&pdf).unwrap().starts_with(b"%PDF-"));
    for (options, word) in [
        (&["--figure", "shares"][..], "max-min fair"),
        (&["--figure", "delays"], "delay in the queue (ms)"),
        (&["--figure", "scatter", "--group", "ftp"], "throughput of ftp"),
        (&["--figure", "series"], "Length of the queue (packets)"),
        (&["--figure", "series", "--measure", "window", "--group", "ftp"], "Congestion window of ftp"),
    ] {
        let out = place.name("b.svg");
        printed(&[&["plot", &saved, "--svg", &out], options].concat());
        let drawn = fs::read_to_string(&out).unwrap();
        assert!(drawn.contains(word) && drawn.contains("droptail") && drawn.contains("choke"), "{options:?}");
    }
    // The folder has no series.
    printed(&["plot", &folder, "--figure", "delays", "--svg", &place.name("d.svg")]);
    assert!(refusal(&["plot", &folder, "--figure", "series", "--svg", &svg]).contains("compare --series"));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let (place, file) = Place::with_small();
    let saved = place.write("c.json", &printed(&["run", &file, "--json"]));
    let svg = place.name("a.svg");
    for (args, words) in [
        (&["plot", &saved][..], "name it with --svg FILE or --pdf FILE"),
        (&["plot", &saved, "--svg", &saved], "would overwrite"),
        (&["plot", &file, "--svg", &svg], "cannot read outcomes from"),
        (&["plot", &saved, "--group", "web", "--svg", &svg], "name one of them: cbr, ftp"),
        (&["plot", &saved, "--at", "uplink", "--svg", &svg], "name one of them: bottleneck"),
        (&["plot", &saved, "--figure", "sweep", "--svg", &svg], "--figure shares"),
    ] {
        let said = refusal(args);
        assert!(said.contains(words), "{said}");
    }
    assert!(!place.path("a.svg").exists());
}

/// The rows of each discipline add up to its outcome, and the printed series is that of the same run. Would catch
/// series of another discipline or run.
#[test]
fn a_comparison_has_a_series_of_each_discipline() {
    let (place, file) = Place::with_small();
    let series = ["--series", &place.name("x.csv"), "--interval", "200ms"];
    let printed = json(&[&["compare", &file, "--queue", "red,choke", "--runs", "1", "--json"], &series[..]].concat());
    for (index, kind) in ["red", "choke"].into_iter().enumerate() {
        let queue = &printed["outcomes"][index]["queues"][0];
        assert_eq!(queue["kind"], kind);
        let queues = rows(&place.name(&format!("x.{kind}.queues.csv")));
        let flows = rows(&place.name(&format!("x.{kind}.flows.csv")));
        assert_eq!((queues.len(), flows.len()), (20, 4 * 20));
        for column in ["arrived", "departed"] {
            let sum: f64 = queues.iter().map(|row| number(row, column)).sum();
            assert_eq!(sum, queue[column].as_f64().unwrap(), "{kind}: {column}");
        }
        let shown = &printed["series"][index];
        let lengths: Vec<f64> = queues.iter().map(|row| number(row, "backlog_packets")).collect();
        let packets: Vec<f64> =
            shown["queues"][0]["packets"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
        assert_eq!(packets, lengths, "{kind}");
    }
    let refused = refusal(&[
        "compare",
        &file,
        "--queue",
        "red",
        "--series",
        &place.name("x.csv"),
        "--html",
        &place.name("x.red.flows.csv"),
    ]);
    assert!(refused.contains("name the same file"), "{refused}");
}

/// A probe of 100 byte every 200 ms in addition to the flows of the small scenario.
const PING: &str = "\n[[flows]]\nname = \"ping\"\nkind = \"udp\"\nrate = \"4kbit\"\npacket = \"100b\"\n";

/// flent's format 4: its required keys, series as long as the axis, and values that add up to the outcome. A ping takes
/// at least the way there and back of 2 × 1 ms, and at most the queue of 100 packets of 8 ms.
#[test]
fn flent_files_have_what_flent_reads() {
    let (place, _) = Place::with_small();
    let file = place.write("ping.toml", &(common::SMALL.to_owned() + PING));
    let written = place.name("x.flent.gz");
    let outcome = json(&["run", &file, "--json", "--flent", &written]);
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(&written).unwrap()).read_to_string(&mut text).unwrap();
    let data: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((data["version"].as_u64(), &data["metadata"]["NAME"]), (Some(4), &"tcp_nup".into()));
    assert_eq!(data["metadata"]["TEST_PARAMETERS"]["upload_streams"], "3");
    assert_eq!(data["metadata"]["T0"], "1970-01-01T00:00:00.000000Z");
    let axis = data["x_values"].as_array().unwrap();
    assert_eq!((axis.len(), axis[0].as_f64(), axis[19].as_f64()), (20, Some(0.2), Some(4.0)));
    for (name, values) in data["results"].as_object().unwrap() {
        assert_eq!(values.as_array().unwrap().len(), 20, "{name}");
    }
    for flow in 1..=3 {
        let values = data["results"][format!("TCP upload::{flow}")].as_array().unwrap();
        let megabits: f64 = values.iter().map(|value| 0.2 * value.as_f64().unwrap()).sum();
        let goodput = outcome["flows"][flow - 1]["goodput_bps"].as_f64().unwrap();
        assert!((megabits / 4.0 - goodput / 1e6).abs() < 1e-9);
        let raw = data["raw_values"][format!("TCP upload::{flow}")].as_array().unwrap();
        assert!(raw.len() == 20 && raw.iter().all(|value| value["t"].is_number() && value["val"].is_number()));
    }
    let pings = data["raw_values"]["Ping (ms) ICMP"].as_array().unwrap();
    assert!(pings.len() > 5, "{}", pings.len());
    for ping in pings {
        let took = ping["val"].as_f64().unwrap();
        assert!((2.0..2.0 + 101.0 * 8.0).contains(&took), "{took}");
    }
}

/// The demands of mm-throughput-graph(1) on a log: a base timestamp, whole numbers, known events, and no delay from
/// before the start. The link of 1 Mbit/s has an opportunity of 1504 byte every 12.032 ms, 332 in 4 s; packets and
/// delays are those of the trace.
#[test]
fn mahimahi_reads_the_link() {
    let (place, file) = Place::with_small();
    let (log, table) = (place.name("x.log"), place.name("t.csv"));
    let outcome = json(&["run", &file, "--json", "--mahimahi", &log, "--trace", &table]);
    let text = fs::read_to_string(&log).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("# base timestamp: 0")).count(), 1);
    let events: Vec<Vec<&str>> =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect()).collect();
    let of = |sign: &str| events.iter().filter(|event| event[1] == sign).collect::<Vec<_>>();
    assert_eq!(events.len(), of("+").len() + of("-").len() + of("#").len());
    let times: Vec<u64> = events.iter().map(|event| event[0].parse().unwrap()).collect();
    assert!(times.is_sorted() && times.last() <= Some(&4000));
    assert_eq!(of("#").len(), 332);
    assert!(of("#").iter().all(|event| event[2] == "1504"));
    assert_eq!(outcome["queues"][0]["arrived"], of("+").len());
    // The last packet is still being sent.
    let departed = outcome["queues"][0]["departed"].as_u64().unwrap();
    assert!(of("-").len() as u64 == departed || of("-").len() as u64 + 1 == departed);
    let trace = rows(&table);
    let left = trace.iter().filter(|row| row["event"] == "departed" && row["queue"] == "bottleneck");
    for (event, row) in of("-").into_iter().zip(left) {
        // A packet of 1000 byte takes 8 ms; both ends are cut to milliseconds.
        let expected = number(row, "sojourn_ns") / 1e6 + 8.0;
        let (time, delay): (f64, f64) = (event[0].parse().unwrap(), event[3].parse().unwrap());
        assert!((delay - expected).abs() <= 1.0 && delay <= time, "{event:?}, {expected}");
    }
    let opportunities = fs::read_to_string(place.path("x.trace")).unwrap();
    let expected: String = of("#").iter().map(|event| format!("{}\n", event[0])).collect();
    assert_eq!(opportunities, expected);
    // A scenario reads the link back.
    let again = common::SMALL.replacen("\"1mbit\"", "{ trace = \"x.trace\" }", 1);
    printed(&["run", &place.write("again.toml", &again), "--json"]);
    assert!(refusal(&["run", &file, "--mahimahi", &place.name("x.txt")]).contains("end its name in .log"));
}
