//! Ctrl-C, and standard output that its reader has closed.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Place, SMALL, fairlane};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn spawn(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fairlane"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[expect(clippy::disallowed_methods, reason = "another process is waited for, and it sends no word")]
fn wait_until(mut there: impl FnMut() -> bool) {
    for _ in 0..15_000 {
        if there() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("waited five minutes for nothing");
}

/// A file about the child in /proc.
fn proc(child: &Child, name: &str) -> String {
    fs::read_to_string(format!("/proc/{}/{name}", child.id())).unwrap_or_default()
}

/// Returns true if the child handles SIGINT, which it does once its input is checked and the work begins.
fn listens(child: &Child) -> bool {
    let status = proc(child, "status");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap_or(0) & (1 << (Signal::SIGINT as u64 - 1)) != 0
}

/// CPU time that the child has used, in hundredths of a second.
fn used(child: &Child) -> u64 {
    let stat = proc(child, "stat");
    let user = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(11)?.parse().ok());
    user.unwrap_or(0)
}

/// Waits until the child has computed for a second.
fn wait_for_work(child: &Child) {
    wait_until(|| listens(child));
    let before = used(child);
    wait_until(|| used(child) >= before + 100);
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
}

fn text(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

/// Finished work is written and printed, and the message counts it.
#[test]
fn an_interrupted_sweep_keeps_its_finished_points() {
    let place = Place::new();
    let file = place.write("long.toml", &SMALL.replace("\"4s\"", "\"200s\""));
    let table = place.name("sweep.csv");
    let page = place.name("sweep.html");
    let vary = ["--vary", "seed=1..5000/5000"];
    let files = ["--table", &table, "--html", &page];
    let mut child =
        spawn(&["sweep", &file, vary[0], vary[1], "--jobs", "1", "--json", files[0], files[1], files[2], files[3]]);
    wait_for_work(&child);
    interrupt(&child);
    let stdout = text(child.stdout.take().unwrap());
    let stderr = text(child.stderr.take().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(2), "{stderr}");
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let outcomes = json["outcomes"].as_array().unwrap();
    assert_eq!(json["partial"], true);
    assert!(!outcomes.is_empty() && outcomes.len() < 5000, "{}", outcomes.len());
    for (seed, outcome) in (1..).zip(outcomes) {
        assert_eq!((&outcome["point"]["seed"], &outcome["to_s"]), (&seed.into(), &200.0.into()));
    }
    assert!(stderr.contains(&format!("{} of 5000 points are done", outcomes.len())), "{stderr}");
    // Both files say that they are parts.
    assert!(!place.path("sweep.csv").exists() && !place.path("sweep.html").exists());
    let page = fs::read_to_string(place.path("sweep.partial.html")).unwrap();
    assert!(page.contains("Partial") && page.contains(&format!("{} of 5000 points are done", outcomes.len())));
    // Two groups a point.
    let table = csv::Reader::from_path(place.path("sweep.partial.csv")).unwrap();
    assert_eq!(table.into_records().count(), 2 * outcomes.len());
}

/// The same command continues an interrupted sweep, and its table is that of a sweep without an interruption. Would
/// catch points that are run again, and the journal of another sweep that is taken for this one's.
#[test]
fn an_interrupted_sweep_goes_on_where_it_ended() {
    let place = Place::new();
    let file = place.write("long.toml", &SMALL.replace("\"4s\"", "\"400s\""));
    let (table, whole) = (place.name("sweep.csv"), place.name("whole.csv"));
    let vary = ["--vary", "flows.cbr.rate=100kbit..10mbit/10log", "--vary", "bottleneck.queue.kind=red,choke,sfq"];
    let sweep = |out: &str| [&["sweep", &file, "--json", "--jobs", "1", "--table", out], &vary[..]].concat().join("\n");
    let args = sweep(&table);
    let args: Vec<&str> = args.lines().collect();
    let journal = place.path("sweep.csv.part");
    let points = || fs::read_to_string(&journal).unwrap_or_default().lines().count().saturating_sub(1);
    let mut child = spawn(&args);
    wait_until(|| points() >= 3);
    interrupt(&child);
    let complaint = text(child.stderr.take().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(2), "{complaint}");
    assert!(complaint.contains("of 30 points are done") && complaint.contains("sweep.partial.csv"), "{complaint}");
    assert!(complaint.contains("run the same command again for the rest"), "{complaint}");

    for (more, difference) in [
        (["--runs", "2"], "it has 1 runs of each point, and not 2"),
        (["--seed", "9"], "it has another seed"),
        (["--set", "bottleneck.delay=2ms"], "it is of another scenario"),
        (["--vary", "flows.ftp.count=1,2"], "it has 30 points, and not 60"),
    ] {
        let output = fairlane(&[&args[..], &more[..]].concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr.contains(difference) && stderr.contains("choose another file with --out"), "{stderr}");
    }

    // A process that was killed left half a line.
    let before = points();
    fs::OpenOptions::new().append(true).open(&journal).unwrap().write_all(b"{\"job\":7,\"outc").unwrap();
    // The queue that tables show is no part of the sweep.
    let output = fairlane(&[&args[..], &["--at", "bottleneck"]].concat());
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{complaint}");
    assert!(complaint.contains(&format!("continuing: {before} of 30 points are finished already")), "{complaint}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let outcomes = json["outcomes"].as_array().unwrap();
    assert_eq!(outcomes.iter().filter(|outcome| outcome["at"] == "bottleneck").count(), 30);
    assert!(!journal.exists() && !place.path("sweep.partial.csv").exists());
    let args = sweep(&whole);
    assert!(fairlane(&args.lines().collect::<Vec<_>>()).status.success());
    assert_eq!(fs::read_to_string(table).unwrap(), fs::read_to_string(whole).unwrap());
}

/// The second Ctrl-C does not wait, not even for a reader that does not read: the pipe is full long before the JSON
/// ends.
#[test]
fn a_second_interruption_ends_at_once() {
    let (_place, file) = Place::with_small();
    let mut child = spawn(&["sweep", &file, "--vary", "seed=1..20000/20000", "--jobs", "1", "--json"]);
    wait_for_work(&child);
    interrupt(&child);
    let mut stderr = child.stderr.take().unwrap();
    let mut word = [0; 9];
    stderr.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"stopping:");
    interrupt(&child);
    // The code by which a shell reports an end by SIGINT.
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!text(stderr).contains("points are done"));
}

/// The second Ctrl-C leaves no temporary file: the trace is a part. The run cannot end by itself after the first one:
/// it waits in a write to a pipe that nobody reads. Would catch a file that is left under its temporary name, or
/// removed.
#[test]
fn a_second_interruption_leaves_a_part() {
    let place = Place::new();
    let file = place.write("endless.toml", &SMALL.replace("\"4s\"", "\"1000000s\""));
    let (trace, pipe) = (place.name("trace.csv"), place.name("pipe.pcap"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Open for both, so that neither end waits for the other.
    let reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let mut child = spawn(&["run", &file, "--json", "--trace", &trace, "--pcap", &pipe]);
    let traces = || -> Vec<(String, u64)> {
        let files = fs::read_dir(place.path("")).unwrap().map(Result::unwrap);
        let named =
            files.map(|file| (file.file_name().into_string().unwrap(), file.metadata().map_or(0, |it| it.len())));
        named.filter(|(name, _)| name.contains("trace")).collect()
    };
    wait_until(|| listens(&child) && traces().iter().any(|(_, length)| *length > 20_000));
    interrupt(&child);
    let mut stderr = child.stderr.take().unwrap();
    let mut word = [0; 9];
    stderr.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"stopping:");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let left = traces();
    assert!(left.len() == 1 && left[0].0 == "trace.partial.csv" && left[0].1 > 20_000, "{left:?}");
    drop(reader);
}

/// The message of an interrupted run names the simulated time that was reached, and its trace ends with a whole row.
#[test]
fn an_interrupted_run_keeps_what_was_measured() {
    let place = Place::new();
    let file = place.write("endless.toml", &SMALL.replace("\"4s\"", "\"1000000s\""));
    // The whole one of an earlier run stays.
    let trace = place.write("trace.csv", "before");
    let mut child = spawn(&["run", &file, "--json", "--trace", &trace]);
    let growing = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".trace.csv.");
    let written = || {
        let mut files = fs::read_dir(place.path("")).unwrap().map(Result::unwrap);
        files.find(growing).is_some_and(|file| file.metadata().is_ok_and(|file| file.len() > 1_000_000))
    };
    wait_until(|| listens(&child) && written());
    interrupt(&child);
    let stdout = text(child.stdout.take().unwrap());
    let stderr = text(child.stderr.take().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(2), "{stderr}");
    let outcome: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(outcome["partial"], true);
    assert!(outcome["to_s"].as_f64().unwrap() < 1_000_000.0);
    assert!(stderr.contains("interrupted") && stderr.contains("measured from 0 s to"), "{stderr}");
    assert!(stderr.contains("its files are") && stderr.contains("trace.partial.csv"), "{stderr}");
    assert_eq!(fs::read_to_string(&trace).unwrap(), "before");
    let arrived = csv::Reader::from_path(place.path("trace.partial.csv")).unwrap().into_records().map(Result::unwrap);
    let arrived = arrived.filter(|row| &row[1] == "bottleneck" && &row[2] == "arrived").count();
    assert_eq!(outcome["queues"][0]["arrived"], arrived);
}

/// The packets of the real capture, repeated `times` times.
fn long_capture(times: u32) -> Vec<u8> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../capture/tests/data/linux-tcp.pcap");
    let once = fs::read(data).unwrap();
    let number = |at: usize| u32::from_le_bytes(once[at..at + 4].try_into().unwrap());
    let mut file = once[..24].to_vec();
    for time in 0..times {
        let mut at = 24;
        while at < once.len() {
            let end = at + 16 + number(at + 8) as usize;
            file.extend((number(at) + 2 * time).to_le_bytes());
            file.extend(&once[at + 4..end]);
            at = end;
        }
    }
    file
}

/// Finished disciplines are printed whole, the interrupted one in part, and the others not at all.
#[test]
fn an_interrupted_replay_keeps_its_finished_disciplines() {
    let place = Place::new();
    let file = place.name("long.pcap");
    fs::write(&file, long_capture(200)).unwrap();
    let args = ["replay", &file, "--rate", "5mbit", "--queue", "all", "--jobs", "1", "--json"];
    let mut child = spawn(&args);
    wait_for_work(&child);
    interrupt(&child);
    let stdout = text(child.stdout.take().unwrap());
    let stderr = text(child.stderr.take().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(2), "{stderr}");
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let outcomes = json["outcomes"].as_array().unwrap();
    assert_eq!(json["partial"], true);
    let (partial, done): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome["partial"] == true);
    assert!(partial.len() <= 1 && !outcomes.is_empty(), "{} in part", partial.len());
    assert!(done.iter().all(|outcome| outcome["queues"][0]["arrived"] == 200 * 1049));
    // It may have been interrupted behind the last arrival, while the queue was sent.
    assert!(partial.iter().all(|outcome| outcome["queues"][0]["arrived"].as_u64() <= Some(200 * 1049)));
    let said = format!("{} of {} disciplines are done", done.len(), fairlane_qdisc::Kind::ALL.len());
    assert!(stderr.contains(&said), "{stderr}");
}

/// As in `fairlane qdiscs | head -1`.
#[test]
fn a_reader_that_has_gone_away_is_no_error() {
    let (_place, file) = Place::with_small();
    for args in [&["qdiscs"][..], &["run", &file, "--json"], &["completions", "bash"], &["explain", "red"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_fairlane")).args(args).stdout(writer).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""), "{args:?}");
    }
    // Standard error is closed too, so only the exit code reports the failure.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = Command::new(env!("CARGO_BIN_EXE_fairlane")).args(["run", "missing"]).stderr(writer).status();
    assert_eq!(status.unwrap().code(), Some(2));
    let mut full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(full.write_all(b"x").is_err());
    let output = Command::new(env!("CARGO_BIN_EXE_fairlane")).arg("qdiscs").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// An interrupted run of claims keeps its finished runs and says so; the next one continues with them.
#[test]
fn claims_go_on_where_they_were() {
    let place = Place::new();
    let state = place.name("state");
    let args = ["paper", "run", "choke-fig5", "--jobs", "1", "--json", "--state", &state];
    let rows = || {
        let file = fs::read_dir(&state).ok().and_then(|mut files| files.next()).and_then(Result::ok);
        file.and_then(|file| fs::read_to_string(file.path()).ok()).unwrap_or_default()
    };
    let mut child = spawn(&args);
    wait_until(|| rows().lines().count() >= 3);
    interrupt(&child);
    let said = text(child.stdout.take().unwrap());
    let complaint = text(child.stderr.take().unwrap());
    assert_eq!(child.wait().unwrap().code(), Some(2), "{complaint}");
    assert!(complaint.contains("some runs are missing; finished ones are kept"), "{complaint}");
    assert!(said.contains("\"partial\": true"), "{said}");
    let before = rows();
    assert!(before.ends_with('\n') && before.lines().count() >= 3, "{before}");

    // The next one reuses them: no row is written again. A concurrent second one, which is soon finished, leaves them
    // alone.
    let mut child = spawn(&args);
    let count = before.lines().count();
    wait_until(|| rows().lines().count() > count);
    let other = fairlane(&["paper", "run", "choke-table3", "--state", &state]);
    let complaint = String::from_utf8_lossy(&other.stderr);
    assert!(other.status.success() && complaint.contains("another `fairlane paper run` keeps"), "{complaint}");
    interrupt(&child);
    let complaint = text(child.stderr.take().unwrap());
    child.wait().unwrap();
    assert!(complaint.contains(&format!("continuing: {count} runs are finished already")), "{complaint}");
    assert!(rows().starts_with(&before));
    let keys: Vec<String> =
        rows().lines().map(|line| line.split("\"row\"").next().unwrap_or_default().to_owned()).collect();
    let once: std::collections::BTreeSet<&String> = keys.iter().collect();
    assert_eq!(once.len(), keys.len(), "a row was measured twice");
}
