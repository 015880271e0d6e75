//! Errors of a batch, with their remedies.

use std::io;
#[cfg(feature = "tables")]
use std::path::Path;
use std::path::PathBuf;

use fairlane_scenario::ScenarioError;

/// The reason why a batch was refused or ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The engine or the machine cannot do it.
    #[error("{message}{}", help.as_ref().map(|help| format!("; {help}")).unwrap_or_default())]
    Refused {
        /// The cause.
        message: String,
        /// The remedy, unless the message contains it.
        help: Option<String>,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file, or the folder in which it cannot be made.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

#[cfg(feature = "tables")]
impl From<fairlane_outcome::tables::TableError> for Error {
    fn from(error: fairlane_outcome::tables::TableError) -> Self {
        Self::plain(error)
    }
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: Some(help.into()) }
    }

    pub(crate) fn plain(message: impl std::fmt::Display) -> Self {
        Self::Refused { message: message.to_string(), help: None }
    }

    #[cfg(feature = "tables")]
    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }
}
