//! Disciplines side by side.

use fairlane_outcome::Outcome;

use crate::PaperNumbers;
use crate::summary::{
    NOTHING, group_names, heading, labels, legend, with_bottlenecks, with_goodput, with_groups, with_jain, with_shares,
};
use crate::table::{Look, Terminal, TextTable};

/// One row for each discipline: throughput and fairness of each group, and the state of the queue; with `paper`, the paper's
/// numbers stand beside them.
#[must_use]
pub fn compare_table(outcomes: &[Outcome], paper: Option<&PaperNumbers>, terminal: &Terminal) -> String {
    let Some(first) = outcomes.first() else { return NOTHING.to_owned() };
    let mut text = heading(first, terminal);
    text += &legend(outcomes, &group_names(outcomes), terminal);
    text.push('\n');
    text += &table(outcomes, paper).print(terminal);
    if let Some(paper) = paper {
        text.push('\n');
        text += &terminal.line(&format!("paper: {}", paper.source), Look::Faint);
    }
    text
}

/// The table alone.
pub(crate) fn table(outcomes: &[Outcome], paper: Option<&PaperNumbers>) -> TextTable {
    let names = group_names(outcomes);
    let table = with_groups(TextTable::new().key("queue", labels(outcomes)), outcomes, &names, |table, name| {
        let Some(paper) = paper else { return table };
        let text = |outcome: &Outcome| outcome.bottleneck().and_then(|queue| paper.of(&queue.kind, name));
        let cells: Vec<String> = outcomes.iter().map(|outcome| text(outcome).unwrap_or("–").to_owned()).collect();
        table.faint("paper", cells)
    });
    let table = with_shares(with_goodput(table, outcomes), outcomes, &names);
    with_bottlenecks(with_jain(table, outcomes, &names), outcomes)
}
