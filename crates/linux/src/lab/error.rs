//! Why there is no lab, or no outcome.

use std::io;

use crate::rules::RuleError;
use crate::socket::BindError;

use super::checks::Checks;

/// Something of a scenario that the lab cannot do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}; {help}")]
pub struct Unsupported {
    /// The key that asks for it, such as `bottleneck.loss`.
    pub key: String,
    /// What the lab cannot do.
    pub message: String,
    /// What to do instead.
    pub help: String,
}

/// Why there is no lab, or no outcome.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The scenario wants what the lab cannot do.
    #[error(transparent)]
    Scenario(#[from] Unsupported),
    /// This user may not make network namespaces.
    #[error("the lab makes network namespaces, and this user may not: run it as root")]
    NotPermitted,
    /// A tool that the lab needs is not there.
    #[error("the lab needs {0}, and it is not there: install {1}")]
    NoTool(&'static str, &'static str),
    /// The kernel or a tool refused a step of the setup.
    #[error("the lab cannot be set up: {0}: {1}")]
    Setup(String, #[source] io::Error),
    /// The queue cannot be bound.
    #[error(transparent)]
    Queue(#[from] BindError),
    /// The rules that lead packets to the queue cannot be installed.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// A part of the lab failed while it ran.
    #[error("the lab failed while it ran: {0}: {1}")]
    Failed(&'static str, #[source] io::Error),
    /// It was interrupted before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// Our queue was not the bottleneck, or the machine was too slow for what was asked: the numbers would be of something else.
    #[error("this is not a measurement of the queue: {}", .0.failed())]
    NotTheBottleneck(Checks),
}

/// Names the step of the setup that an error belongs to.
pub(super) fn setup<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> LabError {
    move |error| LabError::Setup(step.into(), error.into())
}
