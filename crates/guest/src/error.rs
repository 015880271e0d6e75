//! Errors of a guest.

use std::io;
use std::path::PathBuf;

/// A reason why a guest gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuestError {
    /// There is no kernel in the folder.
    #[error("there is no kernel in {}: `fairlane lab --setup` fetches one, `--kernel DIR` names one (vmlinuz and lib/modules)", .0.display())]
    NoKernel(PathBuf),
    /// A required program is missing: its name and its package.
    #[error("the guest needs {0}, which is missing: install {1}")]
    NoTool(String, &'static str),
    /// A file of the kernel, or one that belongs into the guest, cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file of the kernel is invalid.
    #[error("{}: {why}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The defect.
        why: String,
    },
    /// The files are more than fit into a guest; the most MiB that do.
    #[error("the files for the guest are more than {0} MiB: name fewer of them, or a folder with less in it")]
    TooLarge(u64),
    /// A program on this machine failed: its name and its last words.
    #[error("{0} failed: {1}")]
    Tool(String, String),
    /// A step outside the guest failed.
    #[error("cannot run the guest: {0}: {1}")]
    Host(&'static str, #[source] io::Error),
    /// The guest ended without a result; the last lines of its console.
    #[error("the guest ended without a result; its last words: {0}")]
    NoResult(String),
    /// The guest used more processor time than allowed, in seconds.
    #[error("the guest used more than {0} s of processor time: ask for a shorter run, or for fewer packets")]
    TooLong(u64),
    /// The guest was stopped from outside.
    #[error("interrupted before anything was measured")]
    Interrupted,
}
