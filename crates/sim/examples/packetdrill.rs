//! Runs the packetdrill scripts of a folder over the simulator's TCP and prints what each of them shows:
//!
//! ```sh
//! cargo run -p fairlane-sim --example packetdrill -- FOLDER [--preset NAME] [--strict]
//! ```
//!
//! The exit code is 0 if nothing differs, 1 if a script does, and 2 for a wrong command line or an unreadable folder.

#[path = "../tests/packetdrill/interpreter/mod.rs"]
mod interpreter;

use std::path::PathBuf;
use std::process::ExitCode;

use interpreter::{Mode, Outcome, PRESETS, run_folder, summary, table};

/// The usage.
const USAGE: &str = "usage: packetdrill FOLDER [--preset NAME] [--strict]";

/// The command line.
struct Arguments {
    folder: PathBuf,
    preset: String,
    strict: bool,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|arguments| show(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(text) => {
            eprintln!("packetdrill: {text}");
            ExitCode::from(2)
        }
    }
}

/// Reads the command line.
fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let (mut folder, mut preset, mut strict) = (None, PRESETS[0].to_owned(), false);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--strict" => strict = true,
            "--preset" => {
                preset = words
                    .next()
                    .filter(|name| PRESETS.contains(&name.as_str()))
                    .ok_or_else(|| format!("--preset needs one of {}\n{USAGE}", PRESETS.join(", ")))?;
            }
            _ if word.starts_with('-') => return Err(format!("the option {word} is not known\n{USAGE}")),
            _ if folder.is_some() => return Err(format!("one folder is enough, not {word} as well\n{USAGE}")),
            _ => folder = Some(PathBuf::from(word)),
        }
    }
    let folder = folder.ok_or_else(|| format!("the folder is missing\n{USAGE}"))?;
    Ok(Arguments { folder, preset, strict })
}

/// Runs the scripts and prints the table; returns true if nothing differs.
fn show(arguments: &Arguments) -> Result<bool, String> {
    let mode = Mode { preset: &arguments.preset, strict: arguments.strict };
    let lines = run_folder(&arguments.folder, mode)
        .map_err(|error| format!("{} cannot be read: {error}", arguments.folder.display()))?;
    println!("{}\n{}", table(&lines), summary(&lines));
    Ok(!lines.iter().any(|line| matches!(line.report.outcome, Outcome::Differs { .. })))
}
