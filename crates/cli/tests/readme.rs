//! The commands of the README and of `docs/first-scenario.md` work unchanged, and the latter in every build.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use fairlane_qdisc::Rate;

/// The page with the first scenario and the commands that work on it.
const FIRST: &str = "docs/first-scenario.md";

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The text between the fence that begins with `opening` and the next fence.
fn block<'a>(text: &'a str, opening: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(opening)?;
    rest.split_once("```").map(|(block, _)| block)
}

fn page(name: &str) -> std::io::Result<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name))
}

/// Would catch a command in the README that no longer exists, and an option that it no longer has: the options before
/// `--help` are read. A build that lacks a command says which feature has it.
#[test]
fn each_command_of_the_readme_exists() -> Outcome {
    let readme = page("README.md")?;
    let mut found = 0;
    for line in readme.lines().filter(|line| line.starts_with("fairlane ")) {
        let words = shlex::split(line.split('#').next().unwrap_or("")).ok_or("quotes in pairs")?;
        // Behind `--` are the words of another program.
        let own = words[1..].iter().take_while(|word| *word != "--");
        let output = Command::cargo_bin("fairlane")?.args(own).arg("--help").output()?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || message.contains("feature"), "{line}: {message}");
        found += 1;
    }
    assert_eq!(found, 5, "the README shows five uses");
    Ok(())
}

/// The sweep of the first scenario and the model are two accounts of the same queue: the flood's share agrees within
/// two points at each of the nine rates. Would catch links of hosts that cap the flood: behind 100 Mbit/s it has 12.6 %
/// at 200 Mbit/s, and the model 2.9 %.
#[test]
fn the_sweep_agrees_with_the_model() -> Outcome {
    let folder = tempfile::tempdir()?;
    let text = page(FIRST)?;
    fs::write(folder.path().join("mine.toml"), block(&text, "```toml\n").ok_or("the page has a scenario")?)?;
    let command = text.lines().find(|line| line.starts_with("fairlane sweep mine.toml")).ok_or("and a sweep")?;
    let vary = command.split_whitespace().find(|word| word.starts_with("flows.flood.rate=")).ok_or("of the flood")?;
    let json = |args: &[&str]| -> Result<serde_json::Value, Box<dyn std::error::Error>> {
        let output = Command::cargo_bin("fairlane")?.args(args).current_dir(folder.path()).output()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    };
    let swept = json(&["sweep", "mine.toml", "--vary", vary, "--set", "duration=40s", "--json"])?;
    let points = swept["outcomes"].as_array().ok_or("outcomes")?;
    assert_eq!(points.len(), 9);
    for outcome in points {
        assert!(outcome.get("notes").is_none(), "{}", outcome["notes"]);
        let rate: Rate = outcome["point"]["flows.flood.rate"].as_str().ok_or("a rate")?.parse()?;
        let load = rate.bits_per_second() as f64 / 20e6;
        let model =
            json(&["theory", "choke", "--load", &load.to_string(), "--json"])?["share"].as_f64().ok_or("a share")?;
        let flood =
            outcome["groups"].as_array().and_then(|groups| groups.iter().find(|group| group["name"] == "flood"));
        let share = flood.and_then(|flood| flood["share"].as_f64()).ok_or("a share")?;
        assert!((share - model).abs() < 0.02, "{rate}: {share} in the sweep, {model} by the model");
    }
    Ok(())
}

/// Would catch a key, a verb or an option in the page that no longer exists.
#[test]
fn the_first_scenario_runs_with_every_command_below_it() -> Outcome {
    let text = page(FIRST)?;
    let scenario = block(&text, "```toml\n").ok_or("the page has a scenario")?;
    let commands =
        text.split_once("```toml").and_then(|(_, rest)| rest.split_once("```\n\n```\n")).ok_or("and commands")?;
    let folder = tempfile::tempdir()?;
    fs::write(
        folder.path().join("mine.toml"),
        scenario.replace("\"60s\"", "\"1500ms\"").replace("\"10s\"", "\"500ms\""),
    )?;
    let mut ran = 0;
    for line in commands.1.split_once("```").ok_or("the commands end")?.0.lines() {
        let words: Vec<_> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        if words.first() == Some(&"fairlane") {
            Command::cargo_bin("fairlane")?.args(&words[1..]).current_dir(folder.path()).assert().success();
            ran += 1;
        }
    }
    assert_eq!(ran, 7, "the page shows seven commands");
    for made in ["results/flows.csv", "out.pcap", "sweep.csv"] {
        assert!(folder.path().join(made).metadata()?.len() > 0, "{made}");
    }
    Ok(())
}
