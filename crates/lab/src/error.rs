//! Errors of the lab.

use std::io;

use fairlane_linux::BridgeError;
use fairlane_qdisc::ParameterError;

use crate::check::Checks;

/// A part of a scenario that the lab does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}; {help}")]
pub struct Unsupported {
    /// The key of the scenario file, such as `bottleneck.loss`.
    pub key: String,
    /// The restriction.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl Unsupported {
    /// Returns the restriction of a key, with the remedy.
    #[must_use]
    pub fn new(key: &str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { key: key.to_owned(), message: message.into(), help: help.into() }
    }
}

/// A reason why the lab cannot run, or why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The scenario needs something that the lab does not support.
    #[error(transparent)]
    Scenario(#[from] Unsupported),
    /// This user may not create namespaces, with the reason and the remedy.
    #[error("the lab needs network namespaces, and this user may not create one: {0}")]
    NotPermitted(String),
    /// A required program is missing: its name and its package.
    #[error("the lab needs {0}, which is missing: install {1}")]
    NoTool(&'static str, &'static str),
    /// The kernel or a tool refused a step of the setup.
    #[error("the lab cannot be set up: {0}: {1}")]
    Setup(String, #[source] io::Error),
    /// The discipline cannot be built.
    #[error(transparent)]
    Discipline(#[from] ParameterError),
    /// The frames of the link cannot be received or sent.
    #[error(transparent)]
    Frames(#[from] BridgeError),
    /// The kernel does not have its own discipline of this name.
    #[error("this kernel has no discipline {0}: load the module sch_{0}, or run the lab in a guest (--in guest)")]
    NoDiscipline(String),
    /// A part of the lab failed while it ran.
    #[error("the lab failed while it ran: {0}: {1}")]
    Failed(&'static str, #[source] io::Error),
    /// A lab on another machine failed, with the reason.
    #[error("{0}")]
    Elsewhere(String),
    /// The run was interrupted before the measurement began.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// The queue was not the bottleneck, or the machine was too slow: the numbers would not be those of the queue.
    #[error("this is not a measurement of the queue: {}", .0.failed())]
    NotTheBottleneck(Checks),
}

/// Returns a function that wraps an error with the step of the setup that failed.
pub(crate) fn setup<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> LabError {
    move |error| LabError::Setup(step.into(), error.into())
}
