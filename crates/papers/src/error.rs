//! Errors in claims and their experiments.

use std::path::PathBuf;

use crate::book::{Experiment, Place};

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
    /// A file of claims cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Claims of this crate and files of claims are requested at once.
    #[error("claims by name and files of claims cannot be run at once: run them one after the other")]
    Mixed,
    /// An experiment cannot be run.
    #[error("{place}the experiment {experiment}: {why}")]
    Experiment {
        /// The claims file and the line, with a colon and a space; empty for one of this crate.
        place: String,
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
    pub(crate) fn experiment(experiment: &Experiment, why: impl Into<String>) -> Self {
        let place = |place: &Place| format!("{}:{}: ", place.file.display(), place.line);
        let place = experiment.place.as_ref().map(place).unwrap_or_default();
        Self::Experiment { place, experiment: experiment.id.clone(), why: why.into() }
    }
}
