//! Tables that fit the terminal.
//!
//! Columns that do not fit side by side go into another table below, which repeats the first columns. So
//! nothing is left out on a narrow terminal, and a wide one shows everything at once.

use core::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::details::Details;

/// The terminal that a report is printed for, and what it shows there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// Columns. Less than 40 counts as 40.
    pub width: usize,
    /// True if it shows colours (ANSI escape sequences).
    pub colour: bool,
    /// The tables to show in addition to the answer.
    pub details: Details,
}

/// The least width of the layout.
const NARROWEST: usize = 40;
/// Spaces between columns.
const GAP: usize = 2;
/// The least and the largest width of a bar.
const BAR: (usize, usize) = (12, 32);
/// Fills that distinguish the parts of a bar, with and without colour.
const FILLS: [char; 16] = ['█', '▒', '░', '▓', '#', 'o', '+', 'x', '=', '%', '*', '@', '~', '&', '/', ':'];
/// A block of one to eight eighths of a character.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Styles of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Strong,
    Faint,
    /// The colour of the n-th group of flows.
    Group(usize),
}

impl Look {
    /// The ANSI code; the colours are readable on a light and on a dark background.
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Group(index) => Some(["36", "33", "35", "32", "34", "31"][index % 6]),
        }
    }
}

impl Terminal {
    /// The width of the layout.
    pub(crate) fn columns(&self) -> usize {
        self.width.max(NARROWEST)
    }

    /// `text` with its style.
    pub(crate) fn paint(&self, text: &str, look: Look) -> String {
        match look.code() {
            Some(code) if self.colour && !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    /// A line of plain text, cut to the width.
    pub(crate) fn line(&self, text: &str, look: Look) -> String {
        self.paint(&cut(&printable(text), self.columns()), look) + "\n"
    }

    /// A sentence in as many lines as needed.
    pub(crate) fn text(&self, sentence: &str, look: Look) -> String {
        let mut lines = vec![String::new()];
        for word in printable(sentence).split(' ') {
            let last = lines.last_mut().map(|line| (line.width(), line));
            match last {
                Some((0, line)) => line.push_str(&cut(word, self.columns())),
                Some((used, line)) if used + 1 + word.width() <= self.columns() => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(cut(word, self.columns())),
            }
        }
        lines.iter().map(|line| self.paint(line, look) + "\n").collect()
    }

    /// Words in as many lines as needed, each word with its style and none of them broken.
    pub(crate) fn words(&self, words: &[(String, Look)]) -> String {
        let mut text = String::new();
        let mut used = 0;
        for (word, look) in words {
            let word = cut(&printable(word), self.columns());
            if used > 0 && used + GAP + word.width() > self.columns() {
                text.push('\n');
                used = 0;
            }
            if used > 0 {
                text.push_str(&" ".repeat(GAP));
                used += GAP;
            }
            used += word.width();
            text.push_str(&self.paint(&word, *look));
        }
        text.push('\n');
        text
    }
}

/// The character that fills the part of the n-th group in a bar.
pub(crate) fn fill(group: usize) -> char {
    FILLS[group % FILLS.len()]
}

/// The cells of a column.
pub(crate) enum Cells {
    Left(Vec<String>, Look),
    Right(Vec<String>, Look),
    /// Parts of a whole of 1.
    Stacked(Vec<Vec<f64>>),
    /// One part of 1, and the group that it belongs to.
    Bar(Vec<(f64, usize)>),
}

pub(crate) struct TextColumn {
    pub(crate) title: String,
    pub(crate) cells: Cells,
}

/// A table; its first columns identify the rows.
#[derive(Default)]
pub(crate) struct TextTable {
    pub(crate) keys: Vec<TextColumn>,
    pub(crate) columns: Vec<TextColumn>,
}

impl TextTable {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a column that identifies the rows.
    pub(crate) fn key(mut self, title: &str, cells: Vec<String>) -> Self {
        self.keys.push(TextColumn::new(title, Cells::Left(clean(cells), Look::Strong)));
        self
    }

    /// Adds a column of numbers.
    pub(crate) fn right(self, title: &str, cells: Vec<String>) -> Self {
        self.with(title, Cells::Right(clean(cells), Look::Plain))
    }

    /// Adds a column of numbers to compare with.
    pub(crate) fn faint(self, title: &str, cells: Vec<String>) -> Self {
        self.with(title, Cells::Right(clean(cells), Look::Faint))
    }

    /// Adds a column of text.
    pub(crate) fn left(self, title: &str, cells: Vec<String>) -> Self {
        self.with(title, Cells::Left(clean(cells), Look::Plain))
    }

    /// Adds a column of bars, each of the groups' parts of 1.
    pub(crate) fn stacked(self, title: &str, parts: Vec<Vec<f64>>) -> Self {
        self.with(title, Cells::Stacked(parts))
    }

    /// Adds a column of bars, each a part of 1 in the colour of a group.
    pub(crate) fn bar(self, title: &str, parts: Vec<(f64, usize)>) -> Self {
        self.with(title, Cells::Bar(parts))
    }

    fn with(mut self, title: &str, cells: Cells) -> Self {
        self.columns.push(TextColumn::new(title, cells));
        self
    }

    /// Prints the table, or as many tables below each other as needed.
    pub(crate) fn print(&self, terminal: &Terminal) -> String {
        let total = terminal.columns();
        // The key columns take at most half of the width; the numbers need the other half.
        let most = (total / 2).checked_div(self.keys.len()).unwrap_or(0).saturating_sub(GAP).max(1);
        let keys: Vec<usize> = self.keys.iter().map(|key| key.width().min(most)).collect();
        let room = total.saturating_sub(keys.iter().map(|width| width + GAP).sum()).max(1);
        let mut tables = Vec::new();
        let mut rest = self.columns.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(fitting(rest, room));
            tables.push(self.print_part(now, &keys, room, terminal));
            rest = later;
        }
        tables.join("\n")
    }

    fn print_part(&self, columns: &[TextColumn], keys: &[usize], room: usize, terminal: &Terminal) -> String {
        let shown: Vec<(&TextColumn, usize)> =
            self.keys.iter().zip(keys.iter().copied()).chain(columns.iter().zip(widths(columns, room))).collect();
        let rows = shown.iter().map(|(column, _)| column.rows()).max().unwrap_or(0);
        let mut text = String::new();
        let titles = shown.iter().map(|(column, width)| column.print_title(*width, terminal));
        let _ = writeln!(text, "{}", joined(titles));
        for row in 0..rows {
            let cells = shown.iter().map(|(column, width)| column.print_cell(row, *width, terminal));
            let _ = writeln!(text, "{}", joined(cells));
        }
        text
    }
}

/// Returns the number of columns that fit next to each other: at least one.
fn fitting(columns: &[TextColumn], room: usize) -> usize {
    let mut used = 0;
    let fits = |column: &&TextColumn| {
        used += column.width() + if used > 0 { GAP } else { 0 };
        used <= room
    };
    columns.iter().take_while(fits).count().max(1)
}

/// The columns' widths: bars share the rest of the width.
fn widths(columns: &[TextColumn], room: usize) -> Vec<usize> {
    let least: usize = columns.iter().map(TextColumn::width).sum::<usize>() + GAP * (columns.len() - 1);
    let bars = columns.iter().filter(|column| column.is_bar()).count();
    let spare = room.saturating_sub(least).checked_div(bars).unwrap_or(0);
    let width = |column: &TextColumn| {
        if column.is_bar() { (column.width() + spare).min(BAR.1) } else { column.width() }.min(room)
    };
    columns.iter().map(width).collect()
}

/// Joins cells to a line without trailing spaces.
fn joined(cells: impl Iterator<Item = (String, usize)>) -> String {
    let mut line = String::new();
    let mut pending = 0;
    for (place, (text, spaces_after)) in cells.enumerate() {
        if place > 0 {
            pending += GAP;
        }
        let bare = text.trim_start_matches(' ');
        pending += text.len() - bare.len();
        if !bare.is_empty() {
            line.push_str(&" ".repeat(pending));
            line.push_str(bare);
            pending = 0;
        }
        pending += spaces_after;
    }
    line
}

impl TextColumn {
    fn new(title: &str, cells: Cells) -> Self {
        Self { title: printable(title), cells }
    }

    fn rows(&self) -> usize {
        match &self.cells {
            Cells::Left(cells, _) | Cells::Right(cells, _) => cells.len(),
            Cells::Stacked(cells) => cells.len(),
            Cells::Bar(cells) => cells.len(),
        }
    }

    fn is_bar(&self) -> bool {
        matches!(self.cells, Cells::Stacked(_) | Cells::Bar(_))
    }

    /// The least width: that of the widest cell, or the least of a bar.
    fn width(&self) -> usize {
        let widest = match &self.cells {
            Cells::Left(cells, _) | Cells::Right(cells, _) => cells.iter().map(|cell| cell.width()).max().unwrap_or(0),
            Cells::Stacked(_) | Cells::Bar(_) => BAR.0,
        };
        widest.max(self.title.width())
    }

    /// The title, and the number of spaces that fill the column after it.
    fn print_title(&self, width: usize, terminal: &Terminal) -> (String, usize) {
        place(&self.title, width, matches!(self.cells, Cells::Right(..)), Look::Faint, terminal)
    }

    /// The cell, and the number of spaces that fill the column after it.
    fn print_cell(&self, row: usize, width: usize, terminal: &Terminal) -> (String, usize) {
        match &self.cells {
            Cells::Left(cells, look) => place(text_of(cells, row), width, false, *look, terminal),
            Cells::Right(cells, look) => place(text_of(cells, row), width, true, *look, terminal),
            Cells::Stacked(cells) => stacked(cells.get(row).map_or(&[], Vec::as_slice), width, terminal),
            Cells::Bar(cells) => {
                let (part, group) = cells.get(row).copied().unwrap_or((0.0, 0));
                place(&eighths(part, width), width, false, Look::Group(group), terminal)
            }
        }
    }
}

fn text_of(cells: &[String], row: usize) -> &str {
    cells.get(row).map_or("", String::as_str)
}

fn place(text: &str, width: usize, right: bool, look: Look, terminal: &Terminal) -> (String, usize) {
    let text = cut(text, width);
    let spaces = width - text.width();
    let painted = terminal.paint(&text, look);
    if right { (" ".repeat(spaces) + &painted, 0) } else { (painted, spaces) }
}

/// Parts of 1 side by side; boundaries are rounded, so that rounding errors do not add up.
fn stacked(parts: &[f64], width: usize, terminal: &Terminal) -> (String, usize) {
    let mut text = String::new();
    let (mut sum, mut from) = (0.0, 0);
    for (group, part) in parts.iter().enumerate() {
        sum += part;
        let to = cells(sum, width);
        let run: String = core::iter::repeat_n(fill(group), to.saturating_sub(from)).collect();
        text.push_str(&terminal.paint(&run, Look::Group(group)));
        from = from.max(to);
    }
    (text, width - from)
}

/// `part` of `width`, rounded.
fn cells(part: f64, width: usize) -> usize {
    ((part * width as f64 + 0.5) as usize).min(width)
}

/// A bar to an eighth of a character; positive values are never invisible.
fn eighths(part: f64, width: usize) -> String {
    let eighths = cells(part, width * 8).max(usize::from(part > 0.0));
    let mut bar: String = core::iter::repeat_n(EIGHTHS[7], eighths / 8).collect();
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8 - 1]);
    }
    bar
}

/// The text cut to `width`, with an ellipsis if something is missing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used < width
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// The text without control characters: a name must not move the cursor.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '�' } else { c }).collect()
}

fn clean(cells: Vec<String>) -> Vec<String> {
    cells.into_iter().map(|cell| printable(&cell)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_part() {
        assert_eq!(eighths(0.0, 10), "");
        assert_eq!(eighths(0.001, 10), "▏");
        assert_eq!(eighths(0.25, 10), "██▌");
        assert_eq!(eighths(7.0, 3), "███");
        let plain = Terminal { width: 80, colour: false, details: Details::ALL };
        assert_eq!(stacked(&[0.25, 0.5], 8, &plain), ("██▒▒▒▒".to_owned(), 2));
        assert_eq!(stacked(&[0.9, 0.9], 4, &plain), ("████".to_owned(), 0));
    }

    /// A character of Chinese takes two columns, so two and the ellipsis take five.
    #[test]
    fn wide_characters_are_cut_by_their_width() {
        assert_eq!(cut("队列管理", 8), "队列管理");
        assert_eq!(cut("队列管理", 6), "队列…");
        assert_eq!(cut("abc", 2), "a…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(printable("a\x1b[2Jb\n"), "a�[2Jb�");
    }

    /// Columns that do not fit are printed below, with the same keys.
    #[test]
    fn columns_wrap_into_further_tables() {
        let table = TextTable::new()
            .key("queue", vec!["choke".to_owned(), "red".to_owned()])
            .right("first", vec!["1".repeat(20), "2".to_owned()])
            .right("second", vec!["3".repeat(20), "4".to_owned()]);
        let expected = "queue                 first
choke  11111111111111111111
red                       2

queue                second
choke  33333333333333333333
red                       4
";
        assert_eq!(table.print(&Terminal { width: 40, colour: false, details: Details::ALL }), expected);
        assert_eq!(table.print(&Terminal { width: 49, colour: false, details: Details::ALL }).lines().count(), 3);
    }
}
