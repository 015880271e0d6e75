//! `--html`: a page of what was measured.

use std::path::PathBuf;

use fairlane_report::html::{Origin, Page};
use fairlane_scenario::Document;

use crate::args::{Change, PageFile};
use crate::error::Failure;
use crate::output;

/// A page that is asked for.
#[derive(Debug)]
pub(crate) struct Report {
    file: PathBuf,
    scenario: String,
    changes: String,
}

impl Report {
    /// Makes sure that the page can be written; `None` when none is asked for.
    pub(crate) fn new(asked: &PageFile, document: &Document, change: &Change) -> Result<Option<Self>, Failure> {
        let Some(file) = asked.html.clone() else { return Ok(None) };
        output::file(&file)?;
        let settings = change.set.iter().map(|setting| format!("{} = {}\n", setting.key, setting.value));
        let seed = change.seed.iter().map(|seed| format!("seed = {seed}\n"));
        Ok(Some(Self { file, scenario: document.text().to_owned(), changes: settings.chain(seed).collect() }))
    }

    /// Writes the page that `page` makes; `missing` is what an interruption left out.
    pub(crate) fn write(&self, missing: Option<String>, page: impl FnOnce(&Origin) -> Page) -> Result<(), Failure> {
        let (scenario, changes) = (self.scenario.clone(), self.changes.clone());
        let origin = Origin { command: command(), scenario, changes, missing };
        std::fs::write(&self.file, page(&origin).to_html()).map_err(|error| Failure::write(&self.file, &error))
    }
}

/// The command as it was given, as a shell would take it again.
pub(crate) fn command() -> String {
    let given = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("fairlane".to_owned()).chain(given).collect();
    // Only a word with a zero byte cannot be quoted, and the system passes none.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
