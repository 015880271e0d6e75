//! Time series: the rows add up to the counts of the outcome and of the trace.

mod common;

use std::collections::BTreeMap;

use common::{Place, fairlane, json};

/// A row of a table, by the names of its columns.
type Row = BTreeMap<String, String>;

fn rows(path: &str) -> Vec<Row> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

fn number(row: &Row, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column}: {:?}", row[column]))
}

fn sum<'a>(rows: impl Iterator<Item = &'a Row>, column: &str) -> f64 {
    rows.map(|row| number(row, column)).sum()
}

/// 4 s in intervals of 0.3 s: 13 whole ones and one of 0.1 s. Would catch counts that are lost between rows or counted
/// twice, and rates over a time other than the interval.
#[test]
fn the_rows_add_up_to_the_outcome() {
    let (place, file) = Place::with_small();
    let lossy = ["--set", "bottleneck.loss=0.02"];
    let args = ["run", &file, "--json", "--series", &place.name("s.csv"), "--interval", "300ms"];
    let outcome = json(&[&args[..], &lossy[..]].concat());
    let (flows, queues) = (rows(&place.name("s.flows.csv")), rows(&place.name("s.queues.csv")));
    assert_eq!((flows.len(), queues.len()), (4 * 14, 14));
    let times: Vec<f64> = queues.iter().map(|row| number(row, "time_s")).collect();
    for (index, time) in times.iter().enumerate() {
        assert!((time - (0.3 * (index + 1) as f64).min(4.0)).abs() < 1e-9, "{time}");
    }
    let lengths: Vec<f64> = times.iter().scan(0.0, |before, now| Some(now - std::mem::replace(before, *now))).collect();
    for flow in outcome["flows"].as_array().unwrap() {
        let of: Vec<&Row> = flows.iter().filter(|row| row["flow_name"] == flow["name"].as_str().unwrap()).collect();
        for column in ["sent", "delivered", "dropped", "retransmitted", "timeouts"] {
            assert_eq!(sum(of.iter().copied(), column), flow[column].as_f64().unwrap(), "{column}");
        }
        assert_eq!(sum(of.iter().copied(), "lost"), flow["lost"].as_f64().unwrap_or(0.0));
        let bits =
            |column: &str| of.iter().zip(&lengths).map(|(row, length)| number(row, column) * length).sum::<f64>();
        assert!((bits("goodput_bps") / 4.0 - flow["goodput_bps"].as_f64().unwrap()).abs() < 1e-6);
        // Every packet has 1000 bytes.
        assert!((bits("throughput_bps") - 8000.0 * flow["delivered"].as_f64().unwrap()).abs() < 1e-3);
    }
    let queue = &outcome["queues"][0];
    for column in ["arrived", "departed", "marked"] {
        assert_eq!(sum(queues.iter(), column), queue[column].as_f64().unwrap(), "{column}");
    }
    let dropped: f64 = queue["dropped"].as_object().unwrap().values().map(|count| count.as_f64().unwrap()).sum();
    assert_eq!(sum(queues.iter(), "dropped"), dropped);
    let lost: f64 = flows.iter().map(|row| number(row, "lost")).sum();
    assert!(lost > 0.0 && queue["lost"].as_f64() == Some(lost));
}

/// The queue's length at each moment is that of the trace, and TCP's window and round trip are within the bounds of a
/// link of 1 Mbit/s with at most 100 packets of 8 ms.
#[test]
fn the_state_at_each_end_is_right() {
    let (place, file) = Place::with_small();
    let files = ["--series", &place.name("s.csv"), "--interval", "50ms", "--trace", &place.name("t.csv")];
    json(&[&["run", &file, "--json"], &files[..]].concat());
    let trace = rows(&place.name("t.csv"));
    let queues = rows(&place.name("s.queues.csv"));
    assert_eq!(queues.len(), 80);
    let mut waited = 0;
    for row in &queues {
        let end = (number(row, "time_s") * 1e9).round();
        let before = trace.iter().filter(|event| event["queue"] == "bottleneck" && number(event, "time_ns") < end);
        let backlog: i64 = before.map(|event| if event["event"] == "arrived" { 1 } else { -1 }).sum();
        assert_eq!(number(row, "backlog_packets"), backlog as f64, "at {end}");
        assert_eq!(number(row, "backlog_bytes"), 1000.0 * backlog as f64);
        waited += backlog;
    }
    assert!(waited > 100, "the queue was never long: {waited}");
    for row in rows(&place.name("s.flows.csv")) {
        if row["flow_name"] == "cbr/0" {
            assert_eq!((row["cwnd"].as_str(), row["srtt_s"].as_str()), ("", ""));
        } else {
            assert!(number(&row, "cwnd") >= 1.0);
            // Three links of 1 ms each way, and a packet takes 0.8 + 8 + 0.8 ms; RFC 6298's clock has 100 ms.
            assert!(row["srtt_s"].is_empty() || (0.0..=1.0).contains(&number(&row, "srtt_s")), "{row:?}");
        }
    }
}

/// Observing a run does not change its outcome.
#[test]
fn a_watched_run_is_the_same() {
    let (place, file) = Place::with_small();
    let mut plain = json(&["run", &file, "--json"]);
    let mut watched = json(&["run", &file, "--json", "--series", &place.name("s.parquet"), "--interval", "7ms"]);
    for outcome in [&mut plain, &mut watched] {
        outcome.as_object_mut().unwrap().remove("cost");
    }
    assert!(watched.as_object_mut().unwrap().remove("series").is_some());
    assert_eq!(plain, watched);
    for name in ["s.flows.parquet", "s.queues.parquet"] {
        assert!(place.path(name).metadata().unwrap().len() > 100, "{name}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let (place, file) = Place::with_small();
    let refused = |more: &[&str], parts: &[&str]| {
        let output = fairlane(&[&["run", &file], more].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{more:?}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{more:?} does not say \"{part}\": {stderr}");
        }
    };
    let series = place.name("s.csv");
    refused(&["--interval", "1s"], &["--series"]);
    refused(&["--series", &series, "--interval", "100"], &["--interval", "unit"]);
    refused(&["--series", &series, "--interval", "10ns"], &["at least 1us"]);
    refused(&["--series", &place.name("s.txt")], &[".csv or .parquet"]);
    refused(&["--series", &series, "--trace", &place.name("s.flows.csv")], &["--trace and --series", "same file"]);
    refused(&["--series", &series, "--runs", "2"], &["--series", "one run"]);
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 1);
}
