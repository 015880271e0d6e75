//! The outputs of a command, checked before hours of computing.

use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::Extent;
use fairlane_outcome::tables::{SeriesWriter, dir_files};
use fairlane_qdisc::Duration;
use fairlane_runner::files::{check_distinct, check_file, folder};

use crate::features;

/// The outputs of a command, by their options.
#[derive(Debug, Default)]
pub(crate) struct Outputs(Vec<Output>);

#[derive(Debug)]
struct Output {
    option: &'static str,
    path: PathBuf,
    kind: OutputKind,
}

/// Kinds of outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputKind {
    File,
    /// Its ending names its format.
    Table,
    /// A folder of tables.
    Tables,
}

impl Outputs {
    /// Adds a file, if one is asked for.
    pub(crate) fn file(self, option: &'static str, path: Option<&Path>) -> Self {
        self.with(option, path, OutputKind::File)
    }

    /// Adds a table.
    pub(crate) fn table(self, option: &'static str, path: Option<&Path>) -> Self {
        self.with(option, path, OutputKind::Table)
    }

    /// Adds a folder of tables.
    pub(crate) fn tables(self, option: &'static str, path: Option<&Path>) -> Self {
        self.with(option, path, OutputKind::Tables)
    }

    /// Adds the tables of a series.
    pub(crate) fn series(self, series: Option<&(PathBuf, Duration)>) -> Self {
        let files = series.map(|(path, _)| SeriesWriter::files(path)).into_iter().flatten();
        files.fold(self, |outputs, file| outputs.table("--series", Some(&file)))
    }

    fn with(mut self, option: &'static str, path: Option<&Path>, kind: OutputKind) -> Self {
        self.0.extend(path.map(|path| Output { option, path: path.to_owned(), kind }));
        self
    }

    /// Checks the outputs: each can be written, none is one of the `inputs`, and no two are the same file.
    pub(crate) fn check(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        check_distinct(self.0.iter().map(|output| (output.option, output.files())), inputs)?;
        self.0.iter().try_for_each(Output::check)
    }

    /// Returns the files, those of folders too.
    #[cfg(all(feature = "shell", target_os = "linux"))]
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().flat_map(Output::files)
    }

    /// Returns the names of the partial outputs of an interruption, for a message; `None` if there are no files.
    pub(crate) fn partial(&self) -> Option<String> {
        let part = |output: &Output| match output.kind {
            OutputKind::Tables => output.path.join("*.partial.*"),
            OutputKind::File | OutputKind::Table => Extent::Partial.path(&output.path),
        };
        let parts: Vec<String> = self.0.iter().map(|output| part(output).display().to_string()).collect();
        (!parts.is_empty()).then(|| format!("its files are {}", parts.join(", ")))
    }
}

impl Output {
    /// Returns the files, of a folder too.
    fn files(&self) -> Vec<PathBuf> {
        if self.kind == OutputKind::Tables { dir_files(&self.path) } else { vec![self.path.clone()] }
    }

    fn check(&self) -> Result<(), Failure> {
        match self.kind {
            OutputKind::File => check_file(&self.path)?,
            OutputKind::Table => table(&self.path)?,
            OutputKind::Tables => folder(&self.path)?,
        }
        Ok(())
    }
}

/// Checks that a table can be written to `path`, and that the build has the format of its ending.
fn table(path: &Path) -> Result<(), Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
    if !cfg!(feature = "parquet") && ending == "parquet" {
        return Err(features::missing("Parquet (.parquet; .csv works)", "parquet"));
    }
    if !["csv", "parquet"].contains(&ending) {
        let message = format!("{}: the ending does not name a format of tables", path.display());
        return Err(Failure::new(message, "end the name in .csv or .parquet"));
    }
    Ok(check_file(path)?)
}
