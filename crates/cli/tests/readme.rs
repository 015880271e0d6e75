//! The commands of the README work unchanged, in every build.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The text between the fence that begins with `opening` and the next fence.
fn block<'a>(text: &'a str, opening: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(opening)?;
    rest.split_once("```").map(|(block, _)| block)
}

/// Would catch a key, a verb or an option in the README that no longer exists.
#[test]
fn the_first_scenario_runs_with_every_command_below_it() -> Outcome {
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md"))?;
    let scenario = block(&readme, "```toml\n").ok_or("the README has a scenario")?;
    let commands =
        readme.split_once("```toml").and_then(|(_, rest)| rest.split_once("```\n\n```\n")).ok_or("and commands")?;
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
    assert_eq!(ran, 5, "the README shows five commands");
    for made in ["results/flows.csv", "out.pcap", "sweep.csv"] {
        assert!(folder.path().join(made).metadata()?.len() > 0, "{made}");
    }
    Ok(())
}
