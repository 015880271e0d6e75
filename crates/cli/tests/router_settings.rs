//! `fairlane router`: its settings from the command line and the file, refusals and dry runs.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/namespace.rs"]
#[allow(dead_code, reason = "the helpers of running routers use a part of it")]
mod namespace;
#[path = "common/running.rs"]
mod running;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use common::{Place, fairlane, printed};
use running::{refused, said};

#[test]
fn what_is_missing_or_cannot_be_is_refused() {
    let router = |rest: &[&'static str]| [&["router"], rest].concat();
    refused(&router(&["--rate", "1mbit", "choke"]), &["a router needs --queue-num", "--config"]);
    refused(&router(&["--queue-num", "0", "choke"]), &["a router needs --rate", "10mbit"]);
    refused(&router(&["--queue-num", "0", "--rate", "1mbit"]), &["a router needs a discipline"]);
    refused(&router(&["--queue-num", "65536", "--rate", "1mbit", "choke"]), &["65536"]);
    for range in ["0:", ":3", "0:1:2", "1:65536"] {
        refused(&router(&["--queue-num", range, "--rate", "1mbit", "choke"]), &["or a range such as 0:3"]);
    }
    refused(&router(&["--queue-num", "3:0", "--rate", "1mbit", "choke"]), &["queue-num: 3:0 ends before it begins"]);
    refused(&router(&["--queue-num", "0:64", "--rate", "1mbit", "choke"]), &["0:64 has more than 64 queues"]);
    refused(&router(&["--queue-num", "0", "--rate", "10", "choke"]), &["unit"]);
    refused(&router(&["--queue-num", "0", "--rate", "1mbit", "choke", "min=200p", "max=100p"]), &["min", "max"]);
    refused(&router(&["--queue-num", "0", "--rate", "1mbit", "--overhead", "38", "choke"]), &["-64b to 256b"]);
    refused(&router(&["--queue-num", "0", "--rate", "1mbit", "--mpu", "257b", "choke"]), &["0b to 256b"]);
    refused(&router(&["--queue-num", "0", "--rate", "1mbit", "--marks", "1", "choke"]), &["two bits"]);
    refused(&router(&["--queue-num", "0", "--rate", "1mbit", "--metrics", "nowhere", "choke"]), &["127.0.0.1:9277"]);
    refused(
        &router(&["--queue-num", "0", "--rate", "1mbit", "--gso", "choke"]),
        &["gso needs --interface", "leave gso out"],
    );
    refused(
        &router(&["--queue-num", "0", "--rate", "1mbit", "--interface", "lo", "--gso", "cake", "wash=true"]),
        &["--gso and wash exclude each other", "leave --gso or wash out"],
    );
    refused(
        &router(&["--bridge", "lan0,wan0", "--rate", "1mbit", "cake", "nat=true"]),
        &["nat needs an NFQUEUE", "leave nat or --bridge out"],
    );
    refused(
        &router(&["--queue-num", "0", "--rate", "1mbit", "--interface", "nosuch0", "--gso", "choke"]),
        &["there is no interface \"nosuch0\""],
    );
    let unknown = router(&["--queue-num", "0", "--rate", "1mbit", "--interface", "nosuch0", "choke"]);
    refused(&unknown, &["there is no interface \"nosuch0\"", "ip link"]);
    refused(
        &router(&["--queue-num", "0", "--rate", "1mbit", "--interface", "eth+", "choke"]),
        &["cannot be used in a rule"],
    );
    refused(&router(&["--clean", "--queue-num", "0"]), &["--clean"]);
}

/// An error in a file names the line and the column.
#[test]
fn errors_of_the_file_have_their_place() {
    let place = Place::new();
    for (text, parts) in [
        ("queue-num = 0\nrate = 10mbit\n", &[":2:8: this is not TOML", "\"10mbit\""][..]),
        ("rate = \"1mbit\"\nrate = \"2mbit\"\n", &[":2:1: this is not TOML: duplicate key\n"]),
        ("queue-num = 0\n\nrate = \"10\"\n", &[":3:8: rate: a rate cannot be \"10\"", "unit"]),
        ("queue-num = -1\n", &[":1:13: queue-num: write a number from 0 to 65535, or a range such as 0:3"]),
        ("queue_num = 0\n", &[":1:1: there is no key \"queue_num\"; the keys are path, queue-num, bridge, rate"]),
        (
            "flows = \"all\"\n",
            &[":1:9: flows: \"all\" is none of five-tuple, inner, address-pair, source-address, destination-address"],
        ),
        ("interface = [\"lo\", [1]]\n", &[":1:20: interface: expected one value"]),
        ("fail-open = 1\n", &[":1:13: fail-open: write true or false"]),
        ("gso = \"on\"\n", &[":1:7: gso: write true or false"]),
        ("queue = \"choke\"\n", &[":1:9: queue: expected a table"]),
        ("queue = { limit = \"300p\" }\n", &[":1:9: queue: it needs a kind"]),
        (
            "queue = { kind = \"chok\" }\n",
            &[":1:18: queue.kind: there is no queue discipline", "did you mean \"choke\""],
        ),
        ("queue = { kind = \"choke\", limit = 300 }\n", &[":1:35: queue.limit: ", "300p"]),
        ("queue = { kind = \"choke\", limit = [1] }\n", &[":1:35: queue.limit: expected one value"]),
    ] {
        let file = place.write("router.toml", text);
        let mut expected = vec!["router.toml"];
        expected.extend(parts);
        refused(&["router", "--config", &file, "--dry-run"], &expected);
    }
    // A contradiction between parameters has no single place in the file.
    let contradicts = "queue-num = 0\nrate = \"1mbit\"\nqueue = { kind = \"choke\", min = \"10p\", max = \"5p\" }\n";
    refused(
        &["router", "--config", &place.write("router.toml", contradicts)],
        &["router.toml: choke min: 10p is above max"],
    );
    refused(&["router", "--config", &place.name("none.toml")], &["cannot read", "none.toml"]);
}

/// Would catch an option that only the file or only the command line has, and a file that takes precedence over the
/// command line.
#[test]
fn a_dry_run_says_what_the_file_and_the_command_line_say_together() {
    let place = Place::new();
    let text = "
queue-num = 3
rate = \"10mbit\"
overhead = \"-4b\"
mpu = \"84b\"
framing = \"ptm\"
flows = \"address-pair\"
fail-open = true
drain = \"5s\"
metrics = 9277
log = \"json\"
marks = 0x30
queue = { kind = \"red\", limit = \"30p\", ecn = true, probability = 0.5 }
";
    let file = place.write("router.toml", text);
    let (code, stdout, stderr) = said(&fairlane(&["router", "--config", &file, "--dry-run"]));
    assert_eq!((code, &*stderr), (Some(0), ""));
    for part in [
        "Queue 3, flows by address-pair\nLink of 10mbit, overhead -4b, mpu 84b, ptm\nECN marks are written by this program",
        "hand over passes\nPackets that are joined are cut by the kernel before they come\nAt the end waiting packets have 5s to leave\nMetrics at http://127.0.0.1:9277/metrics\n",
        "red on a link of 10mbit",
        "30p     given",
        "0.5     given",
        "No rules, since there is no --interface",
    ] {
        assert!(stdout.contains(part), "no \"{part}\" in {stdout}");
    }
    let stdout_of_the_file = stdout;
    let given =
        ["--queue-num=4", "--rate=1mbit", "--framing=atm", "--overhead=8b", "--fail-open=false", "choke", "limit=9p"];
    let (code, stdout, _) = said(&fairlane(&[&["router", "--config", &file, "--dry-run"], &given[..]].concat()));
    assert_eq!(code, Some(0));
    for part in [
        "Queue 4, flows by address",
        "Link of 1mbit, overhead 8b, mpu 84b, atm",
        "is dropped",
        "choke on a link of 1mbit",
    ] {
        assert!(stdout.contains(part), "no \"{part}\" in {stdout}");
    }
    // Option by option: the file's value applies where the command line has none.
    for (word, expected) in [
        ("--queue-num=9", "Queue 9, "),
        ("--rate=9mbit", "Link of 9mbit, "),
        ("--overhead=9b", ", overhead 9b, "),
        ("--mpu=9b", ", mpu 9b, "),
        ("--framing=noatm", ", noatm\n"),
        ("--flows=five-tuple", "flows by five-tuple\n"),
        ("--fail-open=false", "hand over is dropped\n"),
        ("--drain=9s", "have 9s to leave\n"),
        ("--metrics=9999", "http://127.0.0.1:9999/metrics\n"),
    ] {
        assert!(!stdout_of_the_file.contains(expected), "{expected}");
        let said = printed(&["router", "--config", &file, "--dry-run", word]);
        assert!(said.contains(expected), "{word}: no \"{expected}\" in {said}");
        let others = |text: &str| text.lines().take(7).map(str::to_owned).collect::<Vec<_>>();
        let differ = others(&said).iter().zip(&others(&stdout_of_the_file)).filter(|(one, other)| one != other).count();
        assert_eq!(differ, 1, "{word} changes something else: {said}");
    }
    // At a socket by default, and none with "off".
    for (metrics, expected) in [
        ("", Some("-queue-3.sock")),
        ("metrics = \"/tmp/x.sock\"\n", Some("Metrics at the socket /tmp/x.sock")),
        ("metrics = \"off\"\n", None),
    ] {
        let text = format!("queue-num = 3\nrate = \"1mbit\"\n{metrics}queue = {{ kind = \"red\" }}\n");
        let said = printed(&["router", "--dry-run", "--config", &place.write("router.toml", &text)]);
        let line = said.lines().find(|line| line.starts_with("Metrics"));
        assert_eq!(line.is_some(), expected.is_some(), "{said}");
        assert!(line.zip(expected).is_none_or(|(line, expected)| line.ends_with(expected)), "{said}");
    }
}

/// Settings that an operator may not have meant cause a note and no error. 65,536 packets is the kernel's limit of an
/// NFQUEUE (`max_packets`).
#[test]
fn what_is_doubtful_is_said() {
    let place = Place::new();
    let warnings = |metrics: &str, limit: &str, mode: u32| {
        let queue = format!("queue = {{ kind = \"droptail\", limit = \"{limit}\" }}");
        let file =
            place.write("router.toml", &format!("queue-num = 3\nrate = \"1gbit\"\nmetrics = \"{metrics}\"\n{queue}\n"));
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let said = printed(&["router", "--dry-run", "--config", &file]);
        said.lines().filter(|line| line.starts_with("Warning: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(warnings("9277", "65536p", 0o644), [""; 0]);
    for (metrics, limit, mode, part) in [
        ("9277", "65536p", 0o646, "everybody can write to this file"),
        ("0.0.0.0:9277", "65536p", 0o644, "--metrics 0.0.0.0:9277: whoever reaches this port"),
        ("[::]:9277", "65536p", 0o644, "--metrics [::]:9277: whoever reaches this port"),
        ("off", "65537p", 0o644, "droptail: the kernel holds at most 65536 packets"),
    ] {
        let said = warnings(metrics, limit, mode);
        assert!(matches!(&said[..], [only] if only.contains(part)), "{part}: {said:?}");
    }
}

/// As the table of docs/deploy.md has it, which `what_floods_keep_is_what_compare_finds` tests.
#[test]
fn a_discipline_that_floods_overcome_is_noted() {
    let note = |kind: &str| {
        let said = printed(&["router", "--queue-num=0", "--rate=18mbit", "--dry-run", kind]);
        said.lines().find(|line| line.starts_with("Note: ")).map(str::to_owned)
    };
    let said = note("choke").expect("a note");
    assert!(said.starts_with("Note: choke: a flood keeps ") && said.contains("against 1 to 32 flows"), "{said}");
    assert_eq!((note("fq-codel"), note("droptail")), (None, None));
    let explained = |rest: &[&str]| printed(&[&["explain", "--rate=10mbit", "--rtt=5ms", "--flows=4"], rest].concat());
    let (bare, fair, red) = (explained(&["bare"]), explained(&["fq-codel"]), explained(&["red"]));
    assert!(bare.contains("Warnings\n  - a flood keeps 22 to 44 % of the link against 4 flows"), "{bare}");
    assert!(!fair.contains("Warnings") && fair.contains("- a flood keeps 20 % of the link"), "{fair}");
    assert!(red.contains("fairlane compare scenarios/flood.toml --queue red"), "{red}");
}

/// Would catch a router that takes all memory for an endless file, and one that waits for the writer of a pipe.
#[test]
fn what_is_no_file_is_refused() {
    let place = Place::new();
    let pipe = place.name("pipe");
    nix::unistd::mkfifo(pipe.as_str(), nix::sys::stat::Mode::S_IRUSR).unwrap();
    refused(&["router", "--config", &pipe, "--dry-run"], &["it is no file"]);
    refused(
        &["router", "--config", "/dev/zero", "--dry-run"],
        &["cannot read /dev/zero: it is no file", "name a file that can be read"],
    );
}

/// Settings are checked without a look at the machine and without its tools: all mistakes in single keys are told, each
/// with its place, and interfaces that are missing are only warned of.
#[test]
fn a_check_tells_all_mistakes_and_touches_nothing() {
    let place = Place::new();
    let check = |text: &str| {
        let file = place.write("router.toml", text);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fairlane"));
        // Without tools in PATH, the rules of the machine cannot be looked at.
        said(
            &command
                .args(["router", "--check-config", "--config", &file])
                .env("PATH", place.name(""))
                .output()
                .unwrap(),
        )
    };
    let valid = "interface = [\"nosuch0\"]\nup = \"18mbit\"\ndown = \"90mbit\"\noverhead = \"38b\"\ngso = true\n";
    let (code, stdout, stderr) = check(&format!("{valid}queue = {{ kind = \"fq-codel\" }}\n"));
    assert_eq!((code, &*stderr), (Some(0), ""));
    let expected = format!(
        "{} is valid\nup: fq-codel, queue 0 on nosuch0, 18mbit, overhead 38b, mpu 0b, noatm\n\
         down: fq-codel, queue 1 on nosuch0, 90mbit, overhead 38b, mpu 0b, noatm\n\
         Warning: there is no interface \"nosuch0\": ip link lists the interfaces\n",
        place.name("router.toml")
    );
    assert_eq!(stdout, expected);
    let (code, stdout, stderr) = check(
        "rate = \"10\"\nexempt = [\"10.0.0.0/8\", \"lan\"]\nqueue_num = 0\ngso = \"on\"\n[autorate]\nlaw = \"none\"\nmax = 1\n\
         [queue]\nkind = \"choke\"\nlimit = 300\nmin = \"60\"\n",
    );
    assert_eq!((code, &*stdout), (Some(2), ""));
    let lines: Vec<&str> = stderr.lines().collect();
    let places = [":1:8: rate: ", ":2:25: exempt: ", ":3:1: there is no key \"queue_num\"", ":4:7: gso: "];
    let places = [&places[..], &[":6:7: law: ", ":7:7: max: ", ":5:1: autorate: it needs a probe"]].concat();
    let places = [&places[..], &[":10:9: queue.limit: ", ":11:7: queue.min: "]].concat();
    assert_eq!(lines.len(), places.len(), "{stderr}");
    for (line, place) in lines.iter().zip(places) {
        assert!(line.starts_with("error: ") && line.contains(place), "no {place} in {line}");
    }
    for (text, part) in [
        ("queue-num = 0\ninterface = \"w+\"\n", "the interface name \"w+\" cannot be used in a rule"),
        ("queue-num = 0\ninterface = \"w*\"\n", "the interface name \"w*\" cannot be used in a rule"),
        ("bridge = \"lan0,lan0\"\n", "a bridge needs two different interfaces"),
        ("", "a router needs --queue-num or --bridge"),
    ] {
        let (code, stdout, stderr) = check(&format!("rate = \"1mbit\"\n{text}queue = {{ kind = \"red\" }}\n"));
        assert!((code, &*stdout) == (Some(2), "") && stderr.contains(part), "{stderr}");
    }
    refused(&["router", "--check-config", "--dry-run"], &["cannot be used with"]);
    refused(
        &["router", "--check-config", "--queue-num=0", "--rate=1mbit", "choke", "min=9p", "max=5p"],
        &["min: 9p is above max"],
    );
    let valid = printed(&["router", "--check-config", "--queue-num=0", "--rate=1mbit", "choke"]);
    assert_eq!(valid, "the command line is valid\nchoke, queue 0, 1mbit, overhead 0b, mpu 0b, noatm\n");
}
