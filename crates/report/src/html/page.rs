//! The page as a whole.

use std::collections::BTreeSet;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::block::{Block, Rendered, slug};
use super::inline::{Badge, Inline};

const STYLE: &str = concat!(include_str!("charts.css"), include_str!("style.css"));

/// The script, made by `web/build`.
const SCRIPT: &str = include_str!("charts.js");

/// Nothing is loaded from anywhere; only the page's own style, and the one script with this hash, are used.
const POLICY: &str = concat!(
    "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-",
    include_str!("charts.sha256"),
    "'"
);

/// The texts of the origin that are shown at once: a command, a scenario, and the changes of the scenario.
const UNFOLDED: usize = 3;

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    title: String,
    lead: Vec<Block>,
    sections: Vec<Section>,
    provenance: Option<Provenance>,
}

/// A part of a page with a title and an anchor for links.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    title: String,
    anchor: Option<String>,
    blocks: Vec<Block>,
    sections: Vec<Self>,
    folded: Option<Badge>,
}

/// The origin of a page's numbers: enough to reproduce them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Facts, such as the version and the seed.
    pub facts: Vec<(String, String)>,
    /// Texts in full, such as the command line and the scenario, each with its name.
    pub texts: Vec<(String, String)>,
}

impl Page {
    /// Creates an empty page with this title.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), lead: Vec::new(), sections: Vec::new(), provenance: None }
    }

    /// Adds a block below the title, before all sections.
    #[must_use]
    pub fn lead(mut self, block: Block) -> Self {
        self.lead.push(block);
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Adds the origin of the numbers as a last section.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = Some(provenance);
        self
    }

    /// The page as one HTML file.
    #[must_use]
    pub fn to_html(&self) -> String {
        let sections: Vec<Section> =
            self.sections.iter().cloned().chain(self.provenance.as_ref().map(Provenance::section)).collect();
        let mut anchors = Anchors::default();
        let places: Vec<Place> = sections.iter().map(|section| Place::new(section, &mut anchors)).collect();
        let mut page = Rendered::default();
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content=(concat!("Fairlane ", env!("CARGO_PKG_VERSION")));
                    title { (self.title) }
                    link rel="icon" href="data:,";
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to the content" }
                    nav aria-label="Contents" { @if places.len() > 1 { (contents(&places)) } }
                    main id="main" tabindex="-1" {
                        h1 { (self.title) }
                        (Block::all(&self.lead, &mut page))
                        @for place in &places { (place.markup(2, &mut page)) }
                    }
                    footer { p { "Made by Fairlane " (env!("CARGO_PKG_VERSION")) ". This page is one file and loads nothing." } }
                    (PreEscaped(format!("<script type=\"application/json\" id=\"data\">{}</script>", page.data.to_json())))
                    (PreEscaped(format!("<script>{SCRIPT}</script>")))
                }
            }
        };
        // HTML allows no other control characters; names from files may contain some.
        let shown = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '�' } else { c };
        markup.into_string().chars().map(shown).collect()
    }
}

impl Section {
    /// Creates an empty section with this title.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), anchor: None, blocks: Vec::new(), sections: Vec::new(), folded: None }
    }

    /// Sets the section's anchor, instead of one derived from the title. Characters other than letters, digits and
    /// dashes become dashes; an anchor that the page already has gets a number.
    #[must_use]
    pub fn anchor(mut self, anchor: impl Into<String>) -> Self {
        self.anchor = Some(anchor.into());
        self
    }

    /// Shows only the title and `badge` until a reader unfolds it or follows a link into it: for one of many sections.
    /// On paper the section is unfolded.
    #[must_use]
    pub fn folded(mut self, badge: Badge) -> Self {
        self.folded = Some(badge);
        self
    }

    /// Adds a block.
    #[must_use]
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// Adds blocks.
    #[must_use]
    pub fn blocks(mut self, blocks: impl IntoIterator<Item = Block>) -> Self {
        self.blocks.extend(blocks);
        self
    }

    /// Adds a section within, after all blocks.
    #[must_use]
    pub fn section(mut self, section: Self) -> Self {
        self.sections.push(section);
        self
    }
}

impl Provenance {
    fn section(&self) -> Section {
        let facts = self.facts.iter().map(|(name, fact)| (name.clone(), vec![Inline::Text(fact.clone())])).collect();
        let texts = self.texts.iter().enumerate().flat_map(|(number, (label, text))| {
            let code = Block::Code { label: label.clone(), text: text.clone() };
            // Those of many scenarios would be longer than the results.
            if number < UNFOLDED {
                vec![Block::Paragraph(vec![Inline::Strong(label.clone())]), code]
            } else {
                vec![Block::Details { summary: label.clone(), blocks: vec![code] }]
            }
        });
        Section::new("How this was made").anchor("provenance").block(Block::Definitions(facts)).blocks(texts)
    }
}

/// The beginnings of anchors that are numbered elsewhere: of figures, and of the axes of tables with bars.
const RESERVED: [&str; 3] = ["figure-", "axis-", "grid-"];

/// The anchors that are taken.
struct Anchors(BTreeSet<String>);

impl Default for Anchors {
    /// The page's own.
    fn default() -> Self {
        Self(["main", "data"].map(str::to_owned).into())
    }
}

impl Anchors {
    /// `wanted`, or with a number behind it when that is taken.
    fn take(&mut self, wanted: &str) -> String {
        let numbered = (2_usize..).map(|number| format!("{wanted}-{number}"));
        let free =
            |anchor: &String| !self.0.contains(anchor) && !RESERVED.iter().any(|begin| anchor.starts_with(begin));
        let anchor = std::iter::once(wanted.to_owned()).chain(numbered).find(free).unwrap_or_default();
        self.0.insert(anchor.clone());
        anchor
    }
}

/// A section with its anchor.
struct Place<'a> {
    anchor: String,
    section: &'a Section,
    within: Vec<Self>,
}

impl<'a> Place<'a> {
    fn new(section: &'a Section, anchors: &mut Anchors) -> Self {
        let wanted = slug(section.anchor.as_ref().unwrap_or(&section.title));
        let reserved = RESERVED.iter().any(|begin| wanted.starts_with(begin));
        let wanted = if reserved { format!("section-{wanted}") } else { wanted };
        let anchor = anchors.take(&wanted);
        Self { anchor, section, within: section.sections.iter().map(|section| Self::new(section, anchors)).collect() }
    }

    fn markup(&self, level: u8, page: &mut Rendered) -> Markup {
        let link = if self.section.folded.is_some() {
            html! {}
        } else {
            self.own_link()
        };
        let title = match level {
            2 => html! { h2 { (self.section.title) (link) } },
            3 => html! { h3 { (self.section.title) (link) } },
            _ => html! { h4 { (self.section.title) (link) } },
        };
        let content = html! {
            (Block::all(&self.section.blocks, page))
            @for place in &self.within { (place.markup(level.saturating_add(1), page)) }
        };
        html! {
            section id=(self.anchor) {
                @if let Some(badge) = &self.section.folded {
                    details.fold { summary { (title) (badge.markup()) } (content) }
                } @else { (title) (content) }
            }
        }
    }

    /// A link that can be copied.
    fn own_link(&self) -> Markup {
        html! { " " a.anchor href=(format!("#{}", self.anchor)) aria-label=(format!("Link to {}", self.section.title)) { "#" } }
    }
}

fn contents(places: &[Place<'_>]) -> Markup {
    html! {
        ol { @for place in places { li {
            a href=(format!("#{}", place.anchor)) { (place.section.title) }
            @if !place.within.is_empty() { (contents(&place.within)) }
        } } }
    }
}
