//! The files that work reads and writes: checked before hours of computing, and written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fairlane_outcome::{Extent, OutputFile, output_target};

use crate::Error;

/// Distinguishes files, under any names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Identity {
    /// A file that exists: its device and its number there.
    #[cfg(unix)]
    Inode(u64, u64),
    /// The path of a file in its folder, without symbolic links.
    Place(PathBuf),
}

/// Checks that no output, and no [part](Extent::path) of one, is one of the `inputs`, and that no two outputs share a
/// file. An output has a name for errors, such as its option, and its files. Symbolic and hard links to a file are that
/// file; devices such as `/dev/null` may be named several times.
///
/// # Errors
/// An output would overwrite an input, or two outputs have the same file.
pub fn check_distinct<'a>(
    outputs: impl IntoIterator<Item = (&'a str, Vec<PathBuf>)>,
    inputs: &[PathBuf],
) -> Result<(), Error> {
    let inputs: Vec<Identity> = inputs.iter().filter_map(|path| identity(path)).collect();
    let mut seen: Vec<(&str, Identity)> = Vec::new();
    for (name, files) in outputs {
        for path in files.iter().flat_map(|path| [path.clone(), Extent::Partial.path(path)]) {
            let Some(identity) = identity(&path) else { continue };
            if inputs.contains(&identity) {
                let message = format!("{name} would overwrite {}, which is read", path.display());
                return Err(Error::new(message, "write to another file"));
            }
            if let Some((other, _)) = seen.iter().find(|(_, before)| *before == identity) {
                let message = format!("{other} and {name} name the same file");
                return Err(Error::new(message, "give each a separate file"));
            }
        }
        seen.extend(files.iter().filter_map(|path| Some((name, identity(path)?))));
    }
    Ok(())
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

/// Checks that a file can be written to `path`. A stream is not opened: a pipe's reader would take that for the end.
///
/// # Errors
/// The file cannot be written, is a folder, or `path` names no file.
pub fn check_file(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Err(Error::new(format!("{} is a folder", path.display()), "name a file in it"));
    }
    let Some(target) = output_target(path).map_err(|error| Error::write(path, error))? else { return Ok(()) };
    if target.file_name().is_none() {
        return Err(Error::new(format!("\"{}\" names no file", path.display()), "name a file"));
    }
    match OpenOptions::new().append(true).open(&target) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::write(path, error)),
        // The new file is made next to the old one and then takes its place.
        _ => try_file_in(parent(&target)),
    }
}

/// Checks that `path` is a folder in which files can be made, and makes it if need be.
///
/// # Errors
/// The folder does not exist and cannot be made, or files cannot be made in it.
pub fn folder(path: &Path) -> Result<(), Error> {
    fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            Error::new(format!("{} is not a folder", path.display()), "name a folder, or one that is not there yet")
        }
        _ => Error::write(path, error),
    })?;
    try_file_in(path)
}

/// Writes `bytes` to `path`, or to the name of a [part](Extent::path) of it. The file appears whole or not at all.
///
/// # Errors
/// The file cannot be written; its old content is unchanged.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>, extent: Extent) -> Result<(), Error> {
    let written = OutputFile::create(path).and_then(|mut file| {
        file.write_all(bytes.as_ref())?;
        file.finish(extent)
    });
    written.map(drop).map_err(|error| Error::write(path, error))
}

/// Writes `text` to `path`, where there is no file yet. The file appears whole or not at all.
///
/// # Errors
/// There is a file, or it cannot be written.
pub fn write_new(path: &Path, text: &str) -> Result<(), Error> {
    let written = OutputFile::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish_new()
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Error::new(
            format!("{} is there already, and is not overwritten", path.display()),
            "name another file, or remove this one",
        ),
        _ => Error::write(path, error),
    })
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn try_file_in(folder: &Path) -> Result<(), Error> {
    let probe = folder.join(format!(".fairlane-{}", std::process::id()));
    File::create_new(&probe).and_then(|_file| fs::remove_file(&probe)).map_err(|error| Error::write(folder, error))
}
