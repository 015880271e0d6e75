//! Standard output and standard error, and checks of files before hours of computing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::failure::Failure;

/// The columns of text where there is no terminal.
const WIDTH: usize = 100;

/// Prints `text` as it is.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| Failure::print(&error))
}

/// Writes to standard error. Errors are ignored: the exit code still tells of a failure.
pub fn tell(text: &str) {
    let _ignored = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints the JSON form of `value`, indented and piece by piece: the text of a million flows is never held as a whole.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = BufWriter::new(io::stdout().lock());
    let written = serde_json::to_writer_pretty(&mut stdout, value).map_err(io::Error::from);
    written.and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()).map_err(|error| Failure::print(&error))
}

/// Returns the width of standard output in columns.
#[must_use]
pub fn width() -> usize {
    terminal_size::terminal_size_of(io::stdout()).map_or(WIDTH, |(width, _)| usize::from(width.0))
}

/// Checks that `path` is a folder in which files can be made, and makes it if need be.
///
/// # Errors
/// It is not.
pub fn folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            Failure::new(format!("{} is not a folder", path.display()), "name a folder, or one that is not there yet")
        }
        _ => Failure::write(path, &error),
    })?;
    try_file_in(path)
}

/// Checks that a table can be written to `path`, and that its ending names the format.
///
/// # Errors
/// It cannot, or the ending is neither `.csv` nor `.parquet`.
pub fn table(path: &Path) -> Result<(), Failure> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
    if !["csv", "parquet"].contains(&ending) {
        let message = format!("{}: the ending says how a table is written, and this one does not", path.display());
        return Err(Failure::new(message, "end it in .csv or .parquet"));
    }
    file(path)?;
    // The table is made beside the file and then takes its place.
    try_file_in(parent(path)?)
}

/// Checks that a file can be written to `path`.
///
/// # Errors
/// It cannot.
pub fn file(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::new(format!("{} is a folder", path.display()), "name a file in it"));
    }
    if path.exists() {
        let opened = OpenOptions::new().append(true).open(path);
        return opened.map(drop).map_err(|error| Failure::write(path, &error));
    }
    try_file_in(parent(path)?)
}

/// Checks that no two of the options name the same file.
///
/// # Errors
/// Two do.
pub fn apart(files: &[(&str, PathBuf)]) -> Result<(), Failure> {
    for (index, (option, path)) in files.iter().enumerate() {
        if let Some((other, _)) = files[..index].iter().find(|(_, before)| before == path) {
            let message = format!("{other} and {option} name the same file");
            return Err(Failure::new(message, "give each a file of its own"));
        }
    }
    Ok(())
}

fn parent(path: &Path) -> Result<&Path, Failure> {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Ok(Path::new(".")),
        Some(parent) => Ok(parent),
        None => Err(Failure::new(format!("\"{}\" names no file", path.display()), "name a file")),
    }
}

fn try_file_in(folder: &Path) -> Result<(), Failure> {
    let probe = probe(folder);
    File::create_new(&probe).and_then(|_file| fs::remove_file(&probe)).map_err(|error| Failure::write(folder, &error))
}

fn probe(folder: &Path) -> PathBuf {
    folder.join(format!(".fairlane-{}", std::process::id()))
}
