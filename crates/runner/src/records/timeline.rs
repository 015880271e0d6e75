//! Records the timeline of a run, with as many values as a figure shows.

use std::collections::BTreeMap;

use fairlane_outcome::stats::Moments;
use fairlane_outcome::{GroupTimeline, QueueTimeline, ShaperTimeline, Timeline};
use fairlane_qdisc::{Duration, Packets, Time};
use fairlane_scenario::{LinkSide, Scenario, ShaperKind};
use fairlane_sim::{Decision, FlowSample, Observer, PacketEvent, QueueSample, link_name};

/// The number of values of a run.
const VALUES: u64 = 800;

/// Records the timeline of a run.
#[derive(Debug)]
pub struct Recorder {
    every: Duration,
    /// The number of each flow's group.
    group_of: Vec<u32>,
    /// The moment whose samples are arriving.
    now: Now,
    /// The moment recorded last, and the bytes that each group's receivers had until then.
    last: (Time, Vec<u64>),
    /// The drops and marks of each queue until then, in the order of the timeline.
    signalled: Vec<[u64; 2]>,
    scenario: Scenario,
    timeline: Timeline,
    windows: Windows,
    /// The index of each link's queue in the timeline.
    queues: BTreeMap<u32, usize>,
    /// The links behind shapers that are adjusted, with the present rate of the shaper in bit/s, in the order of the
    /// timeline.
    shapers: BTreeMap<u32, f64>,
}

/// The samples of one moment.
#[derive(Debug, Default)]
struct Now {
    at: Time,
    groups: Vec<GroupSample>,
    queues: Vec<QueueSample>,
}

/// The windows of the flows after the warm-up, at the moments of the timeline at which all flows of a group had one.
#[derive(Debug, Default)]
struct Windows {
    /// The present moment counts.
    counts: bool,
    /// The windows at the present moment.
    now: Vec<Option<f64>>,
    flows: Vec<Moments>,
    /// The sums over groups.
    sums: Vec<Moments>,
}

impl Windows {
    fn new(groups: usize, flows: usize) -> Self {
        Self {
            counts: false,
            now: vec![None; flows],
            flows: vec![Moments::new(); flows],
            sums: vec![Moments::new(); groups],
        }
    }

    /// Begins a moment, which may count.
    fn begin(&mut self, counts: bool) {
        self.counts = counts;
        if counts {
            self.now.fill(None);
        }
    }

    /// Ends the present moment.
    fn end(&mut self, group_of: &[u32]) {
        if !self.counts {
            return;
        }
        let mut sums = vec![Some(0.0); self.sums.len()];
        for (window, group) in self.now.iter().zip(group_of) {
            let sum = &mut sums[*group as usize];
            *sum = sum.zip(*window).map(|(sum, window)| sum + window);
        }
        for ((flow, window), group) in self.flows.iter_mut().zip(&self.now).zip(group_of) {
            if sums[*group as usize].is_some() {
                flow.extend(*window);
            }
        }
        for (moments, sum) in self.sums.iter_mut().zip(sums) {
            moments.extend(sum);
        }
    }

    /// Returns the correlation of each group's windows, of which `group_of` has the flows; see
    /// [`GroupTimeline::window_correlation`].
    fn correlations(&self, group_of: &[u32]) -> Vec<Option<f64>> {
        let mut parts = vec![(0.0, 0.0); self.sums.len()];
        for (flow, group) in self.flows.iter().zip(group_of) {
            let variance = flow.variance().unwrap_or(0.0);
            let (deviations, variances) = &mut parts[*group as usize];
            *deviations += variance.sqrt();
            *variances += variance;
        }
        let correlation = |(sum, (deviations, variances)): (&Moments, (f64, f64))| {
            let pairs = deviations * deviations - variances;
            (pairs > 1e-9 * variances).then_some((sum.variance()? - variances) / pairs)
        };
        self.sums.iter().zip(parts).map(correlation).collect()
    }
}

/// The sums over a group's flows at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct GroupSample {
    /// Bytes that the receivers have, each counted once.
    bytes: u64,
    /// The congestion windows in packets, and the number of flows that have one.
    cwnd: (f64, f64),
    /// The smoothed round trip times in seconds, and the number of flows that have measured one.
    srtt: (f64, f64),
}

impl Recorder {
    /// Makes a recorder of a run of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let numbers = scenario.flows.iter().zip(0_u32..);
        let group_of: Vec<u32> = numbers.flat_map(|(group, number)| (0..group.count).map(move |_| number)).collect();
        let none = vec![GroupSample::default(); scenario.flows.len()];
        let group = |name: &str| GroupTimeline { name: name.to_owned(), ..GroupTimeline::default() };
        let groups = scenario.flows.iter().map(|flows| group(&flows.name)).collect();
        let recorder = Self {
            every: Duration::from_nanos((scenario.duration.as_nanos() / VALUES).max(1000)),
            windows: Windows::new(scenario.flows.len(), group_of.len()),
            group_of,
            last: (Time::ZERO, vec![0; none.len()]),
            now: Now { groups: none, ..Now::default() },
            signalled: Vec::new(),
            scenario: scenario.clone(),
            timeline: Timeline { groups, ..Timeline::default() },
            queues: BTreeMap::new(),
            shapers: BTreeMap::new(),
        };
        recorder.with_shapers()
    }

    /// Returns the timeline.
    #[must_use]
    pub fn finish(mut self) -> Timeline {
        self.record();
        let never = |values: &Vec<f64>, absent: fn(&f64) -> bool| values.iter().all(absent);
        for queue in &mut self.timeline.queues {
            if never(&queue.marked_pps, |rate| *rate == 0.0) {
                queue.marked_pps.clear();
            }
        }
        let correlations = self.windows.correlations(&self.group_of);
        for (group, correlation) in self.timeline.groups.iter_mut().zip(correlations) {
            group.window_correlation = correlation;
            for values in [&mut group.cwnd_packets, &mut group.srtt_s] {
                if never(values, |value| value.is_nan()) {
                    values.clear();
                }
            }
        }
        self.timeline
    }

    /// Keeps the moment if `every` has passed since the last recorded one.
    fn record(&mut self) {
        let passed = self.now.at.since(self.last.0);
        if passed < self.every {
            return;
        }
        self.timeline.time_s.push(self.now.at.as_secs());
        let seconds = passed.as_secs();
        self.windows.end(&self.group_of);
        let samples = self.now.groups.iter().zip(&self.last.1);
        for (group, (now, before)) in self.timeline.groups.iter_mut().zip(samples) {
            let mean = |(sum, count): (f64, f64)| if count > 0.0 { sum / count } else { f64::NAN };
            group.goodput_bps.push((now.bytes - before) as f64 * 8.0 / seconds);
            group.cwnd_packets.push(mean(now.cwnd));
            group.srtt_s.push(mean(now.srtt));
        }
        for sample in &self.now.queues {
            let place = *self.queues.entry(sample.link).or_insert_with(|| {
                self.timeline.queues.push(queue_timeline(&self.scenario, sample.link));
                self.signalled.push([0, 0]);
                self.timeline.queues.len() - 1
            });
            let queue = &mut self.timeline.queues[place];
            let [dropped, marked] = &mut self.signalled[place];
            queue.packets.push(sample.backlog.packets as f64);
            queue.average.extend(sample.average);
            queue.probability.extend(sample.probability);
            queue.dropped_pps.push(sample.dropped.packets.saturating_sub(*dropped) as f64 / seconds);
            queue.marked_pps.push(sample.marked.packets.saturating_sub(*marked) as f64 / seconds);
            [*dropped, *marked] = [sample.dropped.packets, sample.marked.packets];
        }
        for ((link, rate), shaper) in self.shapers.iter().zip(&mut self.timeline.shapers) {
            shaper.rate_bps.push(*rate);
            shaper.link_bps.push(link_rate(&self.scenario, *link, self.now.at));
        }
        self.last = (self.now.at, self.now.groups.iter().map(|group| group.bytes).collect());
    }

    /// Begins the timeline of the shapers that are adjusted.
    fn with_shapers(mut self) -> Self {
        let sides = self.scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        for (link, side) in (0..).zip(sides) {
            if let Some(shaper) = side.wire.shaper.as_ref().filter(|shaper| shaper.kind == ShaperKind::Autorate) {
                self.shapers.insert(link, shaper.rate.bits_per_second() as f64);
                let name = link_name(&self.scenario, link);
                self.timeline.shapers.push(ShaperTimeline { name, ..ShaperTimeline::default() });
            }
        }
        self
    }
}

/// Begins the timeline of a link's queue.
pub(super) fn queue_timeline(scenario: &Scenario, link: u32) -> QueueTimeline {
    // The buffers behind shapers have numbers beyond those of the links.
    let side = scenario
        .links
        .get(link as usize / 2)
        .map(|both| if link.is_multiple_of(2) { &both.forward } else { &both.reverse });
    let parameters = side.map_or(&[][..], |side| &side.queue.explanation().parameters);
    let threshold = |name: &str| {
        let found = parameters.iter().find(|parameter| parameter.key == name)?;
        Some((name.to_owned(), f64::from(found.value.parse::<Packets>().ok()?.get())))
    };
    let thresholds = ["min", "max"].into_iter().filter_map(threshold).collect();
    QueueTimeline { name: link_name(scenario, link), thresholds, ..QueueTimeline::default() }
}

/// Returns the rate of a link at a time, in bit/s.
fn link_rate(scenario: &Scenario, link: u32, at: Time) -> f64 {
    let both = &scenario.links[link as usize / 2];
    let LinkSide { rate, wire, .. } = if link.is_multiple_of(2) { &both.forward } else { &both.reverse };
    let rate = wire.rates.as_ref().map_or(*rate, |rates| rates.at(at.since(Time::ZERO)));
    rate.bits_per_second() as f64
}

impl Observer for Recorder {
    /// Single packets are not observed.
    const ACTIVE: bool = false;

    fn packet(&mut self, _event: &PacketEvent) {}

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}

    fn interval(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn flow(&mut self, at: Time, sample: &FlowSample) {
        if at != self.now.at {
            self.record();
            self.now.at = at;
            self.now.groups.fill(GroupSample::default());
            self.now.queues.clear();
            let measured = at >= Time::ZERO + self.scenario.warmup;
            self.windows.begin(measured && at.since(self.last.0) >= self.every);
        }
        if let Some(window) = self.windows.now.get_mut(sample.flow as usize) {
            *window = sample.cwnd;
        }
        let group = self.group_of.get(sample.flow as usize);
        if let Some(group) = group.and_then(|group| self.now.groups.get_mut(*group as usize)) {
            let add = |(sum, count): (f64, f64), value: Option<f64>| {
                value.map_or((sum, count), |value| (sum + value, count + 1.0))
            };
            group.bytes += sample.unique_bytes;
            group.cwnd = add(group.cwnd, sample.cwnd);
            group.srtt = add(group.srtt, sample.srtt.map(Duration::as_secs));
        }
    }

    fn queue(&mut self, _at: Time, sample: &QueueSample) {
        self.now.queues.push(*sample);
    }

    fn decided(&mut self, link: u32, decision: &Decision) {
        self.shapers.insert(link, decision.rate.bits_per_second() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: windows in step have a correlation of 1, opposite ones -1, and those of (1, 2, 3) and (1, 3, 2) 1/2.
    /// Would catch a moment that counts for some flows of a group only.
    #[test]
    fn windows_are_correlated() {
        let of = |moments: &[&[Option<f64>]]| {
            let flows = moments[0].len();
            let (mut windows, group_of) = (Windows::new(1, flows), vec![0; flows]);
            for moment in moments {
                windows.begin(true);
                windows.now.copy_from_slice(moment);
                windows.end(&group_of);
            }
            windows.correlations(&group_of)[0]
        };
        let two = |a: [f64; 3], b: [f64; 3]| {
            let moments: Vec<[Option<f64>; 2]> = a.into_iter().zip(b).map(|(a, b)| [Some(a), Some(b)]).collect();
            let with_late = [&[[Some(9.0), None]][..], &moments].concat();
            let [whole, late] = [moments, with_late].map(|all| of(&all.iter().map(|one| &one[..]).collect::<Vec<_>>()));
            assert_eq!(whole, late);
            whole
        };
        let near = |found: Option<f64>, right: f64| assert!((found.unwrap() - right).abs() < 1e-12, "{found:?}");
        near(two([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]), 1.0);
        near(two([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]), -1.0);
        near(two([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]), 0.5);
        assert_eq!(two([1.0, 2.0, 3.0], [5.0; 3]), None);
        assert_eq!(of(&[&[Some(1.0)], &[Some(2.0)]]), None);
    }
}
