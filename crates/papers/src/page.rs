//! An HTML page of all claims that were run.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_report::html::{Badge, Block, Cell, Inline, Page, Provenance, Section, Table, Tone};

use crate::book::{Book, Status};
use crate::judgement::Judgement;
use crate::plan::{Options, Results, figure};
use crate::verdict::{Finding, Tally, Verdict, tallies};
use crate::{Error, Library, shown};

/// A page with the verdicts, the figures and the data of `results`, and with its `provenance`.
///
/// # Errors
/// A figure cannot be drawn.
pub fn page(
    library: &Library,
    verdicts: &[Verdict<'_>],
    results: &Results,
    options: Options,
    provenance: Provenance,
) -> Result<Page, Error> {
    let mut page = Page::new("What the papers say, and what Fairlane measures").lead(Block::text(
        "Each claim is a statement of a paper. It is met if the mean of each of its numbers lies in the accepted range and its 95 % \
         interval is narrow enough: half of it is at most a quarter of the range, or does not reach the only bound. Where an interval \
         is wider, the claim is not decided. Claims that fall short are marked, with the known reasons.",
    ));
    page = page.lead(Block::Badges(counts(verdicts)));
    page = page.lead(Block::table("Claims by what they rest on", bases(verdicts)));
    if options.short {
        page = page.lead(notice("Short form", "Fewer points, fewer and shorter runs than the full form: intervals are wide, and some numbers were not run."));
    }
    if results.partial {
        page = page.lead(notice("Partial", "It was interrupted: some runs are missing."));
    }
    let mut drawn = BTreeSet::new();
    for book in library.books() {
        let of_book: Vec<&Verdict<'_>> =
            verdicts.iter().filter(|verdict| verdict.book.paper.id == book.paper.id).collect();
        if !of_book.is_empty() {
            page = page.section(of_paper(book, &of_book, results, &mut drawn)?);
        }
    }
    Ok(page.section(data(results)).provenance(with_scenarios(provenance, library, results)))
}

fn notice(word: &str, text: &str) -> Block {
    Block::Notice(Badge::new(Tone::Caution, word), vec![Inline::text_of(text)])
}

fn counts(verdicts: &[Verdict<'_>]) -> Vec<Badge> {
    let of = |status| verdicts.iter().filter(|verdict| verdict.status() == status).count();
    [Some(Status::Met), Some(Status::Short), Some(Status::Undecided), Some(Status::Out), None]
        .into_iter()
        .filter(|status| of(*status) > 0)
        .map(|status| Badge::new(tone(status), format!("{} {}", of(status), shown::standing(status))))
        .collect()
}

/// The verdicts counted by their basis.
fn bases(verdicts: &[Verdict<'_>]) -> Table {
    let tallies = tallies(verdicts);
    let number = |of: fn(&Tally) -> usize| tallies.iter().map(|tally| Cell::Number(of(tally).to_string())).collect();
    Table::new()
        .key("rests on", tallies.iter().map(|tally| Cell::Text(tally.basis.phrase().to_owned())).collect())
        .column("met", number(|tally| tally.met))
        .column("fell short", number(|tally| tally.short))
        .column("not decided", number(|tally| tally.undecided))
}

fn tone(status: Option<Status>) -> Tone {
    match status {
        Some(Status::Met) => Tone::Good,
        Some(Status::Short) => Tone::Bad,
        Some(Status::Undecided) => Tone::Caution,
        Some(Status::Out) | None => Tone::Neutral,
    }
}

fn of_paper(
    book: &Book,
    verdicts: &[&Verdict<'_>],
    results: &Results,
    drawn: &mut BTreeSet<String>,
) -> Result<Section, Error> {
    let paper = &book.paper;
    let mut section = Section::new(paper.title.clone())
        .anchor(format!("paper-{}", paper.id))
        .block(Block::text(format!("{}. {}.", paper.authors, paper.published)))
        .block(Block::Table { label: format!("Claims of {}", paper.title), table: overview(verdicts), download: true });
    for verdict in verdicts {
        section = section.section(of_claim(verdict, results, drawn)?);
    }
    Ok(section)
}

/// A row for each claim.
fn overview(verdicts: &[&Verdict<'_>]) -> Table {
    let link = |verdict: &&Verdict<'_>| {
        let id = &verdict.claim.id;
        Cell::Prose(vec![Inline::Link { text: id.clone(), href: format!("#{id}") }])
    };
    let count = |verdict: &&Verdict<'_>| match verdict.count() {
        (_, 0) => String::new(),
        (met, run) => format!("{met} of {run}"),
    };
    Table::new()
        .key("claim", verdicts.iter().map(link).collect())
        .column("where", verdicts.iter().map(|verdict| Cell::Text(verdict.claim.place.clone())).collect())
        .column("stands", verdicts.iter().map(|verdict| Cell::Badge(badge(verdict.status()))).collect())
        .column("numbers met", verdicts.iter().map(|verdict| Cell::Number(count(verdict))).collect())
}

fn badge(status: Option<Status>) -> Badge {
    Badge::new(tone(status), shown::standing(status))
}

fn of_claim(verdict: &Verdict<'_>, results: &Results, drawn: &mut BTreeSet<String>) -> Result<Section, Error> {
    let claim = verdict.claim;
    let mut section = Section::new(format!("{}: {}", claim.place, claim.id))
        .anchor(claim.id.clone())
        .block(Block::Badges(vec![badge(verdict.status())]))
        .block(Block::text(claim.says.clone()));
    if !claim.remark.is_empty() {
        section = section.block(Block::Paragraph(vec![
            Inline::Strong("Remark. ".to_owned()),
            Inline::text_of(claim.remark.clone()),
        ]));
    }
    if let Some(text) = figure(verdict.book, claim)
        && let Some(figure) = text.draw(results).map_err(|why| Error::Book {
            name: format!("{}.toml", verdict.book.paper.id),
            why: format!("the figure {}: {why}", text.id),
        })?
        && drawn.insert(text.id.clone())
    {
        section = section.block(Block::figure(figure));
    }
    if !verdict.findings.is_empty() {
        section = section.block(Block::table(format!("Numbers of {}", claim.id), numbers(&verdict.findings)));
    }
    Ok(section)
}

/// The table of our numbers and the paper's.
fn numbers(findings: &[Finding<'_>]) -> Table {
    let text =
        |cell: &dyn Fn(&Finding<'_>) -> String| findings.iter().map(|finding| Cell::Text(cell(finding))).collect();
    let number =
        |cell: &dyn Fn(&Finding<'_>) -> String| findings.iter().map(|finding| Cell::Number(cell(finding))).collect();
    let optional = |value: Option<f64>| value.map_or_else(String::new, shown::number);
    let mut table = Table::new()
        .key("number", text(&|finding| finding.what.clone()))
        .column("ours", number(&|finding| finding.shown()))
        .column("asked", number(&|finding| shown::demand(finding.demand)))
        .column("verdict", findings.iter().map(|finding| Cell::Badge(judged(finding.judgement))).collect());
    if findings.iter().any(|finding| finding.paper.is_some()) {
        table = table.column("paper", number(&|finding| finding.paper.unwrap_or_default().to_owned()));
    }
    if findings.iter().any(|finding| finding.model.is_some()) {
        table = table.column("model", number(&|finding| optional(finding.model)));
    }
    if findings.iter().any(|finding| finding.ns2.is_some()) {
        table = table.column("ns-2", number(&|finding| optional(finding.ns2)));
    }
    table
}

fn judged(judgement: Option<Judgement>) -> Badge {
    let tone = match judgement {
        Some(Judgement::Met) => Tone::Good,
        Some(Judgement::Missed) => Tone::Bad,
        Some(Judgement::Undecided) => Tone::Caution,
        None => Tone::Neutral,
    };
    Badge::new(tone, shown::word(judgement))
}

/// Every experiment's table, as a download.
fn data(results: &Results) -> Section {
    let tables = results.tables.iter().map(|(id, table)| Block::Data { label: id.clone(), csv: table.to_csv() });
    Section::new("Data")
        .anchor("data")
        .block(Block::text("The tables of all experiments: a row for each point and run."))
        .blocks(tables)
}

fn with_scenarios(mut provenance: Provenance, library: &Library, results: &Results) -> Provenance {
    let run = results.tables.keys().filter_map(|id| library.experiment(id));
    let texts = run.filter_map(|run| Some((run.scenario_file()?, run.document().ok()?.to_toml())));
    provenance.texts.extend(texts.collect::<BTreeMap<_, _>>());
    provenance
}
