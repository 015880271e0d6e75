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
    refused(&["compare", &file, "--queue", "FQ_CoDel"], &["did you mean \"fq-codel\""]);
    // Options of other commands, and spaces for commas.
    refused(&["run", &file, "--duration", "5s"], &["--set duration=5s"]);
    refused(&["sweep", &file, "--queue", "red,pie"], &["--vary bottleneck.queue.kind=red,pie"]);
    refused(&["sweep", &file, "--out", "x.csv"], &["--table FILE.csv"]);
    refused(&["check", &file, "--queue=pie"], &["--set bottleneck.queue.kind=pie"]);
    refused(&["compare", &file, "--queue", "droptail", "red", "pie"], &["--queue droptail,red"]);
    refused(&["compare", "--queue", "droptail", "red"], &["--queue droptail,red"]);
    refused(&["run", file.trim_end_matches(".toml")], &["did you mean", "small.toml"]);
    refused(&["plot", "x.flows.csv", "--svg", "x.svg"], &["--json >x.json", "plot x.json --figure series"]);
    // Names that are something else: a discipline, and a scenario that is compiled in.
    refused(&["compare", "choke"], &["choke is a queue discipline", "--queue choke"]);
    refused(&["run", "choke-fig3.toml"], &["did you mean \"choke-fig3\""]);
    // Tables that a command does not have.
    refused(&["run", &file, "--show", "differences"], &["--show differences", "write end-to-end, flows or all"]);
    refused(&["sweep", &file, "--vary", "flows.cbr.rate=1mbit", "--show", "flows"], &["write end-to-end or all"]);
}

/// Would catch a command that simulates a scenario without its transports, or does not say where they are asked for.
#[test]
fn endpoints_without_a_program() {
    let place = Place::new();
    let text = "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"own\"\nkind = \"endpoint\"\n";
    let file = place.write("own.toml", text);
    for args in [&["run"][..], &["check"], &["compare"], &["sweep", "--vary", "bottleneck.rate=1mbit"]] {
        refused(&[args, &[&file]].concat(), &["own.toml:6:8", "flows.own.kind", "run_endpoints", "transports.md"]);
    }
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
    refused(&["check", &wrong], &[&format!("{wrong}:6:8: bottleneck.rate"), "1mbps", "mbit"]);
    let several = SMALL.replace("rate = \"1mbit\"", "rate = \"1mbps\"").replace("duration", "duratoin");
    let several = place.write("several.toml", &several);
    refused(
        &["check", &several],
        &["duratoin: there is no key", "duration: `duration` is missing", "bottleneck.rate: "],
    );
    refused(&["run", "choke-fig55"], &["No such file", "did you mean \"choke-fig5\"", "fairlane scenarios"]);
    refused(&["scenarios", "choke-fig55"], &["there is no scenario", "choke-fig5"]);
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
    refused(&["sweep", &file, "--vary", "seed=1,2", "--table", &missing], &["no/such/folder", "make its folder first"]);
    refused(&["sweep", &file, "--vary", "seed=1,2", "--table", &place.name("x.txt")], &["x.txt", ".csv or .parquet"]);
    refused(&["sweep", &file, "--vary", "seed=1,2", "--table", &place.name("x")], &[".csv or .parquet"]);
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

/// Would catch an output that takes the place of the scenario, of a file that it reads, or of another output, under any
/// name.
#[cfg(unix)]
#[test]
fn no_input_is_an_output() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let table = place.write("flows.csv", "time_s,rate_bps\n0,1000000\n");
    let scenario = SMALL.replace("rate = \"1mbit\"", "rate = { trace = \"flows.csv\" }");
    let file = place.write("me.csv", &scenario);
    symlink("me.csv", place.path("link.csv")).unwrap();
    std::fs::hard_link(&file, place.path("hard.csv")).unwrap();
    std::fs::create_dir(place.path("sub")).unwrap();
    symlink("new.csv", place.path("later.csv")).unwrap();
    let names = std::fs::read_dir(place.path("")).unwrap().count();
    let spelled = place.name("sub/../me.csv");
    let read = ["me.csv", "which is read", "write to another file"];
    for output in [&file, &place.name("link.csv"), &place.name("hard.csv"), &spelled] {
        for option in ["--html", "--pcap", "--trace"] {
            refused(&["run", &file, option, output], &[option, read[1], read[2]]);
        }
        refused(&["compare", &file, "--html", output], &read[1..]);
        refused(&["sweep", &file, "--vary", "seed=1,2", "--table", output], &read[1..]);
    }
    refused(&["run", &file, "--trace", &table], &["flows.csv, which is read"]);
    refused(&["run", &file, "--out", &place.name("")], &["--out would overwrite", "flows.csv, which is read"]);
    let elsewhere = place.write("other.toml", SMALL);
    let vary = "bottleneck.rate.trace=flows.csv,second.csv";
    let second = place.write("second.csv", "time_s,rate_bps\n0,2000000\n");
    refused(&["sweep", &file, "--vary", vary, "--table", &second], &["second.csv, which is read"]);
    for pair in [["new.csv", "later.csv"], ["new.csv", "sub/../new.csv"]] {
        refused(&["run", &elsewhere, "--pcap", &place.name(pair[0]), "--trace", &place.name(pair[1])], &["same file"]);
    }
    let out = place.name("sub");
    refused(
        &["run", &elsewhere, "--out", &out, "--trace", &place.name("sub/queues.csv")],
        &["--trace and --out", "same file"],
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), scenario);
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), names + 2);
}

/// Three million flows in 400 MB of address space, and a thousand. Would catch an allocation that fails, which
/// ends the process by an abort.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_not_there_is_refused() {
    let (_place, file) = Place::with_small();
    let limited = |limit: u32, flows: u32| {
        let program = env!("CARGO_BIN_EXE_fairlane");
        let changes = format!("--set max_flows=9000000 --set flows.ftp.count={flows} --set duration=1ms");
        let script = format!("ulimit -v {limit}; exec '{program}' run '{file}' --jobs 1 {changes}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, stderr) = limited(400_000, 3_000_000);
    assert_eq!(code, Some(2), "{stderr}");
    for part in
        ["this needs at least", "GB of memory", "for 3000001 flows", "for the results", "ulimit -v", "use fewer flows"]
    {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(limited(400_000, 1000).0, Some(0));
}

/// A page that finds no room, as on a full disk: the limit stops it at 16 KiB at the most. Would catch a page that is
/// cut off in the place of the one before, and numbers that are lost with it.
#[cfg(target_os = "linux")]
#[test]
fn a_page_without_room_costs_neither_the_old_one_nor_the_numbers() {
    let (place, file) = Place::with_small();
    let page = place.write("page.html", "the page before");
    let script =
        format!("trap '' XFSZ; ulimit -f 16; exec '{}' run '{file}' --html '{page}'", env!("CARGO_BIN_EXE_fairlane"));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("cannot write") && stderr.contains("page.html"), "{stderr}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("bottleneck"));
    assert_eq!(std::fs::read_to_string(page).unwrap(), "the page before");
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let (_place, file) = Place::with_small();
    refused(&["run", &file, "--pcap", "/dev/full"], &["/dev/full", "make room"]);
}
