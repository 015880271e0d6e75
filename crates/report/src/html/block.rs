//! Blocks that a section consists of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};

use super::table::Table;
use crate::figure::Figure;

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Paragraph(Vec<Inline>),
    /// A notice.
    Notice(Badge, Vec<Inline>),
    /// A verdict on a line of its own.
    Badges(Vec<Badge>),
    /// A list of terms with their meanings.
    Definitions(Vec<(String, Vec<Inline>)>),
    /// A table, with the label by which it is announced.
    Table {
        /// A caption of a few words.
        label: String,
        /// The table.
        table: Table,
        /// True if it can be downloaded as CSV.
        download: bool,
    },
    /// A download of numbers that are too many for the page.
    Data {
        /// The caption.
        label: String,
        /// The numbers as CSV.
        csv: String,
    },
    /// A figure, with its data below it; both can be downloaded.
    Figure {
        /// The figure.
        figure: Figure,
        /// A note on how to read the figure, in a sentence or two; empty for none.
        note: String,
    },
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

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inline {
    /// Plain text.
    Text(String),
    /// Emphasised text.
    Strong(String),
    /// A name, a key or a value as a file has it.
    Code(String),
    /// A link.
    Link {
        /// The text.
        text: String,
        /// The target: `#anchor` or `https://…`; with any other target the text is not a link.
        href: String,
    },
}

/// A verdict, shown as a sign and a word, and a colour besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    /// The verdict.
    pub tone: Tone,
    /// The word.
    pub text: String,
}

/// Kinds of verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As expected.
    Good,
    /// Not as expected.
    Bad,
    /// Worth checking.
    Caution,
    /// Neither.
    Neutral,
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

    /// Renders the blocks; consecutive figures are side by side if there is room.
    pub(super) fn all(blocks: &[Self], count: &mut usize) -> Markup {
        let both_figures = |a: &Self, b: &Self| matches!((a, b), (Self::Figure { .. }, Self::Figure { .. }));
        html! {
            @for group in blocks.chunk_by(both_figures) {
                @if group.len() > 1 {
                    div.figures { @for block in group { (block.markup(count)) } }
                } @else {
                    @for block in group { (block.markup(count)) }
                }
            }
        }
    }

    /// Renders the block; `count` numbers the page's figures.
    fn markup(&self, count: &mut usize) -> Markup {
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
                (table.markup(label))
                @if *download { p.downloads { (csv_link(table, label)) } }
            },
            Self::Data { label, csv } => html! {
                p.downloads { a href=(uri("text/csv", csv)) download=(file_name(label, "csv")) { (label) " as CSV" } }
            },
            Self::Figure { figure, note } => {
                *count += 1;
                figure_markup(figure, note, *count)
            }
            Self::Code { label, text } => html! {
                pre.scroll role="region" aria-label=(label) tabindex="0" { code { (text) } }
            },
            Self::Details { summary, blocks } => html! {
                details.more {
                    summary { (summary) }
                    (Self::all(blocks, count))
                }
            },
        }
    }
}

impl Inline {
    /// Plain text.
    #[must_use]
    pub fn text_of(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Strong(text) | Self::Code(text) | Self::Link { text, .. } => text,
        }
    }

    pub(super) fn all(parts: &[Self]) -> Markup {
        html! { @for part in parts { (part.markup()) } }
    }

    fn markup(&self) -> Markup {
        match self {
            Self::Text(text) => html! { (text) },
            Self::Strong(text) => html! { strong { (text) } },
            Self::Code(text) => html! { code { (text) } },
            Self::Link { text, href } if href.starts_with('#') || href.starts_with("https://") => {
                html! { a href=(href) { (text) } }
            }
            Self::Link { text, .. } => html! { (text) },
        }
    }
}

impl Badge {
    /// A badge that says `text`.
    #[must_use]
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self { tone, text: text.into() }
    }

    pub(super) fn markup(&self) -> Markup {
        let (class, sign) = match self.tone {
            Tone::Good => ("good", "✓"),
            Tone::Bad => ("bad", "✗"),
            Tone::Caution => ("caution", "!"),
            Tone::Neutral => ("neutral", "–"),
        };
        html! { span.badge.(class) { span aria-hidden="true" { (sign) " " } (self.text) } }
    }
}

fn figure_markup(figure: &Figure, note: &str, number: usize) -> Markup {
    let data = figure.data();
    html! {
        figure id=(format!("figure-{number}")) {
            figcaption {
                strong { (figure.title) }
                @if !note.is_empty() || !figure.marks.is_empty() { "." }
                @if !note.is_empty() { " " (note) }
                @if !figure.marks.is_empty() {
                    " Dashed: " (figure.marks.iter().map(|mark| mark.label.as_str()).collect::<Vec<_>>().join("; ")) "."
                }
            }
            div.wide { (picture(&figure.wide_svg(), figure, &format!("figure-{number}-wide"))) }
            div.narrow { (picture(&figure.narrow_svg(), figure, &format!("figure-{number}-narrow"))) }
            p.downloads {
                (csv_link(&data, &figure.title)) " "
                a href=(uri("image/svg+xml", &figure.to_svg())) download=(file_name(&figure.title, "svg")) {
                    "Figure as SVG" span.unseen { " of " (figure.title) }
                }
            }
            details.data {
                summary { "Data" span.unseen { " of " (figure.title) } }
                (data.markup(&format!("Data of {}", figure.title)))
            }
        }
    }
}

/// The drawing with its name and its description.
fn picture(svg: &str, figure: &Figure, id: &str) -> Markup {
    let (title, about) = (format!("{id}-title"), format!("{id}-about"));
    let names = html! { title id=(title) { (figure.title) } desc id=(about) { (figure.description()) } };
    let Some((tag, rest)) = svg.split_once('>') else { return html! {} };
    PreEscaped(format!(
        "{tag} role=\"img\" aria-labelledby=\"{title}\" aria-describedby=\"{about}\">{}{rest}",
        names.into_string()
    ))
}

fn csv_link(table: &Table, title: &str) -> Markup {
    html! {
        a href=(uri("text/csv", &table.to_csv())) download=(file_name(title, "csv")) {
            "Data as CSV" span.unseen { " of " (title) }
        }
    }
}

/// `text` as an address that holds all of it.
fn uri(kind: &str, text: &str) -> String {
    format!("data:{kind};charset=utf-8;base64,{}", STANDARD.encode(text))
}

/// The name of a file about `title`: letters, digits and dashes, as every system takes them.
fn file_name(title: &str, ending: &str) -> String {
    format!("{}.{ending}", slug(title))
}

/// `title` in lower case letters, digits and single dashes.
pub(super) fn slug(title: &str) -> String {
    let letters = title.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { ' ' });
    let words = letters.collect::<String>().split_whitespace().collect::<Vec<_>>().join("-");
    let words: String = words.chars().take(60).collect();
    if words.is_empty() { "data".to_owned() } else { words.trim_end_matches('-').to_owned() }
}
