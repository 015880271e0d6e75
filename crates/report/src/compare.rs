//! Disciplines side by side.

use fairlane_outcome::Outcome;

use crate::PaperNumbers;
use crate::differences::with_differences;
use crate::paths::with_paths;
use crate::queues::{labels, with_queues};
use crate::summary::{
    Medium, NOTHING, group_names, heading, legend, print_tables, titled, with_goodput, with_groups, with_jain,
    with_shares, with_windows,
};
use crate::table::{Look, Terminal, TextTable};

/// One row for each discipline: throughput and fairness of each group, and the state of the queue; with `paper`, the paper's
/// numbers stand beside them. If there are several queues, they have a table of their own.
#[must_use]
pub fn compare_table(outcomes: &[Outcome], paper: Option<&PaperNumbers>, terminal: &Terminal) -> String {
    if outcomes.is_empty() {
        return NOTHING.to_owned();
    }
    let mut text = heading(outcomes, terminal);
    text += &legend(outcomes, &group_names(outcomes), terminal);
    text += &print_tables(tables(outcomes, paper, Medium::Terminal), terminal);
    if let Some(paper) = paper {
        text.push('\n');
        text += &terminal.line(&format!("paper: {}", paper.source), Look::Faint);
    }
    text
}

/// The tables alone, each with its title: that of the outcomes, that of their queues if there are several, and that of the paths.
pub(crate) fn tables(
    outcomes: &[Outcome],
    paper: Option<&PaperNumbers>,
    medium: Medium,
) -> Vec<(&'static str, TextTable)> {
    let (names, labels) = (group_names(outcomes), labels(outcomes));
    let keys = |rows: &[usize]| {
        let table = TextTable::new().key("queue", rows.iter().map(|row| labels[*row].clone()).collect());
        with_windows(table, outcomes, rows)
    };
    let all: Vec<usize> = (0..outcomes.len()).collect();
    let table = with_groups(keys(&all), outcomes, &names, |table, name| {
        let Some(paper) = paper else { return table };
        let text = |kind: &String| paper.of(kind, name).unwrap_or("–").to_owned();
        table.faint("paper", labels.iter().map(text).collect())
    });
    let table = with_shares(with_goodput(table, outcomes), outcomes, &names, medium);
    let (table, queues) = with_queues(with_jain(table, outcomes, &names), outcomes, keys, medium);
    let differences = all.get(1..).and_then(|others| with_differences(keys(others), outcomes, &names));
    let mut tables = titled("Disciplines side by side", table, queues, with_paths(keys(&all), outcomes, &names));
    tables.extend(differences.map(|table| ("Differences from the first, run by run", table)));
    tables
}
