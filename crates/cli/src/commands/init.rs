//! `fairlane init`: a first scenario file.

use std::borrow::Cow;
use std::fs;
use std::path::PathBuf;

use fairlane_console::{Failure, output};
use fairlane_runner::files::write_new;
use fairlane_scenario::Bundled;

use crate::args::init::InitArgs;
use crate::commands::scenarios;

/// Writes a built-in scenario with comments, and next to it the files that it reads: all of them or none.
pub(crate) fn execute(args: &InitArgs) -> Result<(), Failure> {
    let scenario = scenarios::named(&args.from)?;
    let file = args.file.display().to_string();
    let word = shlex::try_quote(&file).map_or_else(|_| file.clone(), Cow::into_owned);
    let beside = scenario.files().into_iter().map(|(name, text)| (args.file.with_file_name(name), text.to_owned()));
    let mut written = Vec::new();
    for (path, text) in beside.chain([(args.file.clone(), text(scenario, &word))]) {
        if let Err(error) = write_new(&path, &text) {
            remove(&written);
            return Err(error.into());
        }
        written.push(path);
    }
    output::print(&format!("{file} is written; next: fairlane run {word}\n"))
}

/// The scenario's text, whose commands have the new file as a `word`.
fn text(scenario: &Bundled, word: &str) -> String {
    let editors = "# Editors complete and check the keys with the schema next to this file: fairlane schema > scenario.schema.json\n#\n";
    // A line break would end the comment.
    let word = if word.contains(char::is_control) { "FILE" } else { word };
    let text = scenario.explained().replace(&format!("scenarios/{}.toml", scenario.name), word);
    match text.split_once('\n') {
        Some((directive, rest)) => format!("{directive}\n{editors}{rest}"),
        None => text,
    }
}

fn remove(written: &[PathBuf]) {
    for path in written {
        // The error that led here is the one to report.
        let _ = fs::remove_file(path);
    }
}
