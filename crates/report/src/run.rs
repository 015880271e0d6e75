//! One outcome in full.

use fairlane_outcome::{
    Delay, Estimate, GroupOutcome, Outcome, QueueGroup, QueueOutcome, ScoreOutcome, TransferOutcome, VideoOutcome,
};

use crate::details::{Detail, Titled, print_tables};
use crate::flows;
use crate::numbers::{Scale, count, percent};
use crate::paths::with_paths;
use crate::queues::{delay, dropped, is_shown};
use crate::summary::{MOS, QOO, ScoreColumn, column, group_names, heading, print_notes};
use crate::table::{Terminal, TextTable};

/// The queues, their drops by reason, the groups and the flows of one outcome.
#[must_use]
pub fn run_report(outcome: &Outcome, terminal: &Terminal) -> String {
    let outcomes = std::slice::from_ref(outcome);
    let text = heading(outcomes, terminal) + &print_notes(outcomes, terminal);
    text + &print_tables(tables(outcome), "", terminal)
}

/// The tables that have rows.
pub(crate) fn tables(outcome: &Outcome) -> Vec<Titled> {
    let outcomes = std::slice::from_ref(outcome);
    let answers = [
        ("Queues", queues(&outcome.queues)),
        ("Drops by reason", drops(&outcome.queues)),
        ("Groups", groups(outcome)),
        ("Transfers", transfers(&outcome.groups)),
        ("Video", video(&outcome.groups)),
        ("Scores", scores(&outcome.groups)),
    ];
    let details = [
        ("End to end", with_paths(outcomes, &group_names(outcomes), |_| TextTable::new()), Detail::EndToEnd),
        (
            "Groups at each queue",
            if outcome.queues.len() > 1 { groups_at_queues(outcome) } else { None },
            Detail::EndToEnd,
        ),
        ("Flows", flow_table(outcome), Detail::Flows),
    ];
    let answers = answers.into_iter().filter_map(|(title, table)| Some(Titled::answer(title, table?)));
    let details = details.into_iter().filter_map(|(title, table, detail)| Some(Titled::detail(title, table?, detail)));
    answers.chain(details).collect()
}

/// A row for each flow, or percentiles of many.
fn flow_table(outcome: &Outcome) -> Option<TextTable> {
    if outcome.flows.len() <= flows::MOST {
        return flows::each(outcome);
    }
    flows::spread(std::slice::from_ref(outcome), |_| TextTable::new())
}

/// A row for each queue but those of the way back in which nothing waited.
fn queues(queues: &[QueueOutcome]) -> Option<TextTable> {
    let queues: Vec<&QueueOutcome> = queues.iter().filter(|queue| is_shown(queue)).collect();
    let text = |field: fn(&QueueOutcome) -> String| queues.iter().map(|queue| field(queue)).collect::<Vec<_>>();
    let number = |field: fn(&QueueOutcome) -> Option<Estimate>, scale| {
        column(&queues.iter().map(|queue| field(queue)).collect::<Vec<_>>(), scale)
    };
    let table = TextTable::new()
        .key("queue", text(|queue| queue.name.clone()))
        .left("kind", text(|queue| queue.kind.clone()))
        .right("utilisation", number(|queue| Some(queue.utilisation), Scale::percent))
        .right("queue length", number(|queue| Some(queue.mean_packets), Scale::packets))
        .right("average queue", number(|queue| queue.mean_avg, Scale::plain))
        .right("delay", number(|queue| delay(queue, queue.delay_s.mean), Scale::time))
        .right("delay p50", number(|queue| delay(queue, queue.delay_s.p50), Scale::time))
        .right("delay p95", number(|queue| delay(queue, queue.delay_s.p95), Scale::time))
        .right("delay p99", number(|queue| delay(queue, queue.delay_s.p99), Scale::time))
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
    let of_drops = |queue: &QueueOutcome, count: &Estimate| count.mean / queue.dropped.total();
    let table = TextTable::new()
        .key("queue", rows.iter().map(|(queue, _, _)| queue.name.clone()).collect())
        .key("reason", rows.iter().map(|(_, reason, _)| reason.words().to_owned()).collect())
        .right("packets", rows.iter().map(|(_, _, dropped)| count(dropped.mean)).collect())
        .right("% of arrivals", rows.iter().map(|(queue, _, count)| percent(of_arrived(queue, count))).collect())
        .right("% of drops", rows.iter().map(|(queue, _, count)| percent(of_drops(queue, count))).collect())
        .bar("", rows.iter().map(|(queue, _, count)| (of_drops(queue, count), 0)).collect());
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
        .right("fair rate", fair)
        .right("queue share", number(|group| group.queue_share, Scale::percent))
        .right("dropped", number(|group| group.drop_ratio, Scale::percent))
        .right("Jain", column(&groups.iter().map(|group| group.jain).collect::<Vec<_>>(), |_| Scale::index()))
        .left("transport", groups.iter().map(|group| group.transport.clone()).collect());
    (!groups.is_empty()).then_some(table)
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
        .right("queue share", number(|group| group.queue_share, Scale::percent))
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
        column(&rows.iter().map(|(_, made)| made.completion_s.as_ref().map(field)).collect::<Vec<_>>(), Scale::time)
    };
    let table = TextTable::new()
        .key("group", rows.iter().map(|(group, _)| group.name.clone()).collect())
        .right("completed", rows.iter().map(|(_, made)| count(made.completed.mean)).collect())
        .right("completion time", time(|time| time.mean))
        .right("time p50", time(|time| time.p50))
        .right("time p95", time(|time| time.p95))
        .right("time p99", time(|time| time.p99));
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
        .right("stall time", number(|video| Some(video.stalled_s), Scale::time))
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
    let columns: [ScoreColumn; 7] = [
        MOS,
        ("R", |score| score.rating, Scale::plain),
        ("delay", |score| score.delay_s, Scale::time),
        ("missing", |score| score.missing, Scale::percent),
        QOO,
        ("round trip", |score| score.round_trip_s, Scale::time),
        ("loss", |score| score.loss, Scale::percent),
    ];
    let table = TextTable::new()
        .key("group", rows.iter().map(|(group, _)| group.name.clone()).collect())
        .left("application", rows.iter().map(|(_, score)| score.application.clone()).collect());
    let there = columns.into_iter().filter(|(_, field, _)| rows.iter().any(|(_, score)| field(score).is_some()));
    let table = there.fold(table, |table, (title, field, scale)| table.right(title, number(field, scale)));
    (!rows.is_empty()).then_some(table)
}
