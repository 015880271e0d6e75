//! Disciplines side by side.

use fairlane_outcome::Outcome;

use crate::PaperNumbers;
use crate::details::{Detail, Titled, print_tables};
use crate::differences::with_differences;
use crate::flows::spread;
use crate::paths::with_paths;
use crate::queues::{labels, with_queues};
use crate::summary::{
    Medium, NOTHING, group_names, heading, legend, titled, with_goodput, with_groups, with_jain, with_scores,
    with_shares, with_windows,
};
use crate::table::{Look, Terminal, TextTable};

/// One row for each discipline: the share and fairness of each group, and the state of the queue; with `paper`, the
/// paper's numbers stand next to them. Several queues have a separate table. Below the tables stand `parameters`, a
/// line for each.
#[must_use]
pub fn compare_table(
    outcomes: &[Outcome],
    paper: Option<&PaperNumbers>,
    parameters: &[String],
    terminal: &Terminal,
) -> String {
    if outcomes.is_empty() {
        return NOTHING.to_owned();
    }
    let text = heading(outcomes, terminal) + &legend(outcomes, &group_names(outcomes), terminal);
    let paper_source = paper.map(|paper| terminal.text(&format!("Columns \"paper\": {}", paper.source), Look::Faint));
    let parameters: String = parameters.iter().map(|of| terminal.text(of, Look::Faint)).collect();
    let notes = [Some(parameters), paper_source].into_iter().flatten().filter(|note| !note.is_empty());
    let notes = notes.collect::<Vec<_>>().join("\n");
    text + &print_tables(tables(outcomes, paper, Medium::Terminal), &notes, terminal)
}

/// The title of the differences.
const DIFFERENCES: &str = "Differences from the first, run by run (pp: percentage points)";

/// The tables alone: that of the outcomes, that of their queues if there are several, and those of paths, flows and
/// differences.
pub(crate) fn tables(outcomes: &[Outcome], paper: Option<&PaperNumbers>, medium: Medium) -> Vec<Titled> {
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
    let (table, queues) = with_queues(table, outcomes, keys, medium);
    let table = with_scores(with_jain(table, outcomes, &names), outcomes, &names);
    let differences = all.get(1..).and_then(|others| with_differences(keys(others), outcomes, &names));
    let mut tables = titled("Disciplines side by side", table, queues, with_paths(outcomes, &names, keys));
    tables.extend(spread(outcomes, keys).map(|table| Titled::detail("Flows", table, Detail::Flows)));
    tables.extend(differences.map(|table| Titled::detail(DIFFERENCES, table, Detail::Differences)));
    tables
}
