//! Computes an outcome from the counts of runs.

use std::collections::BTreeMap;

use fairlane_qdisc::Reason;
use hdrhistogram::Histogram;

use crate::applications;
use crate::estimate::{Averager, Estimate};
use crate::histogram::DelayHistogram;
use crate::record::Combine;
use crate::schema::{
    Delay, FlowOutcome, GroupOutcome, Outcome, QueueFlow, QueueGroup, QueueOutcome, RunValues, TransferOutcome,
};
use crate::{Cost, Drops, Expected, FlowRun, PathRun, QueueFlowRun, QueueRun, Run, stats};

impl Outcome {
    /// Averages `runs`, all of one scenario and seed; `None` when there are none.
    ///
    /// Every number belongs to the window `from_s` to `to_s` that the outcome states. So when runs differ in their
    /// windows, because some were interrupted, only those with the longest one are averaged: the complete ones when
    /// there are any. The cost is that of all of them.
    #[must_use]
    pub fn from_runs(runs: impl IntoIterator<Item = Run>) -> Option<Self> {
        let mut runs: Vec<Run> = runs.into_iter().collect();
        let longest = runs.iter().reduce(|longest, run| if window(run) > window(longest) { run } else { longest })?;
        let (from_s, to_s) = (longest.from_s, longest.to_s);
        let partial = runs.iter().any(|run| run.partial);
        let cost = runs.iter().fold(Cost::default(), |sum, run| add(sum, &run.cost));
        runs.retain(|run| run.from_s == from_s && run.to_s == to_s);
        let first = runs.first()?;
        let mut outcome = Self {
            scenario: first.scenario.clone(),
            engine: first.engine.to_string(),
            seed: first.seed,
            runs: runs.len() as u64,
            from_s: finite(from_s),
            to_s: finite(to_s),
            partial,
            label: None,
            point: None,
            at: None,
            notes: first.expected.notes.clone(),
            queues: Vec::new(),
            flows: Vec::new(),
            groups: Vec::new(),
            each_run: Vec::new(),
            cost,
        };
        let parts: Vec<Parts> = runs.into_iter().map(Parts::of).collect();
        if parts.len() > 1 {
            outcome.each_run = parts.iter().map(|of| RunValues::of(of.run, &of.groups, &of.queues)).collect();
        }
        (outcome.queues, outcome.flows, outcome.groups) = Parts::mean(parts);
        Some(outcome)
    }
}

/// The contribution of one run.
struct Parts {
    run: u32,
    queues: Vec<QueueOutcome>,
    flows: Vec<FlowOutcome>,
    groups: Vec<GroupOutcome>,
}

impl Parts {
    /// Of a million flows the counts need as much memory as the parts, so they end as soon as they are not needed.
    fn of(run: Run) -> Self {
        let (number, window_s) = (run.run, window(&run));
        let (groups, queues) = (groups(&run), queues(&run));
        let Run { flows, queues: counts, .. } = run;
        drop(counts);
        let flows = flow_outcomes(flows, &queues, window_s);
        Self { run: number, queues, flows, groups }
    }

    /// The means over some runs.
    fn mean(mut parts: Vec<Self>) -> (Vec<QueueOutcome>, Vec<FlowOutcome>, Vec<GroupOutcome>) {
        if parts.len() > 1 {
            let over = Averager::over(parts.len());
            let queues = by_flow_number(combined(&parts, |of| &of.queues, &over));
            return (queues, combined(&parts, |of| &of.flows, &over), combined(&parts, |of| &of.groups, &over));
        }
        parts.pop().map(|of| (of.queues, of.flows, of.groups)).unwrap_or_default()
    }
}

fn combined<T>(runs: &[Parts], part: fn(&Parts) -> &Vec<T>, over: &Averager) -> Vec<T>
where
    Vec<T>: Combine,
{
    let lists: Vec<Option<&Vec<T>>> = runs.iter().map(|run| Some(part(run))).collect();
    runs.first().map_or_else(Vec::new, |first| Vec::combine(part(first), &lists, over))
}

/// A flow that did not come here in the first run would otherwise be last.
fn by_flow_number(mut queues: Vec<QueueOutcome>) -> Vec<QueueOutcome> {
    for queue in &mut queues {
        queue.flows.sort_by_key(|flow| flow.id);
    }
    queues
}

fn add(sum: Cost, cost: &Cost) -> Cost {
    Cost {
        events: sum.events.saturating_add(cost.events),
        packet_hops: sum.packet_hops.saturating_add(cost.packet_hops),
        cpu_s: sum.cpu_s + finite(cost.cpu_s),
        wall_s: sum.wall_s + finite(cost.wall_s),
        peak_rss_bytes: sum.peak_rss_bytes.max(cost.peak_rss_bytes),
    }
}

/// One run's queues, each with its groups and flows.
fn queues(run: &Run) -> Vec<QueueOutcome> {
    let outcome = |(index, queue)| queue_outcome(index, queue, window(run), &run.flows);
    run.queues.iter().enumerate().map(outcome).collect()
}

fn queue_outcome(index: usize, queue: &QueueRun, window_s: f64, scenario_flows: &[FlowRun]) -> QueueOutcome {
    let leaving = scenario_flows.iter().filter(|flow| flow.exit == Some(index));
    let goodputs: Vec<f64> = leaving.map(|flow| ratio(bits(flow.unique_bytes), window_s)).collect();
    let whole = Part::of(queue.flows.iter());
    let mut by_group: BTreeMap<&str, Vec<&QueueFlowRun>> = BTreeMap::new();
    for flow in &queue.flows {
        if let Ok(place) = scenario_flows.binary_search_by_key(&flow.flow, |of| of.id) {
            by_group.entry(&scenario_flows[place].group).or_default().push(flow);
        }
    }
    // In the scenario's order: taking a group out leaves nothing for its other flows.
    let in_order = scenario_flows.iter().filter_map(|flow| by_group.remove_entry(&*flow.group));
    QueueOutcome {
        name: queue.name.clone(),
        kind: queue.kind.to_string(),
        arrived: count(whole.arrived),
        departed: count(whole.departed),
        marked: count(whole.marked),
        dropped: Drops::counted(whole.dropped),
        lost: count(whole.lost),
        mean_packets: real(queue.mean_packets),
        mean_avg: queue.mean_avg.map(real),
        delay_s: delay(&queue.delay_ns),
        utilisation: real(ratio(bits(whole.departed_bytes) + 8.0 * queue.edge_bytes, queue.rate_bps * window_s)),
        normalised_deviation: real(stats::normalised_deviation(&goodputs, queue.rate_bps)),
        groups: in_order.map(|(name, flows)| queue_group(name, &flows, &whole, queue.mean_packets, window_s)).collect(),
        flows: queue.flows.iter().map(|flow| queue_flow(flow, queue.mean_packets, window_s)).collect(),
        delay_histogram: (&queue.delay_ns).into(),
    }
}

fn queue_group(name: &str, flows: &[&QueueFlowRun], whole: &Part, queue_packets: f64, window_s: f64) -> QueueGroup {
    let part = Part::of(flows.iter().copied());
    QueueGroup {
        name: name.to_owned(),
        arrived: count(part.arrived),
        departed: count(part.departed),
        marked: count(part.marked),
        dropped: Drops::counted(part.dropped),
        drop_ratio: real(drop_ratio(part.dropped_total(), part.arrived)),
        throughput_bps: real(ratio(bits(part.departed_bytes), window_s)),
        share: real(count_ratio(part.departed_bytes, whole.departed_bytes)),
        queue_share: real(ratio(part.mean_packets, queue_packets)),
    }
}

fn queue_flow(flow: &QueueFlowRun, queue_packets: f64, window_s: f64) -> QueueFlow {
    let part = Part::of([flow].into_iter());
    QueueFlow {
        id: flow.flow,
        arrived: count(part.arrived),
        departed: count(part.departed),
        dropped: count(part.dropped_total()),
        drop_ratio: real(drop_ratio(part.dropped_total(), part.arrived)),
        throughput_bps: real(ratio(bits(part.departed_bytes), window_s)),
        queue_share: real(ratio(part.mean_packets, queue_packets)),
    }
}

fn delay(delay_ns: &Histogram<u64>) -> Delay {
    if delay_ns.is_empty() {
        return Delay::default();
    }
    let quantile = |q| real(delay_ns.value_at_quantile(q) as f64 / 1e9);
    Delay { mean: real(delay_ns.mean() / 1e9), p50: quantile(0.5), p95: quantile(0.95), p99: quantile(0.99) }
}

/// Sums over some of the flows at a queue.
struct Part {
    arrived: u64,
    departed: u64,
    departed_bytes: u64,
    marked: u64,
    lost: u64,
    dropped: [u64; Reason::COUNT],
    mean_packets: f64,
}

impl Part {
    fn of<'a>(flows: impl Iterator<Item = &'a QueueFlowRun>) -> Self {
        let none = Self {
            arrived: 0,
            departed: 0,
            departed_bytes: 0,
            marked: 0,
            lost: 0,
            dropped: [0; Reason::COUNT],
            mean_packets: 0.0,
        };
        flows.fold(none, |mut sum, flow| {
            sum.arrived = sum.arrived.saturating_add(flow.arrived);
            sum.departed = sum.departed.saturating_add(flow.departed);
            sum.departed_bytes = sum.departed_bytes.saturating_add(flow.departed_bytes);
            sum.marked = sum.marked.saturating_add(flow.marked);
            sum.lost = sum.lost.saturating_add(flow.lost);
            for (sum, dropped) in sum.dropped.iter_mut().zip(flow.dropped) {
                *sum = sum.saturating_add(dropped);
            }
            sum.mean_packets += flow.mean_packets;
            sum
        })
    }

    fn dropped_total(&self) -> u64 {
        self.dropped.iter().copied().fold(0, u64::saturating_add)
    }
}

/// One flow with its results at the last queue on its path.
struct Exit<'a> {
    flow: &'a FlowRun,
    queue: Option<usize>,
    throughput_bps: f64,
    mean_packets: f64,
    queue_packets: f64,
}

impl<'a> Exit<'a> {
    fn all(run: &'a Run) -> Vec<Self> {
        run.flows.iter().map(|flow| Self::of(flow, run)).collect()
    }

    fn of(flow: &'a FlowRun, run: &Run) -> Self {
        let Some((index, queue)) = flow.exit.and_then(|index| Some((index, run.queues.get(index)?))) else {
            let throughput_bps = ratio(bits(flow.unique_bytes), window(run));
            return Self { flow, queue: None, throughput_bps, mean_packets: 0.0, queue_packets: 0.0 };
        };
        let part = queue.flows.binary_search_by_key(&flow.id, |part| part.flow).ok();
        let part = Part::of(part.map(|place| &queue.flows[place]).into_iter());
        Self {
            flow,
            queue: Some(index),
            throughput_bps: ratio(bits(part.departed_bytes), window(run)),
            mean_packets: part.mean_packets,
            queue_packets: queue.mean_packets,
        }
    }
}

/// The flows with their results at the last of `queues` on their paths.
///
/// The memory of the counts ends block by block, from the last flow to the first.
fn flow_outcomes(mut flows: Vec<FlowRun>, queues: &[QueueOutcome], window_s: f64) -> Vec<FlowOutcome> {
    const BLOCK: usize = 1 << 16;
    let mut outcomes = Vec::with_capacity(flows.len());
    while let Some(flow) = flows.pop() {
        outcomes.push(flow_outcome(flow, queues, window_s));
        if flows.len().is_multiple_of(BLOCK) {
            flows.shrink_to_fit();
        }
    }
    outcomes.reverse();
    outcomes
}

/// One flow with its results at the last of `queues` on its path.
fn flow_outcome(flow: FlowRun, queues: &[QueueOutcome], window_s: f64) -> FlowOutcome {
    let path = Path::of([&flow].into_iter());
    let goodput_bps = real(ratio(bits(flow.unique_bytes), window_s));
    let exit = flow.exit.and_then(|index| queues.get(index));
    let at_exit = exit.and_then(|queue| {
        let place = queue.flows.binary_search_by_key(&flow.id, |part| part.id).ok()?;
        queue.flows.get(place)
    });
    // A flow that has come to no queue on its path has no throughput.
    let elsewhere = if exit.is_some() { Estimate::default() } else { goodput_bps };
    FlowOutcome {
        id: flow.id,
        sent: count(flow.sent),
        delivered: count(flow.delivered),
        dropped: count(flow.dropped),
        lost: count(flow.lost),
        throughput_bps: at_exit.map_or(elsewhere, |part| part.throughput_bps),
        goodput_bps,
        drop_ratio: real(drop_ratio(flow.dropped, flow.sent)),
        queue_share: at_exit.map_or_else(Estimate::default, |part| part.queue_share),
        retransmitted: count(flow.retransmitted),
        timeouts: count(flow.timeouts),
        delay_s: path.delay_s(),
        jitter_s: path.jitter_s(),
        rtt_s: path.rtt_s(),
        transfers: transfers([&flow].into_iter()).map(|(transfers, _)| transfers),
        video: applications::video([&flow].into_iter()),
        name: flow.name,
        group: flow.group,
        kind: flow.kind,
    }
}

/// One run's groups, in the order of their first flows.
fn groups(run: &Run) -> Vec<GroupOutcome> {
    let exits = Exit::all(run);
    let total: f64 = exits.iter().map(|exit| exit.throughput_bps).sum();
    // Each queue counts once, however many of the flows leave by it.
    let queues: BTreeMap<usize, f64> =
        exits.iter().filter_map(|exit| Some((exit.queue?, exit.queue_packets))).collect();
    let whole = Whole { throughput_bps: total, queue_packets: queues.values().sum(), expected: &run.expected };
    let mut by_group: BTreeMap<&str, Vec<&Exit<'_>>> = BTreeMap::new();
    for exit in &exits {
        by_group.entry(&exit.flow.group).or_default().push(exit);
    }
    let in_order = run.flows.iter().filter_map(|flow| by_group.remove_entry(&*flow.group));
    in_order.map(|(name, members)| group_outcome(name, &members, &whole)).collect()
}

/// The totals of all groups.
struct Whole<'a> {
    throughput_bps: f64,
    /// In the last queues on the flows' paths.
    queue_packets: f64,
    expected: &'a Expected,
}

impl Whole<'_> {
    /// The fair rate of the group called `name`, and its part of all.
    fn fair(&self, name: &str) -> (Option<f64>, Option<f64>) {
        let rates = &self.expected.fair_bps;
        let rate = rates.iter().find(|(group, _)| group == name).map(|(_, rate)| finite(*rate));
        let all: f64 = rates.iter().map(|(_, rate)| finite(*rate)).sum();
        (rate, rate.map(|rate| ratio(rate, all)))
    }
}

fn group_outcome(name: &str, members: &[&Exit<'_>], whole: &Whole<'_>) -> GroupOutcome {
    let throughputs: Vec<f64> = members.iter().map(|exit| exit.throughput_bps).collect();
    let throughput_bps: f64 = throughputs.iter().sum();
    let sum = |field: fn(&FlowRun) -> u64| members.iter().map(|exit| field(exit.flow)).fold(0, u64::saturating_add);
    let mean_packets: f64 = members.iter().map(|exit| exit.mean_packets).sum();
    let (fair_bps, fair_share) = whole.fair(name);
    let path = Path::of(members.iter().map(|exit| exit.flow));
    GroupOutcome {
        name: name.to_owned(),
        transport: members.first().map_or_else(String::new, |exit| exit.flow.transport.to_string()),
        flows: members.len() as u64,
        throughput_bps: real(throughput_bps),
        share: real(ratio(throughput_bps, whole.throughput_bps)),
        drop_ratio: real(drop_ratio(sum(|flow| flow.dropped), sum(|flow| flow.sent))),
        fair_bps,
        fair_share,
        queue_share: real(ratio(mean_packets, whole.queue_packets)),
        jain: (throughput_bps > 0.0).then(|| real(stats::jain(&throughputs))),
        retransmitted: count(sum(|flow| flow.retransmitted)),
        timeouts: count(sum(|flow| flow.timeouts)),
        delay_s: path.delay_s(),
        jitter_s: path.jitter_s(),
        rtt_s: path.rtt_s(),
        transfers: transfers(members.iter().map(|exit| exit.flow)).map(|(mut transfers, times)| {
            transfers.completion_histogram = distribution(&times);
            transfers
        }),
        video: applications::video(members.iter().map(|exit| exit.flow)),
        score: applications::score(&members.iter().map(|exit| exit.flow).collect::<Vec<_>>()),
    }
}

/// The delays of some flows, and the number of packets that they belong to.
#[derive(Default)]
struct Path {
    delivered: u64,
    sums: PathRun,
}

impl Path {
    /// The sums over the flows whose delays are known.
    fn of<'a>(flows: impl Iterator<Item = &'a FlowRun>) -> Self {
        let known = flows.filter_map(|flow| Some((flow.delivered, flow.path?)));
        known.fold(Self::default(), |Self { delivered, sums }, (more, path)| Self {
            delivered: delivered.saturating_add(more),
            sums: PathRun {
                delay_ns: sums.delay_ns.saturating_add(path.delay_ns),
                variation_ns: sums.variation_ns.saturating_add(path.variation_ns),
                round_trip_ns: sums.round_trip_ns.saturating_add(path.round_trip_ns),
                round_trips: sums.round_trips.saturating_add(path.round_trips),
            },
        })
    }

    fn delay_s(&self) -> Option<Estimate> {
        mean_s(self.sums.delay_ns, self.delivered)
    }

    fn jitter_s(&self) -> Option<Estimate> {
        mean_s(self.sums.variation_ns, self.delivered)
    }

    fn rtt_s(&self) -> Option<Estimate> {
        mean_s(self.sums.round_trip_ns, self.sums.round_trips)
    }
}

/// The mean of `number` times in seconds; `None` without any.
fn mean_s(nanos: u64, number: u64) -> Option<Estimate> {
    (number > 0).then(|| real(nanos as f64 / number as f64 / 1e9))
}

/// The distribution of times in nanoseconds, to three digits.
fn distribution(times: &[u64]) -> DelayHistogram {
    // It grows as needed, so no time is too long for it.
    let histogram = Histogram::<u64>::new(3).ok().and_then(|mut histogram| {
        times.iter().try_for_each(|time| histogram.record(*time)).ok()?;
        Some(histogram)
    });
    histogram.map_or_else(DelayHistogram::default, |histogram| (&histogram).into())
}

/// The completed transfers of `flows` and the time of each; `None` where none of them makes any.
fn transfers<'a>(flows: impl Iterator<Item = &'a FlowRun>) -> Option<(Box<TransferOutcome>, Vec<u64>)> {
    let flows: Vec<&FlowRun> = flows.filter(|flow| flow.completions_ns.is_some()).collect();
    let lists: Vec<&Vec<u64>> = flows.iter().filter_map(|flow| flow.completions_ns.as_ref()).collect();
    let startups = || flows.iter().filter_map(|flow| flow.startups_ns.as_ref()).flatten();
    if lists.is_empty() {
        return None;
    }
    let mut times: Vec<u64> = lists.into_iter().flatten().copied().collect();
    times.sort_unstable();
    let seconds = |nanos: f64| real(nanos / 1e9);
    // The smallest time that is not exceeded by this part of all (nearest rank).
    let rank = |percent: usize| (times.len() * percent).div_ceil(100).saturating_sub(1);
    let quantile = |percent| times.get(rank(percent)).map(|nanos| seconds(*nanos as f64));
    let total: f64 = times.iter().map(|nanos| *nanos as f64).sum();
    let mean = seconds(ratio(total, times.len() as f64));
    let of_all = || Some(Delay { mean, p50: quantile(50)?, p95: quantile(95)?, p99: quantile(99)? });
    let outcome = TransferOutcome {
        completed: count(times.len() as u64),
        completion_s: of_all(),
        startup_s: mean_s(startups().fold(0, |sum, nanos| sum.saturating_add(*nanos)), startups().count() as u64),
        completion_histogram: DelayHistogram::default(),
    };
    Some((Box::new(outcome), times))
}

/// Length of the run's measurement in seconds.
fn window(run: &Run) -> f64 {
    finite(run.to_s - run.from_s).max(0.0)
}

fn bits(bytes: u64) -> f64 {
    bytes as f64 * 8.0
}

fn count(value: u64) -> Estimate {
    Estimate::single(value as f64)
}

fn real(value: f64) -> Estimate {
    Estimate::single(finite(value))
}

fn count_ratio(part: u64, whole: u64) -> f64 {
    ratio(part as f64, whole as f64)
}

/// Drops as a part of the arrivals. Dropped packets may have arrived before the measurement began, so there can be more
/// of them.
fn drop_ratio(dropped: u64, came: u64) -> f64 {
    count_ratio(dropped, came).min(1.0)
}

/// `part / whole`; 0 if `whole` is 0.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The value, or 0 for values that JSON cannot express.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}
