//! Errors in claims and their experiments.

use std::path::PathBuf;

/// Why claims could not be read or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A book of claims cannot be read.
    #[error("{name}: {why}")]
    Book {
        /// The file.
        name: String,
        /// The problem and its place.
        why: String,
    },
    /// There is no such claim.
    #[error("there is no claim \"{asked}\"; {help}")]
    Unknown {
        /// The name that was requested.
        asked: String,
        /// The name that may have been meant.
        help: String,
    },
    /// An experiment cannot be run.
    #[error("the experiment {experiment}: {why}")]
    Experiment {
        /// The experiment.
        experiment: String,
        /// Why.
        why: String,
    },
    /// The results so far cannot be kept.
    #[error("cannot keep the results in {}: {source}", path.display())]
    Keep {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn experiment(id: &str, why: impl Into<String>) -> Self {
        Self::Experiment { experiment: id.to_owned(), why: why.into() }
    }
}
