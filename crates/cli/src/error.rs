//! What goes wrong, and how it is said.

use std::fmt;
use std::io::{self, IsTerminal};
#[cfg(target_os = "linux")]
use std::ops::Range;
use std::path::Path;

use fairlane_batch::Error;
use fairlane_outcome::tables::TableError;
use fairlane_scenario::ScenarioError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

/// The width of a terminal that does not tell it, in columns.
const WIDTH: usize = 80;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input or the machine will not do.
    Refused(Box<Refusal>),
    /// As much, and it stands in the log already.
    #[cfg(target_os = "linux")]
    Logged,
    /// A claim or a comparison failed; what was printed says so.
    FellShort,
    /// Whoever read our output has gone away: there is no one left to tell, and nothing is wrong.
    ReaderGone,
}

/// What is wrong, and the way out.
#[derive(Debug)]
pub(crate) struct Refusal {
    message: String,
    help: Option<String>,
    place: Option<Place>,
}

/// A place in a scenario file.
#[derive(Debug)]
struct Place {
    source: NamedSource<String>,
    line_column: (usize, usize),
    label: LabeledSpan,
}

impl Failure {
    /// Something that is wrong and what to do about it.
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused(Box::new(Refusal { message: message.into(), help: Some(help.into()), place: None }))
    }

    /// Something that is wrong and says itself what to do about it.
    pub(crate) fn plain(message: impl fmt::Display) -> Self {
        Self::Refused(Box::new(Refusal { message: message.to_string(), help: None, place: None }))
    }

    /// Something that is wrong at `span` of the file `name`, which reads `text`.
    #[cfg(target_os = "linux")]
    pub(crate) fn at(name: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        let place = Place {
            source: NamedSource::new(name, text.to_owned()),
            line_column: (before.matches('\n').count() + 1, line.chars().count() + 1),
            label: LabeledSpan::new_with_span(Some("here".to_owned()), span),
        };
        Self::Refused(Box::new(Refusal { message: message.into(), help: None, place: Some(place) }))
    }

    /// A file that cannot be written.
    pub(crate) fn write(path: &Path, error: &io::Error) -> Self {
        let help = match error.kind() {
            io::ErrorKind::NotFound => "make its folder first",
            io::ErrorKind::PermissionDenied => "choose a place where you may write",
            io::ErrorKind::IsADirectory => "name a file in it",
            io::ErrorKind::StorageFull => "make room, or choose another disk",
            _ => "choose another place",
        };
        Self::new(format!("cannot write {}: {error}", path.display()), help)
    }

    /// Standard output that cannot be written.
    pub(crate) fn print(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::new(format!("cannot print: {error}"), "print to another place"),
        }
    }
}

#[cfg(target_os = "linux")]
impl Failure {
    /// All of it in a line, to be written into a log.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.line().trim().trim_start_matches("error: ").to_owned(),
            Self::Logged => "it stands in the log".to_owned(),
            Self::ReaderGone => "nobody reads what is written".to_owned(),
            Self::FellShort => "a claim fell short".to_owned(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Scenario(error) => error.into(),
            Error::Refused { message, help } => Self::Refused(Box::new(Refusal { message, help, place: None })),
        }
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        Self::plain(error)
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        let place = error.span().zip(error.line_column()).map(|(span, line_column)| Place {
            source: NamedSource::new(error.file_name(), error.source_text().to_owned()),
            line_column,
            label: LabeledSpan::new_with_span(Some("here".to_owned()), span),
        });
        let Some(place) = place else { return Self::plain(error) };
        let message = match error.key() {
            "" => error.message().to_owned(),
            key => format!("{key}: {}", error.message()),
        };
        Self::Refused(Box::new(Refusal { message, help: error.help().map(str::to_owned), place: Some(place) }))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl Diagnostic for Refusal {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|place| &place.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        Some(Box::new(std::iter::once(place.label.clone())))
    }
}

impl Refusal {
    /// What standard error shows: drawn in the text of the file on a terminal, else one line that tools can read.
    pub(crate) fn shown(&self) -> String {
        let stderr = io::stderr();
        if !stderr.is_terminal() {
            return self.line();
        }
        let theme = if colour(&stderr) { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let width = terminal_size::terminal_size_of(&stderr).map_or(WIDTH, |(width, _)| usize::from(width.0));
        let handler = GraphicalReportHandler::new_themed(theme).with_width(width);
        let mut text = String::new();
        match handler.render_report(&mut text, self) {
            Ok(()) => text,
            Err(fmt::Error) => self.line(),
        }
    }

    fn line(&self) -> String {
        let mut line = String::from("error: ");
        if let Some(place) = &self.place {
            let (row, column) = place.line_column;
            line += &format!("{}:{row}:{column}: ", place.source.name());
        }
        line += &self.message;
        if let Some(help) = &self.help {
            line += &format!("; {help}");
        }
        line + "\n"
    }
}

/// Whether to use colour there: on a terminal, unless the user has said no (<https://no-color.org>).
pub(crate) fn colour(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && !dumb()
}

/// Whether the terminal can do nothing but print.
pub(crate) fn dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
