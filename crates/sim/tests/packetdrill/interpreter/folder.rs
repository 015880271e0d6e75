//! Runs the scripts of a folder.

use std::io;
use std::path::{Path, PathBuf};

use super::{Mode, Outcome, Report, run};

/// A script of a folder and its result.
#[derive(Debug)]
pub(crate) struct Line {
    /// The name, from the folder on.
    pub(crate) name: String,
    /// The result.
    pub(crate) report: Report,
}

/// The most folders within folders.
const DEEPEST: u32 = 20;

/// Runs all `*.pkt` files of a folder and of the folders in it, in the order of their names.
pub(crate) fn run_folder(folder: &Path, mode: Mode<'_>) -> io::Result<Vec<Line>> {
    let mut files = Vec::new();
    find(folder, DEEPEST, &mut files)?;
    files.sort();
    let each = |file: PathBuf| {
        let text = std::fs::read(&file)?;
        let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
        Ok(Line { name, report: run(&String::from_utf8_lossy(&text), mode) })
    };
    files.into_iter().map(each).collect()
}

/// Adds the scripts in a folder to `files`.
fn find(folder: &Path, depth: u32, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && depth > 0 {
            find(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns a table: a row for each script.
pub(crate) fn table(lines: &[Line]) -> String {
    let mut table = "| script | result |\n|---|---|\n".to_owned();
    for Line { name, report } in lines {
        let result = match &report.outcome {
            Outcome::Passes => format!("passes: {} compared", report.compared),
            Outcome::Differs { line, expected, got } => format!("differs: line {line}: `{expected}`, but `{got}`"),
            Outcome::NotComparable(problem) => format!("not comparable: {problem}"),
        };
        let skipped = match report.skipped.first() {
            Some(first) => format!("; {} not compared, first {first}", report.skipped.len()),
            None => String::new(),
        };
        table += &format!("| {name} | {result}{skipped} |\n");
    }
    table
}

/// Returns the number of scripts that pass, that differ and that are not comparable, in words.
pub(crate) fn summary(lines: &[Line]) -> String {
    let count = |of: fn(&Outcome) -> bool| lines.iter().filter(|line| of(&line.report.outcome)).count();
    let passes = count(|outcome| matches!(outcome, Outcome::Passes));
    let differ = count(|outcome| matches!(outcome, Outcome::Differs { .. }));
    let others = count(|outcome| matches!(outcome, Outcome::NotComparable(_)));
    format!("{} scripts: {passes} pass, {differ} differ, {others} not comparable", lines.len())
}
