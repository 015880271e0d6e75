//! The page for a reviewer of the papers: the claims that were confirmed, those that were not, with reasons, and the
//! choices that the papers leave open.

use std::fmt::Write as _;

use crate::book::{Book, FigureText, Paper, Status};
use crate::judgement::Judgement;
use crate::shown;
use crate::verdict::{Finding, Verdict};

/// Returns the page about `books`, of which every claim is in `verdicts`.
pub(crate) fn review(books: &[&Book], verdicts: &[Verdict<'_>]) -> String {
    let count = |status| verdicts.iter().filter(|verdict| verdict.status() == Some(status)).count();
    let mut text = format!(
        "# For a reviewer of the papers\n\nClaims that can be run: {}; met: {}; fell short: {}; not decided: {}. Below, paper by paper: \
         what was confirmed, with one number of each claim; what was not, with each number that missed and the reason; what the paper leaves open \
         and what was chosen; and the figures that have the paper's own numbers in them. The pages of the papers have all numbers.\n",
        verdicts.iter().filter(|verdict| verdict.status() != Some(Status::Out)).count(),
        count(Status::Met),
        count(Status::Short),
        count(Status::Undecided)
    );
    for book in books {
        let of_book: Vec<&Verdict<'_>> =
            verdicts.iter().filter(|verdict| verdict.book.paper.id == book.paper.id).collect();
        let Paper { title, authors, published, .. } = &book.paper;
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n## {title}\n\n{authors}. {published}.");
        text += &confirmed(&of_book);
        text += &others(&of_book, Status::Short, "Not confirmed");
        text += &others(&of_book, Status::Undecided, "Not decided");
        text += &open(&book.paper);
        text += &figures(&book.figures);
    }
    text
}

/// The claims that are met, each with the number that tells most.
fn confirmed(verdicts: &[&Verdict<'_>]) -> String {
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.status() == Some(Status::Met)) {
        let number = telling(&verdict.findings).map_or_else(String::new, |finding| {
            let others = finding.others();
            let others = if others.is_empty() { others } else { format!(" ({others})") };
            format!("{}: {}{others}", finding.what, finding.shown())
        });
        let page = &verdict.book.paper.id;
        let claim = verdict.claim;
        let _ = writeln!(
            text,
            "| [{}]({page}.md#{}) | {} | {} |",
            cell(&claim.place),
            claim.id,
            cell(&claim.says),
            cell(&number)
        );
    }
    headed("Confirmed", "| where | what the paper says | here |\n|---|---|---|\n", &text)
}

/// The first number that the paper has too, else one that the model or ns-2 has, else the first.
fn telling<'f, 'a>(findings: &'f [Finding<'a>]) -> Option<&'f Finding<'a>> {
    let first = |wanted: fn(&Finding<'_>) -> bool| findings.iter().find(|finding| wanted(finding));
    first(|finding| finding.paper.is_some())
        .or_else(|| first(|finding| finding.model.is_some() || finding.ns2.is_some()))
        .or_else(|| findings.first())
}

/// The claims that stand at `status`, with the numbers that are not met and the reasons.
fn others(verdicts: &[&Verdict<'_>], status: Status, title: &str) -> String {
    let mut text = String::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.status() == Some(status)) {
        let claim = verdict.claim;
        let (place, page) = (&claim.place, &verdict.book.paper.id);
        let _ = writeln!(text, "\n**[{place}]({page}.md#{})**: {}\n\n{}", claim.id, claim.says, claim.remark);
        text += &numbers(verdict.findings.iter().filter(|finding| finding.judgement != Some(Judgement::Met)));
    }
    headed(title, "", &text)
}

fn open(paper: &Paper) -> String {
    let rows = paper.open.iter().fold(String::new(), |mut rows, open| {
        let _ = writeln!(rows, "| {} | {} |", cell(&open.what), cell(&open.chosen));
        rows
    });
    headed("What the paper leaves open", "| open | here |\n|---|---|\n", &rows)
}

/// The figures that show the paper's own points next to ours.
fn figures(figures: &[FigureText]) -> String {
    let compared = figures.iter().filter(|figure| !figure.paper.is_empty());
    let pictures = compared.fold(String::new(), |mut pictures, figure| {
        let _ = writeln!(pictures, "\n![{}](figures/{}.svg)", figure.title, figure.id);
        pictures
    });
    headed("Figures with the paper's numbers", "", &pictures)
}

/// A section, or nothing if its body is empty.
fn headed(title: &str, head: &str, body: &str) -> String {
    if body.is_empty() { String::new() } else { format!("\n### {title}\n\n{head}{}", body.trim_start()) }
}

/// The table of our numbers and the paper's.
pub(crate) fn numbers<'f, 'a: 'f>(findings: impl Iterator<Item = &'f Finding<'a>>) -> String {
    let mut text = String::from("\n| | number | ours | asked | others |\n|---|---|---|---|---|\n");
    for finding in findings {
        let sign = shown::sign(finding.judgement);
        let ours = Some(finding.shown()).filter(|shown| !shown.is_empty()).unwrap_or_else(|| "–".to_owned());
        let _ = writeln!(
            text,
            "| {sign} | {} | {} | {} | {} |",
            cell(&finding.what),
            cell(&ours),
            shown::demand(finding.demand),
            finding.others()
        );
    }
    text
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a number of ns-2, or one of ours alone, that is shown although the paper has one.
    #[test]
    fn the_papers_number_is_told_first() {
        let finding = |what: &str, paper, ns2| Finding {
            what: what.to_owned(),
            unit: "",
            paper,
            model: None,
            ns2,
            demand: (0.0, 1.0),
            digits: None,
            ours: None,
            lacking: None,
            judgement: None,
        };
        let (plain, ns2, paper) =
            (finding("plain", None, None), finding("ns-2", None, Some(0.5)), finding("paper", Some("0.5"), None));
        let told = |findings: &[Finding<'static>]| telling(findings).map(|finding| finding.what.clone());
        assert_eq!(told(&[plain.clone(), ns2.clone(), paper]).as_deref(), Some("paper"));
        assert_eq!(told(&[plain.clone(), ns2]).as_deref(), Some("ns-2"));
        assert_eq!(told(&[plain]).as_deref(), Some("plain"));
        assert_eq!(told(&[]), None);
    }
}
