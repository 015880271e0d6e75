//! The files that a command reads and writes: checked before hours of computing, and written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use fairlane_console::Failure;
use fairlane_outcome::tables::{SeriesWriter, dir_files};
use fairlane_outcome::{Extent, OutputFile, output_target};
use fairlane_qdisc::Duration;

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

/// Distinguishes files, whatever their names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// A file that exists: its device and its number there.
    #[cfg(unix)]
    Inode(u64, u64),
    /// The path of a file in its folder, without symbolic links.
    Place(PathBuf),
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

    /// Checks that every output can be written, that none is one of the `inputs`, and that no two are the same file.
    pub(crate) fn check(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        let inputs: Vec<Identity> = inputs.iter().filter_map(|path| identity(path)).collect();
        let mut seen: Vec<(&str, Identity)> = Vec::new();
        for output in &self.0 {
            let files = output.files();
            for path in files.iter().flat_map(|path| [path.clone(), Extent::Partial.path(path)]) {
                let Some(identity) = identity(&path) else { continue };
                if inputs.contains(&identity) {
                    let message = format!("{} would overwrite {}, which is read", output.option, path.display());
                    return Err(Failure::new(message, "write to another file"));
                }
                if let Some((other, _)) = seen.iter().find(|(_, before)| *before == identity) {
                    let message = format!("{other} and {} name the same file", output.option);
                    return Err(Failure::new(message, "give each a file of its own"));
                }
            }
            seen.extend(files.iter().filter_map(|path| Some((output.option, identity(path)?))));
        }
        self.0.iter().try_for_each(Output::check)
    }

    /// Returns the names of what an interruption left of the outputs, for a message; `None` if there are no files.
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
            OutputKind::File => file(&self.path),
            OutputKind::Table => table(&self.path),
            OutputKind::Tables => folder(&self.path),
        }
    }
}

/// Returns `None` for what may be named several times, as `/dev/null` may.
fn identity(path: &Path) -> Option<Identity> {
    #[cfg(unix)]
    if let Ok(there) = fs::metadata(path) {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        return (!there.file_type().is_char_device()).then(|| Identity::Inode(there.dev(), there.ino()));
    }
    let target = output_target(path).ok()??;
    let folder = fs::canonicalize(parent(&target)).ok()?;
    Some(Identity::Place(fs::canonicalize(&target).unwrap_or(folder.join(target.file_name()?))))
}

/// Writes `bytes` to `path`, or to the name of a part of it.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>, extent: Extent) -> Result<(), Failure> {
    let written = OutputFile::create(path).and_then(|mut file| {
        io::Write::write_all(&mut file, bytes.as_ref())?;
        file.finish(extent)
    });
    written.map(drop).map_err(|error| Failure::write(path, &error))
}

/// Checks that `path` is a folder in which files can be made, and makes it if need be.
pub(crate) fn folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            Failure::new(format!("{} is not a folder", path.display()), "name a folder, or one that is not there yet")
        }
        _ => Failure::write(path, &error),
    })?;
    try_file_in(path)
}

/// Checks that a table can be written to `path`, and that its ending names a format that this build has.
fn table(path: &Path) -> Result<(), Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
    if !cfg!(feature = "parquet") && ending == "parquet" {
        return Err(features::missing("Parquet (.parquet; .csv works)", "parquet"));
    }
    if !["csv", "parquet"].contains(&ending) {
        let message = format!("{}: the ending says how a table is written, and this one does not", path.display());
        return Err(Failure::new(message, "end it in .csv or .parquet"));
    }
    file(path)
}

/// Checks that a file can be written to `path`. A stream is not opened: a pipe's reader would take that for the end.
fn file(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::new(format!("{} is a folder", path.display()), "name a file in it"));
    }
    let failed = |error: io::Error| Failure::write(path, &error);
    let Some(target) = output_target(path).map_err(failed)? else { return Ok(()) };
    if target.file_name().is_none() {
        return Err(Failure::new(format!("\"{}\" names no file", path.display()), "name a file"));
    }
    match OpenOptions::new().append(true).open(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error)),
        // The file is made beside it and then takes its place.
        _ => try_file_in(parent(&target)),
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn try_file_in(folder: &Path) -> Result<(), Failure> {
    let probe = folder.join(format!(".fairlane-{}", std::process::id()));
    File::create_new(&probe).and_then(|_file| fs::remove_file(&probe)).map_err(|error| Failure::write(folder, &error))
}
