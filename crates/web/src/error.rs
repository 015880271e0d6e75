//! Errors as a page shows them.

use fairlane_scenario::ScenarioError;

/// An error: its text, which is the command line's, and the line of the scenario that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    /// The text, in one paragraph.
    pub text: String,
    /// The line, counted from 1; `None` if it is about no line.
    pub line: Option<usize>,
}

impl PageError {
    /// Makes an error that is about no line.
    pub(crate) fn new(text: &impl ToString) -> Self {
        Self { text: text.to_string(), line: None }
    }
}

impl From<ScenarioError> for PageError {
    fn from(error: ScenarioError) -> Self {
        Self { text: error.to_string(), line: error.line_column().map(|(line, _)| line) }
    }
}
