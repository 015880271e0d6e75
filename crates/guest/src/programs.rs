//! Programs of this machine, with the libraries that they load.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::GuestError;
use crate::archive::Archive;

/// Adds the file at `from` as `to`, with the libraries that the loader finds for it, at their own paths.
pub(crate) fn add(archive: &mut Archive, from: &Path, to: &str) -> Result<(), GuestError> {
    archive.file(to, read(from)?);
    add_libraries(archive, from)
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
    add_libraries(archive, from)
}

fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    fs::read(path).map_err(|source| GuestError::Read { path: path.to_owned(), source })
}

fn add_libraries(archive: &mut Archive, from: &Path) -> Result<(), GuestError> {
    let listed = Command::new("ldd").arg(from).output().map_err(|_| GuestError::NoTool("ldd".into(), "libc-bin"))?;
    // A static program has no libraries, and ldd(1) fails.
    for library in libraries(&String::from_utf8_lossy(&listed.stdout)) {
        if !archive.has(&library) {
            archive.file(&library, read(Path::new(&library))?);
        }
    }
    Ok(())
}

/// Returns where the program `name` is, or an error that names its package.
pub(crate) fn find(name: &str, package: &'static str) -> Result<PathBuf, GuestError> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    let found = found.and_then(|file| file.canonicalize().ok());
    found.ok_or_else(|| GuestError::NoTool(name.to_owned(), package))
}

/// The paths in ldd(1)'s lines, `NAME => PATH (ADDRESS)` or `PATH (ADDRESS)`.
fn libraries(listed: &str) -> Vec<String> {
    let path = |line: &str| {
        let (found, _) = line.rsplit_once(" (0x")?;
        let path = found.rsplit_once("=> ").map_or(found, |(_, path)| path).trim();
        path.starts_with('/').then(|| path.to_owned())
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
        assert_eq!(libraries(listed), ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]);
        assert_eq!(libraries("\tnot a dynamic executable\n"), [""; 0]);
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
