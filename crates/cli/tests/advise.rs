//! `fairlane advise` and `fairlane tune`: their output in each form, their refusals, and the router's file.

mod common;

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use common::{Place, fairlane, json, printed};

/// An advice of a few seconds.
const SHORT: [&str; 13] = [
    "advise",
    "--rate",
    "2mbit",
    "--rtt",
    "20ms",
    "--mix",
    "2 cubic, udp 2x",
    "--goal",
    "utilisation>0.5, maximise jain",
    "--kinds",
    "droptail,codel,fq-codel",
    "--quick",
    "--runs=2",
];

fn short<'a>(more: &[&'a str]) -> Vec<&'a str> {
    SHORT.into_iter().chain(more.iter().copied()).collect()
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A flood of twice the link's rate with two TCPs: only a queue for each flow is fair. Would catch an advice without
/// its proof, its fronts or its queue.
#[test]
fn the_terminal_shows_the_advice() {
    let text = words(&printed(&short(&[])));
    for part in [
        "A queue for 2mbit and 20ms, with 2 cubic, udp 2x",
        "Goal: utilisation>0.5, maximise jain",
        "fq-codel",
        "meets the goal",
        "Ranking",
        "Pareto front of delay.p95 and jain: ",
        "Proof, with seed 2",
        "twice the round trip 2mbit, 40ms",
        "queue = { kind = \"fq-codel\"",
        "seed 1.",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

/// Would catch a file that cannot be run or routed, and a page without the ranking.
#[test]
fn json_files_and_a_page() {
    let place = Place::new();
    let (out, page) = (place.name("out"), place.name("page.html"));
    let advice = json(&short(&["--json", "--out", &out, "--html", &page]));
    assert_eq!(advice["ranking"][0]["kind"], "fq-codel");
    assert_eq!(advice["proof"].as_array().unwrap().len(), 5);
    let written: serde_json::Value = serde_json::from_slice(&fs::read(place.path("out/advice.json")).unwrap()).unwrap();
    assert_eq!(written, advice);
    let checked = printed(&["check", &place.name("out/scenario.toml")]);
    assert!(checked.contains("fq-codel") && checked.contains("2mbit"), "{checked}");
    let html = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(
        html.contains("fairlane advise --rate 2mbit") && html.contains("Ranking") && html.contains("Held-out cases")
    );
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
                args.retain(|word| *word != "--quick");
                args.extend(["--quick", "--runs", "1", "--kinds", "droptail,codel"]);
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
    let tune = |goal| ["tune", "choke-fig3", "--queue", "red", "--goal", goal];
    refused(&tune("delay.p95<20"), &["--goal:1:11", "no unit"]);
    refused(&[&tune("minimise delay.p95")[..], &["--budget", "20"]].concat(), &["too small", "give 68 or more"]);
}
