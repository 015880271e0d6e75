//! Pieces of text, and verdicts.

use maud::{Markup, html};

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inline {
    /// Plain text.
    Text(String),
    /// Emphasised text.
    Strong(String),
    /// A remark.
    Faint(String),
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

/// A verdict, shown as a sign, a word and a colour.
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

impl Inline {
    /// Plain text.
    #[must_use]
    pub fn text_of(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Strong(text) | Self::Faint(text) | Self::Code(text) | Self::Link { text, .. } => {
                text
            }
        }
    }

    pub(super) fn all(parts: &[Self]) -> Markup {
        html! { @for part in parts { (part.markup()) } }
    }

    fn markup(&self) -> Markup {
        match self {
            Self::Text(text) => html! { (text) },
            Self::Strong(text) => html! { strong { (text) } },
            Self::Faint(text) => html! { small { (text) } },
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
