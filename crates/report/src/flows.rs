//! The flows of outcomes.

use fairlane_outcome::{Estimate, FlowOutcome, GroupOutcome, Outcome};

use crate::numbers::{Scale, count};
use crate::summary::column;
use crate::table::TextTable;

/// The most flows that are shown one by one.
pub(crate) const MOST: usize = 40;

/// A row for each flow; the longest bar is the fastest flow's.
pub(crate) fn each(outcome: &Outcome) -> Option<TextTable> {
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
        .right("queue share", number(|flow| flow.queue_share, Scale::percent))
        .right("dropped", number(|flow| flow.drop_ratio, Scale::percent))
        .right("sent", counted(|flow| flow.sent))
        .right("retransmissions", counted(|flow| flow.retransmitted))
        .right("timeouts", counted(|flow| flow.timeouts));
    let table = if flows.iter().any(|flow| flow.lost.mean > 0.0) {
        table.right("lost", counted(|flow| flow.lost))
    } else {
        table
    };
    let times: [Time; 3] =
        [("one-way delay", |flow| flow.delay_s), ("jitter", |flow| flow.jitter_s), ("RTT", |flow| flow.rtt_s)];
    let table = times.into_iter().fold(table, |table, (title, of)| {
        let values: Vec<_> = flows.iter().map(of).collect();
        if values.iter().any(Option::is_some) { table.right(title, column(&values, Scale::time)) } else { table }
    });
    (!flows.is_empty()).then_some(table)
}

/// Adds percentiles of the throughputs of each group's flows, in a row for each group of each outcome, to the rows that
/// `keys` begins.
pub(crate) fn spread(outcomes: &[Outcome], keys: impl Fn(&[usize]) -> TextTable) -> Option<TextTable> {
    let of = |(number, outcome): (usize, &Outcome)| {
        let name = |group: &GroupOutcome| (number, group.name.clone(), throughputs(outcome, &group.name));
        outcome.groups.iter().map(name).collect::<Vec<_>>()
    };
    let rows: Vec<(usize, String, Vec<f64>)> = outcomes.iter().enumerate().flat_map(of).collect();
    let all = || rows.iter().flat_map(|(.., flows)| flows.iter().copied());
    let fastest = Estimate::single(all().fold(0.0, f64::max));
    let scale = Scale::rate(&[fastest]).down_to(all().filter(|flow| *flow > 0.0).fold(f64::INFINITY, f64::min));
    // The value below which `hundredths` of the flows lie (nearest rank).
    let quantile = |hundredths: usize| -> Vec<String> {
        let value = |flows: &Vec<f64>| flows.get((flows.len() * hundredths).div_ceil(100).max(1) - 1).copied();
        let text = |(.., flows): &(usize, String, Vec<f64>)| value(flows).map(|value| scale.mean(value));
        rows.iter().map(|row| text(row).unwrap_or_else(|| "–".to_owned())).collect()
    };
    let table = keys(&rows.iter().map(|(number, ..)| *number).collect::<Vec<_>>())
        .key("group", rows.iter().map(|(_, name, _)| name.clone()).collect())
        .right("flows", rows.iter().map(|(.., flows)| flows.len().to_string()).collect())
        .right("slowest", quantile(0))
        .right("p25", quantile(25))
        .right("median", quantile(50))
        .right("p75", quantile(75))
        .right("fastest", quantile(100));
    (!rows.is_empty()).then_some(table)
}

/// The throughputs of a group's flows, the slowest first.
pub(crate) fn throughputs(outcome: &Outcome, group: &str) -> Vec<f64> {
    let mut values: Vec<f64> = outcome.flows_of(group).map(|flow| flow.throughput_bps.mean).collect();
    values.sort_by(f64::total_cmp);
    values
}
