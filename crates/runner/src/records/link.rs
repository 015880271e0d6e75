//! Records the timeline of a link whose flows come and go, as one with real programs.

use fairlane_outcome::{FlowSample, GroupTimeline, QueueSample, QueueTimeline, Timeline};
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Scenario;

use super::timeline::queue_timeline;

/// The most moments that are kept; then every second one goes.
const MOST: usize = 1 << 16;

/// Records the timeline of a link, in bounded memory.
#[derive(Debug)]
pub struct LinkRecorder {
    scenario: Scenario,
    /// The names of the groups, and their bytes so far.
    groups: Vec<(String, u64)>,
    /// The group of each flow, and its bytes so far.
    flows: Vec<(usize, u64)>,
    moments: Vec<Moment>,
    /// One of so many samples is kept, and the number of samples so far.
    every: usize,
    samples: usize,
    /// The last sample, which is kept at the end.
    last: Option<Moment>,
}

/// The counts at one time.
#[derive(Clone, Debug)]
struct Moment {
    at: Time,
    queues: Vec<QueueSample>,
    groups: Vec<u64>,
}

impl LinkRecorder {
    /// Makes a recorder of the links of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let scenario = scenario.clone();
        Self { scenario, groups: vec![], flows: vec![], moments: vec![], every: 1, samples: 0, last: None }
    }

    /// Adds a flow of `group`; its number is the next one.
    pub fn add_flow(&mut self, group: &str) {
        let place = self.groups.iter().position(|(name, _)| name == group).unwrap_or_else(|| {
            self.groups.push((group.to_owned(), 0));
            self.groups.len() - 1
        });
        self.flows.push((place, 0));
    }

    /// Records the counts of the queues, and of the flows that have had packets since the call before.
    pub fn sample(&mut self, at: Duration, queues: &[QueueSample], flows: &[FlowSample]) {
        for sample in flows {
            let Some((group, bytes)) = self.flows.get_mut(sample.flow as usize) else { continue };
            self.groups[*group].1 += sample.unique_bytes.saturating_sub(*bytes);
            *bytes = sample.unique_bytes;
        }
        let groups = self.groups.iter().map(|(_, bytes)| *bytes).collect();
        let moment = Moment { at: Time::ZERO + at, queues: queues.to_vec(), groups };
        self.samples += 1;
        if !self.samples.is_multiple_of(self.every) {
            self.last = Some(moment);
            return;
        }
        self.last = None;
        self.moments.push(moment);
        if self.moments.len() == MOST {
            let mut number = 0;
            self.moments.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.every *= 2;
        }
    }

    /// Returns the timeline with at most about `most` values, the last at the last sample.
    #[must_use]
    pub fn timeline(&self, most: usize) -> Timeline {
        let all: Vec<&Moment> = self.moments.iter().chain(&self.last).collect();
        let step = all.len().div_ceil(most.max(1)).max(1);
        // From the last one back, so that this is there.
        let mut kept: Vec<&Moment> = all.into_iter().rev().step_by(step).collect();
        kept.reverse();
        let mut timeline = Timeline {
            groups: self.groups.iter().map(|(name, _)| group(name)).collect(),
            queues: (0..kept.first().map_or(0, |first| first.queues.len() as u32))
                .map(|link| queue_timeline(&self.scenario, link))
                .collect(),
            ..Timeline::default()
        };
        let start =
            Moment { at: Time::ZERO, queues: vec![QueueSample::default(); timeline.queues.len()], groups: vec![] };
        let before = std::iter::once(&start).chain(kept.iter().copied());
        for (before, now) in before.zip(&kept) {
            let seconds = now.at.since(before.at).as_secs();
            if seconds > 0.0 {
                extend(&mut timeline, before, now, seconds);
            }
        }
        for queue in &mut timeline.queues {
            if queue.marked_pps.iter().all(|rate| *rate == 0.0) {
                queue.marked_pps.clear();
            }
        }
        timeline
    }
}

fn group(name: &str) -> GroupTimeline {
    GroupTimeline { name: name.to_owned(), ..GroupTimeline::default() }
}

/// Adds the values of the `seconds` between two moments.
fn extend(timeline: &mut Timeline, before: &Moment, now: &Moment, seconds: f64) {
    timeline.time_s.push(now.at.as_secs());
    for (number, group) in timeline.groups.iter_mut().enumerate() {
        // A group that comes later has no bytes before.
        let bytes = |moment: &Moment| moment.groups.get(number).copied().unwrap_or_default();
        group.goodput_bps.push((bytes(now) - bytes(before)) as f64 * 8.0 / seconds);
    }
    for ((queue, before), now) in timeline.queues.iter_mut().zip(&before.queues).zip(&now.queues) {
        let QueueTimeline { packets, average, probability, dropped_pps, marked_pps, .. } = queue;
        packets.push(now.backlog.packets as f64);
        average.extend(now.average);
        probability.extend(now.probability);
        dropped_pps.push((now.dropped.packets - before.dropped.packets) as f64 / seconds);
        marked_pps.push((now.marked.packets - before.marked.packets) as f64 / seconds);
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Count;
    use fairlane_scenario::Document;

    use super::*;

    fn recorder() -> LinkRecorder {
        LinkRecorder::new(&Document::builtin().scenario().unwrap())
    }

    fn queue(dropped: u64, backlog: u64) -> QueueSample {
        let count = |packets| Count { packets, bytes: 0 };
        QueueSample { dropped: count(dropped), backlog: count(backlog), ..QueueSample::default() }
    }

    /// By hand: 1000 bytes in half a second are 16 kbit/s. Would catch a flow that counts though it had no packets, and
    /// a group whose rate is spread over the time before it came.
    #[test]
    fn rates_are_those_since_the_moment_before() {
        let mut recorder = recorder();
        let flow = |flow, unique_bytes| FlowSample { flow, unique_bytes, ..FlowSample::default() };
        let half = |number: u64| Duration::from_millis(500 * number);
        recorder.add_flow("tcp down");
        recorder.sample(half(1), &[queue(0, 3)], &[flow(0, 1000)]);
        recorder.sample(half(2), &[queue(5, 4)], &[]);
        recorder.add_flow("udp up");
        recorder.add_flow("tcp down");
        recorder.sample(half(3), &[queue(5, 0)], &[flow(1, 500), flow(2, 2000)]);
        let timeline = recorder.timeline(10);
        assert_eq!(timeline.time_s, [0.5, 1.0, 1.5]);
        let groups: Vec<(&str, &[f64])> =
            timeline.groups.iter().map(|group| (group.name.as_str(), &group.goodput_bps[..])).collect();
        assert_eq!(groups, [("tcp down", &[16e3, 0.0, 32e3][..]), ("udp up", &[0.0, 0.0, 8e3][..])]);
        assert_eq!(timeline.queues[0].packets, [3.0, 4.0, 0.0]);
        assert_eq!(timeline.queues[0].dropped_pps, [0.0, 10.0, 0.0]);
        // Fewer values keep the end and the mean rate.
        let two = recorder.timeline(2);
        assert_eq!((&two.time_s[..], &two.groups[0].goodput_bps[..]), (&[0.5, 1.5][..], &[16e3, 16e3][..]));
    }

    /// Would catch memory that grows for ever, and an end that is not kept.
    #[test]
    fn a_long_time_is_kept_coarsely() {
        let (mut recorder, samples) = (recorder(), 3 * MOST as u64 + 1);
        for number in 1..=samples {
            recorder.sample(Duration::from_millis(number), &[], &[]);
        }
        assert!(recorder.moments.len() < MOST, "{}", recorder.moments.len());
        let times = recorder.timeline(usize::MAX).time_s;
        assert_eq!(times.last(), Some(&(samples as f64 / 1e3)));
        let steps: Vec<f64> = times.windows(2).map(|two| ((two[1] - two[0]) * 1e3).round()).collect();
        assert!(steps[..steps.len() - 1].iter().all(|step| *step == steps[0]), "{:?}", &steps[..9]);
    }
}
