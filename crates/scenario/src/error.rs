//! Why a scenario was refused, and where it says so.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A scenario's text and what it is called.
#[derive(Clone, Debug)]
pub(crate) struct Source(Arc<(String, String)>);

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self(Arc::new((name.to_owned(), text.to_owned())))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.0
    }

    pub(crate) fn text(&self) -> &str {
        &self.0.1
    }

    /// The text that `span` covers; empty where it covers none.
    pub(crate) fn slice(&self, span: &Range<usize>) -> &str {
        self.text().get(span.clone()).unwrap_or("")
    }
}

/// Where a key or a value was written.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// In the file, at these bytes.
    File(Range<usize>),
    /// On the command line: the option as it was given, such as `--set seed=2`.
    Given(Arc<str>),
    /// By a program, in place of what the file said: the statement, such as `scenario["seed"] = 2`.
    Edited(Arc<str>),
    /// Nowhere in the text: the file as a whole.
    Whole,
}

/// Why a scenario was refused: which key, what is wrong with its value, what would be right, and where it was written.
///
/// Its `Display` is one paragraph that starts with `file:line:column:` or with the option or statement. The parts are
/// there for a program that wants to show the place in the text.
#[derive(Clone, Debug)]
pub struct ScenarioError(Box<Detail>);

#[derive(Clone, Debug)]
struct Detail {
    source: Source,
    origin: Origin,
    key: String,
    message: String,
    help: Option<String>,
}

impl ScenarioError {
    pub(crate) fn new(source: &Source, origin: &Origin, key: &str, message: impl Into<String>) -> Self {
        Self(Box::new(Detail {
            source: source.clone(),
            origin: origin.clone(),
            key: key.to_owned(),
            message: message.into(),
            help: None,
        }))
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The key, such as `bottleneck.queue.max`; empty when the error is about the file as a whole.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// What is wrong, with the offending value.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to write instead, where the message does not say it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// What the file is called.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.0.source.name()
    }

    /// The file's text; empty when it could not be read.
    #[must_use]
    pub fn source_text(&self) -> &str {
        self.0.source.text()
    }

    /// The bytes of [`source_text`](Self::source_text) that the error is about, on character boundaries; `None` when it
    /// is not about a place in the file.
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        let Origin::File(span) = &self.0.origin else { return None };
        let text = self.source_text();
        let start = text.floor_char_boundary(span.start);
        Some(start..text.floor_char_boundary(span.end).max(start))
    }

    /// Line and column where [`span`](Self::span) begins, both counted from 1, columns in characters.
    #[must_use]
    pub fn line_column(&self) -> Option<(usize, usize)> {
        let before = &self.source_text()[..self.span()?.start];
        let line = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line..].trim_start_matches('\u{feff}').chars().count();
        Some((before.matches('\n').count() + 1, column + 1))
    }

    /// The option of the command line or the statement of a program that gave the value, such as `--set seed=2`; `None`
    /// when the file did.
    #[must_use]
    pub fn option(&self) -> Option<&str> {
        match &self.0.origin {
            Origin::Given(option) | Origin::Edited(option) => Some(option),
            Origin::File(_) | Origin::Whole => None,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.option(), self.line_column()) {
            (Some(option), _) => write!(f, "{option}: ")?,
            (None, Some((line, column))) => write!(f, "{}:{line}:{column}: ", self.file_name())?,
            (None, None) => write!(f, "{}: ", self.file_name())?,
        }
        if !self.key().is_empty() {
            write!(f, "{}: ", self.key())?;
        }
        f.write_str(self.message())?;
        self.help().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for ScenarioError {}
