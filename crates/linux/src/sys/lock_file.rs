//! Locks between processes: files in the runtime folder that only this user can open.
//!
//! The kernel releases the lock of a process that ends, however it ends. Names are those of a network namespace.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use fairlane_qdisc::Duration;
use nix::libc;
use nix::poll::{PollTimeout, poll};

use crate::sys::clock::now;
use crate::sys::runtime_dir::runtime_file;

/// The time between two attempts to get a lock, in milliseconds.
const RETRY_MILLIS: u8 = 20;

/// A named lock.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// As long as it is open, nobody else has the lock.
    _file: File,
}

impl Lock {
    /// Acquires the lock `name`, which has no slash.
    ///
    /// # Errors
    /// Another process holds the lock ([`io::ErrorKind::WouldBlock`]), or its file cannot be opened.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let path = runtime_file(&format!("{name}.lock"))?;
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        loop {
            let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_NONBLOCK;
            let open =
                OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(&path);
            let file = open.map_err(named)?;
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
                TryLockError::Error(error) => named(error),
            })?;
            // The holder before may have removed the file since it was opened here.
            let is = |found: fs::Metadata| {
                file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
            };
            if fs::symlink_metadata(&path).is_ok_and(is) {
                return Ok(Self { path, _file: file });
            }
        }
    }

    /// Acquires the lock `name`, and waits for it up to `most`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn wait(name: &str, most: Duration) -> io::Result<Self> {
        let until = now() + most;
        loop {
            match Self::new(name) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && now() < until => {
                    // An interrupted wait is shorter, which is harmless.
                    let _ = poll(&mut [], PollTimeout::from(RETRY_MILLIS));
                }
                result => return result,
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Still locked: nobody else has this file. One that stays is harmless.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    /// One holder at a time, and nothing is left behind. Would catch a lock that is not released, and one that is
    /// released while another waits for it.
    #[test]
    fn one_has_it_at_a_time() {
        let name = format!("test-{}", std::process::id());
        let held = Lock::new(&name).unwrap();
        let path = held.path.clone();
        assert_eq!(Lock::new(&name).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        let kind = Lock::wait(&name, Duration::from_millis(50)).unwrap_err().kind();
        assert_eq!(kind, io::ErrorKind::WouldBlock);
        drop(held);
        assert!(!path.exists());
        // Eight threads want it as fast as they can, so that some open a file that its holder is removing.
        let (has_it, times) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while times.load(Ordering::Relaxed) < 1000 {
                        let Ok(held) = Lock::new(&name) else { continue };
                        assert!(!has_it.swap(true, Ordering::SeqCst), "two have it");
                        std::thread::yield_now();
                        has_it.store(false, Ordering::SeqCst);
                        times.fetch_add(1, Ordering::Relaxed);
                        drop(held);
                    }
                });
            }
        });
        assert!(!path.exists());
        assert!(Lock::wait(&name, Duration::from_millis(50)).is_ok());
    }

    /// A file that somebody else has put there is neither followed nor waited for.
    #[test]
    fn a_link_is_refused() {
        let name = format!("link-{}", std::process::id());
        let held = Lock::new(&name).unwrap();
        let path = held.path.clone();
        drop(held);
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let error = Lock::new(&name).unwrap_err();
        fs::remove_file(&path).unwrap();
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}
