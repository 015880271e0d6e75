//! What a batch cannot do, and the way out.

use fairlane_scenario::ScenarioError;

/// Why a batch was refused or ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario itself.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The engine or the machine will not do.
    #[error("{message}{}", help.as_ref().map(|help| format!("; {help}")).unwrap_or_default())]
    Refused {
        /// What is wrong.
        message: String,
        /// What to do instead, where the message does not say it.
        help: Option<String>,
    },
}

impl Error {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: Some(help.into()) }
    }

    pub(crate) fn plain(message: impl std::fmt::Display) -> Self {
        Self::Refused { message: message.to_string(), help: None }
    }
}
