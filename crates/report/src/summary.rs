//! Parts that several reports share: the heading, and columns over several outcomes.

use fairlane_outcome::{Estimate, GroupOutcome, Outcome, ScoreOutcome};

use crate::details::{Detail, Titled};
use crate::numbers::{Scale, aligned, percent, significant};
use crate::queues::is_shown;
use crate::table::{Look, Terminal, TextTable, fill};

/// The place where tables are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A terminal.
    Terminal,
    /// A page, which draws the shares, and has no room for the columns of queues behind those of groups.
    #[cfg(feature = "html")]
    Page,
}

/// The text for an empty list of outcomes.
pub(crate) const NOTHING: &str = "Nothing was measured.\n";

/// The note about an interrupted outcome.
pub(crate) const INTERRUPTED: &str = "Interrupted: this is what was done until then.";

/// The number of runs from which an interval is shown without a word: Student's t is then below 2.8, and 12.7 for 2
/// runs.
const FEW: u64 = 5;

/// The most notes that are printed.
const MOST_NOTES: usize = 5;

/// The heading: the scenario, the number of runs and the measured time, of outcomes of one scenario.
pub(crate) fn heading(outcomes: &[Outcome], terminal: &Terminal) -> String {
    let Some(first) = outcomes.first() else { return String::new() };
    let mut text = terminal.line(&first.scenario, Look::Strong);
    text += &terminal.words(&facts(outcomes).into_iter().map(|fact| (fact, Look::Faint)).collect::<Vec<_>>());
    if outcomes.iter().any(|outcome| outcome.partial) {
        text += &terminal.line(INTERRUPTED, Look::Strong);
    }
    text
}

/// The engines, the seed, the number of runs, the measured time and the queue shown, as far as they are the same.
pub(crate) fn facts(outcomes: &[Outcome]) -> Vec<String> {
    let mut facts = vec![each(outcomes.iter().map(|outcome| engine(&outcome.engine))).join(", ")];
    let seeds = each(outcomes.iter().map(|outcome| outcome.seed));
    facts.push(if let [seed] = seeds[..] { format!("seed {seed}") } else { format!("{} seeds", seeds.len()) });
    let runs = each(outcomes.iter().map(|outcome| outcome.runs));
    match (runs.iter().min(), runs.iter().max()) {
        (_, None | Some(1)) => facts.push("1 run".to_owned()),
        (Some(least), Some(most)) => {
            let number = if least == most { most.to_string() } else { format!("{least} to {most}") };
            facts.push(format!("mean of {number} runs, ± or [low, high]: 95 % confidence interval"));
            if (2..FEW).contains(least) {
                facts.push(format!("only {least} runs: intervals are wide"));
            }
        }
        (None, Some(_)) => {}
    }
    if let [window] = &windows(outcomes)[..] {
        facts.push(window.clone());
    }
    let several = outcomes.iter().any(|outcome| outcome.queues.len() > 1);
    if let ([queue], true) = (&queue_names(outcomes)[..], several) {
        facts.push(format!("queue {queue}"));
    }
    facts
}

/// An engine in words.
fn engine(name: &str) -> &str {
    if name == "sim" { "simulation" } else { name }
}

/// The different windows of measurement.
fn windows(outcomes: &[Outcome]) -> Vec<String> {
    each(outcomes.iter().map(window))
}

fn window(outcome: &Outcome) -> String {
    let [from, to] = [outcome.from_s, outcome.to_s].map(|time| format!("{} s", significant(time, 4)));
    format!("{from} to {to}")
}

/// Adds the window of each outcome to the keys if they differ. The rows are those outcomes.
pub(crate) fn with_windows(table: TextTable, outcomes: &[Outcome], rows: &[usize]) -> TextTable {
    if windows(outcomes).len() < 2 {
        return table;
    }
    table.key("measured", rows.iter().map(|row| outcomes.get(*row).map_or_else(String::new, window)).collect())
}

/// The tables of a summary: the first one, that of several queues, and that of the paths.
pub(crate) fn titled(
    title: &'static str,
    first: TextTable,
    queues: Option<TextTable>,
    paths: Option<TextTable>,
) -> Vec<Titled> {
    let queues = queues.map(|table| Titled::answer("Queues", table));
    let paths = paths.map(|table| Titled::detail("End to end", table, Detail::EndToEnd));
    [Titled::answer(title, first)].into_iter().chain(queues).chain(paths).collect()
}

/// The notes about what limits flows other than the queues, of all outcomes.
pub(crate) fn notes(outcomes: &[Outcome]) -> Vec<String> {
    let mut all = each(outcomes.iter().flat_map(|outcome| outcome.notes.iter().cloned()));
    if all.len() > MOST_NOTES {
        let more = all.len() - MOST_NOTES;
        all.truncate(MOST_NOTES);
        all.push(format!("{more} more notes of this kind; --json has all"));
    }
    all
}

/// Prints the notes.
pub(crate) fn print_notes(outcomes: &[Outcome], terminal: &Terminal) -> String {
    notes(outcomes).iter().map(|note| terminal.text(&format!("Note: {note}."), Look::Strong)).collect()
}

/// Each value once, in the order of first appearance.
fn each<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for value in values {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// The names of all groups, in the order in which they first appear.
pub(crate) fn group_names(outcomes: &[Outcome]) -> Vec<&str> {
    each(outcomes.iter().flat_map(|outcome| &outcome.groups).map(|group| group.name.as_str()))
}

/// The names of the queues that the outcomes show, in the order in which they first appear.
pub(crate) fn queue_names(outcomes: &[Outcome]) -> Vec<&str> {
    let names = each(outcomes.iter().flat_map(Outcome::shown_queues).map(|queue| queue.name.as_str()));
    let asked = outcomes.iter().any(|outcome| outcome.at.is_some());
    let waited = |name: &str| outcomes.iter().filter_map(|outcome| outcome.queue(name)).any(is_shown);
    names.into_iter().filter(|name| asked || waited(name)).collect()
}

/// The group whose share differs most among the outcomes; of groups that differ as much, the first.
#[cfg(feature = "figures")]
pub(crate) fn most_different<'g>(outcomes: &[Outcome], groups: &[&'g str]) -> Option<&'g str> {
    let spread = |group: &str| {
        let shares = || outcomes.iter().map(|outcome| outcome.group(group).map_or(0.0, |group| group.share.mean));
        let (least, most) = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
        // Rounded: of two groups both differ as much.
        libm::round(1e6 * (most - least))
    };
    groups.iter().rev().copied().max_by(|a, b| spread(a).total_cmp(&spread(b)))
}

/// Prints each group's fill in the bars, its size, and its fair share.
pub(crate) fn legend(outcomes: &[Outcome], names: &[&str], terminal: &Terminal) -> String {
    let entry = |(index, name): (usize, &&str)| {
        (format!("{} {name}: {}", fill(index), size(outcomes, name)), Look::Group(index))
    };
    terminal.words(&names.iter().enumerate().map(entry).collect::<Vec<_>>()) + &print_notes(outcomes, terminal)
}

/// Prints the number of flows in the group, and its part of the max-min fair rates; from least to most where outcomes
/// differ.
pub(crate) fn size(outcomes: &[Outcome], name: &str) -> String {
    let groups: Vec<&GroupOutcome> = outcomes.iter().filter_map(|outcome| outcome.group(name)).collect();
    let flows = range(groups.iter().map(|group| group.flows as f64), |flows| format!("{flows:.0}"));
    let noun = if flows.as_deref() == Some("1") { "flow" } else { "flows" };
    let flows = format!("{} {noun}", flows.unwrap_or_else(|| "0".to_owned()));
    let fair = range(groups.iter().filter_map(|group| group.fair_share), percent);
    fair.map_or_else(|| flows.clone(), |fair| format!("{flows}, fair share {fair}"))
}

/// The least and the most of some values, or the one that all are; `None` without any.
fn range(values: impl Iterator<Item = f64>, text: impl Fn(f64) -> String) -> Option<String> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (text(*values.first()?), text(*values.last()?));
    Some(if least == most { least } else { format!("{least} to {most}") })
}

/// The shaper of an outcome of a comparison of shapers.
pub(crate) fn shaper(outcome: &Outcome) -> Option<String> {
    outcome.point.as_ref()?.get("shaper").map(ToString::to_string)
}

/// A column's text: the numbers of `field`, in one unit; empty for outcomes without one.
pub(crate) fn column(values: &[Option<Estimate>], scale: fn(&[Estimate]) -> Scale) -> Vec<String> {
    let known: Vec<Estimate> = values.iter().copied().flatten().collect();
    let scale = scale(&known);
    let parts: Vec<Vec<String>> =
        values.iter().map(|value| value.map_or_else(Vec::new, |value| scale.parts(&value))).collect();
    let mut cells = aligned(&parts);
    for (cell, value) in cells.iter_mut().zip(values) {
        if value.is_none() {
            *cell = "–".to_owned();
        }
    }
    cells
}

/// Adds the share of each group; `reference` adds a column of reference values after each.
pub(crate) fn with_groups(
    mut table: TextTable,
    outcomes: &[Outcome],
    names: &[&str],
    reference: impl Fn(TextTable, &str) -> TextTable,
) -> TextTable {
    for name in names {
        let shares: Vec<_> = outcomes.iter().map(|outcome| Some(outcome.group(name)?.share)).collect();
        table = reference(table.right(name, column(&shares, Scale::percent)), name);
    }
    table
}

/// Adds the goodput of all flows together, if shapers are compared: behind its own buffer a link may carry much that is
/// sent again.
pub(crate) fn with_goodput(table: TextTable, outcomes: &[Outcome]) -> TextTable {
    if !outcomes.iter().any(|outcome| shaper(outcome).is_some()) {
        return table;
    }
    let goodput = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.goodput_bps.mean).sum();
    let values: Vec<_> = outcomes.iter().map(|outcome| Some(Estimate::single(goodput(outcome)))).collect();
    table.right("goodput", column(&values, Scale::rate))
}

/// Adds the bar of all groups' shares, for a terminal.
pub(crate) fn with_shares(table: TextTable, outcomes: &[Outcome], names: &[&str], medium: Medium) -> TextTable {
    if medium != Medium::Terminal {
        return table;
    }
    let share = |outcome: &Outcome, name: &str| outcome.group(name).map_or(0.0, |group| group.share.mean);
    let parts = outcomes.iter().map(|outcome| names.iter().map(|name| share(outcome, name)).collect()).collect();
    table.stacked("shares", parts)
}

/// A column's title, its value in a score, and its scale.
pub(crate) type ScoreColumn = (&'static str, fn(&ScoreOutcome) -> Option<Estimate>, fn(&[Estimate]) -> Scale);

/// The mean opinion score.
pub(crate) const MOS: ScoreColumn = ("MOS", |score| score.mos, |_| Scale::index().within(1.0, 4.5));
/// Quality of Outcome.
pub(crate) const QOO: ScoreColumn = ("QoO", |score| score.qoo, |values| Scale::plain(values).within(0.0, 100.0));

/// Adds the score of each group that has one.
pub(crate) fn with_scores(mut table: TextTable, outcomes: &[Outcome], names: &[&str]) -> TextTable {
    for name in names {
        for (title, score, scale) in [MOS, QOO] {
            let of = |outcome: &Outcome| score(outcome.group(name)?.score.as_deref()?);
            let values: Vec<_> = outcomes.iter().map(of).collect();
            if values.iter().any(Option::is_some) {
                table = table.right(&format!("{title} {name}"), column(&values, scale));
            }
        }
    }
    table
}

/// Adds Jain's index among the flows of each group of several TCP flows.
pub(crate) fn with_jain(mut table: TextTable, outcomes: &[Outcome], names: &[&str]) -> TextTable {
    for name in names {
        let several_tcp = |outcome: &Outcome| outcome.flows_of(name).filter(|flow| flow.kind == "tcp").count() > 1;
        if outcomes.iter().any(several_tcp) {
            let index: Vec<_> = outcomes.iter().map(|outcome| outcome.group(name)?.jain).collect();
            table = table.right(&format!("Jain {name}"), column(&index, |_| Scale::index()));
        }
    }
    table
}
