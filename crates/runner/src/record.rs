//! Records the timeline of a run, with as many values as a figure shows.

use std::collections::BTreeMap;

use fairlane_outcome::{GroupTimeline, QueueTimeline, ShaperTimeline, Timeline};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{LinkSide, Scenario, ShaperKind};
use fairlane_sim::{Decision, FlowSample, Observer, PacketEvent, QueueSample, link_name};

/// The number of values of a run.
const VALUES: u64 = 400;

/// Records the timeline of a run.
#[derive(Debug)]
pub struct Recorder {
    every: Duration,
    /// The number of each flow's group.
    group_of: Vec<u32>,
    /// The moment whose samples are arriving.
    now: Now,
    /// The moment recorded last, and the bytes that each group's flows had delivered until then.
    last: (Time, Vec<u64>),
    scenario: Scenario,
    timeline: Timeline,
    /// The index of each link's queue in the timeline.
    queues: BTreeMap<u32, usize>,
    /// The links behind shapers that are adjusted, with the present rate of the shaper in bit/s, in the order of the timeline.
    shapers: BTreeMap<u32, f64>,
}

/// The samples of one moment.
#[derive(Debug, Default)]
struct Now {
    at: Time,
    /// The bytes that each group's flows have delivered.
    delivered: Vec<u64>,
    queues: Vec<QueueSample>,
}

impl Recorder {
    /// Makes a recorder of a run of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let numbers = scenario.flows.iter().zip(0_u32..);
        let group_of = numbers.flat_map(|(group, number)| (0..group.count).map(move |_| number)).collect();
        let none = vec![0; scenario.flows.len()];
        let group = |name: &str| GroupTimeline { name: name.to_owned(), throughput_bps: Vec::new() };
        let groups = scenario.flows.iter().map(|flows| group(&flows.name)).collect();
        let recorder = Self {
            every: Duration::from_nanos((scenario.duration.as_nanos() / VALUES).max(1000)),
            group_of,
            now: Now { delivered: none.clone(), ..Now::default() },
            last: (Time::ZERO, none),
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
        self.timeline
    }

    /// Keeps the moment if `every` has passed since the last recorded one.
    fn record(&mut self) {
        let passed = self.now.at.since(self.last.0);
        if passed < self.every {
            return;
        }
        self.timeline.time_s.push(self.now.at.as_secs());
        let bytes = self.now.delivered.iter().zip(&self.last.1).map(|(now, before)| now - before);
        for (group, bytes) in self.timeline.groups.iter_mut().zip(bytes) {
            group.throughput_bps.push(bytes as f64 * 8.0 / passed.as_secs());
        }
        for sample in &self.now.queues {
            let place = *self.queues.entry(sample.link).or_insert_with(|| {
                let name = link_name(&self.scenario, sample.link);
                self.timeline.queues.push(QueueTimeline { name, ..QueueTimeline::default() });
                self.timeline.queues.len() - 1
            });
            let queue = &mut self.timeline.queues[place];
            queue.packets.push(sample.backlog.packets as f64);
            queue.average.extend(sample.average);
        }
        for ((link, rate), shaper) in self.shapers.iter().zip(&mut self.timeline.shapers) {
            shaper.rate_bps.push(*rate);
            shaper.link_bps.push(link_rate(&self.scenario, *link, self.now.at));
        }
        self.last = (self.now.at, self.now.delivered.clone());
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
            self.now.delivered.fill(0);
            self.now.queues.clear();
        }
        let group = self.group_of.get(sample.flow as usize);
        if let Some(delivered) = group.and_then(|group| self.now.delivered.get_mut(*group as usize)) {
            *delivered += sample.delivered_bytes;
        }
    }

    fn queue(&mut self, _at: Time, sample: &QueueSample) {
        self.now.queues.push(*sample);
    }

    fn decided(&mut self, link: u32, decision: &Decision) {
        self.shapers.insert(link, decision.rate.bits_per_second() as f64);
    }
}
