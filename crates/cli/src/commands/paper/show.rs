//! Claims in full.

use fairlane_console::Failure;
use fairlane_console::layout::{columns, paragraph};
use fairlane_papers::{Book, Check, Claim, Library, json, shown};
use serde_json::Value;

use super::failure;
use crate::args::paper::{PaperListArgs, PaperShowArgs};
use crate::output;

/// Prints all claims.
pub(crate) fn list(args: &PaperListArgs) -> Result<(), Failure> {
    let library = Library::open().map_err(failure)?;
    if args.form.json {
        return output::print_json(&library.claims().map(|(book, claim)| json::claim(book, claim)).collect::<Vec<_>>());
    }
    let width = output::width();
    let mut text = String::new();
    for book in library.books() {
        let paper = &book.paper;
        text += &paragraph(&format!("{}: {}. {}.", paper.authors, paper.title, paper.published), "", "", width);
        let row = |claim: &Claim| [claim.id.clone(), shown::standing(claim.status).to_owned(), claim.place.clone()];
        text += &columns(&book.claims.iter().map(row).collect::<Vec<_>>(), width);
        text += "\n";
    }
    text += "fairlane paper show ID shows a claim, fairlane paper run ID runs it.\n";
    output::print(&text)
}

/// Prints a claim in full.
pub(crate) fn show(args: &PaperShowArgs) -> Result<(), Failure> {
    let asked = std::slice::from_ref(&args.id);
    let library = Library::asked(asked).map_err(failure)?;
    let claims = library.select(asked).map_err(failure)?;
    if args.form.json {
        let all: Vec<Value> = claims.iter().map(|(book, claim)| json::claim(book, claim)).collect();
        return output::print_json(&all);
    }
    let width = output::width();
    let pages: Vec<String> = claims.iter().map(|(book, claim)| page(&library, book, claim, width)).collect();
    output::print(&pages.join("\n"))
}

fn page(library: &Library, book: &Book, claim: &Claim, width: usize) -> String {
    let title = format!("{} ({}, {}): {}", claim.id, book.paper.id, claim.place, shown::standing(claim.status));
    let mut text = paragraph(&title, "", "  ", width) + "\n";
    text += &paragraph(&claim.says, "  ", "  ", width);
    if !claim.remark.is_empty() {
        text += &("\n".to_owned() + &paragraph(&claim.remark, "  ", "  ", width));
    }
    for experiment in claim.experiments.iter().filter_map(|id| library.experiment(id)) {
        let from = experiment.scenario_file().map(|name| format!(" ({name})")).unwrap_or_default();
        text += &format!("\n  {}{from}\n", experiment.id);
        text += &paragraph(&experiment.about, "    ", "    ", width);
        let mut rows: Vec<[String; 2]> =
            experiment.set.iter().map(|(key, value)| [key.clone(), value.clone()]).collect();
        rows.extend(experiment.vary.iter().map(|(name, axis)| {
            let values: Vec<String> = axis.values.iter().map(|choice| plain(&choice.name())).collect();
            [axis.key.clone().unwrap_or_else(|| name.clone()), values.join(", ")]
        }));
        if !rows.is_empty() {
            text += &columns(
                &rows.into_iter().map(|[key, values]| ["  ".to_owned() + &key, values]).collect::<Vec<_>>(),
                width,
            );
        }
    }
    let rows: Vec<[String; 2]> = claim.checks.iter().map(asked).collect();
    if !rows.is_empty() {
        text += "\n";
        text += &columns(&rows, width);
    }
    text
}

/// Returns the range asked of a number, and the numbers of others.
fn asked(check: &Check) -> [String; 2] {
    let unit = if check.unit.is_empty() { String::new() } else { format!(" {}", check.unit) };
    let mut words = format!("{}{unit}", shown::demand(check.demand));
    let others = shown::others(check.paper.as_deref(), check.model, check.ns2);
    if !others.is_empty() {
        words += &format!(" ({others})");
    }
    [check.what.clone(), words]
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
