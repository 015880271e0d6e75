//! Errors of a search.

use fairlane_scenario::ScenarioError;

use crate::text::TextError;

/// The reason why a search was refused or ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The goal or the mix is wrong.
    #[error("{0}")]
    Text(#[from] TextError),
    /// The scenario is wrong, the simulator or the machine cannot run it, or it was interrupted.
    #[error(transparent)]
    Run(#[from] fairlane_runner::Error),
}

impl From<ScenarioError> for Error {
    fn from(error: ScenarioError) -> Self {
        Self::Run(error.into())
    }
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Run(fairlane_runner::Error::Refused { message: message.into(), help: Some(help.into()) })
    }
}
