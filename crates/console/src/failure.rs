//! Errors of a command: the message, the remedy, and the place in a file.

use std::fmt;
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::path::Path;

use fairlane_scenario::ScenarioError;

use crate::layout::paragraph;

/// The width of a terminal that does not tell it, in columns.
const WIDTH: usize = 80;

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong, or the machine cannot do it.
    Refused(Box<Refusal>),
    /// The same, and the log says it already.
    Logged,
    /// A claim or a comparison failed; the output says so.
    FellShort,
    /// No claim fell short, but one needs more runs to be decided; the output says so.
    Undecided,
    /// A command that was run has ended with this exit code.
    Ended(u8),
    /// The reader of standard output has closed it, as `head` does; nothing is wrong.
    ReaderGone,
}

/// A message, and the remedy.
#[derive(Debug)]
pub struct Refusal {
    message: String,
    help: Option<String>,
    location: Option<SourceLocation>,
}

/// A place in a file.
#[derive(Debug)]
struct SourceLocation {
    file: String,
    /// Both count from 1.
    line_column: (usize, usize),
    /// The text of the line.
    line: String,
    /// The number of characters that are wrong, at least one.
    length: usize,
}

impl SourceLocation {
    /// Makes the place at `span` of the file `name`, whose text is `text`.
    fn new(name: &str, text: &str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let begin = before.rfind('\n').map_or(0, |end| end + 1);
        let line = text.get(begin..).unwrap_or_default().lines().next().unwrap_or_default();
        let wrong = text.get(span.clone()).unwrap_or_default();
        Self {
            file: name.to_owned(),
            line_column: (before.matches('\n').count() + 1, before[begin..].chars().count() + 1),
            line: line.to_owned(),
            length: wrong.lines().next().unwrap_or_default().chars().count().max(1),
        }
    }

    /// Draws the line with the wrong part underlined.
    fn drawn(&self, paint: impl Fn(Style, &str) -> String) -> String {
        let (number, column) = self.line_column;
        let number = number.to_string();
        let margin = " ".repeat(number.len());
        let bar = paint(Style::Margin, "|");
        let arrow = paint(Style::Margin, "-->");
        let (before, mark) = (" ".repeat(column - 1), paint(Style::Wrong, &"^".repeat(self.length)));
        format!(
            " {margin}{arrow} {}:{number}:{column}\n {margin} {bar}\n {} {bar} {}\n {margin} {bar} {before}{mark}\n",
            self.file,
            paint(Style::Margin, &number),
            self.line.replace('\t', " "),
        )
    }
}

/// The parts of a message that have a colour.
#[derive(Clone, Copy, Debug)]
enum Style {
    Wrong,
    Margin,
    Help,
}

impl Failure {
    /// Makes an error of a message and a remedy.
    #[must_use]
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused(Box::new(Refusal { message: message.into(), help: Some(help.into()), location: None }))
    }

    /// Makes an error of a message that needs no remedy or contains it.
    #[must_use]
    pub fn plain(message: impl fmt::Display) -> Self {
        Self::Refused(Box::new(Refusal { message: message.to_string(), help: None, location: None }))
    }

    /// Makes an error at `span` of the file `name`, whose text is `text`.
    #[must_use]
    pub fn at(name: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let location = SourceLocation::new(name, text, &span);
        Self::Refused(Box::new(Refusal { message: message.into(), help: None, location: Some(location) }))
    }

    /// Makes the error of a file that cannot be written.
    #[must_use]
    pub fn write(path: &Path, error: &io::Error) -> Self {
        let help = match error.kind() {
            io::ErrorKind::NotFound => "make its folder first",
            io::ErrorKind::PermissionDenied => "choose a place where you may write",
            io::ErrorKind::IsADirectory => "name a file in it",
            io::ErrorKind::StorageFull => "make room, or choose another disk",
            _ => "choose another place",
        };
        Self::new(format!("cannot write {}: {error}", path.display()), help)
    }

    /// Makes the error of standard output that cannot be written.
    #[must_use]
    pub fn print(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::new(format!("cannot print: {error}"), "print to another place"),
        }
    }
}

impl Failure {
    /// Returns all of it in one line, for a log.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.line().trim().trim_start_matches("error: ").to_owned(),
            Self::Logged => "see the log".to_owned(),
            Self::ReaderGone => "standard output is closed".to_owned(),
            Self::FellShort => "a claim fell short".to_owned(),
            Self::Undecided => "a claim is not decided".to_owned(),
            Self::Ended(code) => format!("the command has ended with {code}"),
        }
    }
}

#[cfg(feature = "runner")]
impl From<fairlane_runner::Error> for Failure {
    fn from(error: fairlane_runner::Error) -> Self {
        use fairlane_runner::Error;
        match error {
            Error::Scenario(error) => error.into(),
            Error::Refused { message, help } => Self::Refused(Box::new(Refusal { message, help, location: None })),
            Error::Write { path, source } => Self::write(&path, &source),
        }
    }
}

#[cfg(feature = "tables")]
impl From<fairlane_outcome::tables::TableError> for Failure {
    fn from(error: fairlane_outcome::tables::TableError) -> Self {
        Self::plain(error)
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        let location = error.span().map(|span| SourceLocation::new(error.file_name(), error.source_text(), &span));
        let Some(location) = location else { return Self::plain(error) };
        let message = match error.key() {
            "" => error.message().to_owned(),
            key => format!("{key}: {}", error.message()),
        };
        Self::Refused(Box::new(Refusal { message, help: error.help().map(str::to_owned), location: Some(location) }))
    }
}

impl Refusal {
    /// Returns the text for standard error: on a terminal with the line of the file, else one line for tools.
    #[must_use]
    pub fn shown(&self) -> String {
        let stderr = io::stderr();
        if !stderr.is_terminal() {
            return self.line();
        }
        let width = terminal_size::terminal_size_of(&stderr).map_or(WIDTH, |(width, _)| usize::from(width.0));
        self.drawn(width, colour(&stderr))
    }

    fn drawn(&self, width: usize, colour: bool) -> String {
        let paint = |style: Style, text: &str| match style {
            _ if !colour => text.to_owned(),
            Style::Wrong => format!("\x1b[1;31m{text}\x1b[0m"),
            Style::Margin => format!("\x1b[1;34m{text}\x1b[0m"),
            Style::Help => format!("\x1b[1;32m{text}\x1b[0m"),
        };
        let part = |style: Style, label: &str, text: &str| {
            let wrapped = paragraph(&format!("{label}: {text}"), "", "  ", width);
            wrapped.replacen(label, &paint(style, label), 1)
        };
        let mut text = part(Style::Wrong, "error", &self.message);
        if let Some(location) = &self.location {
            text += &location.drawn(paint);
        }
        if let Some(help) = &self.help {
            text += &part(Style::Help, "help", help);
        }
        text
    }

    fn line(&self) -> String {
        let mut line = String::from("error: ");
        if let Some(location) = &self.location {
            let (row, column) = location.line_column;
            line += &format!("{}:{row}:{column}: ", location.file);
        }
        line += &self.message;
        if let Some(help) = &self.help {
            line += &format!("; {help}");
        }
        line + "\n"
    }
}

/// Returns true if colour may be used there: on a terminal, unless the user has disabled it (<https://no-color.org>).
pub fn colour(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && !dumb()
}

/// Returns true if the terminal can only print lines.
#[must_use]
pub fn dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch an underline in another column, and a message that loses its remedy.
    #[test]
    fn a_terminal_shows_the_line_with_the_wrong_part() {
        let text = "[bottleneck]\nrate = \"1mbps\"\n";
        let location = Some(SourceLocation::new("wrong.toml", text, &(20..27)));
        let refusal = Refusal { message: "no such unit".to_owned(), help: Some("write mbit".to_owned()), location };
        let drawn = "error: no such unit\n  --> wrong.toml:2:8\n   |\n 2 | rate = \"1mbps\"\n   |        ^^^^^^^\n\
                     help: write mbit\n";
        assert_eq!(refusal.drawn(80, false), drawn);
        assert!(refusal.drawn(80, true).contains("\x1b[1;31m^^^^^^^\x1b[0m"));
        assert_eq!(refusal.line(), "error: wrong.toml:2:8: no such unit; write mbit\n");
    }
}
