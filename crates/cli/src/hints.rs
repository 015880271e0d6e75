//! Hints to the right command, after arguments that a command does not have.

use std::ffi::OsString;

use clap::Parser;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use fairlane_qdisc::Kind;

use crate::args::Cli;

/// Reads the arguments; ends the program if they are wrong, or ask for help.
pub(crate) fn parse() -> Cli {
    let words: Vec<OsString> = std::env::args_os().collect();
    Cli::try_parse_from(&words).unwrap_or_else(|mut error| {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        if let Some(hint) = hint(&error, &words) {
            let tips = vec![StyledStr::from(hint)];
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
        error.exit()
    })
}

/// Returns the remedy of an argument that the command does not have.
fn hint(error: &Error, words: &[&str]) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let verb = *words.get(1)?;
    let place = words.iter().position(|word| word.split('=').next() == Some(wrong))?;
    let after = words[place].split_once('=').map(|(_, value)| value).or(words.get(place + 1).copied());
    let value = after.filter(|word| !word.starts_with('-'));
    let changes = ["run", "compare", "sweep", "check", "lab", "shell", "tune"].contains(&verb);
    match wrong.as_str() {
        "--queue" if verb == "sweep" => {
            Some(format!("vary the discipline: --vary bottleneck.queue.kind={}", value.unwrap_or("red,choke")))
        }
        "--queue" if verb == "check" => {
            Some(format!("change the discipline: --set bottleneck.queue.kind={}", value.unwrap_or("choke")))
        }
        "--out" if verb == "sweep" => Some("a sweep has one table, a file: --table FILE.csv".to_owned()),
        "--duration" | "--warmup" if changes => {
            let key = wrong.trim_start_matches('-');
            Some(format!("change a value of the scenario: --set {key}={}", value.unwrap_or("TIME")))
        }
        "--rate" if changes => {
            Some(format!("change a value of the scenario: --set bottleneck.rate={}", value.unwrap_or("RATE")))
        }
        word => {
            let before = words[..place].iter().rev().take_while(|word| word.parse::<Kind>().is_ok());
            let first = place - before.count();
            let queue = first >= 2 && words[first - 1] == "--queue" && word.parse::<Kind>().is_ok();
            queue.then(|| format!("separate disciplines with commas: --queue {}", words[first..=place].join(",")))
        }
    }
}
