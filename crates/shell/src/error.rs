//! Errors of a shell.

use std::io;

use fairlane_lab::LabError;
use fairlane_linux::BridgeError;
use fairlane_qdisc::ParameterError;

/// A reason why a shell did not start, or did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The scenario needs something that a shell does not support.
    #[error(transparent)]
    Scenario(#[from] fairlane_lab::Unsupported),
    /// This user may not create namespaces, with the reason and the remedy.
    #[error("a shell needs a network namespace, and this user may not create one: {0}")]
    NotPermitted(String),
    /// A namespace may not have this congestion control; those that it may.
    #[error(
        "a namespace may not choose the congestion control {0:?}; it may choose {1}: as root, \
        sysctl net.ipv4.tcp_allowed_congestion_control adds others"
    )]
    NoCongestion(String, String),
    /// The discipline cannot be built.
    #[error(transparent)]
    Discipline(#[from] ParameterError),
    /// The frames of the link cannot be received or sent.
    #[error(transparent)]
    Frames(#[from] BridgeError),
    /// The system refused a step of the setup.
    #[error("the shell cannot be set up: {0}: {1}")]
    Setup(String, #[source] io::Error),
    /// A step of the setup inside of the command's namespaces failed, with the reason.
    #[error("the shell cannot be set up: {0}")]
    Inside(String),
    /// The command cannot be executed: the reason, and the exit code of shells for it.
    #[error("cannot execute the command: {0}")]
    Command(String, u8),
    /// The server at the far end was not executed, or does not listen, with the reason.
    #[error("the server at the far end: {0}")]
    Server(String),
    /// The scenario's own flows failed.
    #[error("the flows of the scenario: {0}")]
    Flows(#[source] LabError),
    /// The link failed while the command ran.
    #[error("the link failed while the command ran: {0}")]
    Link(#[source] io::Error),
}

impl From<LabError> for ShellError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Scenario(unsupported) => Self::Scenario(unsupported),
            other => Self::Flows(other),
        }
    }
}

/// Returns a function that wraps an error with the step of the setup that failed.
pub(crate) fn setup<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> ShellError {
    move |error| ShellError::Setup(step.into(), error.into())
}
