//! The answer of a page, before all numbers: who got what, and how long packets waited.

use fairlane_outcome::{Estimate, Outcome, QueueOutcome};

use super::bars::{BarColumn, BarTable, joined};
use super::{Block, Chart, Inline, Panel};
use crate::figure::Axis;
use crate::figure::outcomes::WIDE;
use crate::numbers::{Scale, percent, rate_unit, scaled, significant};
use crate::queues::ShownQueue;
use crate::summary::{group_names, most_different, size};

/// The most rows of the picture; more are no picture.
const MOST_ROWS: usize = 120;
/// The most groups that have a column of numbers each.
const NUMBERED: usize = 4;
/// The most panels of the scatter.
const PANELS: usize = 4;

/// The answer in a sentence and in a picture, with a row for each outcome; nothing if there are too many for a picture.
pub(super) fn blocks(outcomes: &[Outcome], names: &[String], rows_title: &str) -> Vec<Block> {
    if outcomes.is_empty() || outcomes.len() > MOST_ROWS {
        return Vec::new();
    }
    let groups = group_names(outcomes);
    vec![
        Block::Paragraph(vec![Inline::text_of(sentences(outcomes, names, &groups).join(" "))]),
        Block::Bars(table(outcomes, names, rows_title, &groups)),
        Block::Paragraph(vec![Inline::Faint(note(outcomes, &groups))]),
    ]
}

fn share(outcome: &Outcome, group: &str) -> Estimate {
    outcome.group(group).map_or_else(Estimate::default, |group| group.share)
}

fn delay<'o>(outcome: &'o Outcome, at: ShownQueue<'_>) -> Option<&'o QueueOutcome> {
    outcome.queue(at.name).filter(|queue| queue.delay_s.mean.mean > 0.0)
}

/// The fair share of a group, if it is known and the same in all outcomes.
fn fair(outcomes: &[Outcome], group: &str) -> Option<f64> {
    let mut all = outcomes.iter().map(|outcome| outcome.group(group)?.fair_share);
    let first = all.next()??;
    all.all(|share| share.is_some_and(|share| (share - first).abs() < 1e-9)).then_some(first)
}

fn table(outcomes: &[Outcome], names: &[String], rows_title: &str, groups: &[&str]) -> BarTable {
    let mut columns = Vec::new();
    let mut legend = Vec::new();
    // A separate row, behind the others. A single group has a share of 1 in any case.
    let fair: Option<Vec<f64>> = groups.iter().map(|group| fair(outcomes, group)).collect();
    let fair = fair.filter(|_| groups.len() > 1);
    if let [group] = groups {
        columns.push(throughput(outcomes, group));
    }
    for (part, group) in groups.iter().enumerate().filter(|_| groups.len() > 1) {
        if groups.len() > NUMBERED {
            legend.push((part, (*group).to_owned()));
            continue;
        }
        let shares: Vec<Estimate> = outcomes.iter().map(|outcome| share(outcome, group)).collect();
        let scale = Scale::percent(&shares);
        let cells = shares.iter().map(|share| (joined(&scale.parts(share)), share.mean));
        let fair = fair.iter().map(|fair| (percent(fair[part]), fair[part]));
        columns.push(BarColumn::Numbers {
            title: (*group).to_owned(),
            part: Some(part),
            cells: cells.chain(fair).collect(),
        });
    }
    let parts = |outcome: &Outcome| groups.iter().map(|group| share(outcome, group).mean).collect();
    if groups.len() > 1 {
        columns.push(BarColumn::Stacked {
            title: "share of the throughput".to_owned(),
            whole: 1.0,
            unit: "%".to_owned(),
            parts: outcomes.iter().map(parts).chain(fair.clone()).collect(),
            marks: Vec::new(),
        });
    }
    for at in ShownQueue::all(outcomes) {
        columns.extend(delays(outcomes, at));
    }
    let fair_row = fair.map(|_| "max-min fair".to_owned());
    BarTable {
        label: "Share of the throughput and delay".to_owned(),
        rows_title: rows_title.to_owned(),
        rows: names.iter().cloned().chain(fair_row).collect(),
        columns,
        legend,
    }
}

/// The throughput of the only group, whose share says nothing.
fn throughput(outcomes: &[Outcome], group: &str) -> BarColumn {
    let rates: Vec<Estimate> = outcomes
        .iter()
        .map(|outcome| outcome.group(group).map_or_else(Estimate::default, |group| group.throughput_bps))
        .collect();
    let scale = Scale::rate(&rates);
    let cells = rates.iter().map(|rate| (joined(&scale.parts(rate)), rate.mean)).collect();
    BarColumn::Numbers { title: format!("throughput of {group}"), part: None, cells }
}

/// The columns of the delays in a queue; none without delays.
fn delays(outcomes: &[Outcome], at: ShownQueue<'_>) -> Vec<BarColumn> {
    let means: Vec<Estimate> =
        outcomes.iter().filter_map(|outcome| delay(outcome, at)).map(|queue| queue.delay_s.mean).collect();
    if means.is_empty() {
        return Vec::new();
    }
    let scale = Scale::time(&means);
    let cell = |outcome: &Outcome| {
        delay(outcome, at).map_or_else(
            || ("–".to_owned(), 0.0),
            |queue| (joined(&scale.parts(&queue.delay_s.mean)), queue.delay_s.mean.mean),
        )
    };
    let range = |outcome: &Outcome| {
        let times = &delay(outcome, at)?.delay_s;
        Some([times.mean, times.p95, times.p99].map(|time| time.mean * 1e3))
    };
    vec![
        BarColumn::Numbers { title: at.title("mean delay"), part: None, cells: outcomes.iter().map(cell).collect() },
        BarColumn::Ranges {
            title: at.title("delay in the queue"),
            unit: "ms".to_owned(),
            values: outcomes.iter().map(range).collect(),
        },
    ]
}

/// The ranges of the share of the group that differs most, and of the delay.
fn sentences(outcomes: &[Outcome], names: &[String], groups: &[&str]) -> Vec<String> {
    let ends = |values: &[f64]| {
        let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        Some(((0..values.len()).min_by(order)?, (0..values.len()).max_by(order)?))
    };
    let mut all = Vec::new();
    if let Some(group) = most_different(outcomes, groups).filter(|_| groups.len() > 1) {
        let shares: Vec<f64> = outcomes.iter().map(|outcome| share(outcome, group).mean).collect();
        let fair = fair(outcomes, group).map_or_else(String::new, |fair| format!("; {} would be fair", percent(fair)));
        match ends(&shares) {
            Some((least, most)) if outcomes.len() > 1 => all.push(format!(
                "{group} gets from {} ({}) to {} ({}) of the throughput{fair}.",
                percent(shares[least]),
                names[least],
                percent(shares[most]),
                names[most]
            )),
            _ => all.push(format!("{group} gets {} of the throughput{fair}.", percent(shares[0]))),
        }
    }
    let queues = ShownQueue::all(outcomes);
    all.extend(queues.iter().filter_map(|at| waiting(outcomes, names, *at, queues.len() > 1)));
    all
}
/// The range of the mean delays in a queue; `None` without delays.
fn waiting(outcomes: &[Outcome], names: &[String], at: ShownQueue<'_>, several: bool) -> Option<String> {
    let delays = outcomes.iter().zip(names);
    let delays = delays.filter_map(|(outcome, name)| Some((delay(outcome, at)?.delay_s.mean.mean, name)));
    let delays: Vec<(f64, &String)> = delays.collect();
    let order = |a: &&(f64, &String), b: &&(f64, &String)| a.0.total_cmp(&b.0);
    let ((least, first), (most, last)) = (delays.iter().min_by(order)?, delays.iter().max_by(order)?);
    let time = |value: &f64| format!("{} ms", significant(1e3 * value, 3));
    let queue = if several { format!("the queue {}", at.name) } else { "the queue".to_owned() };
    Some(if least < most {
        format!("On average packets wait from {} ({first}) to {} ({last}) in {queue}.", time(least), time(most))
    } else {
        format!("On average packets wait {} in {queue}.", time(least))
    })
}

/// How to read the picture.
fn note(outcomes: &[Outcome], groups: &[&str]) -> String {
    let sizes: Vec<String> = groups.iter().map(|group| format!("{group}: {}", size(outcomes, group))).collect();
    format!(
        "{}. Fair shares are parts of the max-min fair rates. Delays: the dot is the mean, the line ends at the 95th and the tick is the 99th percentile.",
        sizes.join("; ")
    )
}

/// The delay of each outcome against the throughput of each group, at each queue; nothing for a single outcome or
/// without delays.
pub(super) fn scatter(outcomes: &[Outcome], names: &[String]) -> Vec<Block> {
    ShownQueue::all(outcomes).into_iter().filter_map(|at| scatter_at(outcomes, names, at)).collect()
}

fn scatter_at(outcomes: &[Outcome], names: &[String], at: ShownQueue<'_>) -> Option<Block> {
    let delays: Vec<(usize, Estimate)> = outcomes
        .iter()
        .enumerate()
        .filter_map(|(index, outcome)| Some((index, scaled(delay(outcome, at)?.delay_s.mean, 1e3))))
        .collect();
    if delays.len() < 2 || outcomes.len() > MOST_ROWS {
        return None;
    }
    let groups = group_names(outcomes);
    let rate = |outcome: &Outcome, group: &str| outcome.group(group).map_or(0.0, |group| group.throughput_bps.mean);
    let fastest =
        outcomes.iter().flat_map(|outcome| groups.iter().map(move |group| rate(outcome, group))).fold(0.0, f64::max);
    let (unit, divisor) = rate_unit(fastest);
    let panel = |group: &&str| {
        let place = |(index, delay): &(usize, Estimate)| {
            let rate = outcomes[*index].group(group)?.throughput_bps;
            Some((names[*index].clone(), *delay, scaled(rate, 1.0 / divisor)))
        };
        let places = delays.iter().filter_map(place).collect();
        Panel { title: format!("Throughput of {group}"), y: Axis::linear(format!("throughput ({unit})")), places }
    };
    let (low, high) = delays
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), (_, delay)| (low.min(delay.mean), high.max(delay.mean)));
    let x = if high > WIDE * low {
        Axis::log("mean delay in the queue (ms)")
    } else {
        Axis::linear("mean delay in the queue (ms)")
    };
    let note = if outcomes.iter().any(|outcome| outcome.runs > 1) {
        "Ellipses are the 95 % intervals of both means."
    } else {
        ""
    };
    Some(Block::Chart(Chart::Scatter {
        title: at.title("Each at its mean delay and throughput"),
        note: note.to_owned(),
        x,
        panels: groups.iter().take(PANELS).map(panel).collect(),
    }))
}
