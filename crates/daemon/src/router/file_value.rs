//! A value of a router's file, with its place for errors.

use std::ops::Range;

use fairlane_console::Failure;
use toml::Spanned;
use toml::de::DeValue;

/// A file's text and its name, for errors that point into it.
pub(super) struct Source<'t> {
    pub(super) name: &'t str,
    pub(super) text: &'t str,
}

impl Source<'_> {
    pub(super) fn error(&self, span: Range<usize>, message: impl Into<String>) -> Failure {
        Failure::at(self.name, self.text, span, message)
    }
}

/// A key whose value is a single one.
#[derive(Clone, Copy)]
pub(super) struct Scalar<'t> {
    pub(super) source: &'t Source<'t>,
    pub(super) key: &'t str,
    pub(super) value: &'t Spanned<DeValue<'t>>,
}

impl Scalar<'_> {
    /// Parses the value as the command line parses the option.
    pub(super) fn read<T>(&self, read: impl Fn(&str) -> Result<T, String>) -> Result<T, Failure> {
        let text = match self.value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
                self.source.text.get(self.value.span()).unwrap_or_default().to_owned()
            }
            _ => return Err(self.error("expected one value, such as \"10mbit\"")),
        };
        read(&text).map_err(|message| self.error(&message))
    }

    pub(super) fn error(&self, message: &str) -> Failure {
        self.source.error(self.value.span(), format!("{}: {message}", self.key))
    }
}

/// Reads `true` or `false`.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "write true or false".to_owned())
}
