//! What the verbs have in common before and after the work.

use std::path::Path;

use fairlane_batch::compare::once;
use fairlane_qdisc::Kind;
use fairlane_scenario::Document;

use crate::args::{Change, Disciplines};
use crate::error::Failure;

/// The scenario file as the command line changes it; Figure 3 of the CHOKe paper without a file.
pub(crate) fn document(file: Option<&Path>, change: &Change) -> Result<Document, Failure> {
    let mut document = file.map_or_else(|| Ok(Document::builtin()), Document::load)?;
    for setting in &change.set {
        document.set(&setting.key, &setting.value)?;
    }
    if let Some(seed) = change.seed {
        document.set("seed", &seed.to_string())?;
    }
    Ok(document)
}

/// The disciplines that are asked for, each once.
pub(crate) fn kinds(asked: &[Disciplines]) -> Vec<Kind> {
    once(asked.iter().flat_map(|choice| match choice {
        Disciplines::All => Kind::ALL.to_vec(),
        Disciplines::One(kind) => vec![*kind],
    }))
}

/// Says what there is when the work was interrupted, and what is missing.
pub(crate) fn complete(interrupted: bool, there: &str) -> Result<(), Failure> {
    if interrupted { Err(Failure::new(self::interrupted(there), "run it again for the rest")) } else { Ok(()) }
}

/// What is said of work that was interrupted.
pub(crate) fn interrupted(there: &str) -> String {
    format!("interrupted: {there}")
}
