//! The parts that several verbs share, before and after their work.

use std::path::Path;

use fairlane_console::Failure;
use fairlane_outcome::Outcome;
use fairlane_outcome::tables::write_dir;
use fairlane_qdisc::Kind;
use fairlane_runner::compare::once;
use fairlane_scenario::Document;

use crate::args::{Disciplines, Overrides};
use crate::{features, output};

/// Reads the scenario file and applies the changes of the command line; without a file, Figure 3 of the CHOKe paper.
pub(crate) fn document(file: Option<&Path>, overrides: &Overrides) -> Result<Document, Failure> {
    let mut document = file.map_or_else(|| Ok(Document::builtin()), Document::load)?;
    for setting in &overrides.set {
        document.set(&setting.key, &setting.value)?;
    }
    if let Some(seed) = overrides.seed {
        document.set("seed", &seed.to_string())?;
    }
    Ok(document)
}

/// Returns the requested disciplines, each once.
pub(crate) fn kinds(asked: &[Disciplines]) -> Vec<Kind> {
    once(asked.iter().flat_map(|choice| match choice {
        Disciplines::All => Kind::ALL.to_vec(),
        Disciplines::One(kind) => vec![*kind],
    }))
}

/// Returns an error if the work was interrupted; `finished` describes the finished part.
pub(crate) fn complete(interrupted: bool, finished: &str) -> Result<(), Failure> {
    if interrupted { Err(Failure::new(self::interrupted(finished), "run it again for the rest")) } else { Ok(()) }
}

/// Returns the message about work that was interrupted.
pub(crate) fn interrupted(finished: &str) -> String {
    format!("interrupted: {finished}")
}

/// Checks that a table can be written to `path`, and that this build has its format.
pub(crate) fn table(path: &Path) -> Result<(), Failure> {
    if !cfg!(feature = "parquet") && path.extension().is_some_and(|ending| ending == "parquet") {
        return Err(features::missing("Parquet (.parquet; .csv works)", "parquet"));
    }
    fairlane_console::output::table(path)
}

/// Writes the tables of all outcomes into `folder`; on standard error it notes what a build without Parquet leaves out.
pub(crate) fn write_tables(folder: &Path, outcomes: &[Outcome]) -> Result<(), Failure> {
    write_dir(folder, outcomes)?;
    if !cfg!(feature = "parquet") {
        let remedy = features::remedy("parquet");
        output::tell(&format!("note: the tables in {} are CSV alone; for Parquet too, {remedy}\n", folder.display()));
    }
    Ok(())
}
