//! Checks books for consistency: everything that is named exists, once.

use std::collections::BTreeSet;

use crate::Error;
use crate::book::{Book, Claim, CrossText, Experiment, Status, line_of};
use crate::expression::Expression;

/// Checks all books together; `sources` are their files and texts.
pub(crate) fn check(books: &[Book], sources: &[(&str, &str)]) -> Result<(), Error> {
    let experiments: Vec<&Experiment> = books.iter().flat_map(|book| &book.experiments).collect();
    let known = |id: &str| experiments.iter().any(|experiment| experiment.id == id);
    let mut ids = BTreeSet::new();
    for (book, (file, text)) in books.iter().zip(sources) {
        let refuse = |(what, id): (&str, &str), why: String| {
            let line = line_of(text, &format!("{what}s"), id).map_or_else(String::new, |line| format!(":{line}"));
            Error::Book { name: format!("{file}{line}"), why: format!("the {what} {id}: {why}") }
        };
        let all = book.experiments.iter().map(|experiment| ("experiment", &experiment.id));
        let all = all.chain(book.figures.iter().map(|figure| ("figure", &figure.id)));
        let all = all.chain(book.tables.iter().map(|table| ("table", &table.id)));
        for (what, id) in all.chain(book.claims.iter().map(|claim| ("claim", &claim.id))) {
            if !ids.insert((what, id)) {
                return Err(refuse((what, id), "there are two of this name".to_owned()));
            }
        }
        for experiment in &book.experiments {
            of_experiment(experiment).map_err(|why| refuse(("experiment", &experiment.id), why))?;
        }
        for figure in &book.figures {
            for line in &figure.lines {
                if !known(&line.experiment) {
                    let why = format!("there is no experiment {}", line.experiment);
                    return Err(refuse(("figure", &figure.id), why));
                }
                for code in line.condition.iter().chain([&line.y]).chain(&figure.x.value) {
                    Expression::new(code).map_err(|why| refuse(("figure", &figure.id), why))?;
                }
            }
        }
        for table in &book.tables {
            of_table(book, table).map_err(|why| refuse(("table", &table.id), why))?;
        }
        for claim in &book.claims {
            of_claim(book, claim, &known).map_err(|why| refuse(("claim", &claim.id), why))?;
        }
    }
    Ok(())
}

fn of_table(book: &Book, table: &CrossText) -> Result<(), String> {
    let Some(experiment) = book.experiments.iter().find(|experiment| experiment.id == table.experiment) else {
        return Err(format!("there is no experiment {}", table.experiment));
    };
    for axis in [&table.lines, &table.columns] {
        if !experiment.vary.contains_key(axis) {
            return Err(format!("the experiment {} does not vary \"{axis}\"", experiment.id));
        }
    }
    Expression::new(&table.cell).map(|_| ())
}

fn of_experiment(experiment: &Experiment) -> Result<(), String> {
    let kinds = [
        experiment.scenario.is_some(),
        experiment.theory.is_some(),
        experiment.station.is_some(),
        experiment.arithmetic,
    ];
    if kinds.iter().filter(|given| **given).count() != 1 {
        return Err("it needs one of `scenario`, `theory`, `station` and `arithmetic`".to_owned());
    }
    if experiment.scenario.is_some() {
        experiment.document()?;
    }
    for form in [&experiment.full, &experiment.short] {
        if let Some(name) = form.vary.keys().find(|name| !experiment.vary.contains_key(*name)) {
            return Err(format!("a form has values of `{name}`, which is not varied"));
        }
    }
    for (name, code) in &experiment.measures {
        if experiment.vary.contains_key(name) || ["experiment", "run"].contains(&name.as_str()) {
            return Err(format!("the measure {name} has the name of another column"));
        }
        Expression::new(code).map_err(|why| format!("the measure {name}: {why}"))?;
    }
    Ok(())
}

fn of_claim(book: &Book, claim: &Claim, known: &dyn Fn(&str) -> bool) -> Result<(), String> {
    if let Some(id) = claim.experiments.iter().find(|id| !known(id)) {
        return Err(format!("there is no experiment {id}"));
    }
    if let Some(id) = &claim.figure
        && !book.figures.iter().any(|figure| figure.id == *id)
    {
        return Err(format!("there is no figure {id}"));
    }
    let asks = !claim.checks.is_empty() || !claim.vectors.is_empty();
    match claim.status {
        Some(Status::Out) if asks => return Err("it is out, and yet it has checks".to_owned()),
        None | Some(Status::Met | Status::Short | Status::Undecided) if !asks => {
            return Err("it has no checks, and yet it is not out".to_owned());
        }
        Some(Status::Out | Status::Short | Status::Undecided) if claim.remark.is_empty() => {
            return Err("it does not say why (`remark`)".to_owned());
        }
        _ => {}
    }
    for check in &claim.checks {
        if claim.experiments.is_empty() {
            return Err("it has checks and no experiments".to_owned());
        }
        if check.demand.0.is_nan() || check.demand.1.is_nan() || check.demand.0 > check.demand.1 {
            return Err(format!("{}: nothing lies in {:?}", check.what, check.demand));
        }
        Expression::new(&check.value).map_err(|why| format!("{}: {why}", check.what))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error for a book in which `right` is replaced by `wrong`; empty if they are the same.
    fn said(right: &str, wrong: &str) -> String {
        const TEXT: &str = r#"
            paper = { id = "p", title = "P", authors = "A", where = "W" }
            figures = [{ id = "f", title = "F", x = { label = "x" }, y = { label = "y" }, lines = [{ experiment = "e", name = "l", y = ".y" }] }]
            tables = [{ id = "t", title = "T", experiment = "e", lines = "load", columns = "load", cell = "length" }]
            [[experiments]]
            id = "e"
            about = "."
            theory = { model = "choke" }
            vary.load = { key = "load", values = [1.0, 2.0] }
            short = { vary.load = [2.0] }
            measures = { y = ".share" }
            [[claims]]
            id = "c"
            where = "here"
            says = "."
            experiments = ["e"]
            figure = "f"
            status = "met"
            checks = [{ what = "w", at = { load = 1.0 }, value = ".y", demand = [0, 1] }]
        "#;
        assert!(TEXT.contains(right), "{right} is not there");
        let text = TEXT.replacen(right, wrong, 1);
        let book = Book::parse("p.toml", &text);
        book.and_then(|book| check(&[book], &[("p.toml", &text)]))
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn what_is_right_is_not_refused() {
        assert_eq!(said("status", "status"), "");
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (right, wrong, expected) in [
            (
                "measures = { y",
                "measures = { run",
                "p.toml:6: the experiment e: the measure run has the name of another column",
            ),
            ("measures = { y", "measures = { load", "the measure load has the name of another column"),
            (".share", ".share +", "the measure y: this is not jq"),
            ("theory = { model = \"choke\" }", "", "it needs one of `scenario`, `theory`, `station` and `arithmetic`"),
            ("theory = { model = \"choke\" }", "scenario = \"nosuch\"", "there is no scenario \"nosuch\""),
            ("short = { vary.load", "short = { vary.rate", "a form has values of `rate`, which is not varied"),
            ("experiment = \"e\", name", "experiment = \"d\", name", "the figure f: there is no experiment d"),
            ("experiments = [\"e\"]", "experiments = [\"d\"]", "the claim c: there is no experiment d"),
            (
                "title = \"T\", experiment = \"e\"",
                "title = \"T\", experiment = \"d\"",
                "the table t: there is no experiment d",
            ),
            ("lines = \"load\"", "lines = \"queue\"", "the table t: the experiment e does not vary \"queue\""),
            ("figure = \"f\"", "figure = \"g\"", "the claim c: there is no figure g"),
            ("status = \"met\"", "status = \"short\"", "it does not say why"),
            ("status = \"met\"", "status = \"out\"", "it is out, and yet it has checks"),
            ("demand = [0, 1]", "demand = [1, 0]", "nothing lies in"),
            ("id = \"e\"", "id = \"e\"\nabuot = 1", "p.toml:7:1: unknown field `abuot`"),
        ] {
            let said = said(right, wrong);
            assert!(said.contains(expected), "{wrong}: {said}");
        }
    }
}
