//! Files that appear whole or not at all.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};

/// The temporary files of this process, each with the place of its part if that is kept.
static UNFINISHED: Mutex<BTreeMap<PathBuf, Option<PathBuf>>> = Mutex::new(BTreeMap::new());

/// The most symbolic links that are followed, as in Linux (path_resolution(7)).
const MOST_LINKS: u32 = 40;

/// The extent of a file's content: all of it, or a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The part before an interruption or an error.
    Partial,
}

impl Extent {
    /// Returns `Partial` if `partial` is true, else `Whole`.
    #[must_use]
    pub const fn of(partial: bool) -> Self {
        if partial { Self::Partial } else { Self::Whole }
    }

    /// Returns the name of a file of this extent: `path` if it is whole; `x.partial.csv` for a part of `x.csv`. A
    /// stream has no other name, so its path stays.
    #[must_use]
    pub fn path(self, path: &Path) -> PathBuf {
        if self == Self::Whole || matches!(output_target(path), Ok(None)) {
            return path.to_owned();
        }
        let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
        name.push(".partial");
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name)
    }
}

/// A file that is being written, under a temporary name next to its place.
///
/// [`finish`](Self::finish) moves it to its place. Until then a file that was there before is untouched, and so it
/// stays if writing fails: a file that is dropped is removed. Two writers of one file do not disturb each other; the
/// last one to finish prevails. The file has the permissions of the one that it replaces; a symbolic link stays, and
/// the file that it names is replaced.
///
/// Streams, that is pipes, devices and open files such as `/dev/stdout`, are written directly.
///
/// ```
/// use std::io::Write;
///
/// use fairlane_outcome::{Extent, OutputFile};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("table.csv");
/// let mut file = OutputFile::create(&path)?;
/// file.write_all(b"time_s,packets\n")?;
/// assert!(!path.exists());
/// file.finish(Extent::Whole)?;
/// assert!(path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    /// `None` after the end.
    destination: Option<Destination>,
    keeps_part: bool,
}

#[derive(Debug)]
enum Destination {
    Temporary(NamedTempFile),
    Stream(File),
}

impl OutputFile {
    /// Begins the file that will be at `path`.
    ///
    /// # Errors
    /// A file cannot be made in its folder, or the file that is there cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let destination = match output_target(path)? {
            Some(target) => Destination::Temporary(beside(&target)?),
            None => Destination::Stream(OpenOptions::new().append(true).open(path)?),
        };
        if let Destination::Temporary(file) = &destination {
            unfinished().insert(file.path().to_owned(), None);
        }
        Ok(Self { path: path.to_owned(), destination: Some(destination), keeps_part: false })
    }

    /// Keeps the written part under its [name](Extent::path) if the file is dropped: for files that take hours.
    #[must_use]
    pub fn keeping_part(mut self) -> Self {
        self.keeps_part = true;
        if let Some(Destination::Temporary(file)) = &self.destination {
            unfinished().insert(file.path().to_owned(), Some(Extent::Partial.path(&self.path)));
        }
        self
    }

    /// Removes the unfinished files of this process, or moves them to the places of their parts: for a program that is
    /// about to end at once, without their destructors. The content of buffers is lost.
    pub fn abandon_all() {
        for (temporary, part) in std::mem::take(&mut *unfinished()) {
            // Nobody is left to be notified of an error.
            let _ = match part {
                Some(part) => fs::rename(temporary, part),
                None => fs::remove_file(temporary),
            };
        }
    }

    /// Ends the file and puts it into its place, which is [`extent.path(path)`](Extent::path). Returns that place.
    ///
    /// # Errors
    /// The file cannot replace the one in its place.
    pub fn finish(mut self, extent: Extent) -> io::Result<PathBuf> {
        self.end(extent)
    }

    /// Ends the file and puts it into its place, where there must be none yet.
    ///
    /// # Errors
    /// There is one ([`AlreadyExists`](io::ErrorKind::AlreadyExists)), or the file cannot be put there.
    pub fn finish_new(mut self) -> io::Result<()> {
        let Some(Destination::Temporary(file)) = self.destination.take() else {
            return Err(io::ErrorKind::AlreadyExists.into());
        };
        unfinished().remove(file.path());
        let target = output_target(&self.path)?.unwrap_or_else(|| self.path.clone());
        file.persist_noclobber(target).map(drop).map_err(|error| error.error)
    }

    fn end(&mut self, extent: Extent) -> io::Result<PathBuf> {
        let place = extent.path(&self.path);
        if let Some(Destination::Temporary(file)) = self.destination.take() {
            unfinished().remove(file.path());
            file.persist(output_target(&place)?.unwrap_or_else(|| place.clone())).map_err(|error| error.error)?;
        }
        Ok(place)
    }

    fn file(&mut self) -> io::Result<&mut dyn Write> {
        match &mut self.destination {
            Some(Destination::Temporary(file)) => Ok(file),
            Some(Destination::Stream(stream)) => Ok(stream),
            None => Err(io::Error::other("the file is finished")),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if self.keeps_part {
            // The caller has the error that led here.
            let _ = self.end(Extent::Partial);
        } else if let Some(Destination::Temporary(file)) = &self.destination {
            unfinished().remove(file.path());
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file()?.flush()
    }
}

/// Returns the file to which `path` leads over symbolic links, whether it exists or not; `None` for a stream: a pipe, a
/// device, or a file that this process has open, such as `/dev/stdout`.
///
/// # Errors
/// The links lead in a circle.
pub fn output_target(path: &Path) -> io::Result<Option<PathBuf>> {
    if fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir()) {
        return Ok(None);
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // The links in /proc/self/fd lead to open files.
        if fs::canonicalize(folder).is_ok_and(|folder| folder.starts_with("/proc")) {
            return Ok(None);
        }
        match fs::read_link(&path) {
            Ok(link) => path = folder.join(link),
            Err(_) => return Ok(Some(path)),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The table is consistent whenever the lock is released, so poisoning is ignored.
fn unfinished() -> MutexGuard<'static, BTreeMap<PathBuf, Option<PathBuf>>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a temporary file in the folder of `target`, since only there it can take its place.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
    };
    // The file that is replaced has to be one that may be written.
    let permissions = match OpenOptions::new().append(true).open(target) {
        Ok(file) => Some(file.metadata()?.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let file = builder.tempfile_in(folder).map_err(without_name)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    Ok(file)
}

/// Removes the name of the temporary file, which tempfile adds, and which is not the one that somebody asked for.
fn without_name(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path ") {
        Some((text, _)) => io::Error::new(error.kind(), text),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch "No such file or directory (os error 2) at path "…/.a.Xy12Zw.tmp"".
    #[test]
    fn errors_do_not_name_the_temporary_file() {
        let error = OutputFile::create(Path::new("/nonexistent/a")).unwrap_err();
        assert_eq!(error.to_string(), io::Error::from_raw_os_error(2).to_string());
    }

    fn written(path: &Path, text: &str) -> OutputFile {
        let mut file = OutputFile::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Would catch a file that is emptied before it is replaced, one that an error leaves behind, and two writers that
    /// share a file.
    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "old").unwrap();
        drop(written(&path, "half"));
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), names(folder.path())),
            ("old".to_owned(), vec!["page.html".to_owned()])
        );
        let (first, second) = (written(&path, "first"), written(&path, "second"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        second.finish(Extent::Whole).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        first.finish(Extent::Whole).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }

    /// Would catch a partial file in the place of a whole one.
    #[test]
    fn a_part_has_a_name_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.csv");
        fs::write(&path, "whole").unwrap();
        let place = written(&path, "part").finish(Extent::Partial).unwrap();
        assert_eq!(place, folder.path().join("trace.partial.csv"));
        assert_eq!(fs::read_to_string(place).unwrap(), "part");
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert_eq!(Extent::Partial.path(Path::new("flows")), Path::new("flows.partial"));
        drop(written(&path, "dropped").keeping_part());
        assert_eq!(fs::read_to_string(Extent::Partial.path(&path)).unwrap(), "dropped");
        assert_eq!(names(folder.path()), ["trace.csv", "trace.partial.csv"]);
    }

    /// Would catch a link that becomes a file, and a file that others may no longer read.
    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (real, link, later) = (folder.path().join("real"), folder.path().join("link"), folder.path().join("later"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        symlink("new", &later).unwrap();
        written(&link, "new").finish(Extent::Whole).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        written(&later, "x").finish(Extent::Whole).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("new")).unwrap(), "x");
        let mode = fs::metadata(folder.path().join("new")).unwrap().permissions().mode();
        fs::write(folder.path().join("plain"), "").unwrap();
        assert_eq!(mode, fs::metadata(folder.path().join("plain")).unwrap().permissions().mode());
    }

    /// Would catch a temporary file in /dev, and a device that is replaced by a file.
    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_in_place() {
        let mut full = written(Path::new("/dev/full"), "");
        assert_eq!(full.write_all(b"x").unwrap_err().kind(), io::ErrorKind::StorageFull);
        for path in ["/dev/null", "/dev/stdout"] {
            assert_eq!(output_target(Path::new(path)).unwrap(), None);
            assert_eq!(written(Path::new(path), "").finish(Extent::Partial).unwrap(), Path::new(path));
        }
        for path in ["/dev/shm/new", "new"] {
            assert_eq!(output_target(Path::new(path)).unwrap().as_deref(), Some(Path::new(path)));
        }
    }
}
