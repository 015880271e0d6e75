//! Errors in scenarios, with their places.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::bundled;

/// A scenario's text and name.
#[derive(Clone, Debug)]
pub(crate) struct SourceText {
    /// The name and the text.
    parts: Arc<(String, String)>,
    /// True if the scenario and the files that it reads are compiled in.
    is_bundled: bool,
}

impl SourceText {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        Self { parts: Arc::new((name.to_owned(), text.to_owned())), is_bundled: false }
    }

    pub(crate) fn bundled(name: &str, text: &str) -> Self {
        Self { is_bundled: true, ..Self::new(name, text) }
    }

    /// Returns the text of a file that is compiled in, if this scenario is.
    pub(crate) fn bundled_file(&self, name: &str) -> Option<&'static str> {
        bundled::file(name).filter(|_| self.is_bundled)
    }

    pub(crate) fn name(&self) -> &str {
        &self.parts.0
    }

    pub(crate) fn text(&self) -> &str {
        &self.parts.1
    }

    /// Returns the path of a file in the folder of this one.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        Path::new(self.name()).with_file_name(name)
    }

    /// The text that `span` covers; empty for an invalid span.
    pub(crate) fn slice(&self, span: &Range<usize>) -> &str {
        self.text().get(span.clone()).unwrap_or("")
    }
}

/// The place where a key or a value was written.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// In the file, at these bytes.
    File(Range<usize>),
    /// On the command line: the option as it was given, such as `--set seed=2`.
    Given(Arc<str>),
    /// A statement of a program that replaced the file's value, such as `scenario["seed"] = 2`.
    Edited(Arc<str>),
    /// Nowhere in the text: the file as a whole.
    Whole,
}

/// An error in a scenario: the key, the problem, the remedy, and the place where the value was written.
///
/// Its `Display` is one paragraph that starts with `file:line:column:` or with the option or statement. The parts are
/// available to programs that show the place in the text.
#[derive(Clone, Debug)]
pub struct ScenarioError(Box<Detail>);

#[derive(Clone, Debug)]
struct Detail {
    source: SourceText,
    origin: Origin,
    key: String,
    message: String,
    help: Option<String>,
    /// A value for the key, if it is missing, in TOML.
    example: Option<String>,
    cause: Cause,
}

/// The cause of an error, for programs that handle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    UnknownKey,
    MissingUnit(Quantity),
    Other,
}

/// A quantity that is written with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bits per second.
    Rate,
    /// A time.
    Duration,
    /// A number of bytes.
    Bytes,
    /// A number of packets, or of bytes.
    Size,
}

impl ScenarioError {
    pub(crate) fn new(source: &SourceText, origin: &Origin, key: &str, message: impl Into<String>) -> Self {
        Self(Box::new(Detail {
            source: source.clone(),
            origin: origin.clone(),
            key: key.to_owned(),
            message: message.into(),
            help: None,
            example: None,
            cause: Cause::Other,
        }))
    }

    /// The same, of a key that no scenario has.
    pub(crate) fn of_unknown_key(mut self) -> Self {
        self.0.cause = Cause::UnknownKey;
        self
    }

    /// The same, of a plain number for a key whose values have a unit.
    pub(crate) fn of_missing_unit(mut self, quantity: Quantity) -> Self {
        self.0.cause = Cause::MissingUnit(quantity);
        self
    }

    /// Returns true if no scenario has the key.
    #[must_use]
    pub fn is_unknown_key(&self) -> bool {
        self.0.cause == Cause::UnknownKey
    }

    /// Returns the quantity of the key, if the error is that a plain number has no unit.
    #[must_use]
    pub fn missing_unit(&self) -> Option<Quantity> {
        match self.0.cause {
            Cause::MissingUnit(quantity) => Some(quantity),
            Cause::UnknownKey | Cause::Other => None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// The same, of a key that is missing.
    pub(crate) fn with_example(mut self, example: &str) -> Self {
        self.0.example = Some(example.to_owned());
        self
    }

    /// Returns a value for the key in TOML, if the error is that it is missing.
    pub(crate) fn example(&self) -> Option<&str> {
        self.0.example.as_deref()
    }

    /// The key, such as `bottleneck.queue.max`; empty when the error is about the file as a whole.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The problem, with the offending value.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The remedy, if the message does not contain it.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The name of the file.
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
