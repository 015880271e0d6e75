//! The measurements of a run.

use std::collections::BTreeMap;

use fairlane_outcome::{FlowSample, GroupOutcome, Outcome, Run};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Access, FlowGroup, Hop, LinkSide, RateSteps, Scenario};
use fairlane_sim::{Observer, PacketEvent, PacketKind, QueueEvent};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::cdf::Cdf;
use crate::checklist::PhaseEnd;
use crate::losses::{GapStatistics, LossEvents};

/// The measurements of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunMeasures {
    pub(crate) partial: bool,
    pub(crate) groups: Vec<GroupMeasures>,
    pub(crate) phases: Vec<PhaseMeasures>,
    /// The share of the active flows that lose packets in each loss event at the first queue under study.
    pub(crate) loss_shares: Vec<f64>,
    /// The outcome of the run.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) series: Vec<TimePoint>,
}

/// A group in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupMeasures {
    pub(crate) name: String,
    /// The mean queueing delay in seconds and the goodput in bit/s of each flow.
    pub(crate) flows: Vec<(f64, f64)>,
    /// The mean queueing delay in seconds over all packets.
    pub(crate) queueing_s: f64,
    /// The median, the 95th and the 99th percentile of the one-way delay in seconds.
    pub(crate) delay_s: [f64; 3],
    /// The same of the packet delay variation: the delay above the least one of the flow.
    pub(crate) variation_s: [f64; 3],
    /// Packets lost over those sent.
    pub(crate) loss: f64,
    pub(crate) completions_s: Vec<f64>,
    pub(crate) gaps_s: Vec<f64>,
    /// Acknowledgements dropped over those that arrived at queues with a discipline; `None` if none did.
    pub(crate) ack_loss: Option<f64>,
    /// The distribution of the one-way delay in seconds.
    pub(crate) delay_cdf: Cdf,
    /// The distribution of the goodput in bit/s of a flow in an interval.
    pub(crate) goodput_cdf: Cdf,
    /// Its outcome, for what its applications saw.
    pub(crate) outcome: Option<GroupOutcome>,
}

/// A phase in a run, its repetitions together.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseMeasures {
    /// The mean queueing delay in seconds of packets that arrived in it.
    pub(crate) queueing_s: f64,
    /// The rate at which the receivers got data in this time, in bit/s.
    pub(crate) throughput_bps: f64,
}

/// A point of a series.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct TimePoint {
    /// The end of the interval in seconds.
    pub time_s: f64,
    /// The goodput of each group in the interval in bit/s.
    pub goodput_bps: Vec<f64>,
    /// The mean delay in the interval above that of the empty path, in seconds.
    pub queueing_s: f64,
}

/// Delays of a flow.
#[derive(Clone, Debug)]
struct FlowDelays {
    group: usize,
    /// The delay of a packet on the path without queues, in nanoseconds.
    unloaded_ns: u64,
    delays_ns: Histogram<u64>,
    queueing_ns: u64,
    packets: u64,
    /// The unique bytes at the last sample.
    sampled_bytes: u64,
}

/// Sums over a phase or an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    queueing_ns: u64,
    packets: u64,
    bytes: u64,
}

impl Sums {
    fn add(&mut self, queueing_ns: u64, bytes: u32) {
        self.queueing_ns += queueing_ns;
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    fn queueing_s(&self) -> f64 {
        if self.packets == 0 { 0.0 } else { self.queueing_ns as f64 / self.packets as f64 / 1e9 }
    }
}

/// Follows a run.
#[derive(Debug)]
pub(crate) struct PathObserver {
    from: Time,
    interval: Duration,
    flows: Vec<FlowDelays>,
    groups: Vec<String>,
    losses: LossEvents,
    gaps: BTreeMap<usize, GapStatistics>,
    /// The acknowledgements of each group that arrived at queues, and those dropped.
    acks: Vec<(u64, u64)>,
    /// The goodputs in bit/s of the flows of each group in the intervals since the start of the measurement.
    goodputs_bps: Vec<Vec<f64>>,
    last_sample: Time,
    /// The ends of the phases in nanoseconds from the start of the period.
    phase_ends: Vec<u64>,
    phases: Vec<Sums>,
    /// Since the last sample.
    recent: Sums,
    /// The unique bytes of each group at the last sample, and those counted for the next one.
    sampled: (Vec<u64>, Vec<u64>),
    series: Vec<TimePoint>,
}

impl PathObserver {
    /// Returns an observer of `scenario` that takes samples every `interval`; drops less than `rtt` apart are one loss
    /// event.
    pub(crate) fn new(scenario: &Scenario, rtt: Duration, interval: Duration, phases: &[PhaseEnd]) -> Self {
        let flows = scenario.flows.iter().enumerate().flat_map(|(group, flows)| {
            let unloaded_ns = unloaded(scenario, flows).as_nanos();
            (0..flows.count).map(move |_| FlowDelays {
                group,
                unloaded_ns,
                delays_ns: Histogram::new(3).expect("three digits are allowed"),
                queueing_ns: 0,
                packets: 0,
                sampled_bytes: 0,
            })
        });
        let groups: Vec<String> = scenario.flows.iter().map(|group| group.name.clone()).collect();
        Self {
            from: Time::ZERO + scenario.warmup,
            interval,
            flows: flows.collect(),
            losses: LossEvents::new(rtt),
            gaps: BTreeMap::new(),
            acks: vec![(0, 0); groups.len()],
            goodputs_bps: vec![Vec::new(); groups.len()],
            last_sample: Time::ZERO,
            phase_ends: phases.iter().map(|phase| (phase.to * 1e9) as u64).collect(),
            phases: vec![Sums::default(); phases.len()],
            recent: Sums::default(),
            sampled: (vec![0; groups.len()], vec![0; groups.len()]),
            groups,
            series: Vec::new(),
        }
    }

    /// Returns the measurements, with those of `run`.
    pub(crate) fn finish(self, run: Run) -> RunMeasures {
        let seconds = (run.to_s - run.from_s).max(1e-9);
        let period = self.phase_ends.last().copied().unwrap_or(1) as f64;
        let mut before = 0;
        let phases = self.phases.iter().zip(&self.phase_ends).map(|(sums, end)| {
            let part = (*end - std::mem::replace(&mut before, *end)) as f64 / period;
            let throughput_bps = 8.0 * sums.bytes as f64 / (seconds * part);
            PhaseMeasures { queueing_s: sums.queueing_s(), throughput_bps }
        });
        let phases = phases.collect();
        let mut groups: Vec<GroupMeasures> =
            (0..self.groups.len()).map(|group| self.group(group, &run, seconds)).collect();
        let partial = run.partial;
        let outcome = Outcome::from_runs([run]);
        for group in &mut groups {
            group.outcome = outcome.as_ref().and_then(|outcome| outcome.group(&group.name)).cloned();
        }
        RunMeasures { partial, groups, phases, loss_shares: self.losses.finish(), outcome, series: self.series }
    }

    fn group(&self, group: usize, run: &Run, seconds: f64) -> GroupMeasures {
        let members = || self.flows.iter().zip(&run.flows).filter(|(flow, _)| flow.group == group);
        let mean =
            |queueing_ns: u64, packets: u64| if packets == 0 { 0.0 } else { queueing_ns as f64 / packets as f64 / 1e9 };
        let sum = |of: fn(&FlowDelays) -> u64| members().map(|(flow, _)| of(flow)).sum::<u64>();
        let (mut delays, mut variations) = (empty(), empty());
        for (flow, _) in members() {
            let least = flow.delays_ns.iter_recorded().map(|bin| bin.value_iterated_to()).next().unwrap_or(0);
            for bin in flow.delays_ns.iter_recorded() {
                let (delay, count) = (bin.value_iterated_to(), bin.count_at_value());
                record(&mut delays, delay, count);
                record(&mut variations, delay - least, count);
            }
        }
        let (sent, lost) =
            members().fold((0, 0), |(sent, lost), (_, flow)| (sent + flow.sent, lost + flow.dropped + flow.lost));
        let completions = members().flat_map(|(_, flow)| flow.completions_ns.iter().flatten());
        GroupMeasures {
            name: self.groups[group].clone(),
            flows: members()
                .map(|(delays, flow)| {
                    (mean(delays.queueing_ns, delays.packets), 8.0 * flow.unique_bytes as f64 / seconds)
                })
                .collect(),
            queueing_s: mean(sum(|flow| flow.queueing_ns), sum(|flow| flow.packets)),
            delay_s: percentiles(&delays),
            variation_s: percentiles(&variations),
            loss: if sent == 0 { 0.0 } else { lost as f64 / sent as f64 },
            completions_s: completions.map(|nanos| *nanos as f64 / 1e9).collect(),
            gaps_s: self.gaps.get(&group).map(|gaps| gaps.gaps_s().to_vec()).unwrap_or_default(),
            ack_loss: self.acks.get(group).and_then(|(arrived, dropped)| share(*dropped, *arrived)),
            delay_cdf: Cdf::of_nanos(&delays),
            goodput_cdf: Cdf::of(self.goodputs_bps.get(group).cloned().unwrap_or_default()),
            outcome: None,
        }
    }
}

impl PathObserver {
    /// Counts an acknowledgement at a queue.
    fn acknowledgement(&mut self, event: &PacketEvent) {
        let Some(flow) = self.flows.get(event.flow as usize) else { return };
        let Some((arrived, dropped)) = self.acks.get_mut(flow.group) else { return };
        match event.queue_event {
            QueueEvent::Arrived => *arrived += 1,
            QueueEvent::Dropped(_) | QueueEvent::Lost => *dropped += 1,
            QueueEvent::Departed { .. } | QueueEvent::Marked(_) => {}
        }
    }
}

impl Observer for PathObserver {
    fn packet(&mut self, event: &PacketEvent) {
        if event.at < self.from {
            return;
        }
        if event.kind == PacketKind::Ack {
            self.acknowledgement(event);
            return;
        }
        match event.queue_event {
            QueueEvent::Arrived if event.link == 0 => self.losses.arrival(event.at, event.flow),
            QueueEvent::Dropped(_) | QueueEvent::Lost => {
                if event.link == 0 {
                    self.losses.drop(event.at, event.flow);
                }
                if let Some(flow) = self.flows.get(event.flow as usize) {
                    self.gaps.entry(flow.group).or_default().loss(event.at, event.flow);
                }
            }
            _ => {}
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}

    fn took(&mut self, at: Time, flow: u32, delay: Duration, bytes: u32) {
        let Some(flow) = self.flows.get_mut(flow as usize) else { return };
        let queueing_ns = delay.as_nanos().saturating_sub(flow.unloaded_ns);
        self.recent.add(queueing_ns, bytes);
        if at < self.from {
            return;
        }
        flow.queueing_ns += queueing_ns;
        flow.packets += 1;
        record(&mut flow.delays_ns, delay.as_nanos(), 1);
        if let Some(period) = self.phase_ends.last() {
            let into = at.as_nanos() % (*period).max(1);
            let phase = self.phase_ends.partition_point(|end| *end <= into);
            if let Some(sums) = self.phases.get_mut(phase) {
                sums.add(queueing_ns, bytes);
            }
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.interval)
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        let Some(flow) = self.flows.get_mut(sample.flow as usize) else { return };
        let bytes = sample.unique_bytes - std::mem::replace(&mut flow.sampled_bytes, sample.unique_bytes);
        // An interval that is cut off by the end would be another measure.
        if self.last_sample >= self.from && at.since(self.last_sample) == self.interval {
            self.goodputs_bps[flow.group].push(8.0 * bytes as f64 / self.interval.as_secs());
        }
        self.sampled.1[flow.group] += sample.unique_bytes;
        if sample.flow as usize + 1 < self.flows.len() {
            return;
        }
        self.last_sample = at;
        let (before, now) = &mut self.sampled;
        let last = self.series.last().map_or(0.0, |point| point.time_s);
        let seconds = (at.as_secs() - last).max(1e-9);
        let goodput_bps =
            now.iter().zip(before.iter()).map(|(now, before)| 8.0 * (now - before) as f64 / seconds).collect();
        self.series.push(TimePoint { time_s: at.as_secs(), goodput_bps, queueing_s: self.recent.queueing_s() });
        self.recent = Sums::default();
        *before = std::mem::replace(now, vec![0; before.len()]);
    }
}

/// Returns `part` over `whole`; `None` of nothing.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn empty() -> Histogram<u64> {
    Histogram::new(3).expect("three digits are allowed")
}

fn record(histogram: &mut Histogram<u64>, nanos: u64, count: u64) {
    histogram.record_n(nanos, count).expect("the histogram grows to any value");
}

fn percentiles(nanos: &Histogram<u64>) -> [f64; 3] {
    [0.5, 0.95, 0.99]
        .map(|quantile| if nanos.is_empty() { 0.0 } else { nanos.value_at_quantile(quantile) as f64 / 1e9 })
}

/// Returns the delay of a packet of a group on its path without queues, at the highest rates that the links have.
fn unloaded(scenario: &Scenario, group: &FlowGroup) -> Duration {
    let bits = 8.0 * group.packet.get() as f64;
    let hosts = [&group.source, &group.sink].into_iter().flatten();
    let links = group.path.iter().map(|hop| side(scenario, *hop));
    let host = hosts.map(|Access { rate, delay, .. }| delay.as_secs() + bits / rate.bits_per_second() as f64);
    let link = links.map(|side| side.delay.as_secs() + bits / fastest(side));
    Duration::from_secs(host.chain(link).sum())
}

fn side(scenario: &Scenario, hop: Hop) -> &LinkSide {
    let link = &scenario.links[hop.link];
    if hop.reverse { &link.reverse } else { &link.forward }
}

fn fastest(side: &LinkSide) -> f64 {
    let steps = side.wire.rates.iter().flat_map(RateSteps::steps).map(|(_, rate)| *rate);
    steps.chain([side.rate]).max().unwrap_or_default().bits_per_second().max(1) as f64
}
