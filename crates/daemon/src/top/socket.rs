//! The sockets of routers of this machine.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairlane_console::Failure;

/// The longest time that a router may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The maximum length of an answer in bytes, far more than the largest one.
pub(super) const MOST_BYTES: u64 = 16 << 20;

/// Asks the router at the socket `path` for its state.
///
/// # Errors
/// Nobody listens there, or the answer is none.
#[cfg(unix)]
pub(super) fn get(path: &Path) -> io::Result<String> {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /state HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut text = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "200" { Ok(body.to_owned()) } else { Err(io::Error::other(format!("it says {status}"))) }
}

/// Refuses: these systems have no such sockets.
#[cfg(not(unix))]
pub(super) fn get(_path: &Path) -> io::Result<String> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns the socket of the only router of this machine; `None` if none can be found.
///
/// # Errors
/// There are several.
pub(super) fn only_one() -> Result<Option<PathBuf>, Failure> {
    let mut found = sockets().unwrap_or_default();
    if found.len() > 1 {
        let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::new(
            format!("{} routers run here", found.len()),
            format!("name one of {}", names.join(", ")),
        ));
    }
    Ok(found.pop())
}

/// Returns the sockets in this network namespace at which a router listens.
#[cfg(all(target_os = "linux", feature = "router"))]
fn sockets() -> io::Result<Vec<PathBuf>> {
    use std::os::unix::net::UnixStream;

    let prefix = fairlane_linux::runtime_file("")?;
    let Some(folder) = prefix.parent() else { return Ok(Vec::new()) };
    let entries = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let ours = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.starts_with(&*prefix.to_string_lossy()) && name.ends_with(crate::router::SOCKET)
    };
    // A socket that others may not open belongs to a router all the same, and the answer tells why it is silent.
    let answers = |path: &PathBuf| {
        UnixStream::connect(path).map_or_else(|error| error.kind() == io::ErrorKind::PermissionDenied, |_| true)
    };
    let mut found: Vec<PathBuf> = entries.filter(ours).filter(answers).collect();
    found.sort();
    Ok(found)
}

/// Returns none: routers are for Linux.
#[cfg(not(all(target_os = "linux", feature = "router")))]
fn sockets() -> io::Result<Vec<PathBuf>> {
    Ok(Vec::new())
}
