//! Pages of outcomes.

use fairlane_outcome::{Outcome, Timeline};

use super::timeline::{chosen, of_one, of_several};
use super::{Badge, Block, Inline, Page, Provenance, Section, Table, Tone, answer, figures, values};
use crate::details::Titled;
use crate::figure::{Content, Figure, sweep as points};
use crate::numbers::{count, megabytes, significant};
use crate::queues::{ShownQueue, labels};
use crate::summary::{INTERRUPTED, Medium, NOTHING, facts, notes};
use crate::table::TextTable;
use crate::{PaperNumbers, compare, run, sweep};

/// The title of the first section.
const ANSWER: &str = "Who got what, and how long it waited";

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
/// the numbers to compare with ours.
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
    let labels = labels(outcomes);
    let tables = compare::tables(outcomes, paper, Medium::Page);
    let source = paper.map(|paper| Block::text(format!("In the columns named paper: {}.", paper.source)));
    let numbers = Section::new("Numbers").blocks(source);
    let named = labels.iter().zip(timelines);
    let timelines: Vec<(&str, &Timeline)> =
        named.filter_map(|(label, timeline)| Some((label.as_str(), timeline.as_ref()?))).collect();
    page.section_of(ANSWER, answer::blocks(outcomes, &labels, "queue"))
        .section_of("Delay against throughput", answer::scatter(outcomes, &labels))
        .section_of("Over time", of_several(outcomes, &timelines))
        .section_of("Distributions", distributions(outcomes))
        .section_of(queues_title(outcomes), queues(outcomes))
        .section(with_tables(numbers, tables, outcomes))
        .provenance(provenance(outcomes, origin))
}

/// A page of one outcome in full; `timeline` is its first run, if recorded.
#[must_use]
pub fn run_page(outcome: &Outcome, timeline: Option<&Timeline>, origin: &Origin) -> Page {
    let outcomes = std::slice::from_ref(outcome);
    let numbers = with_tables(Section::new("Numbers"), run::tables(outcome), outcomes);
    begin(outcomes, origin)
        .section_of(ANSWER, answer::blocks(outcomes, &labels(outcomes), "queue"))
        .section_of("Over time", timeline.map_or_else(Vec::new, |timeline| of_one(outcome, timeline)))
        .section_of("Distributions", distributions(outcomes))
        .section_of(queues_title(outcomes), queues(outcomes))
        .section(numbers)
        .provenance(provenance(outcomes, origin))
}

/// A page of a sweep: results against the varied keys.
#[must_use]
pub fn sweep_page(outcomes: &[Outcome], origin: &Origin) -> Page {
    let page = begin(outcomes, origin);
    if outcomes.is_empty() {
        return page;
    }
    let (note, tables) = match values::too_many(outcomes.len(), "points") {
        Some(note) => (Some(note), Vec::new()),
        None => (None, sweep::tables(outcomes, Medium::Page)),
    };
    let numbers = Section::new("Numbers").blocks(note);
    let names = points::names(outcomes);
    page.section_of(ANSWER, answer::blocks(outcomes, &names, &points::title(outcomes)))
        .section_of("Against what was varied", points::figures(outcomes).into_iter().filter_map(swept))
        .section_of("Delay against throughput", answer::scatter(outcomes, &names))
        .section(with_tables(numbers, tables, outcomes))
        .provenance(provenance(outcomes, origin))
}

/// The chart of a sweep's figure.
fn swept(figure: Figure) -> Option<Block> {
    let Content::Lines(lines) = figure.content else { return None };
    chosen(&figure.title, "", figure.x, figure.y, lines)
}

/// The distributions of delays and completion times, and over the flows of each group.
fn distributions(outcomes: &[Outcome]) -> impl Iterator<Item = Block> {
    let delays = ShownQueue::all(outcomes).into_iter().filter_map(|at| figures::delays(outcomes, at));
    delays.chain(figures::completions(outcomes)).chain(figures::flows(outcomes))
}

/// The title, the facts of the runs, and a notice if something is missing.
fn begin(outcomes: &[Outcome], origin: &Origin) -> Page {
    let mut page = match outcomes.first() {
        None => Page::new("Fairlane").lead(Block::text(NOTHING)),
        Some(first) => Page::new(&first.scenario).lead(Block::text(facts(outcomes).join(" · "))),
    };
    if let Some(missing) = &origin.missing {
        page = page.lead(notice(missing));
    } else if outcomes.iter().any(|outcome| outcome.partial) {
        page = page.lead(notice(INTERRUPTED));
    }
    for note in notes(outcomes) {
        page = page.lead(Block::Notice(Badge::new(Tone::Caution, "Note"), vec![Inline::Text(format!("{note}."))]));
    }
    page
}

fn notice(text: &str) -> Block {
    Block::Notice(Badge::new(Tone::Caution, "Partial"), vec![Inline::text_of(text)])
}

fn queues_title(outcomes: &[Outcome]) -> &'static str {
    if ShownQueue::all(outcomes).len() > 1 { "The queues" } else { "The queue" }
}

/// The figures of each queue that the outcomes show.
fn queues(outcomes: &[Outcome]) -> impl Iterator<Item = Block> {
    let all = ShownQueue::all(outcomes).into_iter();
    all.flat_map(|at| figures::composition(outcomes, at).into_iter().chain(figures::drops(outcomes, at)))
}

/// Adds a section for each table, and one for all numbers.
fn with_tables(numbers: Section, tables: Vec<Titled>, outcomes: &[Outcome]) -> Section {
    let tables = tables.into_iter().map(|Titled { title, table, .. }| Section::new(title).block(shown(title, &table)));
    tables.fold(numbers, Section::section).section(Section::new("All numbers").block(values::block(outcomes)))
}

/// A table as on the terminal; another one has the numbers with all digits.
fn shown(label: &str, table: &TextTable) -> Block {
    Block::Table { label: label.to_owned(), table: Table::of(table), download: false }
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
    fn section_of(self, title: &str, blocks: impl IntoIterator<Item = Block>) -> Self {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() { self } else { self.section(Section::new(title).blocks(blocks)) }
    }
}
