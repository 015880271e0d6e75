//! All numbers of outcomes, with all their digits.

use fairlane_outcome::{Estimate, FlowOutcome, GroupOutcome, Outcome, QueueOutcome, Reason};

use super::{Block, Cell, Table};
use crate::queues::labels;
use crate::sweep::varied;

/// The most rows of a table on a page; `--out` writes all of them.
const MOST_ROWS: usize = 2000;

/// A table of groups, one of queues and one of flows, shown on demand.
pub(super) fn block(outcomes: &[Outcome]) -> Block {
    type Parts = (&'static str, fn(&Outcome) -> usize, fn(&[Outcome]) -> Table);
    let parts: [Parts; 3] = [
        ("groups", |outcome| outcome.groups.len(), groups),
        ("queues", |outcome| outcome.queues.len(), queues),
        ("flows", |outcome| outcome.flows.len(), flows),
    ];
    let block = |(what, rows, table): Parts| {
        too_many(outcomes.iter().map(rows).sum(), what)
            .unwrap_or_else(|| Block::Records { label: format!("All {what}"), table: table(outcomes) })
    };
    Block::Details {
        summary: "With all their digits, in bit/s, seconds, packets and parts of 1".to_owned(),
        blocks: parts.into_iter().map(block).collect(),
    }
}

/// The note in place of a table of too many rows.
pub(super) fn too_many(rows: usize, what: &str) -> Option<Block> {
    (rows > MOST_ROWS)
        .then(|| Block::text(format!("The {rows} {what} are too many for a page; --out writes a table of them.")))
}

/// A row for each part of each outcome, beginning with the outcome's label.
struct Rows<'a, T> {
    rows: Vec<(&'a Outcome, &'a T)>,
    table: Table,
}

impl<'a, T> Rows<'a, T> {
    fn new(outcomes: &'a [Outcome], parts: fn(&Outcome) -> &[T]) -> Self {
        let rows: Vec<(&Outcome, &T)> =
            outcomes.iter().flat_map(|outcome| parts(outcome).iter().map(move |part| (outcome, part))).collect();
        let mut table = Table::new();
        for key in varied(outcomes) {
            let value =
                |outcome: &Outcome| outcome.point.as_ref().and_then(|point| point.get(key)).map(ToString::to_string);
            let cells = rows.iter().map(|(outcome, _)| Cell::Text(value(outcome).unwrap_or_default())).collect();
            table = table.key(key, cells);
        }
        let kinds = outcomes.iter().zip(labels(outcomes));
        let kinds = kinds.flat_map(|(outcome, kind)| parts(outcome).iter().map(move |_| Cell::Text(kind.clone())));
        let table = table.key("discipline", kinds.collect());
        Self { table, rows }
    }

    fn text(mut self, title: &str, of: fn(&T) -> &str) -> Self {
        self.table = self.table.key(title, self.rows.iter().map(|(_, row)| Cell::Text(of(row).to_owned())).collect());
        self
    }

    fn value(mut self, title: &str, of: impl Fn(&T) -> Estimate) -> Self {
        let values: Vec<Estimate> = self.rows.iter().map(|(_, row)| of(row)).collect();
        // What is not known is not finite.
        let cell = |value: &Estimate| if value.mean.is_finite() { Cell::value(value.mean) } else { Cell::none() };
        self.table = self.table.column(title, values.iter().map(cell).collect());
        if values.iter().any(|value| value.ci95().is_some()) {
            let half = |value: &Estimate| value.ci95().map_or_else(Cell::none, Cell::value);
            self.table = self.table.column(&format!("{title}_ci95"), values.iter().map(half).collect());
        }
        self
    }
}

fn groups(outcomes: &[Outcome]) -> Table {
    Rows::<GroupOutcome>::new(outcomes, |outcome| &outcome.groups)
        .text("group", |group| &group.name)
        .text("transport", |group| &group.transport)
        .value("flows", |group| Estimate::single(group.flows as f64))
        .value("throughput_bps", |group| group.throughput_bps)
        .value("share", |group| group.share)
        .value("drop_ratio", |group| group.drop_ratio)
        .value("fair_bps", |group| Estimate::single(group.fair_bps.unwrap_or(f64::NAN)))
        .value("queue_share", |group| group.queue_share)
        .value("jain", |group| group.jain.unwrap_or(Estimate::single(f64::NAN)))
        .table
}

fn queues(outcomes: &[Outcome]) -> Table {
    let rows = Rows::<QueueOutcome>::new(outcomes, |outcome| &outcome.queues)
        .text("queue", |queue| &queue.name)
        .text("kind", |queue| &queue.kind)
        .value("arrived", |queue| queue.arrived)
        .value("departed", |queue| queue.departed)
        .value("marked", |queue| queue.marked)
        .value("lost", |queue| queue.lost);
    let rows = Reason::ALL.into_iter().fold(rows, dropped);
    rows.value("mean_packets", |queue| queue.mean_packets)
        .value("delay_mean_s", |queue| queue.delay_s.mean)
        .value("delay_p50_s", |queue| queue.delay_s.p50)
        .value("delay_p95_s", |queue| queue.delay_s.p95)
        .value("delay_p99_s", |queue| queue.delay_s.p99)
        .value("utilisation", |queue| queue.utilisation)
        .table
}

/// The packets dropped for a reason, if there are any.
fn dropped(rows: Rows<'_, QueueOutcome>, reason: Reason) -> Rows<'_, QueueOutcome> {
    let some = rows.rows.iter().any(|(_, queue)| queue.dropped.get(reason).mean > 0.0);
    if some { rows.value(&format!("dropped_{reason}"), |queue| queue.dropped.get(reason)) } else { rows }
}

fn flows(outcomes: &[Outcome]) -> Table {
    Rows::<FlowOutcome>::new(outcomes, |outcome| &outcome.flows)
        .text("flow", |flow| &flow.name)
        .text("kind", |flow| &flow.kind)
        .value("sent", |flow| flow.sent)
        .value("delivered", |flow| flow.delivered)
        .value("dropped", |flow| flow.dropped)
        .value("throughput_bps", |flow| flow.throughput_bps)
        .value("goodput_bps", |flow| flow.goodput_bps)
        .value("drop_ratio", |flow| flow.drop_ratio)
        .value("queue_share", |flow| flow.queue_share)
        .value("retransmitted", |flow| flow.retransmitted)
        .value("timeouts", |flow| flow.timeouts)
        .table
}
