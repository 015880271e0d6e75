//! Mistakes in a text of a line, with their places.

use std::fmt;
use std::ops::Range;

/// A mistake in a goal or a mix, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    text: String,
    span: Range<usize>,
    message: String,
    help: String,
}

impl TextError {
    pub(crate) fn new(text: &str, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { text: text.to_owned(), span, message: message.into(), help: help.into() }
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the place of the mistake in [`text`](Self::text).
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns the problem and the remedy.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{}; {}", self.message, self.help)
    }
}

impl fmt::Display for TextError {
    /// Writes the problem, the text with the place underlined, and the remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.span.start).unwrap_or_default().chars().count();
        let length = self.text.get(self.span.clone()).unwrap_or_default().chars().count().max(1);
        let Self { text, message, help, .. } = self;
        write!(f, "{message}\n  {text}\n  {}{}\n{help}", " ".repeat(before), "^".repeat(length))
    }
}

impl std::error::Error for TextError {}

/// Returns the places of the parts of `span` between each `separator`.
pub(crate) fn split(text: &str, span: Range<usize>, separator: char) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = span.start;
    for (at, _) in text[span.clone()].match_indices(separator) {
        parts.push(start..span.start + at);
        start = span.start + at + separator.len_utf8();
    }
    parts.push(start..span.end);
    parts
}

/// Returns the place without white space at its ends.
pub(crate) fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let start = span.start + (part.len() - part.trim_start().len());
    start..(start + part.trim().len())
}
