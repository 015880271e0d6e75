//! Programs of this machine, with the libraries that they load.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::archive::Archive;
use crate::{GuestError, copies};

/// The C library, and the libraries that it loads when they are needed: for names, and for the end of threads.
const LIBC: &str = "libc.so.6";
const LOADED_LATER: [&str; 2] = ["libnss_files.so.2", "libgcc_s.so.1"];

/// The most files that ldd(1) is asked for at a time.
const AT_ONCE: usize = 200;

/// Adds the program at `from` as `to`, with the libraries that the loader finds for it, at their own paths.
pub(crate) fn add(archive: &mut Archive, from: &Path, to: &str) -> Result<(), GuestError> {
    archive.file(to, read(from)?);
    copies::add_libraries(archive, &[from.to_owned()])
}

/// Adds the program at `from` as [`add`] does, without its debugging information where strip(1) can remove it: that of
/// an unoptimised program is larger than a guest's memory.
pub(crate) fn add_stripped(archive: &mut Archive, from: &Path, to: &str) -> Result<(), GuestError> {
    let stripped =
        tempfile::NamedTempFile::new().map_err(|source| GuestError::Host("a file for its program", source))?;
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg("-o").arg(stripped.path()).arg(from).stderr(Stdio::null());
    let is_stripped = strip.status().is_ok_and(|status| status.success());
    archive.file(to, read(if is_stripped { stripped.path() } else { from })?);
    copies::add_libraries(archive, &[from.to_owned()])
}

fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    fs::read(path).map_err(|source| GuestError::Read { path: path.to_owned(), source })
}

/// Returns the libraries that the loader finds for `binaries`.
pub(crate) fn libraries(binaries: &[PathBuf]) -> Result<Vec<PathBuf>, GuestError> {
    let mut found = Vec::new();
    for some in binaries.chunks(AT_ONCE) {
        let ldd = Command::new("ldd").args(some).stdin(Stdio::null()).output();
        let ldd = ldd.map_err(|_| GuestError::NoTool("ldd".into(), "libc-bin"))?;
        // A static program has no libraries, and ldd(1) fails.
        found.extend(listed(&String::from_utf8_lossy(&ldd.stdout)));
    }
    found.sort_unstable();
    found.dedup();
    let loaded = found.iter().filter(|library| library.file_name().is_some_and(|name| name == LIBC)).cloned();
    let later: Vec<PathBuf> = loaded.flat_map(|libc| LOADED_LATER.map(|name| libc.with_file_name(name))).collect();
    found.extend(later.into_iter().filter(|library| library.is_file()));
    Ok(found)
}

/// Returns where the program `name` is, or an error that names its package.
pub(crate) fn find(name: &str, package: &'static str) -> Result<PathBuf, GuestError> {
    let found = on_path(name).or_else(|| is_in(name, ["/usr/sbin", "/sbin"].map(PathBuf::from)));
    let found = found.and_then(|file| file.canonicalize().ok());
    found.ok_or_else(|| GuestError::NoTool(name.to_owned(), package))
}

/// Returns the program `name` of the first folder of `PATH` that has it.
pub(crate) fn on_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    is_in(name, env::split_paths(&env::var_os("PATH").unwrap_or_default()))
}

fn is_in(name: impl AsRef<Path>, folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let is_program = |file: &PathBuf| fs::metadata(file).is_ok_and(|file| file.is_file() && file.mode() & 0o111 != 0);
    folders.into_iter().map(|folder| folder.join(&name)).find(is_program)
}

/// The paths in ldd(1)'s lines, `NAME => PATH (ADDRESS)` or `PATH (ADDRESS)`.
fn listed(listed: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let (found, _) = line.rsplit_once(" (0x")?;
        let path = found.rsplit_once("=> ").map_or(found, |(_, path)| path).trim();
        path.starts_with('/').then(|| path.into())
    };
    listed.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_that_ldd_finds() {
        let listed = "\tlinux-vdso.so.1 (0x00007f5fffc33000)\n\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f5ffe61e000)\n\
                      \tlibgone.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f5fffc35000)\n";
        let found = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(super::listed(listed), found);
        assert_eq!(super::listed("\tnot a dynamic executable\n"), [""; 0].map(PathBuf::from));
    }

    #[test]
    fn a_program_comes_with_its_libraries() {
        let mut archive = Archive::default();
        let shell = find("sh", "dash").expect("there is a shell");
        add(&mut archive, &shell, "/bin/sh").expect("it is read");
        assert!(archive.has("bin/sh"));
        let error = find("no-such-program", "its-package").expect_err("there is none").to_string();
        assert!(error.contains("no-such-program") && error.contains("its-package"), "{error}");
    }
}
