//! Pages of outcomes.

use fairlane_outcome::{Outcome, Timeline};

use super::timeline::{of_one, of_several};
use super::{Badge, Block, Inline, Page, Provenance, Section, Tone, figures, grid, values};
use crate::numbers::{count, megabytes, significant};
use crate::summary::{INTERRUPTED, NOTHING, facts, group_names, labels, size};
use crate::table::TextTable;
use crate::{PaperNumbers, compare, run, sweep};

/// The origin of outcomes, beyond what they contain themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The command as it was given.
    pub command: String,
    /// The text of the scenario file.
    pub scenario: String,
    /// Changes that the command made to the file, one per line, such as `seed = 2`; empty for none.
    pub changes: String,
    /// The part that is missing because the work was interrupted; `None` if nothing is.
    pub missing: Option<String>,
}

/// A page of disciplines side by side; `timelines` are the recorded first runs of the outcomes, and `paper`
/// the numbers to show beside ours.
#[must_use]
pub fn compare_page(
    outcomes: &[Outcome],
    timelines: &[Option<Timeline>],
    paper: Option<&PaperNumbers>,
    origin: &Origin,
) -> Page {
    let page = begin(outcomes, origin);
    if outcomes.is_empty() {
        return page;
    }
    let mut numbers =
        Section::new("Numbers").block(shown("Disciplines side by side", &compare::table(outcomes, paper)));
    if let Some(paper) = paper {
        numbers = numbers.block(Block::text(format!("In the columns named paper: {}.", paper.source)));
    }
    let queues: Vec<&str> =
        outcomes.iter().map(|outcome| outcome.bottleneck().map_or("", |queue| queue.name.as_str())).collect();
    let labels = labels(outcomes);
    let named = labels.iter().zip(queues).zip(timelines);
    let timelines: Vec<(&str, &str, &Timeline)> =
        named.filter_map(|((label, queue), timeline)| Some((label.as_str(), queue, timeline.as_ref()?))).collect();
    page.section(numbers.block(values::block(outcomes)))
        .section(Section::new("Shares").block(figures::shares(outcomes)).blocks(figures::flows(outcomes)))
        .section(
            Section::new("The queue")
                .block(figures::composition(outcomes))
                .blocks(figures::drops(outcomes))
                .blocks(figures::delays(outcomes)),
        )
        .section_of("Over time", of_several(&timelines))
        .provenance(provenance(outcomes, origin))
}

/// A page of one outcome in full; `timeline` is its first run, if recorded.
#[must_use]
pub fn run_page(outcome: &Outcome, timeline: Option<&Timeline>, origin: &Origin) -> Page {
    let outcomes = std::slice::from_ref(outcome);
    let tables = run::tables(outcome).map(|(title, table)| Section::new(title).block(shown(title, &table)));
    let numbers = tables.fold(Section::new("Numbers"), Section::section);
    let numbers = numbers.section(Section::new("All numbers").block(values::block(outcomes)));
    begin(outcomes, origin)
        .section(numbers)
        .section(Section::new("Shares").block(figures::shares(outcomes)).blocks(figures::flows(outcomes)))
        .section(
            Section::new("The bottleneck's queue")
                .block(figures::composition(outcomes))
                .blocks(figures::drops(outcomes))
                .blocks(figures::delays(outcomes)),
        )
        .section_of("Over time", timeline.map_or_else(Vec::new, of_one))
        .provenance(provenance(outcomes, origin))
}

/// A page of a sweep: results against the varied keys.
#[must_use]
pub fn sweep_page(outcomes: &[Outcome], origin: &Origin) -> Page {
    let page = begin(outcomes, origin);
    if outcomes.is_empty() {
        return page;
    }
    let table = values::too_many(outcomes.len(), "points");
    let table = table.unwrap_or_else(|| shown("All points", &sweep::table(outcomes)));
    page.section_of("Figures", grid::figures(outcomes))
        .section(Section::new("Numbers").block(table).block(values::block(outcomes)))
        .provenance(provenance(outcomes, origin))
}

/// The title, the facts of the runs, and a notice if something is missing.
fn begin(outcomes: &[Outcome], origin: &Origin) -> Page {
    let mut page = match outcomes.first() {
        None => Page::new("Fairlane").lead(Block::text(NOTHING)),
        Some(first) => Page::new(&first.scenario).lead(Block::text(facts(first).join(" · "))),
    };
    if let Some(missing) = &origin.missing {
        page = page.lead(notice(missing));
    } else if outcomes.iter().any(|outcome| outcome.partial) {
        page = page.lead(notice(INTERRUPTED));
    }
    let Some(first) = outcomes.first() else { return page };
    let groups = group_names(outcomes);
    let group = |name: &&str| ((*name).to_owned(), vec![Inline::Text(size(first, name))]);
    page.lead(Block::Definitions(groups.iter().map(group).collect()))
}

fn notice(text: &str) -> Block {
    Block::Notice(Badge::new(Tone::Caution, "Partial"), vec![Inline::text_of(text)])
}

/// A table as on the terminal; another one has the numbers with all digits.
fn shown(label: &str, table: &TextTable) -> Block {
    Block::Table { label: label.to_owned(), table: table.to_page(), download: false }
}

fn provenance(outcomes: &[Outcome], origin: &Origin) -> Provenance {
    let first = outcomes.first();
    let sum = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>();
    let cpu = sum(|outcome| outcome.cost.cpu_s);
    let events = sum(|outcome| outcome.cost.events as f64);
    let memory = outcomes.iter().map(|outcome| outcome.cost.peak_rss_bytes).max().unwrap_or(0);
    let mut all = vec![
        ("Version", format!("Fairlane {}", env!("CARGO_PKG_VERSION"))),
        ("Engine", each(outcomes, |outcome| outcome.engine.clone())),
        ("Seed", first.map_or_else(String::new, |outcome| outcome.seed.to_string())),
        ("Runs", each(outcomes, |outcome| outcome.runs.to_string())),
        ("Events", count(events)),
    ];
    if cpu > 0.0 {
        all.push(("Processor time", format!("{} s", significant(cpu, 3))));
    }
    if memory > 0 {
        all.push(("Memory at most", megabytes(memory)));
    }
    let named = |(name, fact): (&str, String)| (name.to_owned(), fact);
    let texts = [
        ("Command", &origin.command),
        ("Scenario", &origin.scenario),
        ("Changed in the scenario by the command", &origin.changes),
    ];
    Provenance {
        facts: all.into_iter().map(named).collect(),
        texts: texts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name.to_owned(), text.clone()))
            .collect(),
    }
}

/// Collects the values of all outcomes, each once.
fn each(outcomes: &[Outcome], of: impl Fn(&Outcome) -> String) -> String {
    let mut all: Vec<String> = Vec::new();
    for one in outcomes.iter().map(of) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all.join(", ")
}

impl Page {
    /// Adds a section of these blocks, if there are any.
    fn section_of(self, title: &str, blocks: Vec<Block>) -> Self {
        if blocks.is_empty() { self } else { self.section(Section::new(title).blocks(blocks)) }
    }
}
