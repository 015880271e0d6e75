//! The tables of a report behind its answer.

use crate::table::{Look, Terminal, TextTable};

/// Tables that a report prints on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Throughput, delay, jitter, round trip, retransmissions and completion time of each group.
    EndToEnd,
    /// The flows one by one, or percentiles of many.
    Flows,
    /// The differences of outcomes from the first one.
    Differences,
}

impl Detail {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::EndToEnd, Self::Flows, Self::Differences];

    /// Returns the name of the tables on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EndToEnd => "end-to-end",
            Self::Flows => "flows",
            Self::Differences => "differences",
        }
    }
}

/// The details that a report prints; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details([bool; Detail::ALL.len()]);

impl Details {
    /// All details.
    pub const ALL: Self = Self([true; Detail::ALL.len()]);

    fn contains(self, detail: Detail) -> bool {
        self.0[detail as usize]
    }
}

impl From<Detail> for Details {
    fn from(detail: Detail) -> Self {
        Self(Detail::ALL.map(|other| other == detail))
    }
}

/// The union.
impl FromIterator<Self> for Details {
    fn from_iter<I: IntoIterator<Item = Self>>(details: I) -> Self {
        let both =
            |all: Self, more: Self| Self(Detail::ALL.map(|detail| all.contains(detail) || more.contains(detail)));
        details.into_iter().fold(Self::default(), both)
    }
}

/// A table of a report.
pub(crate) struct Titled {
    pub(crate) title: &'static str,
    pub(crate) table: TextTable,
    /// `None` if it belongs to the answer.
    detail: Option<Detail>,
}

impl Titled {
    /// Returns a table of the answer.
    pub(crate) const fn answer(title: &'static str, table: TextTable) -> Self {
        Self { title, table, detail: None }
    }

    /// Returns a table that is printed on request.
    pub(crate) const fn detail(title: &'static str, table: TextTable, detail: Detail) -> Self {
        Self { title, table, detail: Some(detail) }
    }
}

/// Prints the tables of the answer and those details that `terminal` shows, each but the first with its title; then
/// `notes`, and the option that shows the other details.
pub(crate) fn print_tables(tables: Vec<Titled>, notes: &str, terminal: &Terminal) -> String {
    let is_shown = |titled: &Titled| titled.detail.is_none_or(|detail| terminal.details.contains(detail));
    let (shown, hidden): (Vec<_>, Vec<_>) = tables.into_iter().partition(is_shown);
    let mut text = String::new();
    for (number, Titled { title, table, .. }) in shown.into_iter().enumerate() {
        text.push('\n');
        if number > 0 {
            text += &terminal.line(title, Look::Strong);
        }
        text += &table.print(terminal);
    }
    if !notes.is_empty() {
        text += &format!("\n{notes}");
    }
    let more = Detail::ALL.into_iter().filter(|detail| hidden.iter().any(|titled| titled.detail == Some(*detail)));
    let more = more.map(Detail::name).collect::<Vec<_>>().join(",");
    if !more.is_empty() {
        text += &format!("\n{}", terminal.text(&format!("More tables: --show {more} or --show all"), Look::Faint));
    }
    text
}
