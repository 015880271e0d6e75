//! What can go wrong with claims.

use std::path::PathBuf;

/// Why claims could not be read or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A book of claims cannot be read.
    #[error("{name}: {why}")]
    Book {
        /// The file.
        name: String,
        /// What is wrong with it, and where.
        why: String,
    },
    /// There is no such claim.
    #[error("there is no claim \"{asked}\"; {help}")]
    Unknown {
        /// What was asked for.
        asked: String,
        /// What it may have meant.
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
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    pub(crate) fn experiment(id: &str, why: impl Into<String>) -> Self {
        Self::Experiment { experiment: id.to_owned(), why: why.into() }
    }
}
