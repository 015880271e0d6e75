//! Refused input: exit code 2, nothing on standard output, and a message with a remedy.

mod common;

use common::{Place, SMALL, fairlane};

/// The arguments, and a part of the expected message.
fn refused(args: &[&str], parts: &[&str]) {
    let output = fairlane(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?} does not say \"{part}\": {stderr}");
    }
}

#[test]
fn numbers_that_cannot_be() {
    let (_place, file) = Place::with_small();
    for runs in ["0", "-1", "1000000000", "many"] {
        refused(&["run", &file, &format!("--runs={runs}")], &["--runs", "from 1 to 100000"]);
    }
    for jobs in ["0", "100000", "x"] {
        refused(&["compare", &file, "--jobs", jobs], &["--jobs", "from 1 to 1024", "leave it out"]);
    }
    refused(&["run", &file, "--seed", "18446744073709551615"], &["--seed", "from 0 to"]);
    refused(&["explain", "red", "--rate", "10"], &["--rate", "unit", "10mbit"]);
    refused(&["explain", "red", "--rate", "0mbit"], &["above zero"]);
}

#[test]
fn words_that_are_not_known() {
    let (_place, file) = Place::with_small();
    refused(&[], &["Usage"]);
    refused(&["comprae"], &["compare"]);
    refused(&["run", &file, "--jsn"], &["--json"]);
    refused(&["compare", &file, "--queue", "chok"], &["did you mean \"choke\""]);
    refused(&["compare", &file, "--queue", "red,,choke"], &["\"\""]);
    refused(&["compare", &file, "--shaper", "auto"], &["there is no shaper \"auto\"", "fixed and autorate"]);
    refused(&["compare", &file, "--shaper", "autorate"], &["no shaper", "shaper = { rate = \"8mbit\" }"]);
    refused(&["explain", "chok"], &["did you mean \"choke\""]);
    refused(&["explain", "choke", "limti=300p"], &["limit"]);
    refused(&["explain", "choke", "limit"], &["KEY=VALUE"]);
    refused(&["run", &file, "--set", "flows.cbr.rat=1mbit"], &["--set flows.cbr.rat=1mbit", "rate"]);
    refused(&["run", &file, "--set", "flows.cbx.rate=1mbit"], &["--set flows.cbx.rate=1mbit", "cbr"]);
    refused(&["run", &file, "--set", "duration"], &["KEY=VALUE"]);
    refused(&["completions", "tcsh"], &["bash"]);
}

#[test]
fn parameters_without_unit_or_sense() {
    let (_place, file) = Place::with_small();
    refused(&["explain", "choke", "limit=300"], &["limit", "unit", "300p"]);
    refused(&["explain", "choke", "min=200p", "max=100p"], &["min", "max"]);
    refused(&["run", &file, "--set", "bottleneck.queue.min=80p"], &["min", "max"]);
    refused(&["sweep", &file, "--vary", "bottleneck.queue.max=50p,10p"], &["--vary bottleneck.queue.max=10p", "20p"]);
    refused(&["sweep", &file, "--vary", "flows.cbr.rate"], &["flows.cbr.rate", "key=a,b,c"]);
    refused(&["sweep", &file], &["--vary"]);
}

/// An error in a file names the line and the column.
#[test]
fn files_that_are_wrong() {
    let place = Place::new();
    let wrong = place.write("wrong.toml", &SMALL.replace("rate = \"1mbit\"", "rate = \"1mbps\""));
    refused(&["run", &wrong], &[&format!("{wrong}:6:8: bottleneck.rate"), "1mbps", "mbit"]);
    let broken = place.write("broken.toml", "duration = ");
    refused(&["compare", &broken], &[&format!("{broken}:1:")]);
    let folder = place.name("");
    refused(&["run", &folder], &["folder", "name a scenario file"]);
    refused(&["run", &place.name("missing.toml")], &["missing.toml", "No such file"]);
    let huge = place.write("huge.toml", &"# x\n".repeat(300_000));
    refused(&["run", &huge], &["larger than 1 MiB"]);
    let plain = place.write(
        "plain.toml",
        "duration = \"1s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n[[flows]]\nname = \"u\"\nkind = \"udp\"\n\
         rate = \"1mbit\"\nfrom = \"a\"\nto = \"b\"\n",
    );
    refused(&["compare", &plain], &["nothing to compare", "queue = {"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    let (place, file) = Place::with_small();
    let missing = place.name("no/such/folder/x.csv");
    refused(&["sweep", &file, "--vary", "seed=1,2", "--out", &missing], &["no/such/folder", "make its folder first"]);
    refused(&["sweep", &file, "--vary", "seed=1,2", "--out", &place.name("x.txt")], &["x.txt", ".csv or .parquet"]);
    refused(&["sweep", &file, "--vary", "seed=1,2", "--out", &place.name("x")], &[".csv or .parquet"]);
    refused(&["run", &file, "--out", &file], &["small.toml is not a folder"]);
    refused(&["run", &file, "--out", &format!("{file}/x")], &["is not a folder"]);
    refused(&["run", &file, "--pcap", &place.name("")], &["is a folder", "name a file"]);
    refused(&["run", &file, "--pcap", &place.name("none/x.pcap")], &["make its folder first"]);
    refused(&["run", &file, "--trace", &place.name("x.txt")], &[".csv or .parquet"]);
    refused(&["man", &file], &["is not a folder"]);
    let both = place.name("x.csv");
    refused(&["run", &file, "--pcap", &both, "--trace", &both], &["same file"]);
    refused(&["run", &file, "--pcap", &both, "--runs", "2"], &["--pcap", "one run", "--seed"]);
    // A refusal leaves nothing behind, not even the file that tested whether the folder can be written.
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let (_place, file) = Place::with_small();
    refused(&["run", &file, "--pcap", "/dev/full"], &["/dev/full", "make room"]);
}
