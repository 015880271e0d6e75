//! `fairlane advise` and `fairlane tune`: their output in each form, their refusals, and the router's file.

mod common;
#[cfg(target_os = "linux")]
#[path = "common/namespace.rs"]
mod namespace;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use common::{Place, fairlane, json, printed};

/// An advice of a few seconds.
const SHORT: [&str; 11] = [
    "advise",
    "--rate",
    "2mbit",
    "--rtt",
    "20ms",
    "--mix",
    "2 cubic, udp 2x",
    "--goal",
    "utilisation>0.5, maximise jain",
    "--queue",
    "droptail,codel,fq-codel",
];

fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SHORT.into_iter().chain(more.iter().copied()).collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A flood of twice the link's rate with two TCPs: only a queue for each flow is fair. Would catch an answer without
/// its reasons, its warning or its commands.
#[test]
fn the_terminal_shows_the_advice() {
    let text = words(&printed(&short(&[])));
    for part in [
        "A queue for 2mbit and 20ms, with 2 cubic, udp 2x, on linux",
        "Goal: utilisation>0.5, maximise jain",
        "Use fq-codel limit=1000p: it meets the goal (utilisation ",
        "Not codel",
        "Expect this: ",
        "a flood of the link's rate gets ",
        "tbf rate 1900000bit burst 3000b limit 1gb",
        "tc qdisc replace dev eth0 parent 1:1 handle 2: fq_codel limit 1000 flows 1024 quantum 1514",
        "queue = { kind = \"fq-codel\"",
        "twice the round trip 2mbit, 40ms, 3 flows",
        "2 of 2 disciplines on other links and mixes",
        "seed 1.",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert!(!text.contains("artial"), "{text}");
}

/// Would catch a search without an end: the full one takes minutes, as a link of 1 Gbit/s has 83,000 packets a second.
#[test]
fn the_time_ends_it() {
    let link = ["advise", "--rate", "1gbit", "--rtt", "20ms", "--mix", "500 cubic, 20 web", "--goal", "delay.p95<10ms"];
    let began = fairlane_console::Stopwatch::start();
    let output = fairlane(&[&link[..], &["--time", "2s"]].concat());
    assert!(began.elapsed_s() < 60.0, "{} s", began.elapsed_s());
    let said = String::from_utf8(if output.status.success() { output.stdout } else { output.stderr }).unwrap();
    assert!(said.contains("Partial, stopped before the end") || said.contains("no candidate was judged"), "{said}");
}

/// Would catch a file that cannot be run or routed, and a page without the cases.
#[test]
fn json_files_and_a_page() {
    let place = Place::new();
    let (out, page) = (place.name("out"), place.name("page.html"));
    let advice = json(&short(&["--json", "--out", &out, "--html", &page]));
    assert_eq!(advice["ranking"][0]["kind"], "fq-codel");
    assert_eq!(advice["ranking"][0]["cases"].as_array().unwrap().len(), 8);
    assert_eq!(fs::read_to_string(place.path("out/tc.sh")).unwrap(), advice["tc"].as_str().unwrap());
    let written: serde_json::Value = serde_json::from_slice(&fs::read(place.path("out/advice.json")).unwrap()).unwrap();
    assert_eq!(written, advice);
    let checked = printed(&["check", &place.name("out/scenario.toml")]);
    assert!(checked.contains("fq-codel") && checked.contains("2mbit"), "{checked}");
    let html = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(html.contains("fairlane advise --rate 2mbit") && html.contains("Cases that were not searched"));
}

/// The file of each discipline that may win is one that a router takes. Would catch a parameter that the file writes in
/// a form which the router does not read.
#[cfg(target_os = "linux")]
#[test]
fn a_router_takes_the_file() {
    for kinds in ["fq-codel", "pie", "choke", "sfb", "cake", "dualpi2"] {
        let place = Place::new();
        let out = place.name("out");
        let mut args = short(&["--out", &out]);
        args[10] = kinds;
        printed(&args);
        let said = printed(&["router", "--config", &place.name("out/router.toml"), "--dry-run"]);
        assert!(said.contains("1900kbit") && said.contains(kinds), "{kinds}: {said}");
    }
}

/// Sends datagrams that offload has joined to 56 kB through the commands of `tc.sh`. Would catch a shaper that passes
/// them whole to the discipline, as HTB does: a limit in packets then counts up to 64 kB as one.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_counts_packets_of_the_link() {
    use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, sockopt};
    use std::os::fd::AsRawFd as _;

    let place = Place::new();
    let out = place.name("out");
    let mut args = short(&["--out", &out]);
    args[10] = "droptail";
    printed(&args);
    let commands = fs::read_to_string(place.path("out/tc.sh")).unwrap().replace("eth0", "out0");
    namespace::in_namespace(move || {
        for link in [
            "link add name out0 type veth peer name peer0",
            "link set dev out0 up",
            "link set dev peer0 up",
            "addr add 192.0.2.1/24 dev out0",
            "neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev out0",
        ] {
            namespace::tool("ip", link);
        }
        let installed = std::process::Command::new("sh").args(["-c", &commands]).status().unwrap();
        assert!(installed.success(), "{commands}");
        let sender = socket::socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_NONBLOCK, None).unwrap();
        socket::setsockopt(&sender, sockopt::UdpGsoSegment, &1400).unwrap();
        let to = SockaddrIn::new(192, 0, 2, 2, 9);
        // 200 of them are 8000 packets, more than the queue's limit.
        let joined = [0_u8; 56_000];
        for _ in 0..200 {
            let _ = socket::sendto(sender.as_raw_fd(), &joined, &to, MsgFlags::empty());
        }
        let said = namespace::tool("tc", "-s qdisc show dev out0");
        let queue = said.split("qdisc pfifo 2:").nth(1).unwrap();
        let mut backlog = queue.split("backlog ").nth(1).unwrap().split_whitespace();
        let mut number = |unit: char| backlog.next().unwrap().trim_end_matches(unit).parse::<u64>().unwrap();
        let (bytes, packets) = (number('b'), number('p'));
        assert!(packets > 5 && bytes <= 1514 * packets, "{said}");
        // Without a discipline that the kernel lacks no shaper is left alone.
        let lacking = commands.replace("pfifo", "no-such-discipline");
        let _ = std::process::Command::new("sh").args(["-c", &lacking]).output().unwrap();
        assert!(!namespace::tool("tc", "qdisc show dev out0").contains("tbf"));
    });
}

/// Would catch a search that draws no point because the discipline refuses all, as RED does a weight with a burst, and
/// points that are refused without a word.
#[test]
fn red_and_choke_are_tuned() {
    for kind in ["red", "choke"] {
        let tune = ["tune", "choke-fig3", "--queue", kind, "--goal", "utilisation>0.9, minimise delay.p95"];
        let short = ["--set", "duration=12s", "--set", "warmup=4s", "--budget", "60", "--runs", "2", "--json"];
        let tuning = json(&[&tune[..], &short].concat());
        assert!(tuning["candidates"].as_u64().unwrap() >= 20, "{kind}: {tuning}");
        let refused = tuning["refused"].as_array().unwrap();
        assert!(refused.iter().any(|refused| refused["parameter"] == "min"), "{kind}: {tuning}");
    }
}

/// A packet of 1000 bytes takes 4 ms at 2 Mbit/s, and a queue under a constant overload is full: 40 ms are ten packets.
#[test]
fn a_limit_is_tuned() {
    let place = Place::new();
    let file = place.name("flood.toml");
    let text = "duration = \"6s\"\nwarmup = \"1s\"\n[bottleneck]\nrate = \"2mbit\"\n[[flows]]\nname = \"flood\"\nkind = \"udp\"\nrate = \"3mbit\"\n";
    fs::write(place.path("flood.toml"), text).unwrap();
    let args =
        ["tune", &file, "--queue", "droptail", "--goal", "delay.p99<41ms, maximise delay.mean", "--budget", "150"];
    let said = printed(&args);
    assert!(said.contains("droptail limit=10p") && said.contains("which the search has not seen"), "{said}");
    let tuning = json(&[&args[..], &["--json"]].concat());
    assert_eq!(tuning["parameters"], serde_json::json!([["limit", "10p"]]));
    let tuned = place.path("tuned.toml");
    fs::write(&tuned, tuning["toml"].as_str().unwrap()).unwrap();
    assert!(printed(&["check", &place.name("tuned.toml")]).contains("10p"));
}

/// The commands of the page, in short form. Would catch an option, a scenario or a metric that no longer exists.
#[test]
fn the_commands_of_the_page_work() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/advise.md");
    let page = fs::read_to_string(page).unwrap();
    let block = page.split("```\n").nth(1).unwrap();
    let place = Place::new();
    let mut done = Vec::new();
    for line in block.lines() {
        let command = line.split_once("  #").map_or(line, |(command, _)| command);
        let words = shlex::split(command).unwrap();
        let mut args: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        match args[0] {
            "advise" => {
                args.extend(["--queue", "droptail,codel"]);
            }
            "tune" => args.extend(["--runs", "1", "--budget", "16", "--set", "duration=12s", "--set", "warmup=4s"]),
            _ if !cfg!(target_os = "linux") => continue,
            _ => {}
        }
        let output = Command::cargo_bin("fairlane").unwrap().args(&args).current_dir(place.path(".")).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        done.push(args[0].to_owned());
    }
    assert_eq!(done, ["advise", "advise", "router", "tune"]);
}

#[test]
fn what_they_refuse() {
    let refused = |args: &[&str], parts: &[&str]| {
        let output = fairlane(args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{args:?}: {stderr}");
    };
    let advise = |mix, goal| ["advise", "--rate", "2mbit", "--rtt", "20ms", "--mix", mix, "--goal", goal];
    refused(&advise("cubik", "minimise delay.p95"), &["--mix:1:1", "did you mean \"cubic\"?"]);
    refused(&advise("cubic", "delay.p95<20ms, utilization>0.9"), &["--goal:1:17", "did you mean \"utilisation\"?"]);
    refused(&advise("cubic", "group.web.goodput>1mbit"), &["--goal:1:1", "no group \"web\""]);
    refused(&["advise", "--rate", "2mbit", "--rtt", "20ms"], &["--goal"]);
    let elsewhere = [&advise("cubic", "minimise delay.p95")[..], &["--on", "linus"]].concat();
    refused(&elsewhere, &["linux, router, simulator or silicon"]);
    let tune = |goal| ["tune", "choke-fig3", "--queue", "red", "--goal", goal];
    refused(&tune("delay.p95<20"), &["--goal:1:11", "no unit"]);
    refused(&[&tune("minimise delay.p95")[..], &["--budget", "20"]].concat(), &["too small", "give 68 or more"]);
}
