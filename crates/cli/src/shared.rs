//! The parts that several verbs share, before and after their work.

use std::io;
use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::tables::write_dir;
use fairlane_outcome::{Extent, Outcome};
use fairlane_qdisc::Kind;
use fairlane_runner::compare::once;
use fairlane_scenario::{Document, ScenarioError, Traffic};

use crate::args::shared::{Disciplines, Overrides};
use crate::files::Outputs;
use crate::{features, output};

/// The file's name for standard input.
const STDIN: &str = "-";

/// Reads the scenario and applies the changes of the command line; without a file, Figure 3 of the CHOKe paper.
pub(crate) fn document(file: Option<&Path>, overrides: &Overrides) -> Result<Document, Failure> {
    let mut document = file.map_or_else(|| Ok(Document::builtin()), open)?;
    for setting in &overrides.set {
        document.set(&setting.key, &setting.value)?;
    }
    if let Some(seed) = overrides.seed {
        document.set("seed", &seed.to_string())?;
    }
    Ok(document)
}

/// Reads a scenario for the simulator as [`document`] does, and refuses one with endpoints.
pub(crate) fn simulated(file: Option<&Path>, overrides: &Overrides) -> Result<Document, Failure> {
    let document = document(file, overrides)?;
    let groups = document.scenario().map(|scenario| scenario.flows).unwrap_or_default();
    let Some(group) = groups.iter().find(|group| group.traffic == Traffic::Endpoint) else { return Ok(document) };
    let key = format!("flows.{}.kind", group.name);
    let help = "write one that calls fairlane_sim::run_endpoints, see docs/transports.md";
    Err(document.refuse(&key, "an endpoint needs a program that brings the transport", help).into())
}

/// Reads a file, standard input, or a scenario that is compiled in.
fn open(file: &Path) -> Result<Document, ScenarioError> {
    match file {
        _ if file == Path::new(STDIN) => Document::from_reader("<stdin>", io::stdin().lock()),
        _ => Document::open(file),
    }
}

/// Returns true if `file` is a file of any kind; a folder, such as one of results, may have the name of a scenario.
fn is_there(file: &Path) -> bool {
    file.exists() && !file.is_dir()
}

/// Returns the requested disciplines, each once.
pub(crate) fn kinds(asked: &[Disciplines]) -> Vec<Kind> {
    once(asked.iter().flat_map(|choice| match choice {
        Disciplines::All => Kind::ALL.to_vec(),
        Disciplines::One(kind) => vec![*kind],
    }))
}

/// Returns the files that are read: the scenario's, and those that it names.
pub(crate) fn inputs(file: Option<&Path>, document: &Document) -> Vec<PathBuf> {
    let file = file.map(|file| if file == Path::new(STDIN) { Path::new("/dev/stdin") } else { file });
    file.filter(|file| is_there(file)).map(Path::to_owned).into_iter().chain(document.files()).collect()
}

/// Returns an error if the work was interrupted; `finished` describes the finished part, of which the `outputs` have a
/// part.
pub(crate) fn complete(interrupted: bool, finished: &str, outputs: &Outputs) -> Result<(), Failure> {
    if !interrupted {
        return Ok(());
    }
    let parts = outputs.partial().map_or_else(String::new, |parts| format!("; {parts}"));
    Err(Failure::new(format!("{}{parts}", self::interrupted(finished)), "run it again for all of it"))
}

/// Returns the first error of writing and printing. All outputs are tried, so that a full disk does not cost the
/// numbers: the tables first, then standard output, then pages and figures. Of several errors that of a file counts
/// more.
pub(crate) fn delivered(
    tables: Option<Result<(), Failure>>,
    printed: Result<(), Failure>,
    pictures: impl IntoIterator<Item = Result<(), Failure>>,
) -> Result<(), Failure> {
    tables.into_iter().chain(pictures).chain([printed]).collect()
}

/// Returns the message about work that was interrupted.
pub(crate) fn interrupted(finished: &str) -> String {
    format!("interrupted: {finished}")
}

/// Writes the tables of all outcomes into `folder`; on standard error it names the tables that a build without Parquet
/// leaves out.
pub(crate) fn write_tables(folder: &Path, outcomes: &[Outcome], extent: Extent) -> Result<(), Failure> {
    write_dir(folder, outcomes, extent)?;
    if !cfg!(feature = "parquet") {
        let remedy = features::remedy("parquet");
        output::tell(&format!("note: the tables in {} are CSV alone; for Parquet too, {remedy}\n", folder.display()));
    }
    Ok(())
}
