//! One outcome in full.

use fairlane_outcome::{
    Delay, Estimate, FlowOutcome, GroupOutcome, Outcome, QueueGroup, QueueOutcome, ScoreOutcome, TransferOutcome,
    VideoOutcome,
};

use crate::numbers::{Scale, count, percent};
use crate::queues::dropped;
use crate::summary::{column, heading, print_notes};
use crate::table::{Look, Terminal, TextTable};

/// A column's title, its value in a score, and its scale.
type ScoreColumn = (&'static str, fn(&ScoreOutcome) -> Option<Estimate>, fn(&[Estimate]) -> Scale);

/// The most flows that are shown one by one.
pub(crate) const FLOWS: usize = 40;

/// The queues, their drops by reason, the groups and the flows of one outcome.
#[must_use]
pub fn run_report(outcome: &Outcome, terminal: &Terminal) -> String {
    let mut text = heading(std::slice::from_ref(outcome), terminal);
    text += &print_notes(std::slice::from_ref(outcome), terminal);
    for (title, table) in tables(outcome) {
        text.push('\n');
        text += &terminal.line(title, Look::Strong);
        text += &table.print(terminal);
    }
    text
}

/// The tables that have rows, each with its title.
pub(crate) fn tables(outcome: &Outcome) -> impl Iterator<Item = (&'static str, TextTable)> {
    let tables = [
        ("Queues", queues(&outcome.queues)),
        ("Drops", drops(&outcome.queues)),
        ("Groups", groups(outcome)),
        ("End to end", end_to_end(outcome)),
        ("Groups at each queue", if outcome.queues.len() > 1 { groups_at_queues(outcome) } else { None }),
        ("Transfers", transfers(&outcome.groups)),
        ("Video", video(&outcome.groups)),
        ("Scores", scores(&outcome.groups)),
        ("Flows", if outcome.flows.len() <= FLOWS { flows(outcome) } else { spread(outcome) }),
    ];
    tables.into_iter().filter_map(|(title, table)| Some((title, table?)))
}

fn queues(queues: &[QueueOutcome]) -> Option<TextTable> {
    let text = |field: fn(&QueueOutcome) -> String| queues.iter().map(field).collect::<Vec<_>>();
    let number = |field: fn(&QueueOutcome) -> Option<Estimate>, scale| {
        column(&queues.iter().map(field).collect::<Vec<_>>(), scale)
    };
    let table = TextTable::new()
        .key("queue", text(|queue| queue.name.clone()))
        .left("kind", text(|queue| queue.kind.clone()))
        .right("used", number(|queue| Some(queue.utilisation), Scale::percent))
        .right("queued", number(|queue| Some(queue.mean_packets), Scale::packets))
        .right("average", number(|queue| queue.mean_avg, Scale::plain))
        .right("delay", number(|queue| Some(queue.delay_s.mean), Scale::time))
        .right("p50", number(|queue| Some(queue.delay_s.p50), Scale::time))
        .right("p95", number(|queue| Some(queue.delay_s.p95), Scale::time))
        .right("p99", number(|queue| Some(queue.delay_s.p99), Scale::time))
        .right("arrived", text(|queue| count(queue.arrived.mean)))
        .right("departed", text(|queue| count(queue.departed.mean)))
        .right("marked", text(|queue| count(queue.marked.mean)))
        .right("dropped", text(|queue| percent(dropped(queue))));
    let table = if queues.iter().any(|queue| queue.lost.mean > 0.0) {
        table.right("lost", text(|queue| count(queue.lost.mean)))
    } else {
        table
    };
    (!queues.is_empty()).then_some(table)
}

/// A row for each reason by which a queue dropped.
fn drops(queues: &[QueueOutcome]) -> Option<TextTable> {
    let rows: Vec<_> = queues
        .iter()
        .flat_map(|queue| queue.dropped.iter().map(move |(reason, count)| (queue, reason, count)))
        .filter(|(_, _, count)| count.mean > 0.0)
        .collect();
    // Dropped packets have arrived; if an engine counts otherwise, the result must not be infinite.
    let of_arrived = |queue: &QueueOutcome, count: &Estimate| count.mean / queue.arrived.mean.max(count.mean);
    let table = TextTable::new()
        .key("queue", rows.iter().map(|(queue, _, _)| queue.name.clone()).collect())
        .key("reason", rows.iter().map(|(_, reason, _)| reason.to_string()).collect())
        .right("packets", rows.iter().map(|(_, _, dropped)| count(dropped.mean)).collect())
        .right("of arrived", rows.iter().map(|(queue, _, count)| percent(of_arrived(queue, count))).collect())
        .bar("of drops", rows.iter().map(|(queue, _, count)| (count.mean / queue.dropped.total(), 0)).collect());
    (!rows.is_empty()).then_some(table)
}

fn groups(outcome: &Outcome) -> Option<TextTable> {
    let groups = &outcome.groups;
    let number = |field: fn(&GroupOutcome) -> Estimate, scale| {
        column(&groups.iter().map(|group| Some(field(group))).collect::<Vec<_>>(), scale)
    };
    let fair: Vec<_> = groups.iter().map(|group| group.fair_bps.map(Estimate::single)).collect();
    let fair = column(&fair, Scale::rate);
    let table = TextTable::new()
        .key("group", groups.iter().map(|group| group.name.clone()).collect())
        .right("flows", groups.iter().map(|group| group.flows.to_string()).collect())
        .right("throughput", number(|group| group.throughput_bps, Scale::rate))
        .right("share", number(|group| group.share, Scale::percent))
        .bar("", groups.iter().enumerate().map(|(index, group)| (group.share.mean, index)).collect())
        .right("fair", fair)
        .right("of the queues", number(|group| group.queue_share, Scale::percent))
        .right("dropped", number(|group| group.drop_ratio, Scale::percent))
        .right("Jain", number(|group| group.jain, |_| Scale::index()))
        .left("transport", groups.iter().map(|group| group.transport.clone()).collect());
    (!groups.is_empty()).then_some(table)
}

/// A row for each group: its delays, as far as they are known.
fn end_to_end(outcome: &Outcome) -> Option<TextTable> {
    let groups = &outcome.groups;
    let time = |field: fn(&GroupOutcome) -> Option<Estimate>| {
        column(&groups.iter().map(field).collect::<Vec<_>>(), Scale::time)
    };
    let table = TextTable::new()
        .key("group", groups.iter().map(|group| group.name.clone()).collect())
        .right("one-way", time(|group| group.delay_s))
        .right("jitter", time(|group| group.jitter_s))
        .right("RTT", time(|group| group.rtt_s))
        .right("again", groups.iter().map(|group| count(group.retransmitted.mean)).collect())
        .right("timeouts", groups.iter().map(|group| count(group.timeouts.mean)).collect());
    groups.iter().any(|group| group.delay_s.is_some()).then_some(table)
}

/// A row for each group at each queue where its packets came.
fn groups_at_queues(outcome: &Outcome) -> Option<TextTable> {
    let rows: Vec<(&QueueOutcome, &QueueGroup)> =
        outcome.queues.iter().flat_map(|queue| queue.groups.iter().map(move |group| (queue, group))).collect();
    let number = |field: fn(&QueueGroup) -> Estimate, scale| {
        column(&rows.iter().map(|(_, group)| Some(field(group))).collect::<Vec<_>>(), scale)
    };
    let counted = |field: fn(&QueueGroup) -> Estimate| rows.iter().map(|(_, group)| count(field(group).mean)).collect();
    let table = TextTable::new()
        .key("queue", rows.iter().map(|(queue, _)| queue.name.clone()).collect())
        .key("group", rows.iter().map(|(_, group)| group.name.clone()).collect())
        .right("throughput", number(|group| group.throughput_bps, Scale::rate))
        .right("share", number(|group| group.share, Scale::percent))
        .right("of the queue", number(|group| group.queue_share, Scale::percent))
        .right("arrived", counted(|group| group.arrived))
        .right("marked", counted(|group| group.marked))
        .right("dropped", number(|group| group.drop_ratio, Scale::percent));
    (!rows.is_empty()).then_some(table)
}

/// A row for each group with transfers: the number of completed ones, and their durations.
fn transfers(groups: &[GroupOutcome]) -> Option<TextTable> {
    let rows: Vec<(&GroupOutcome, &TransferOutcome)> =
        groups.iter().filter_map(|group| Some((group, group.transfers.as_deref()?))).collect();
    let time = |field: fn(&Delay) -> Estimate| {
        column(&rows.iter().map(|(_, made)| Some(field(&made.completion_s))).collect::<Vec<_>>(), Scale::time)
    };
    let table = TextTable::new()
        .key("group", rows.iter().map(|(group, _)| group.name.clone()).collect())
        .right("completed", rows.iter().map(|(_, made)| count(made.completed.mean)).collect())
        .right("took", time(|time| time.mean))
        .right("p50", time(|time| time.p50))
        .right("p95", time(|time| time.p95))
        .right("p99", time(|time| time.p99));
    (!rows.is_empty()).then_some(table)
}

/// A row for each group of adaptive video: what its viewers saw.
fn video(groups: &[GroupOutcome]) -> Option<TextTable> {
    let rows: Vec<(&GroupOutcome, &VideoOutcome)> =
        groups.iter().filter_map(|group| Some((group, group.video.as_deref()?))).collect();
    let number = |field: fn(&VideoOutcome) -> Option<Estimate>, scale| {
        column(&rows.iter().map(|(_, video)| field(video)).collect::<Vec<_>>(), scale)
    };
    let counted =
        |field: fn(&VideoOutcome) -> Estimate| rows.iter().map(|(_, video)| count(field(video).mean)).collect();
    let table = TextTable::new()
        .key("group", rows.iter().map(|(group, _)| group.name.clone()).collect())
        .right("bit rate", number(|video| video.bit_rate_bps, Scale::rate))
        .right("start-up", number(|video| video.startup_s, Scale::time))
        .right("stalls", counted(|video| video.stalls))
        .right("stalled", number(|video| Some(video.stalled_s), Scale::time))
        .right("switches", counted(|video| video.switches))
        .right("segments", counted(|video| video.segments));
    (!rows.is_empty()).then_some(table)
}

/// A row for each group with a score.
fn scores(groups: &[GroupOutcome]) -> Option<TextTable> {
    let rows: Vec<(&GroupOutcome, &ScoreOutcome)> =
        groups.iter().filter_map(|group| Some((group, group.score.as_deref()?))).collect();
    let number = |field: fn(&ScoreOutcome) -> Option<Estimate>, scale| {
        column(&rows.iter().map(|(_, score)| field(score)).collect::<Vec<_>>(), scale)
    };
    let columns: [ScoreColumn; 5] = [
        ("MOS", |score| score.mos, Scale::plain),
        ("R", |score| score.rating, Scale::plain),
        ("delay", |score| score.delay_s, Scale::time),
        ("missing", |score| score.missing, Scale::percent),
        ("QoO", |score| score.qoo, Scale::plain),
    ];
    let table = TextTable::new()
        .key("group", rows.iter().map(|(group, _)| group.name.clone()).collect())
        .left("as", rows.iter().map(|(_, score)| score.application.clone()).collect());
    let there = columns.into_iter().filter(|(_, field, _)| rows.iter().any(|(_, score)| field(score).is_some()));
    let table = there.fold(table, |table, (title, field, scale)| table.right(title, number(field, scale)));
    (!rows.is_empty()).then_some(table)
}

/// A row for each flow; the longest bar is the fastest flow's.
fn flows(outcome: &Outcome) -> Option<TextTable> {
    type Time = (&'static str, fn(&FlowOutcome) -> Option<Estimate>);
    let flows = &outcome.flows;
    let fastest = flows.iter().fold(0.0_f64, |fastest, flow| fastest.max(flow.throughput_bps.mean));
    let bar = |flow: &FlowOutcome| {
        let part = if fastest > 0.0 { flow.throughput_bps.mean / fastest } else { 0.0 };
        (part, outcome.groups.iter().position(|group| group.name == *flow.group).unwrap_or(0))
    };
    let number = |field: fn(&FlowOutcome) -> Estimate, scale| {
        column(&flows.iter().map(|flow| Some(field(flow))).collect::<Vec<_>>(), scale)
    };
    let counted = |field: fn(&FlowOutcome) -> Estimate| flows.iter().map(|flow| count(field(flow).mean)).collect();
    let table = TextTable::new()
        .key("flow", flows.iter().map(|flow| flow.name.to_string()).collect())
        .right("throughput", number(|flow| flow.throughput_bps, Scale::rate))
        .bar("", flows.iter().map(bar).collect())
        .right("goodput", number(|flow| flow.goodput_bps, Scale::rate))
        .right("of the queue", number(|flow| flow.queue_share, Scale::percent))
        .right("dropped", number(|flow| flow.drop_ratio, Scale::percent))
        .right("sent", counted(|flow| flow.sent))
        .right("again", counted(|flow| flow.retransmitted))
        .right("timeouts", counted(|flow| flow.timeouts));
    let table = if flows.iter().any(|flow| flow.lost.mean > 0.0) {
        table.right("lost", counted(|flow| flow.lost))
    } else {
        table
    };
    let times: [Time; 3] =
        [("one-way", |flow| flow.delay_s), ("jitter", |flow| flow.jitter_s), ("RTT", |flow| flow.rtt_s)];
    let table = times.into_iter().fold(table, |table, (title, of)| {
        let values: Vec<_> = flows.iter().map(of).collect();
        if values.iter().any(Option::is_some) { table.right(title, column(&values, Scale::time)) } else { table }
    });
    (!flows.is_empty()).then_some(table)
}

/// A row for each group: percentiles of its flows' throughputs.
fn spread(outcome: &Outcome) -> Option<TextTable> {
    let sorted: Vec<Vec<f64>> = outcome.groups.iter().map(|group| throughputs(outcome, &group.name)).collect();
    // The value below which `hundredths` of the flows lie (nearest rank), in the unit of the group's fastest.
    let quantile = |hundredths: usize| -> Vec<String> {
        let text = |values: &Vec<f64>| {
            let fastest = Estimate::single(values.last().copied()?);
            let value = values.get((values.len() * hundredths).div_ceil(100).max(1) - 1)?;
            Some(Scale::rate(&[fastest]).mean(*value))
        };
        sorted.iter().map(|values| text(values).unwrap_or_else(|| "–".to_owned())).collect()
    };
    let table = TextTable::new()
        .key("group", outcome.groups.iter().map(|group| group.name.clone()).collect())
        .right("flows", sorted.iter().map(|values| values.len().to_string()).collect())
        .right("slowest", quantile(0))
        .right("p25", quantile(25))
        .right("median", quantile(50))
        .right("p75", quantile(75))
        .right("fastest", quantile(100));
    (!outcome.groups.is_empty()).then_some(table)
}

/// The throughputs of a group's flows, the slowest first.
pub(crate) fn throughputs(outcome: &Outcome, group: &str) -> Vec<f64> {
    let mut values: Vec<f64> = outcome.flows_of(group).map(|flow| flow.throughput_bps.mean).collect();
    values.sort_by(f64::total_cmp);
    values
}
