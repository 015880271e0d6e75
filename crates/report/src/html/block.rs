//! Blocks that a section consists of.

use maud::{Markup, html};

use super::bars::BarTable;
use super::chart::{Chart, Lines};
use super::data::Data;
use super::ellipses::Ellipses;
use super::inline::{Badge, Inline};
use super::table::Table;
use crate::figure::{Content, Figure};

/// The most rows of a figure's data that a page contains for readers without its script.
const FEW: usize = 60;

/// The part of a page that has been rendered.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    /// The number of figures.
    figures: usize,
    /// The number of axes of tables with bars.
    pub(super) axes: usize,
    /// The data for the script.
    pub(super) data: Data,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Paragraph(Vec<Inline>),
    /// A notice.
    Notice(Badge, Vec<Inline>),
    /// A verdict on a separate line.
    Badges(Vec<Badge>),
    /// A list of terms with their meanings.
    Definitions(Vec<(String, Vec<Inline>)>),
    /// A table, with the label by which it is announced.
    Table {
        /// A caption of a few words.
        label: String,
        /// The table.
        table: Table,
        /// True if it is shown with its caption, and can be downloaded as CSV; false below the title of a section.
        download: bool,
    },
    /// A download of numbers that are too many for the page.
    Data {
        /// The caption.
        label: String,
        /// The numbers as CSV.
        csv: String,
    },
    /// Numbers with all their digits, which are shown as a table when they are asked for.
    Records {
        /// A caption of a few words.
        label: String,
        /// The numbers.
        table: Table,
    },
    /// A figure, with its data below it. Bars are drawn in a table, lines by the page's script.
    Figure {
        /// The figure.
        figure: Figure,
        /// A note on how to read the figure, in a sentence or two; empty for none.
        note: String,
    },
    /// A chart that the page's script draws.
    Chart(Chart),
    /// Ellipses in the plane of two measures.
    Ellipses(Ellipses),
    /// A table with bars.
    Bars(BarTable),
    /// Text that is shown as it is, such as a file or a command.
    Code {
        /// The caption.
        label: String,
        /// The text.
        text: String,
    },
    /// Blocks that are shown on demand.
    Details {
        /// The caption.
        summary: String,
        /// The blocks.
        blocks: Vec<Self>,
    },
}

impl Block {
    /// A paragraph of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Paragraph(vec![Inline::text_of(text)])
    }

    /// A figure without a note.
    #[must_use]
    pub const fn figure(figure: Figure) -> Self {
        Self::Figure { figure, note: String::new() }
    }

    /// A table that can be downloaded.
    #[must_use]
    pub fn table(label: impl Into<String>, table: Table) -> Self {
        Self::Table { label: label.into(), table, download: true }
    }

    /// Renders the blocks; consecutive charts are side by side if there is room.
    pub(super) fn all(blocks: &[Self], page: &mut Rendered) -> Markup {
        html! {
            @for group in blocks.chunk_by(|a, b| a.is_chart() && b.is_chart()) {
                @if group.len() > 1 {
                    div.figures { @for block in group { (block.markup(page)) } }
                } @else {
                    @for block in group { (block.markup(page)) }
                }
            }
        }
    }

    /// Returns true for a chart of lines, which needs half of a wide page.
    const fn is_chart(&self) -> bool {
        match self {
            Self::Figure { figure, .. } => matches!(figure.content, Content::Lines(_)),
            Self::Chart(chart) => matches!(chart, Chart::Lines { .. }),
            _ => false,
        }
    }

    fn markup(&self, page: &mut Rendered) -> Markup {
        match self {
            Self::Paragraph(parts) => html! { p { (Inline::all(parts)) } },
            Self::Notice(badge, parts) => html! {
                p.notice { (badge.markup()) " " (Inline::all(parts)) }
            },
            Self::Badges(badges) => html! { p.badges { @for badge in badges { (badge.markup()) " " } } },
            Self::Definitions(terms) => html! {
                dl { @for (term, meaning) in terms { div { dt { (term) } dd { (Inline::all(meaning)) } } } }
            },
            Self::Table { label, table, download } => html! {
                @if *download { p.title { strong { (label) } } }
                (table.markup(label))
                @if *download { p.tools data-csv=(label) {} }
            },
            Self::Data { label, csv } => html! { p.tools data-figure=(page.data.file(label, csv)) {} },
            Self::Records { label, table } => html! {
                section.records aria-label=(label) data-figure=(page.data.records(label, table)) {
                    p { strong { (label) } }
                    p.without { "This table needs the page's script." }
                }
            },
            Self::Figure { figure, note } => figure_markup(figure, note, page),
            Self::Chart(chart) => chart_markup(chart, page),
            Self::Ellipses(ellipses) => {
                let data = ellipses.data().markup(&format!("Medians of {}", ellipses.title));
                let inner = html! { (ellipses.markup()) details { summary { "Medians" } (data) } };
                framed(&ellipses.title, &ellipses.note, page, None, &inner)
            }
            Self::Bars(bars) => bars.markup(page),
            Self::Code { label, text } => html! {
                pre.scroll role="region" aria-label=(label) tabindex="0" { code { (text) } }
            },
            Self::Details { summary, blocks } => html! {
                details.more {
                    summary { (summary) }
                    (Self::all(blocks, page))
                }
            },
        }
    }
}

/// A figure with its caption.
fn framed(title: &str, note: &str, page: &mut Rendered, chart: Option<usize>, inner: &Markup) -> Markup {
    page.figures += 1;
    html! {
        figure id=(format!("figure-{}", page.figures)) data-figure=[chart] {
            figcaption { strong { (title) } @if !note.is_empty() { span.note { (note) } } }
            (inner)
        }
    }
}

fn figure_markup(figure: &Figure, note: &str, page: &mut Rendered) -> Markup {
    if let Content::Lines(lines) = &figure.content {
        let chart = Lines::of(figure, lines);
        let data = (chart.points() <= FEW).then(|| figure.data());
        let number = page.data.chart(&Chart::Lines { note: String::new(), chart });
        return framed(&figure.title, note, page, Some(number), &without_script(&figure.title, data.as_ref()));
    }
    let bars = BarTable::of(figure);
    // Bars next to each other have their names in the heads of their columns.
    let beside = matches!(figure.content, Content::Bars(_)) && note.is_empty();
    let note = if beside { &figure.y.label } else { note };
    let inner = html! {
        @if let Some(bars) = bars { div { (bars.markup(page)) } p.tools data-csv=(figure.title) {} }
    };
    framed(&figure.title, note, page, None, &inner)
}

fn chart_markup(chart: &Chart, page: &mut Rendered) -> Markup {
    let number = page.data.chart(chart);
    framed(chart.title(), chart.note(), page, Some(number), &without_script(chart.title(), None))
}

/// Text in place of a chart; the script removes it.
fn without_script(title: &str, data: Option<&Table>) -> Markup {
    html! {
        div.without {
            @if let Some(data) = data { (data.markup(&format!("Data of {title}"))) }
            @else { p { "This chart needs the page's script." } }
        }
    }
}

/// `title` in lower case letters, digits and single dashes.
pub(super) fn slug(title: &str) -> String {
    let letters = title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    let words = letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-");
    let words: String = words.chars().take(60).collect();
    if words.is_empty() { "data".to_owned() } else { words.trim_end_matches('-').to_owned() }
}
