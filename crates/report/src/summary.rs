//! Parts that several reports share: the heading, and columns over several outcomes.

use fairlane_outcome::{Estimate, GroupOutcome, Outcome, QueueOutcome, Reason};

use crate::numbers::{Scale, aligned, percent, seconds, whole_percent};
use crate::table::{Look, Terminal, TextTable, fill};

/// The text for an empty list of outcomes.
pub(crate) const NOTHING: &str = "Nothing was measured.\n";

/// The note about an interrupted outcome.
pub(crate) const INTERRUPTED: &str = "Interrupted: this is what was done until then.";

/// The heading: the scenario, the number of runs and the measured time.
pub(crate) fn heading(outcome: &Outcome, terminal: &Terminal) -> String {
    let mut text = terminal.line(&outcome.scenario, Look::Strong);
    text += &terminal.words(&facts(outcome).map(|fact| (fact, Look::Faint)));
    if outcome.partial {
        text += &terminal.line(INTERRUPTED, Look::Strong);
    }
    text
}

/// The engine, the seed, the number of runs and the measured time.
pub(crate) fn facts(outcome: &Outcome) -> [String; 4] {
    let runs = match outcome.runs {
        1 => "1 run".to_owned(),
        runs => format!("mean of {runs} runs ± 95 %"),
    };
    let window = format!("{} to {}", seconds(outcome.from_s), seconds(outcome.to_s));
    [outcome.engine.clone(), format!("seed {}", outcome.seed), runs, window]
}

/// The names of all groups, in the order in which they first appear.
pub(crate) fn group_names(outcomes: &[Outcome]) -> Vec<&str> {
    let mut names = Vec::new();
    for group in outcomes.iter().flat_map(|outcome| &outcome.groups) {
        if !names.contains(&group.name.as_str()) {
            names.push(&group.name);
        }
    }
    names
}

/// Prints each group's fill in the bars, and its share if all flows had the same throughput.
pub(crate) fn legend(outcomes: &[Outcome], names: &[&str], terminal: &Terminal) -> String {
    let Some(outcome) = outcomes.first() else { return String::new() };
    let entry = |(index, name): (usize, &&str)| {
        (format!("{} {name}: {}", fill(index), size(outcome, name)), Look::Group(index))
    };
    terminal.words(&names.iter().enumerate().map(entry).collect::<Vec<_>>())
}

/// Prints the number of flows in the group, and their total share if all flows had the same throughput.
pub(crate) fn size(outcome: &Outcome, name: &str) -> String {
    let flows = outcome.group(name).map_or(0, |group| group.flows);
    let noun = if flows == 1 { "flow" } else { "flows" };
    format!("{flows} {noun}, fair share {}", percent(fair_share(outcome, name)))
}

/// The group's share if all flows had the same throughput, 0 to 1.
pub(crate) fn fair_share(outcome: &Outcome, name: &str) -> f64 {
    let all: u64 = outcome.groups.iter().map(|group| group.flows).sum();
    outcome.group(name).map_or(0.0, |group| if all > 0 { group.flows as f64 / all as f64 } else { 0.0 })
}

/// The shaper of an outcome of a comparison of shapers.
fn shaper(outcome: &Outcome) -> Option<String> {
    outcome.point.as_ref()?.get("shaper").map(ToString::to_string)
}

/// Labels that distinguish the outcomes: the discipline, the shaper if shapers are compared, and the engine if there are several.
pub(crate) fn labels(outcomes: &[Outcome]) -> Vec<String> {
    let engines = outcomes.iter().any(|outcome| outcome.engine != outcomes[0].engine);
    let label = |outcome: &Outcome| {
        let kind = outcome.bottleneck().map_or("–", |queue| queue.kind.as_str());
        let kind = shaper(outcome).map_or_else(|| kind.to_owned(), |shaper| format!("{kind}, {shaper}"));
        if engines { format!("{kind} ({})", outcome.engine) } else { kind }
    };
    outcomes.iter().map(label).collect()
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

/// A group's throughput and share under every outcome; throughput in the unit that all groups share.
fn throughput(groups: &[Option<&GroupOutcome>], scale: &Scale) -> Vec<String> {
    let parts = |group: &Option<&GroupOutcome>| {
        group.map_or_else(Vec::new, |group| {
            let mut parts = scale.parts(&group.throughput_bps);
            parts.push(format!(" {}", percent(group.share.mean)));
            parts
        })
    };
    aligned(&groups.iter().map(parts).collect::<Vec<_>>())
}

/// Adds the groups' throughput and share; `beside` adds a column of reference values after each.
pub(crate) fn with_groups(
    mut table: TextTable,
    outcomes: &[Outcome],
    names: &[&str],
    beside: impl Fn(TextTable, &str) -> TextTable,
) -> TextTable {
    let all: Vec<Estimate> =
        outcomes.iter().flat_map(|outcome| &outcome.groups).map(|group| group.throughput_bps).collect();
    let scale = Scale::rate(&all);
    for name in names {
        let groups: Vec<Option<&GroupOutcome>> = outcomes.iter().map(|outcome| outcome.group(name)).collect();
        table = beside(table.right(name, throughput(&groups, &scale)), name);
    }
    table
}

/// Adds the goodput of all flows together, if shapers are compared: behind a buffer of its own a link may carry much that is sent
/// again.
pub(crate) fn with_goodput(table: TextTable, outcomes: &[Outcome]) -> TextTable {
    if !outcomes.iter().any(|outcome| shaper(outcome).is_some()) {
        return table;
    }
    let goodput = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.goodput_bps.mean).sum();
    let values: Vec<_> = outcomes.iter().map(|outcome| Some(Estimate::single(goodput(outcome)))).collect();
    table.right("goodput", column(&values, Scale::rate))
}

/// Adds the bar of all groups' shares.
pub(crate) fn with_shares(table: TextTable, outcomes: &[Outcome], names: &[&str]) -> TextTable {
    let share = |outcome: &Outcome, name: &str| outcome.group(name).map_or(0.0, |group| group.share.mean);
    let parts = outcomes.iter().map(|outcome| names.iter().map(|name| share(outcome, name)).collect()).collect();
    table.stacked("share", parts)
}

/// Adds Jain's index among the flows of each group of several TCP flows.
pub(crate) fn with_jain(mut table: TextTable, outcomes: &[Outcome], names: &[&str]) -> TextTable {
    for name in names {
        let several_tcp = |outcome: &Outcome| outcome.flows_of(name).filter(|flow| flow.kind == "tcp").count() > 1;
        if outcomes.iter().any(several_tcp) {
            let index: Vec<_> = outcomes.iter().map(|outcome| Some(outcome.group(name)?.jain)).collect();
            table = table.right(&format!("Jain {name}"), column(&index, |_| Scale::index()));
        }
    }
    table
}

/// Adds columns about the bottleneck of each outcome.
pub(crate) fn with_bottlenecks(table: TextTable, outcomes: &[Outcome]) -> TextTable {
    let queues: Vec<Option<&QueueOutcome>> = outcomes.iter().map(Outcome::bottleneck).collect();
    let field = |field: fn(&QueueOutcome) -> Estimate| -> Vec<Option<Estimate>> {
        queues.iter().map(|queue| queue.map(field)).collect()
    };
    let text = |text: fn(&QueueOutcome) -> String| -> Vec<String> {
        queues.iter().map(|queue| queue.map_or_else(|| "–".to_owned(), text)).collect()
    };
    table
        .right("used", column(&field(|queue| queue.utilisation), Scale::percent))
        .right("delay", column(&field(|queue| queue.delay_s.mean), Scale::time))
        .right("p95", column(&field(|queue| queue.delay_s.p95), Scale::time))
        .right("queued", column(&field(|queue| queue.mean_packets), Scale::packets))
        .right("dropped", text(|queue| percent(dropped(queue))))
        .left("why", text(reasons))
}

/// The part of the arrived packets that was dropped.
pub(crate) fn dropped(queue: &QueueOutcome) -> f64 {
    if queue.arrived.mean > 0.0 { queue.dropped.total() / queue.arrived.mean } else { 0.0 }
}

/// The reasons by which packets were dropped, the most frequent first; CHOKe's two sides of a match are one reason.
fn reasons(queue: &QueueOutcome) -> String {
    let total = queue.dropped.total();
    let mut parts: Vec<(&str, f64)> = Vec::new();
    for (reason, count) in queue.dropped.iter().filter(|(_, count)| count.mean > 0.0) {
        let name = match reason {
            Reason::MatchArrival | Reason::MatchVictim => "match",
            other => other.name(),
        };
        match parts.iter_mut().find(|(there, _)| *there == name) {
            Some((_, sum)) => *sum += count.mean,
            None => parts.push((name, count.mean)),
        }
    }
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let part = |(name, count): &(&str, f64)| format!("{name} {}", whole_percent(count / total));
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}
