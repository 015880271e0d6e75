//! Copies of files and folders of this machine, at their own places.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::archive::{Archive, FileEntry};
use crate::{GuestError, programs};

/// The most symbolic links on the way to a file, as in Linux (path_resolution(7)).
const MOST_LINKS: u32 = 40;

/// The most bytes of all files: a kernel's first file system lies below 2 GiB, twice.
const MOST: u64 = 512 << 20;

/// Installed files, which keep their times. Python compares its sources' with those that its compiled files name.
const INSTALLED: &str = "/usr";

/// The time of the last change of all other files, which is when a guest's clock begins: those of a fresh checkout have
/// another time each day.
const START_S: u32 = 1_577_836_800;

/// The first bytes of programs and libraries (elf(5)), and of scripts (execve(2)).
const ELF: &[u8] = b"\x7fELF";
const SCRIPT: &[u8] = b"#!";

/// Adds the file or folder at `path`, at the same place. Symbolic links stay links, and bring the file to which they
/// lead. Programs bring their libraries, and scripts their interpreters. Sockets, pipes and devices are left out.
pub(crate) fn add(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    let (mut todo, mut binaries) = (vec![std::path::absolute(path).map_err(unreadable(path))?], Vec::new());
    while let Some(path) = todo.pop() {
        let place = resolve(archive, &path)?;
        let kind = fs::metadata(&place).map_err(unreadable(&path))?;
        if kind.is_dir() {
            archive.folder(text(&place)?);
            todo.extend(children(archive, &place)?);
        } else if kind.is_file() {
            let data = read(archive, &place, MOST)?;
            if data.starts_with(ELF) {
                binaries.push(place.clone());
            }
            if kind.mode() & 0o111 != 0 && data.starts_with(SCRIPT) {
                todo.extend(interpreters(&data).into_iter().filter(|program| !has(archive, program)));
            }
            let changed_s = if place.starts_with(INSTALLED) { kind.mtime() as u32 } else { START_S };
            archive.entry(text(&place)?, FileEntry { data, mode: kind.mode(), changed_s });
        }
    }
    add_libraries(archive, &binaries)
}

/// Adds the libraries that the loader finds for `binaries`, at their own paths.
pub(crate) fn add_libraries(archive: &mut Archive, binaries: &[PathBuf]) -> Result<(), GuestError> {
    for library in programs::libraries(binaries)? {
        if has(archive, &library) {
            continue;
        }
        let place = resolve(archive, &library)?;
        if !archive.has(text(&place)?) {
            let data = read(archive, &place, MOST)?;
            archive.file(text(&place)?, data);
        }
    }
    Ok(())
}

/// Returns the interpreters of a script that are there: that of its first line, and the program that env(1) starts.
fn interpreters(script: &[u8]) -> Vec<PathBuf> {
    let words = first_line(script);
    let Some((interpreter, rest)) = words.split_first() else { return Vec::new() };
    let started = rest.iter().find(|word| !word.starts_with('-') && !word.contains('='));
    let started = started.filter(|_| interpreter.ends_with("/env")).and_then(programs::on_path);
    let interpreter = Some(PathBuf::from(interpreter)).filter(|program| program.is_file());
    interpreter.into_iter().chain(started).collect()
}

/// Returns the interpreter of the script at `path` that is missing.
pub(crate) fn missing_interpreter(path: &Path) -> Option<PathBuf> {
    let interpreter = first_line(&fs::read(path).ok()?).first().map(PathBuf::from)?;
    (!interpreter.is_file()).then_some(interpreter)
}

/// Returns the words behind `#!`; none of a file that is no script.
fn first_line(script: &[u8]) -> Vec<String> {
    let line = script.strip_prefix(SCRIPT).and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    String::from_utf8_lossy(line.unwrap_or_default()).split_whitespace().map(str::to_owned).collect()
}

/// Returns what is in a folder, without links, which are added.
fn children(archive: &mut Archive, folder: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let mut others = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
        let path = entry.map_err(unreadable(folder))?.path();
        if !path.is_symlink() || path.is_file() {
            others.push(path);
        } else {
            // A folder elsewhere may be large, and lead back here.
            let target = fs::read_link(&path).map_err(unreadable(&path))?;
            archive.link(text(&path)?, text(&target)?.to_owned());
        }
    }
    Ok(others)
}

/// Adds the symbolic links on the way to `path`, and returns its place without them.
fn resolve(archive: &mut Archive, path: &Path) -> Result<PathBuf, GuestError> {
    let names = |path: &Path| -> Vec<OsString> {
        let names = path.components().rev().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        names.map(|part| part.as_os_str().to_owned()).collect()
    };
    let (mut here, mut rest, mut links) = (PathBuf::from("/"), names(path), 0);
    while let Some(name) = rest.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(name);
        // A folder that the archive has in place of a link stays one.
        if !fs::symlink_metadata(&next).map_err(unreadable(&next))?.is_symlink() || archive.has_folder(text(&next)?) {
            here = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(unreadable(path)(io::Error::from_raw_os_error(nix::libc::ELOOP)));
        }
        let target = fs::read_link(&next).map_err(unreadable(&next))?;
        archive.link(text(&next)?, text(&target)?.to_owned());
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        rest.extend(names(&target));
    }
    Ok(here)
}

fn has(archive: &Archive, path: &Path) -> bool {
    path.to_str().is_some_and(|path| archive.has(path))
}

/// Reads a file, with which all have at most `most` bytes.
fn read(archive: &Archive, path: &Path, most: u64) -> Result<Vec<u8>, GuestError> {
    let length = fs::metadata(path).map_err(unreadable(path))?.len();
    if archive.bytes_with(text(path)?, length) > most {
        return Err(GuestError::TooLarge(most >> 20));
    }
    fs::read(path).map_err(unreadable(path))
}

fn text(path: &Path) -> Result<&str, GuestError> {
    path.to_str().ok_or_else(|| unreadable(path)(io::Error::new(ErrorKind::InvalidFilename, "its name is not UTF-8")))
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> GuestError {
    let path = path.to_owned();
    move |source| GuestError::Read { path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Would catch a link that becomes a file, a loop that never ends, a folder elsewhere that comes along, and a
    /// script without the shell that runs it.
    #[test]
    fn a_folder_is_copied_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, elsewhere) = (folder.path().join("a b"), folder.path().join("elsewhere"));
        fs::create_dir_all(root.join("deep")).expect("a folder");
        fs::create_dir_all(&elsewhere).expect("a folder");
        for (path, text) in [("run", "#!/bin/sh\nexit 7\n"), ("deep/text", "x"), ("lost", "#!/no/such/interpreter\n")] {
            fs::write(root.join(path), text).expect("it is written");
        }
        for script in ["run", "lost"] {
            fs::set_permissions(root.join(script), fs::Permissions::from_mode(0o755)).expect("it is set");
        }
        fs::write(elsewhere.join("one"), "1").expect("it is written");
        fs::write(elsewhere.join("other"), "2").expect("it is written");
        let links = [("up", ".."), ("self", "self"), ("gone", "/no/such/file"), ("one", "../elsewhere/one")];
        links.iter().for_each(|(name, target)| symlink(target, root.join(name)).expect("a link"));
        let _socket = UnixListener::bind(root.join("socket")).expect("a socket");
        let mut archive = Archive::default();
        add(&mut archive, &root).expect("it is copied");
        let there = |name: &str| archive.has(text(&folder.path().join(name)).expect("a name"));
        for name in ["a b/run", "a b/deep/text", "a b/up", "a b/self", "a b/gone", "a b/one", "elsewhere/one"] {
            assert!(there(name), "{name}");
        }
        assert!(!there("elsewhere/other") && !there("a b/socket"));
        let shell = fs::canonicalize("/bin/sh").expect("a shell");
        assert!(archive.has(text(&shell).expect("a name")) && archive.has("bin"));
        assert_eq!(missing_interpreter(&root.join("lost")), Some(PathBuf::from("/no/such/interpreter")));
        assert_eq!(missing_interpreter(&root.join("run")), None);
        let error = add(&mut archive, &root.join("gone")).expect_err("it leads nowhere").to_string();
        assert!(error.contains("/no"), "{error}");
        assert!(add(&mut archive, &root.join("self")).is_err());
    }

    /// Would catch a file that counts as often as it is named.
    #[test]
    fn a_file_counts_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, other] = ["one", "other"].map(|name| fs::canonicalize(folder.path()).expect("a folder").join(name));
        [&one, &other].iter().for_each(|file| fs::write(file, [0; 600]).expect("it is written"));
        let mut archive = Archive::default();
        add(&mut archive, &one).expect("it is copied");
        assert_eq!(read(&archive, &one, 1000).expect("there is room").len(), 600);
        assert!(matches!(read(&archive, &other, 1000), Err(GuestError::TooLarge(_))));
        assert_eq!(read(&archive, &other, 1200).expect("there is room").len(), 600);
    }

    #[test]
    fn the_interpreter_of_a_script_is_found() {
        let shell = programs::on_path("sh").expect("a shell");
        assert_eq!(interpreters(b"#!/bin/sh -e\n"), [Path::new("/bin/sh")]);
        assert_eq!(interpreters(b"#! /usr/bin/env -S A=1 sh -e\n"), [Path::new("/usr/bin/env"), &shell]);
        assert_eq!(interpreters(b"#!\n"), [""; 0].map(PathBuf::from));
        assert_eq!(interpreters(b"#!/no/such/one"), [""; 0].map(PathBuf::from));
    }
}
