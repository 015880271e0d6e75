//! Tables of a page.

use maud::{Markup, html};

use super::inline::{Badge, Inline};
use crate::numbers::significant;
use crate::table::{Cells, TextColumn, TextTable};

/// A table; its first columns identify the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    keys: Vec<Column>,
    columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) title: String,
    pub(super) cells: Vec<Cell>,
}

/// The content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number as it is shown, with its unit and its interval.
    Number(String),
    /// A number as it is shown, and its value for the download.
    Value {
        /// The text that is shown.
        shown: String,
        /// The value.
        value: f64,
    },
    /// Words with links.
    Prose(Vec<Inline>),
    /// A verdict.
    Badge(Badge),
}

impl Cell {
    /// A value, shown with four digits.
    #[must_use]
    pub fn value(value: f64) -> Self {
        Self::Value { shown: significant(value, 4), value }
    }

    /// Nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self::Text(String::new())
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Value { .. })
    }

    fn markup(&self) -> Markup {
        match self {
            Self::Text(text) | Self::Number(text) => html! { (text) },
            Self::Value { shown, value } => html! { data value=(value) { (shown) } },
            Self::Prose(parts) => Inline::all(parts),
            Self::Badge(badge) => badge.markup(),
        }
    }

    pub(super) fn plain(&self) -> String {
        match self {
            Self::Text(text) | Self::Number(text) => text.clone(),
            Self::Value { value, .. } => value.to_string(),
            Self::Prose(parts) => parts.iter().map(Inline::text).collect(),
            Self::Badge(badge) => badge.text.clone(),
        }
    }
}

impl Column {
    fn new(title: &str, cells: Vec<Cell>) -> Self {
        Self { title: title.to_owned(), cells }
    }

    /// A terminal's column; `None` for bars.
    fn of(text: &TextColumn) -> Option<Self> {
        let cells = match &text.cells {
            Cells::Left(cells, _) => cells.iter().cloned().map(Cell::Text).collect(),
            Cells::Right(cells, _) => cells.iter().map(|cell| Cell::Number(padded(cell))).collect(),
            Cells::Stacked(_) | Cells::Bar(_) => return None,
        };
        Some(Self::new(&text.title, cells))
    }

    fn is_number(&self) -> bool {
        self.cells.iter().any(Cell::is_number)
    }
}

impl Table {
    /// A table without columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A terminal's table: numbers as numbers, and without bars, since the page has figures.
    pub(super) fn of(text: &TextTable) -> Self {
        let columns = |columns: &[TextColumn]| columns.iter().filter_map(Column::of).collect();
        Self { keys: columns(&text.keys), columns: columns(&text.columns) }
    }

    /// Adds a column that identifies the rows.
    #[must_use]
    pub fn key(mut self, title: &str, cells: Vec<Cell>) -> Self {
        self.keys.push(Column::new(title, cells));
        self
    }

    /// Adds a column. Numbers are aligned to the right.
    #[must_use]
    pub fn column(mut self, title: &str, cells: Vec<Cell>) -> Self {
        self.columns.push(Column::new(title, cells));
        self
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.all().map(|column| column.cells.len()).max().unwrap_or(0)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Column> {
        self.keys.iter().chain(&self.columns)
    }

    /// The table as CSV (RFC 4180) with a line of titles; values have all their digits.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let lines = (0..self.rows()).map(|row| {
            self.all().map(|column| column.cells.get(row).map_or_else(String::new, Cell::plain)).collect::<Vec<_>>()
        });
        let titles = self.all().map(|column| column.title.clone()).collect::<Vec<_>>();
        for line in std::iter::once(titles).chain(lines) {
            // Writing to memory cannot fail, and all lines have the same length.
            let Ok(()) = writer.write_record(&line) else { break };
        }
        writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// The table in a separate box, which scrolls when the page is too narrow.
    pub(super) fn markup(&self, label: &str) -> Markup {
        html! {
            div.scroll role="region" aria-label=(label) tabindex="0" {
                table {
                    thead { tr { @for column in self.all() {
                        // Without a label, screen readers would announce it as untitled.
                        @if column.title.is_empty() { td {} } @else { th scope="col" .number[column.is_number()] { (column.title) } }
                    } } }
                    tbody { @for row in 0..self.rows() { tr {
                        @for column in &self.keys {
                            th scope="row" .number[column.is_number()] { (column.cell(row)) }
                        }
                        @for column in &self.columns { td .number[column.is_number()] { (column.cell(row)) } }
                    } } }
                }
            }
        }
    }
}

impl Column {
    fn cell(&self, row: usize) -> Markup {
        self.cells.get(row).map_or_else(|| html! {}, Cell::markup)
    }
}

/// Replaces the spaces of aligned text by spaces as wide as digits, so that it stays aligned in proportional fonts.
fn padded(text: &str) -> String {
    let mut padded = String::with_capacity(text.len());
    for c in text.chars() {
        let lines_up = c == ' ' && (padded.is_empty() || padded.ends_with([' ', '\u{2007}']));
        padded.push(if lines_up { '\u{2007}' } else { c });
    }
    padded
}
