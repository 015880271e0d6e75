//! The queues that a summary shows.

use fairlane_outcome::{Estimate, Outcome, QueueOutcome, Reason};

use crate::numbers::{Scale, percent, whole_percent};
use crate::summary::{Medium, column, queue_names, shaper};
use crate::table::TextTable;

/// Returns the discipline by which each outcome differs from the others: that of the first queue where they differ,
/// among those shown if it is there; or of the first one shown.
fn kinds(outcomes: &[Outcome]) -> Vec<String> {
    let kind = |outcome: &Outcome, name: &str| outcome.queue(name).map(|queue| queue.kind.clone());
    let shown = queue_names(outcomes);
    let others = outcomes.iter().flat_map(|outcome| &outcome.queues).map(|queue| queue.name.as_str());
    let names: Vec<&str> = shown.iter().copied().chain(others).collect();
    let differ = |name: &&&str| outcomes.windows(2).any(|pair| kind(&pair[0], name) != kind(&pair[1], name));
    let name = names.iter().find(differ).or(names.first());
    let of = |outcome: &Outcome| name.and_then(|name| kind(outcome, name)).unwrap_or_else(|| "–".to_owned());
    outcomes.iter().map(of).collect()
}

/// Labels that distinguish the outcomes: those that they were given, or else the discipline, the shaper if shapers are
/// compared, and the engine if there are several.
pub(crate) fn labels(outcomes: &[Outcome]) -> Vec<String> {
    let engines = outcomes.iter().any(|outcome| outcome.engine != outcomes[0].engine);
    let label = |(outcome, kind): (&Outcome, String)| {
        if let Some(label) = &outcome.label {
            return label.clone();
        }
        let kind = shaper(outcome).map_or_else(|| kind.clone(), |shaper| format!("{kind}, {shaper}"));
        if engines { format!("{kind} ({})", outcome.engine) } else { kind }
    };
    outcomes.iter().zip(kinds(outcomes)).map(label).collect()
}

/// Adds columns about the queue of each outcome, if each shows one at most and a terminal shows the table; else returns
/// a table with a row for each queue of each outcome too. `keys` begins a table whose rows are those outcomes.
pub(crate) fn with_queues(
    table: TextTable,
    outcomes: &[Outcome],
    keys: impl Fn(&[usize]) -> TextTable,
    medium: Medium,
) -> (TextTable, Option<TextTable>) {
    let names = queue_names(outcomes);
    let rows: Vec<(usize, &QueueOutcome)> = outcomes
        .iter()
        .enumerate()
        .flat_map(|(number, outcome)| outcome.shown_queues().map(move |queue| (number, queue)))
        .filter(|(_, queue)| names.contains(&queue.name.as_str()))
        .collect();
    let of = |number: usize| rows.iter().filter(move |(of, _)| *of == number).map(|(_, queue)| *queue);
    if medium == Medium::Terminal && (0..outcomes.len()).all(|number| of(number).count() <= 1) {
        let queues: Vec<Option<&QueueOutcome>> = (0..outcomes.len()).map(|number| of(number).next()).collect();
        return (queue_columns(table, &queues), None);
    }
    let mut of_queues = keys(&rows.iter().map(|(number, _)| *number).collect::<Vec<_>>());
    if names.len() > 1 {
        of_queues = of_queues
            .key("at", rows.iter().map(|(_, queue)| queue.name.clone()).collect())
            .left("kind", rows.iter().map(|(_, queue)| queue.kind.clone()).collect());
    }
    let queues: Vec<Option<&QueueOutcome>> = rows.into_iter().map(|(_, queue)| Some(queue)).collect();
    (table, Some(queue_columns(of_queues, &queues)))
}

/// Adds columns about one queue in each row.
fn queue_columns(table: TextTable, queues: &[Option<&QueueOutcome>]) -> TextTable {
    let field = |field: fn(&QueueOutcome) -> Option<Estimate>| -> Vec<Option<Estimate>> {
        queues.iter().map(|queue| field((*queue)?)).collect()
    };
    let text = |text: fn(&QueueOutcome) -> String| -> Vec<String> {
        queues.iter().map(|queue| queue.map_or_else(|| "–".to_owned(), text)).collect()
    };
    let table = table
        .right("utilisation", column(&field(|queue| Some(queue.utilisation)), Scale::percent))
        .right("delay", column(&field(|queue| delay(queue, queue.delay_s.mean)), Scale::time))
        .right("delay p95", column(&field(|queue| delay(queue, queue.delay_s.p95)), Scale::time))
        .right("queue length", column(&field(|queue| Some(queue.mean_packets)), Scale::packets));
    let marks = queues.iter().flatten().any(|queue| queue.marked.mean > 0.0);
    let table = if marks { table.right("marked", text(|queue| percent(marked(queue)))) } else { table };
    table.right("dropped", text(|queue| percent(dropped(queue)))).left("drops by reason", text(reasons))
}

/// Returns `false` for a queue of the way back in which nothing waited: it need not fill a table.
pub(crate) fn is_shown(queue: &QueueOutcome) -> bool {
    let acted = queue.dropped.total() + queue.marked.mean + queue.lost.mean > 0.0;
    !queue.name.ends_with("/reverse") || queue.mean_packets.mean >= 0.1 || acted
}

/// A delay in the queue; `None` if no packet left it.
pub(crate) fn delay(queue: &QueueOutcome, delay: Estimate) -> Option<Estimate> {
    (queue.departed.mean > 0.0).then_some(delay)
}

/// The part of the arrived packets that was dropped.
pub(crate) fn dropped(queue: &QueueOutcome) -> f64 {
    if queue.arrived.mean > 0.0 { queue.dropped.total() / queue.arrived.mean } else { 0.0 }
}

/// The part of the arrived packets that was marked.
fn marked(queue: &QueueOutcome) -> f64 {
    if queue.arrived.mean > 0.0 { queue.marked.mean / queue.arrived.mean } else { 0.0 }
}

/// The reasons by which packets were dropped, the most frequent first; CHOKe's two sides of a match are one reason.
fn reasons(queue: &QueueOutcome) -> String {
    let total = queue.dropped.total();
    let mut parts: Vec<(&str, f64)> = Vec::new();
    for (reason, count) in queue.dropped.iter().filter(|(_, count)| count.mean > 0.0) {
        let name = match reason {
            Reason::MatchArrival | Reason::MatchVictim => "match",
            other => other.words(),
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

/// A queue that figures are about.
#[cfg(feature = "figures")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownQueue<'a> {
    pub(crate) name: &'a str,
    /// Figures of other queues are next to those of this one.
    several: bool,
}

#[cfg(feature = "figures")]
impl<'a> ShownQueue<'a> {
    /// Returns the queues that the outcomes show.
    pub(crate) fn all(outcomes: &'a [Outcome]) -> Vec<Self> {
        let names = queue_names(outcomes);
        let several = names.len() > 1;
        names.into_iter().map(|name| Self { name, several }).collect()
    }

    /// Returns the title of a figure, with the queue's name if there are others.
    pub(crate) fn title(&self, title: &str) -> String {
        if self.several { format!("{title}: {}", self.name) } else { title.to_owned() }
    }
}
