//! Records of a link over time.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use flate2::read::GzDecoder;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::fairlane;
use crate::started::{Started, place, shell_in};
use crate::{echo, inside, scenario};

/// Returns the rows of a table, each by the names of its columns.
fn rows(file: &str) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(file).unwrap().deserialize().collect::<Result<_, _>>().unwrap()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

/// The rows of a flow add up to its counts in the outcome, by its number, and each lies in its interval. Would catch
/// samples that are late, a flow with the number of another one, and packets between two samples that no row counts.
#[test]
fn the_rows_of_a_series_add_up() {
    let place = place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let [json, series, page, flent] = ["o.json", "s.csv", "p.html", "f.flent.gz"].map(|name| place.name(name));
    let inside = format!("echo-numbers gateway:{} 300", echo());
    let options =
        ["--json", &json, "--series", &series, "--interval", "50ms", "--html", &page, "--flent", &flent, "--quiet"];
    let options = [&options[..], &[&file]].concat();
    let Some(output) = shell_in(&options, &inside::command(), &[("FAIRLANE_INSIDE", &inside)]) else { return };
    assert!(output.status.success(), "{output:?}");
    let value: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let outcome = &value["outcomes"][0];
    let flows = outcome["flows"].as_array().unwrap();
    let mut sent = vec![0.0; flows.len()];
    let table = rows(&place.name("s.flows.csv"));
    for row in &table {
        let flow = number(row, "flow") as usize;
        assert_eq!(row["flow_name"], flows[flow]["name"].as_str().unwrap());
        // One datagram of 32 bytes a millisecond and flow, at most: 12.8 kbit/s, and half as much again in a rush.
        assert!(number(row, "throughput_bps") <= 1.5 * 32.0 * 8.0 * 1e3, "{row:?}");
        sent[flow] += number(row, "sent");
    }
    let counted: Vec<f64> = flows.iter().map(|flow| flow["sent"].as_f64().unwrap()).collect();
    assert_eq!(sent, counted);
    assert_eq!(counted.iter().filter(|sent| **sent == 300.0).count(), 2, "{counted:?}");
    let queues = rows(&place.name("s.queues.csv"));
    let departed: f64 = queues.iter().map(|row| number(row, "departed")).sum();
    assert_eq!(departed, counted.iter().sum::<f64>());
    let mut times: Vec<f64> = queues.iter().map(|row| number(row, "time_s")).collect();
    times.dedup();
    let to = outcome["to_s"].as_f64().unwrap();
    assert!((times.pop().unwrap() - to).abs() < 1e-6);
    assert!(times.iter().zip(1..).all(|(time, at)| (time - f64::from(at) * 0.05).abs() < 1e-9), "{times:?}");
    assert!(fs::read_to_string(&page).unwrap().contains("udp down"));
    let flent: Value = serde_json::from_reader(GzDecoder::new(fs::File::open(&flent).unwrap())).unwrap();
    let length = |key: &str| flent["results"][key].as_array().unwrap().len();
    let [tcp, udp] = ["TCP download", "UDP upload"].map(length);
    assert_eq!([tcp, udp], [times.len() + 1; 2]);
}

/// Would catch a state that `fairlane top` cannot read, directions that are exchanged, a file that is taken for an old
/// socket, and a socket that is left.
#[test]
fn a_link_is_shown_live() {
    let place = place();
    let file = scenario(&place, "a.toml", "rate = \"100mbit\"", "delay = \"1ms\"\nrate = \"9mbit\"");
    let socket = place.name("link");
    let inside = format!("echo-numbers gateway:{} 6000", echo());
    let options = ["--top", &socket, "--quiet", &file];
    let Some(mut running) = Started::with(&options, &inside::command(), &[("FAIRLANE_INSIDE", &inside)]) else {
        return;
    };
    thread::sleep(Duration::from_millis(1500));
    let shown = fairlane(&["top", &socket, "--once"]);
    let said = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.status.success(), "{shown:?}");
    let at = |part: &str| said.find(part).unwrap_or_else(|| panic!("{part}: {said}"));
    assert!(at("up: droptail, shell") < at("\n9mbit") && at("\n9mbit") < at("down: droptail, shell"), "{said}");
    assert!(at("udp 198.18.0.2:") < at("udp 198.18.0.1:"), "{said}");
    running.signal(Signal::SIGKILL);
    running.code();
    assert!(fs::exists(&socket).unwrap());
    // The next one takes its place, and removes it.
    let again = shell_in(&options, &["true"], &[]).unwrap();
    assert!(again.status.success() && !fs::exists(&socket).unwrap(), "{again:?}");
    let refused = shell_in(&["--top", &file, &file], &["true"], &[]).unwrap();
    assert!(refused.status.code() == Some(2) && fs::exists(&file).unwrap(), "{refused:?}");
}

/// Would catch a full disk that costs the counts, and a capture that lacks packets without a word.
#[test]
fn a_full_disk_costs_the_capture_alone() {
    let place = place();
    let file = scenario(&place, "a.toml", "rate = \"100mbit\"", "delay = \"1ms\"");
    let json = place.name("o.json");
    let inside = format!("echo-numbers gateway:{} 20", echo());
    let options = ["--json", &json, "--pcap", "/dev/full", &file];
    let Some(output) = shell_in(&options, &inside::command(), &[("FAIRLANE_INSIDE", &inside)]) else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("warning: the capture (--pcap) is partial: No space left on device"), "{said}");
    let value: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let sent = |flow: &Value| flow["sent"].as_u64().unwrap();
    assert_eq!(value["outcomes"][0]["flows"].as_array().unwrap().iter().map(sent).max(), Some(20));
}

/// Would catch a table of two disciplines that are mixed, and a file that is written over.
#[test]
fn records_follow_one_run_and_spare_other_files() {
    let place = place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"", "delay = \"1ms\"");
    let out = place.name("out.csv");
    for (options, part) in [
        (&["--queue", "choke,red", "--series", &out][..], "--pcap, --series, --flent and --html follow one run"),
        (&["--queue", "choke,red", "--html", &out], "--pcap, --series, --flent and --html follow one run"),
        (&["--html", &file], "--html"),
        (&["--flent", &file], "--flent"),
        (&["--html", &out, "--flent", &out], "--flent"),
        (&["--series", "out.txt"], "end the name in .csv or .parquet"),
        (&["--interval", "1s"], "--series"),
    ] {
        let output = fairlane(&[&["shell", &file][..], options, &["--", "true"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(part), "{options:?}: {said}");
    }
    assert!(fs::read_to_string(&file).unwrap().starts_with("duration"));
}
